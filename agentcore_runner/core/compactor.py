"""Compacts a conversation that outgrows its model: a summary takes the place of its older part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from agentcore_runner.core import summary as say
from agentcore_runner.core.compaction import (
    Compacted,
    CompactionEnd,
    CompactionNote,
    CompactionSettings,
    CompactionStart,
    Cut,
    Reason,
    Room,
    files_of,
    find_cut,
    fit_tail,
    is_overflow,
    room_for,
)
from agentcore_runner.core.config import FitRequest, OnError
from agentcore_runner.core.estimate import Meter, message_tokens
from agentcore_runner.core.messages import AgentMessage, CompactionSummaryMessage
from agentcore_runner.core.model import Model
from agentcore_runner.core.stream import StreamFn
from agentcore_runner.core.summarise import ABORTED, Summariser, Task
from agentcore_runner.errors import CompactionError

NEARLY_FULL = 0.9
"""A conversation that has so much of the threshold after a compaction would be compacted again at once."""
SMALLEST_WINDOW = 1000
COOLDOWN_REQUESTS = 5
LONGEST_COOLDOWN = 40

OnNote: TypeAlias = Callable[[CompactionNote], Awaitable[None] | None]


class Compactor:
    """Fits one conversation into its model's window, before each request and after one that was too long.

    `model` and its `stream_fn` write the summaries, by default those of the conversation. `on_note` hears
    that a compaction starts and how it ended, and of requests that were made again; what it raises goes to
    `on_error`. After a failure the next five requests go without an attempt, then ten, up to forty; five too
    where little was gained. `now` gives Unix milliseconds.
    """

    def __init__(
        self,
        settings: CompactionSettings = CompactionSettings(),  # noqa: B008 - a frozen value
        *,
        now: Callable[[], int],
        model: Model | None = None,
        stream_fn: StreamFn | None = None,
        on_note: OnNote | None = None,
        on_error: OnError | None = None,
    ) -> None:
        self.settings = settings
        self._now = now
        self._model = model
        self._stream_fn = stream_fn
        self._on_note = on_note
        self._on_error = on_error
        self._meter = Meter()
        self._measured = ""
        self._windows: dict[str, int] = {}
        self._failures = 0
        self._cooldown = 0

    async def fit(self, request: FitRequest) -> Compacted | None:
        """The compaction that the request needs, None when it needs none or none can be made. With
        `request.answer`, whether that overflowed decides."""
        if not self.settings.enabled:
            return None
        tokens = self._measure(request)
        if request.answer is not None:
            return await self._after(request, tokens)
        if tokens <= self._room(request.model).threshold or self._cut(request) is None:
            return None
        if self._cooldown:
            self._cooldown -= 1
            return None
        return await self._try("threshold", request, tokens)

    async def compact(self, request: FitRequest, instructions: str | None = None) -> Compacted:
        """The conversation compacted now, whatever its size; `instructions` say what the summary is to look
        at. Raises CompactionError when there is nothing to compact or no summary could be had."""
        return await self._make("manual", request, self._measure(request), instructions)

    def _measure(self, request: FitRequest) -> int:
        """Tokens of the request; what one model reported says nothing about another."""
        key = request.model.key
        if key != self._measured:
            self._meter, self._measured = Meter(), key
        tokens = self._meter.measure(request.context)
        if key in self._windows:
            self._windows[key] = max(self._windows[key], self._meter.reported)
        return tokens

    async def _after(self, request: FitRequest, tokens: int) -> Compacted | None:
        """What can be done about an answer that may have overflowed."""
        model, answer = request.model, request.answer
        assert answer is not None
        if not is_overflow(answer, self._room(model).window, model.max_tokens):
            return None
        if answer.error is not None:
            # The service has a smaller window than we were told, if this was too much for it: local servers
            # often have, and would refuse all that is a little shorter. A larger report corrects it.
            known = self._windows.get(model.key, model.context_window)
            self._windows[model.key] = max(min(known, tokens), SMALLEST_WINDOW)
        return await self._try("overflow", request, tokens)

    async def _try(self, reason: Reason, request: FitRequest, tokens: int) -> Compacted | None:
        try:
            compacted = await self._make(reason, request, tokens, None)
        except CompactionError:
            if not request.signal.aborted:
                self._failures += 1
                self._cooldown = min(COOLDOWN_REQUESTS * 2 ** (self._failures - 1), LONGEST_COOLDOWN)
            return None
        gained = compacted.tokens_after <= NEARLY_FULL * self._room(request.model).threshold
        self._failures, self._cooldown = 0, 0 if gained else COOLDOWN_REQUESTS
        return compacted

    async def _make(
        self, reason: Reason, request: FitRequest, tokens: int, instructions: str | None
    ) -> Compacted:
        """Compact, and say so from start to end."""
        writer = self._writer(request)
        model = writer.model.key
        await self._note(CompactionStart(reason=reason, tokens_before=tokens, model=model))
        end = CompactionEnd(reason=reason, model=model)
        try:
            compacted = await self._compacted(request, writer, tokens, instructions)
            self._meter.restart(compacted.messages)
            end = msgspec.structs.replace(end, result=compacted, will_retry=reason == "overflow")
            return compacted
        except BaseException as exc:
            aborted = request.signal.aborted
            words = ABORTED if aborted else str(exc) or type(exc).__name__
            end = msgspec.structs.replace(end, error_message=words, aborted=aborted)
            raise
        finally:
            await self._note(msgspec.structs.replace(end, usage=writer.usage))

    async def _compacted(
        self, request: FitRequest, writer: Summariser, tokens: int, instructions: str | None
    ) -> Compacted:
        cut = self._cut(request)
        if cut is None:
            raise CompactionError("there is nothing to compact: the newest messages are all there is")
        messages, room = request.context.messages, self._room(request.model)
        history = messages[cut.begin : cut.turn]
        before = say.without_files(cut.previous) if cut.previous else None
        about = prefix = None
        if history:
            task = Task(
                messages=history,
                first=say.NEW,
                update=say.UPDATE,
                most=room.summary,
                previous=before,
            )
            about = await writer.summarise(task, instructions)
        if cut.turn < cut.end:
            begun = messages[cut.turn : cut.end]
            task = Task(
                messages=begun, first=say.PREFIX, update=say.PREFIX_UPDATE, most=max(1, room.summary // 2)
            )
            prefix = await writer.summarise(task, instructions)
        files = files_of(messages[cut.begin : cut.end], cut.previous.details if cut.previous else None)
        summary = CompactionSummaryMessage(
            summary=say.with_files(say.join_summaries(about or before, prefix), files),
            tokens_before=tokens,
            timestamp=self._now(),
            details=files,
        )
        return self._fitted(summary, messages[cut.end :], room, tokens, writer)

    def _fitted(
        self,
        summary: CompactionSummaryMessage,
        tail: list[AgentMessage],
        room: Room,
        tokens: int,
        writer: Summariser,
    ) -> Compacted:
        """The new conversation, its tail shortened where it is too large. It must be smaller than the old one
        and have room in the window."""
        meter, size = self._meter, message_tokens(summary)
        most = room.threshold / meter.ratio - meter.calibrated(size) / meter.ratio
        replaced = fit_tail(tail, most)
        tail = [replaced.get(place, message) for place, message in enumerate(tail)]
        after = meter.calibrated(size + sum(map(message_tokens, tail)))
        if after >= tokens or after > room.window:
            raise CompactionError(
                f"it would not help: about {after:,} tokens would be left of {tokens:,}, "
                f"in a window of {room.window:,}"
            )
        return Compacted(
            summary=summary,
            kept=len(tail),
            replaced=replaced,
            messages=[summary, *tail],
            tokens_before=tokens,
            tokens_after=after,
            usage=writer.usage,
        )

    def _cut(self, request: FitRequest) -> Cut | None:
        keep = self._room(request.model).keep / self._meter.ratio
        return find_cut(request.context.messages, self._meter.sums, keep)

    def _room(self, model: Model) -> Room:
        """What the model's window leaves: that of the conversation's model has the system prompt in it."""
        base = self._meter.calibrated(0) if model.key == self._measured else 0
        return room_for(self.settings, self._windows.get(model.key, model.context_window), base)

    def _writer(self, request: FitRequest) -> Summariser:
        model = self._model or request.model
        return Summariser(
            model,
            self._stream_fn or request.stream_fn,
            room=self._room(model),
            ratio=max(self._meter.ratio, 1.0),
            thinking_level=request.thinking_level,
            signal=request.signal,
            deadline=request.deadline,
            now=self._now,
            on_retry=self._note,
        )

    async def _note(self, note: CompactionNote) -> None:
        if self._on_note is None:
            return
        try:
            waiting = self._on_note(note)
            if waiting is not None:
                await waiting
        except Exception as exc:
            if self._on_error is not None:
                self._on_error(exc, "on_note")
