"""What stands between the agent and the world: limits before each request, a synced record before each
batch, and a way out for tools that hang."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
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
    """Hooks for one agent run. `budget` is to hear its events; `limit` is the limit that ended it, if one
    did."""

    def __init__(self, plan: Plan, record: RunRecord, hurry: AbortSignal) -> None:
        limits = plan.limits
        self.limit: LimitHit | None = None
        self.tools = tuple(leaving_at_once(tool, hurry) for tool in plan.tools)
        self._plan = plan
        self._record = record
        self._batch: AssistantMessage | None = None
        self.budget = Budget(
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
            self.limit = hit(self.budget.timed_out())
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
        if self.budget.allows_call(call.tool_call.id):
            return None
        limit = self.budget.limits.max_tool_calls
        return BeforeToolCallResult(
            block=True, reason=f"Not run: the limit of {limit} tool calls (limits.max_tool_calls) is used up."
        )

    async def prepare_next_turn(self, turn: TurnContext) -> NextTurn | None:
        """Stops the run where a limit forbids another request, or the output cap cut tool calls twice."""
        goes_on = await self.may_go_on() and not cut_twice(turn.new_messages)
        return None if goes_on else NextTurn(stop=True)

    async def may_go_on(self) -> bool:
        """Whether there may be another request; `limit` says why not. Limits that are nearly used up are
        recorded."""
        for spent in self.budget.warnings():
            await self._record.note(rec.LimitWarning, **msgspec.structs.asdict(hit(spent)))
        spent_up = self.budget.exceeded()
        if spent_up is not None:
            self.limit = hit(spent_up)
        return spent_up is None


def cut_twice(messages: Sequence[AgentMessage]) -> bool:
    """Whether the output cap cut tool calls of both of the last two answers."""
    answers = (message for message in reversed(messages) if isinstance(message, AssistantMessage))
    last = list(islice(answers, 2))
    return len(last) == 2 and all(each.stop_reason == "length" and each.tool_calls for each in last)


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
