"""Agent events → records: numbers them, places them in turns, and hands each one on as a line."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

import msgspec

from agentcore_runner.core import compaction as comp
from agentcore_runner.core import events as ev
from agentcore_runner.core.compaction import CompactionNote
from agentcore_runner.core.messages import AssistantMessage, ToolResultMessage, role_of
from agentcore_runner.core.stream import Retry, TextDelta, ThinkingDelta, ToolCallDelta
from agentcore_runner.report.result import RunResult
from agentcore_runner.transcript import records as rec
from agentcore_runner.transcript.lines import encode_line

LineSink: TypeAlias = Callable[[bytes], Awaitable[None] | None]
Clock: TypeAlias = Callable[[], float]
R = TypeVar("R", bound=rec.Record)


class Recorder:
    """Turns events and the runner's own notes into lines and gives each to every sink in order.

    `clock` is the Unix time in seconds. `partial` adds the deltas. A sink may return an awaitable, which
    `on_event` passes on, so that a slow reader slows the run."""

    def __init__(self, run: str, sinks: list[LineSink], clock: Clock, *, partial: bool = False) -> None:
        self.run = run
        self.sinks = sinks
        self.last_write = clock()
        self.turns = 0
        self._clock = clock
        self._partial = partial
        self._seq = 0
        self._turn: int | None = None
        self._added: list[int] = []
        self._answer: int | None = None
        self._results: list[int] = []
        self._context: list[int] = []
        """The records of the conversation's messages; a summary's is that of its `compaction_end`."""

    def write(self, record_type: type[R], /, **fields: Any) -> Awaitable[None] | None:
        """Write one record of the runner's own."""
        turn = msgspec.UNSET if self._turn is None else self._turn
        return self._put(record_type(**self._envelope(), run=self.run, turn=turn, **fields))

    def finish(self, result: RunResult, error: BaseException | None = None) -> bytes:
        """The last line; it is returned, not written, because where it goes to depends on where it can go."""
        trace = "".join(traceback.format_exception(error)) if error else msgspec.UNSET
        fields = {name: getattr(result, name) for name in result.__struct_fields__}
        return encode_line(rec.RunFinished(**self._envelope(), traceback=trace, **fields))

    def on_event(self, event: ev.AgentEvent) -> Awaitable[None] | None:
        """Record one agent event."""
        match event:
            case ev.MessageUpdateEvent():
                return self._on_update(event)
            case ev.MessageStartEvent():
                return self.write(rec.MessageStart, role=role_of(event.message))
            case ev.MessageEndEvent():
                return self._on_message(event)
            case ev.ToolExecutionStartEvent():
                return self.write(
                    rec.ToolExecutionStart,
                    tool_call_id=event.tool_call_id,
                    tool_name=event.tool_name,
                    args=event.args,
                )
            case ev.ToolExecutionUpdateEvent():
                return self._on_tool_update(event)
            case ev.ToolExecutionEndEvent():
                return self._on_tool_end(event)
            case ev.TurnStartEvent():
                self._turn, self.turns = self.turns, self.turns + 1
                self._answer, self._results = None, []
                return self.write(rec.TurnStart)
            case ev.TurnEndEvent():
                waiting = self.write(rec.TurnEnd, message=self._answer, tool_results=self._results)
                self._turn = None
                return waiting
            case ev.AgentStartEvent():
                self._added = []
                return self.write(rec.AgentStart)
            case ev.AgentEndEvent():
                return self.write(rec.AgentEnd, messages=self._added)

    def on_note(self, note: CompactionNote) -> Awaitable[None] | None:
        """Record one step of a compaction."""
        match note:
            case comp.CompactionStart():
                return self.write(rec.CompactionStart, **msgspec.structs.asdict(note))
            case comp.CompactionEnd():
                return self._on_compaction(note)
            case Retry():
                return self._on_retry(note)

    def _on_compaction(self, note: comp.CompactionEnd) -> Awaitable[None] | None:
        result = note.result
        kept = self._context[len(self._context) - result.kept :] if result else []
        replaced = result.replaced.items() if result else ()
        if result is not None:
            self._context = [self._seq, *kept]
        return self.write(
            rec.CompactionEnd,
            reason=note.reason,
            summary=result.summary if result else None,
            first_kept=kept[0] if kept else None,
            replaced=[rec.ReplacedResult(seq=kept[place], message=message) for place, message in replaced],
            tokens_after=result.tokens_after if result else None,
            usage=note.usage,
            model=note.model,
            aborted=note.aborted,
            will_retry=note.will_retry,
            error_message=note.error_message,
        )

    def _on_retry(self, retry: Retry) -> Awaitable[None] | None:
        return self.write(
            rec.RetryRecord,
            attempt=retry.attempt,
            delay_s=retry.delay_s,
            status=retry.status,
            reason=retry.reason,
            usage=retry.usage or msgspec.UNSET,
        )

    def _on_update(self, event: ev.MessageUpdateEvent) -> Awaitable[None] | None:
        piece = event.assistant_message_event
        if type(piece) is Retry:
            return self._on_retry(piece)
        if not self._partial or not isinstance(piece, TextDelta | ThinkingDelta | ToolCallDelta):
            return None
        kind = str(piece.__struct_config__.tag)
        return self.write(rec.MessageUpdate, content_index=piece.content_index, kind=kind, delta=piece.delta)

    def _on_message(self, event: ev.MessageEndEvent) -> Awaitable[None] | None:
        self._added.append(self._seq)
        self._context.append(self._seq)
        if isinstance(event.message, AssistantMessage):
            self._answer = self._seq
        elif isinstance(event.message, ToolResultMessage):
            self._results.append(self._seq)
        return self.write(rec.MessageEnd, message=event.message)

    def _on_tool_update(self, event: ev.ToolExecutionUpdateEvent) -> Awaitable[None] | None:
        if not self._partial:
            return None
        partial = {"content": event.partial_result.content, "details": event.partial_result.details}
        return self.write(
            rec.ToolExecutionUpdate,
            tool_call_id=event.tool_call_id,
            tool_name=event.tool_name,
            partial_result=partial,
        )

    def _on_tool_end(self, event: ev.ToolExecutionEndEvent) -> Awaitable[None] | None:
        return self.write(
            rec.ToolExecutionEnd,
            tool_call_id=event.tool_call_id,
            tool_name=event.tool_name,
            is_error=event.is_error,
            duration_ms=event.duration_ms,
            details=event.result.details,
        )

    def _envelope(self) -> dict[str, Any]:
        now = self._clock()
        self.last_write = now
        ts = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        return {"v": rec.VERSION, "seq": self._seq, "ts": ts.replace("+00:00", "Z")}

    def _put(self, record: rec.Record) -> Awaitable[None] | None:
        line = encode_line(record)
        self._seq += 1
        waiting = [w for sink in self.sinks if (w := sink(line)) is not None]
        return wait_for_all(waiting) if waiting else None


async def wait_for_all(waiting: list[Awaitable[None]]) -> None:
    """Wait for the slow sinks, one after the other."""
    for each in waiting:
        await each
