"""A plan → a run → a result; every ending is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

import msgspec

from agentcore_runner.core.agent import Agent
from agentcore_runner.core.messages import UserMessage
from agentcore_runner.errors import SIGNALS, ExitCode, RunnerError, StdoutClosed, TranscriptError
from agentcore_runner.report.ending import Ending, ending_of
from agentcore_runner.report.result import RunResult, not_started
from agentcore_runner.report.tally import Tally
from agentcore_runner.runtime.clock import unix_ms
from agentcore_runner.runtime.control import Control
from agentcore_runner.runtime.dialogue import ABORTED, Dialogue, Line
from agentcore_runner.runtime.guard import Guard
from agentcore_runner.runtime.opening import run_started
from agentcore_runner.runtime.plan import Plan
from agentcore_runner.runtime.record import RunRecord
from agentcore_runner.runtime.wiring import Listener, Watcher, Wiring
from agentcore_runner.transcript import records as rec
from agentcore_runner.transcript.recorder import LineSink

LEAVE_AT_ONCE_S = 0.5

Deliver: TypeAlias = Callable[[RunResult], Awaitable[None]]
"""Writes the result to where the caller wants it; raises StdoutClosed or TranscriptError where it cannot, and
is then called once more with the result that says so."""


class Execution:
    """One run of a plan, to be executed once. `lines` also gets every record's line; `deliver` gets the
    result before the last record is written; `leave` ends the process when a second signal finds the run
    hanging. `watchers` hear of compactions and fallbacks. `said` is what is said to the agent after its
    prompt: the run lasts until that ends. `fault` is what went wrong in our own code, if anything did."""

    def __init__(
        self,
        plan: Plan,
        *,
        control: Control,
        listeners: tuple[Listener, ...] = (),
        lines: LineSink | None = None,
        deliver: Deliver | None = None,
        leave: Callable[[RunResult], None] | None = None,
        watchers: tuple[Watcher, ...] = (),
        said: AsyncIterator[Line] | None = None,
    ) -> None:
        """Raises TranscriptError when the record cannot be begun."""
        self.plan = plan
        self.control = control
        self.tally = Tally(plan.clock)
        self.fault: BaseException | None = None
        self._deliver = deliver
        self._leave = leave
        self._said = said
        self._dialogue: Dialogue | None = None
        self._lost: RunnerError | None = None
        transcript = plan.definition.transcript
        self._record = RunRecord(
            plan.run,
            plan.transcript,
            fsync=transcript.fsync,
            partial=plan.options.partial or transcript.partial,
            lines=lines,
            stop=control.stop,
        )
        self._guard = Guard(plan, self._record, control.hurry)
        self._wiring = Wiring(
            plan,
            guard=self._guard,
            record=self._record,
            tally=self.tally,
            listeners=listeners,
            watchers=watchers,
            on_fault=self._on_fault,
        )

    async def execute(self) -> RunResult:
        """The result, after the last record is on disk. A cancellation or KeyboardInterrupt is raised again
        when the record is closed."""
        remove = self.control.hurry.on_abort(self._leave_soon)
        interruption: BaseException | None = None
        try:
            await self._open()
            await self._run_agent()
        except Exception as exc:
            self.fault = self.fault or exc
        except BaseException as exc:
            interruption = exc
            self.control.stop.abort("cancelled")
        try:
            await self._close_parts()
            result = await self._finish()
        except Exception as exc:
            result = self._give_up(exc)
        finally:
            remove()
        if interruption is not None:
            raise interruption
        return result

    async def _open(self) -> None:
        plan, record = self.plan, self._record
        await record.note(rec.RunStarted, **run_started(plan))
        for warning in plan.warnings:
            await record.note(rec.Warning, message=warning)
        if plan.system_prompt:
            await record.note(rec.SystemPrompt, text=plan.system_prompt)

    async def _run_agent(self) -> None:
        stop = self.control.stop
        deadline, disarm = self._guard.arm(lambda: stop.abort("timeout"))
        agent = self._wiring.agent(deadline)
        remove = stop.on_abort(lambda: agent.abort(stop.reason or "abort"))
        beat = asyncio.get_running_loop().create_task(self._record.heartbeat())
        try:
            if not stop.aborted:
                await self._talk(agent, UserMessage(content=self.plan.prompt, timestamp=unix_ms()))
        finally:
            remove()
            disarm()
            beat.cancel()

    async def _talk(self, agent: Agent, prompt: UserMessage) -> None:
        if self._said is None:
            await agent.prompt([prompt])
            return
        stop, guard = self.control.stop, self._guard
        self._dialogue = Dialogue(
            agent,
            self._said,
            stop=stop,
            is_over=lambda: stop.aborted or guard.limit is not None or self.fault is not None,
            may_go_on=guard.may_go_on,
            on_queued=lambda: self._wiring.queue_update(agent),
            warn=lambda message: self._record.note(rec.Warning, message=message),
        )
        await self._dialogue.hold(prompt)

    def _on_fault(self, fault: BaseException) -> None:
        self.fault = self.fault or fault

    async def _close_parts(self) -> None:
        for part in self.plan.parts:
            try:
                await part.aclose()
            except Exception as exc:
                self.fault = self.fault or exc

    async def _finish(self) -> RunResult:
        """Deliver the result and write the last record. A place that fails changes the result, and the
        others are told again."""
        record = self._record
        result = self._result()
        if not record.has_room_for(record.last_line(result, self.fault)):
            result = self._result()
        if not await self._delivered(result):
            result = self._result()
            await self._delivered(result)
        line = record.last_line(result, self.fault)
        if not await record.finish_lines(line):
            result = self._result()
            await self._delivered(result)
            line = record.last_line(result, self.fault)
        record.finish(line)
        return result

    def _give_up(self, exc: Exception) -> RunResult:
        """The ending of last resort: our own code failed while it ended the run."""
        self.fault = self.fault or exc
        result = not_started(ExitCode.internal_error, f"Internal error: {exc!r}")
        result = msgspec.structs.replace(result, run=self.plan.run, transcript=self.plan.shown_transcript)
        self._record.finish(self._record.last_line(result, exc))
        return result

    async def _delivered(self, result: RunResult) -> bool:
        try:
            if self._deliver is not None:
                await self._deliver(result)
        except RunnerError as exc:
            self._lost = self._lost or exc
            return False
        except Exception as exc:
            self.fault = self.fault or exc
            return False
        return True

    def _leave_soon(self) -> None:
        """A second signal: what hangs is dropped, and soon the process is gone with a closed record."""
        self.plan.children.kill_now()
        asyncio.get_running_loop().call_later(LEAVE_AT_ONCE_S, self.leave_now)

    def leave_now(self) -> None:
        """Close the record with what there is and call `leave`, if there is one, which ends the process."""
        if self._leave is not None:
            result = self._result()
            self._record.finish(self._record.last_line(result))
            self._leave(result)

    def _result(self) -> RunResult:
        plan = self.plan
        return self.tally.result(
            self._ending(), model=plan.provider.model.key, run=plan.run, transcript=plan.shown_transcript
        )

    def _ending(self) -> Ending:
        lost, reason = self._record.broken or self._lost, self.control.stop.reason
        if isinstance(lost, TranscriptError) or (lost is not None and reason not in SIGNALS):
            closed = isinstance(lost, StdoutClosed)
            return Ending(code=lost.exit_code, reason=str(lost), retryable=closed)
        aborted = ABORTED if self._dialogue is not None and self._dialogue.aborted else None
        return ending_of(
            self.tally.last,
            abort_reason=reason or aborted,
            limit=self._guard.limit,
            fault=f"Internal error: {self.fault!r}" if self.fault else None,
        )
