"""What stands between the agent and the world: limits before each request, a synced record before each
batch, and a way out for tools that hang."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from agentcore_runner.core.budget import Budget, BudgetLimits, Spent
from agentcore_runner.core.config import BeforeToolCall, BeforeToolCallResult, NextTurn, TurnContext
from agentcore_runner.core.messages import AgentMessage, AssistantMessage
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentContext, AgentTool, AgentToolResult, OnUpdate
from agentcore_runner.errors import ToolError
from agentcore_runner.report.result import LimitHit
from agentcore_runner.runtime.plan import Plan
from agentcore_runner.runtime.record import RunRecord
from agentcore_runner.transcript import records as rec


class Guard:
    """Hooks for one agent run. `limit` is the limit that ended it, if one did."""

    def __init__(self, plan: Plan, record: RunRecord, hurry: AbortSignal) -> None:
        limits = plan.limits
        self.limit: LimitHit | None = None
        self.tools = tuple(leaving_at_once(tool, hurry) for tool in plan.tools)
        self._plan = plan
        self._record = record
        self._batch: AssistantMessage | None = None
        self._was_cut = False
        self._budget = Budget(
            BudgetLimits(
                max_turns=limits.max_turns,
                max_tool_calls=limits.max_tool_calls,
                max_repeated_calls=limits.max_repeated_calls,
                timeout=limits.timeout,
            ),
            plan.clock,
        )

    def arm(self, on_timeout: Callable[[], None]) -> tuple[float, Callable[[], None]]:
        """Start the clock of `limits.timeout`: the deadline in the loop's time, and how to disarm it."""

        def fire() -> None:
            self.limit = hit(self._budget.timed_out())
            on_timeout()

        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._plan.limits.timeout - self._plan.clock()
        return deadline, loop.call_at(deadline, fire).cancel

    async def before_request(self, messages: list[AgentMessage], _: AbortSignal) -> list[AgentMessage]:
        """The record is on disk before anything is sent that may cost money. (The context stays as it is:
        this is the one hook before a request.)"""
        await self._record.sync()
        return messages

    async def before_tool_call(self, call: BeforeToolCall) -> BeforeToolCallResult | None:
        """The record is on disk before the first tool of a batch; calls past the limit do not run."""
        if self._batch is not call.assistant_message:
            self._batch = call.assistant_message
            await self._record.sync()
        calls = call.assistant_message.tool_calls
        if self._budget.allows_call(next(n for n, each in enumerate(calls) if each.id == call.tool_call.id)):
            return None
        limit = self._budget.limits.max_tool_calls
        return BeforeToolCallResult(
            block=True, reason=f"Not run: the limit of {limit} tool calls (limits.max_tool_calls) is used up."
        )

    async def prepare_next_turn(self, turn: TurnContext) -> NextTurn | None:
        """Stops the run where a limit forbids another request, or the output cap cut tool calls twice."""
        self._budget.count_turn(turn.message)
        for spent in self._budget.warnings():
            await self._record.note(rec.LimitWarning, **msgspec.structs.asdict(hit(spent)))
        spent_up = self._budget.exceeded()
        if spent_up is not None:
            self.limit = hit(spent_up)
            return NextTurn(stop=True)
        cut = turn.message.stop_reason == "length" and bool(turn.message.tool_calls)
        if cut and self._was_cut:
            return NextTurn(stop=True)
        self._was_cut = cut
        return None


def hit(spent: Spent) -> LimitHit:
    """A spent limit as the result shows it."""
    return LimitHit(name=spent.name, value=spent.value, used=spent.used, key=f"limits.{spent.name}")


def leaving_at_once(tool: AgentTool, hurry: AbortSignal) -> AgentTool:
    """The same tool, given up the moment `hurry` is set, whatever it is doing."""

    async def execute(
        call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate, context: AgentContext
    ) -> AgentToolResult:
        scope = asyncio.timeout(None)
        try:
            async with scope:
                remove = hurry.on_abort(lambda: scope.reschedule(0))
                try:
                    return await tool.execute(call_id, params, signal, on_update, context)
                finally:
                    remove()
        except TimeoutError:
            if scope.expired():
                raise ToolError("Given up: the run was told twice to stop.") from None
            raise

    return msgspec.structs.replace(tool, execute=execute)
