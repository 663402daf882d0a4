"""The agent of a run, connected with what asks its models, records it, counts it and limits it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from agentcore_runner.core.agent import Agent
from agentcore_runner.core.compaction import CompactionNote, CompactionSettings, CompactionStart
from agentcore_runner.core.compactor import Compactor
from agentcore_runner.core.events import AgentEvent, AgentStartEvent, MessageEndEvent
from agentcore_runner.core.tools import ToolExecutionMode
from agentcore_runner.report.tally import Tally
from agentcore_runner.runtime.clock import unix_ms
from agentcore_runner.runtime.guard import Guard
from agentcore_runner.runtime.plan import Plan
from agentcore_runner.runtime.record import RunRecord
from agentcore_runner.runtime.route import Fallback, Route
from agentcore_runner.transcript import records as rec
from agentcore_runner.transcript.recorder import wait_for_all

# Longer than `tools.process` takes to end a child that ignores TERM, so that its output is not lost.
TOOL_GRACE_S = 8.0

Note: TypeAlias = CompactionNote | Fallback
Listener: TypeAlias = Callable[[AgentEvent], Awaitable[None] | None]
Watcher: TypeAlias = Callable[[Note], None]


class Wiring:
    """Makes the agent of a plan. `listeners` hear its events, `watchers` of compactions and fallbacks;
    `on_fault` gets what went wrong in our own code."""

    def __init__(
        self,
        plan: Plan,
        *,
        guard: Guard,
        record: RunRecord,
        tally: Tally,
        listeners: tuple[Listener, ...],
        watchers: tuple[Watcher, ...],
        on_fault: Callable[[BaseException], None],
    ) -> None:
        self._plan = plan
        self._guard = guard
        self._record = record
        self._tally = tally
        self._listeners = listeners
        self._watchers = watchers
        self._on_fault = on_fault
        self._queued = (0, 0)

    def agent(self, deadline: float) -> Agent:
        """The agent, whose requests end at the deadline in the event loop's clock."""
        plan, guard = self._plan, self._guard
        route = Route(plan.models.choices, plan.run, self._on_fallback)
        agent = Agent(
            model=plan.provider.model,
            stream_fn=route.stream,
            now=unix_ms,
            system_prompt=plan.system_prompt,
            tools=guard.tools,
            thinking_level=plan.thinking_level,
            tool_execution=ToolExecutionMode(plan.definition.tool_execution),
            steering_mode=plan.definition.queue_mode.steering,
            follow_up_mode=plan.definition.queue_mode.follow_up,
            transform_context=guard.before_request,
            compactor=self._compactor(),
            fall_back=route.fall_back if len(plan.models.choices) > 1 else None,
            before_tool_call=guard.before_tool_call,
            prepare_next_turn=guard.prepare_next_turn,
            abort_grace_s=TOOL_GRACE_S,
            deadline=deadline,
            sink=lambda event: self._on_event(event, agent),
            on_error=self._on_error,
        )
        for listener in self._listeners:
            agent.subscribe(listener)
        for text in plan.follow_ups:
            agent.follow_up(text)
        return agent

    def queue_update(self, agent: Agent) -> Awaitable[None] | None:
        """Record how much waits in the queues, if that has changed."""
        queued = (len(agent.steering), len(agent.follow_ups))
        if queued == self._queued:
            return None
        self._queued = queued
        return self._record.write(rec.QueueUpdate, steering=queued[0], follow_up=queued[1])

    def _compactor(self) -> Compactor:
        spec, writer = self._plan.definition.compaction, self._plan.models.writer
        return Compactor(
            CompactionSettings(
                enabled=spec.enabled,
                reserve_tokens=spec.reserve_tokens,
                keep_recent_tokens=spec.keep_recent_tokens,
            ),
            now=unix_ms,
            model=writer.model if writer else None,
            stream_fn=writer.stream if writer else None,
            on_note=self._on_note,
            on_error=self._on_error,
        )

    async def _on_fallback(self, fallback: Fallback) -> None:
        self._watch(fallback)
        await self._record.note(
            rec.ModelFallback,
            failed=fallback.failed.provider.model.key,
            following=fallback.following.provider.model.key,
            thinking_level=fallback.following.level.value,
            reason=fallback.reason,
            message=fallback.message,
        )

    def _watch(self, note: Note) -> None:
        for watcher in self._watchers:
            watcher(note)

    async def _on_note(self, note: CompactionNote) -> None:
        self._tally.on_note(note)
        self._guard.budget.on_note(note)
        self._watch(note)
        waiting = self._record.on_note(note)
        if waiting is not None:
            await waiting
        if isinstance(note, CompactionStart):
            await self._record.sync()

    def _on_event(self, event: AgentEvent, agent: Agent) -> Awaitable[None] | None:
        self._tally.on_event(event)
        self._guard.budget.on_event(event)
        waiting = self._record.on_event(event)
        if not isinstance(event, AgentStartEvent | MessageEndEvent):
            return waiting
        both = [each for each in (waiting, self.queue_update(agent)) if each is not None]
        return wait_for_all(both) if both else None

    def _on_error(self, error: BaseException, where: str) -> None:
        """What listeners raise, and what comes late of a tool, is a warning; the rest is a fault of ours."""
        if where == "listener" or where.startswith("tool "):
            self._record.warn(f"{where} failed: {error!r}")
        else:
            self._on_fault(error)
