"""What a run used: tokens, money, time and errors, counted from its events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from agentcore_runner.core import events as ev
from agentcore_runner.core.compaction import CompactionEnd, CompactionNote, CompactionStart
from agentcore_runner.core.messages import AssistantMessage, ToolResultMessage, Usage
from agentcore_runner.core.stream import Retry
from agentcore_runner.report.ending import Ending
from agentcore_runner.report.result import (
    RequestError,
    RunResult,
    TokenSums,
    UsageSums,
    exit_of,
    status_of,
)

COUNTS = ("input", "output", "cache_read", "cache_write", "total_tokens")


class Tally:
    """Listens to the events of one run; `clock` gives the seconds since it began."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.last: AssistantMessage | None = None
        self.turns = 0
        self.tool_calls = 0
        self.model_s = 0.0
        self.tool_ms = 0
        self.errors: list[RequestError] = []
        self.cost = 0.0
        self.cost_known = True
        self._usage: dict[str, dict[str, int]] = {}
        self._clock = clock
        self._asked: float | None = None
        self._answering = ""
        self._summarising = ""
        self._began = 0.0

    def on_event(self, event: ev.AgentEvent) -> None:
        """Count one event."""
        match event:
            case ev.MessageUpdateEvent():
                if type(event.assistant_message_event) is Retry:
                    self._on_retry(event.assistant_message_event, self._answering)
            case ev.TurnStartEvent():
                self.turns += 1
            case ev.MessageStartEvent(message=AssistantMessage() as message):
                self._asked = self._clock()
                self._answering = f"{message.provider}/{message.model}"
            case ev.MessageEndEvent(message=AssistantMessage() as message):
                self._on_answer(message)
            case ev.MessageEndEvent(message=ToolResultMessage() as message):
                if message.usage is not None:
                    self._add(f"tool/{message.tool_name}", message.usage)
            case ev.ToolExecutionStartEvent():
                self.tool_calls += 1
            case ev.ToolExecutionEndEvent():
                self.tool_ms += event.duration_ms
            case _:
                pass

    def on_note(self, note: CompactionNote) -> None:
        """Count one step of a compaction."""
        match note:
            case CompactionStart():
                self._summarising = note.model
                self._began = self._clock()
            case CompactionEnd():
                self.model_s += self._clock() - self._began
                if note.usage.total_tokens:
                    self._add(note.model, note.usage)
            case Retry():
                self._on_retry(note, self._summarising)

    @property
    def usage(self) -> UsageSums:
        """The sums so far."""
        by_model = {key: TokenSums(**counts) for key, counts in self._usage.items()}
        total = {name: sum(counts[name] for counts in self._usage.values()) for name in COUNTS}
        return UsageSums(**total, by_model=by_model)

    def result(self, ending: Ending, *, model: str, run: str, transcript: str | None) -> RunResult:
        """The result object of a run that ended so."""
        text = self.last.text if self.last else ""
        answered = ending.code in (0, 1, 141) and bool(text.strip())
        partial = text if text.strip() and not answered else None
        return RunResult(
            status=status_of(ending.code),
            exit=exit_of(ending.code),
            reason=ending.reason,
            retryable=ending.retryable,
            answer=text if answered else None,
            partial_answer=partial,
            stop_reason=self.last.stop_reason if self.last else None,
            turns=self.turns,
            tool_calls=self.tool_calls,
            usage=self.usage,
            cost_usd=self.cost if self.cost_known and self._usage else None,
            cost_known=self.cost_known and bool(self._usage),
            errors=self.errors,
            limit=ending.limit,
            duration_ms=round(self._clock() * 1000),
            model_ms=round(self.model_s * 1000),
            tool_ms=self.tool_ms,
            model=self.last_model or model,
            run=run,
            transcript=transcript,
        )

    @property
    def last_model(self) -> str | None:
        """The `provider/id` that answered last."""
        return f"{self.last.provider}/{self.last.model}" if self.last else None

    def _on_retry(self, retry: Retry, model: str) -> None:
        if retry.usage is not None:
            self._add(retry.model or model, retry.usage)
        self.errors.append(
            RequestError(
                kind=retry.kind,
                status=retry.status,
                request_id=retry.request_id,
                attempt=retry.attempt,
                message=retry.reason,
            )
        )

    def _on_answer(self, message: AssistantMessage) -> None:
        self.last = message
        if self._asked is not None:
            self.model_s += self._clock() - self._asked
            self._asked = None
        if message.error is not None:
            info = message.error
            self.errors.append(
                RequestError(
                    kind=info.kind,
                    status=info.status,
                    request_id=info.request_id,
                    attempt=info.attempts,
                    message=info.message,
                    reset_at=rfc3339(info.reset_at) if info.reset_at is not None else None,
                )
            )
        failed = message.stop_reason in ("error", "aborted") and message.usage.total_tokens == 0
        self._add(f"{message.provider}/{message.model}", message.usage, free=failed)

    def _add(self, key: str, usage: Usage, *, free: bool = False) -> None:
        self.cost_known = self.cost_known and (usage.cost is not None or free)
        counts = self._usage.setdefault(key, dict.fromkeys(COUNTS, 0))
        for name in COUNTS:
            counts[name] += getattr(usage, name)
        if usage.cost is not None:
            self.cost += usage.cost.total


def rfc3339(unix_s: float) -> str:
    """A time in UTC, to the second."""
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
