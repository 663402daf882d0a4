"""Chat Completions events become stream events; no I/O."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from agentcore_runner.characters import Halves
from agentcore_runner.core.messages import StopReason, Usage
from agentcore_runner.core.model import Model, priced
from agentcore_runner.providers.blocks import Blocks, Events, OpenCall
from agentcore_runner.providers.failures import RequestFailed, check_whole, failed, from_stream
from agentcore_runner.providers.lenient import count
from agentcore_runner.providers.openai_chat_wire import Chunk, Delta, ToolDelta, WireUsage, read_chunk
from agentcore_runner.providers.reports import error_value
from agentcore_runner.providers.retry import Outcome
from agentcore_runner.providers.sse import ServerEvent
from agentcore_runner.providers.transform import REASONING_FIELDS

STOP_REASONS: dict[str, StopReason] = {
    "stop": "done", "end": "done", "eos": "done", "tool_calls": "done", "function_call": "done",
    "length": "length", "content_filter": "refused",
}  # fmt: skip
FAULTS = ("error", "network_error", "insufficient_system_resource")
"""Finish reasons that say that the answer broke off."""


class ChatDecoder:
    """Feed it the events of one answer; `finish` closes the blocks and says how the answer ended."""

    def __init__(
        self,
        model: Model,
        *,
        needs_finish_reason: bool = True,
        mask: Callable[[str], str] = str,
        new_id: Callable[[], str] = lambda: f"call_{secrets.token_hex(12)}",
    ) -> None:
        self.answered = False
        self.complete = False
        self._model = model
        self._needs_finish_reason = needs_finish_reason
        self._mask = mask
        self._blocks = Blocks()
        self._calls = Calls(self._blocks, new_id)
        self._done = False
        self._said = False
        self._refused = False
        self._halves = Halves()
        self._usage: WireUsage | None = None
        self._finish_reason: str | None = None
        self._response_id: str | None = None
        self._response_model: str | None = None

    @property
    def replayable(self) -> bool:
        """No tool call is complete yet."""
        return self._blocks.call_count < 2

    @property
    def usage(self) -> Usage | None:
        """What has been used so far; None while the server has not said."""
        wire = self._usage
        if wire is None or (wire.prompt_tokens is None and wire.completion_tokens is None):
            return None
        return priced(_counted(wire), self._model.cost)

    def feed(self, event: ServerEvent) -> Events:
        """The events that one server event stands for, none for one that says nothing. Raises
        `RequestFailed` on an error object."""
        data = event.data
        if data.startswith(b"[DONE]"):
            self._done = self.complete = True
            return []
        chunk = read_chunk(data)
        if self.answered and self._finish_reason not in FAULTS and _says_nothing(event, chunk):
            return []
        if event.name == "error" or (chunk is not None and chunk.error):
            raise self._error(data)
        out: Events = []
        if chunk is not None:
            self._take(chunk, out)
        elif event.name in ("", "message"):
            shown = self._mask(data.decode("utf-8", "replace"))[:200]
            raise failed("stream", f"the server sent an event that is no JSON object: {shown}")
        return out

    def whole(self, body: bytes) -> Events:
        """The events of an answer that came as one JSON document."""
        chunk = read_chunk(body)
        if chunk is None or chunk.error or not chunk.choices:
            check_whole(body, mask=self._mask)
            raise self._error(body)
        for choice in chunk.choices:
            calls = choice.message.tool_calls if choice.message else None
            for index, call in enumerate(calls or ()):
                call.index = index
        out: Events = []
        self._take(chunk, out)
        self._done = True
        return out

    def finish(self) -> tuple[Events, Outcome]:
        """The events that close what is open, and the outcome. Raises `RequestFailed` where the stream
        ended before the answer did."""
        stop_reason = self._stop_reason()
        out: Events = []
        if self._halves.pending:
            self._blocks.lost_half(out)
        self._blocks.close(out, cut=stop_reason == "length")
        other = self._response_model != self._model.id
        return out, Outcome(
            stop_reason=stop_reason,
            usage=self.usage or Usage(),
            raw_stop_reason=self._finish_reason,
            response_model=self._response_model if other else None,
            response_id=self._response_id,
        )

    def _take(self, chunk: Chunk, out: Events) -> None:
        """Take in a chunk. Of several choices only the first is the answer."""
        if self._response_id is None:
            self._response_id, self._response_model = chunk.id or None, chunk.model or None
        usage = chunk.usage
        for choice in chunk.choices or ():
            if choice.index:
                continue
            delta = choice.delta or choice.message
            if delta is not None:
                self._take_delta(delta, chunk.odd, out)
            if choice.finish_reason:
                self._finish_reason = choice.finish_reason
                self.answered = True
            usage = usage or choice.usage
        if usage is not None:
            self._usage = usage
            self.complete = self.complete or self.answered

    def _take_delta(self, delta: Delta, odd: bool, out: Events) -> None:
        mend = odd or self._halves.pending
        thinking = delta.reasoning_content or delta.reasoning or delta.reasoning_text
        if thinking and (text := self._halves.feed(thinking) if mend else thinking):
            field = next(name for name in REASONING_FIELDS if getattr(delta, name))
            self._blocks.thinking(text, out, field)
        if delta.content:
            self._said = True
            if text := self._halves.feed(delta.content) if mend else delta.content:
                self._blocks.text(text, out)
        if delta.refusal:
            self._refused = True
            if text := self._halves.feed(delta.refusal) if mend else delta.refusal:
                self._blocks.text(text, out)
        for call in delta.tool_calls or ():
            self._calls.take(call, out)

    def _stop_reason(self) -> StopReason:
        """How the answer ended, in our words. Raises where it did not."""
        raw = self._finish_reason
        content = self._said or self._refused or self._blocks.call_count > 0
        if raw is None and not (content and (self._done or not self._needs_finish_reason)):
            how = "without a finish_reason" if content else "without an answer"
            raise failed("stream", f"the stream ended {how}")
        if raw in FAULTS or (raw is not None and raw not in STOP_REASONS and not content):
            raise failed("stream", f"the answer broke off with finish_reason {raw!r}")
        if raw in ("tool_calls", "function_call") and not self._blocks.call_count:
            raise failed("stream", f"finish_reason is {raw!r}, but there is no tool call")
        return "refused" if self._refused else STOP_REASONS.get(raw or "stop", "done")

    def _error(self, data: bytes) -> RequestFailed:
        """The failure that an error object stands for; what is none of ours is told as it came."""
        return from_stream(error_value(data), mask=self._mask)


def _says_nothing(event: ServerEvent, chunk: Chunk | None) -> bool:
    """An error or a broken event: it takes nothing from an answer that is whole."""
    return event.name == "error" or chunk is None or bool(chunk.error)


class Calls:
    """Finds the tool call that a delta belongs to, with all that servers get wrong about it: by index, else
    by id, else it is the last call. The first id of a call stays its id, whatever follows; a missing or
    repeated one is replaced by `new_id()`."""

    def __init__(self, blocks: Blocks, new_id: Callable[[], str]) -> None:
        self._blocks = blocks
        self._new_id = new_id
        self._by_index: dict[int, OpenCall] = {}
        self._by_id: dict[str, OpenCall] = {}
        self._last: OpenCall | None = None

    def take(self, delta: ToolDelta, out: Events) -> None:
        """Take in one delta. A call starts with its first arguments, when its name is whole: some servers
        send it in pieces, others again and again."""
        function = delta.function
        name = (function.name if function else None) or ""
        arguments = (function.arguments if function else None) or ""
        call = self._find(delta, name) or self._begin(delta, out)
        self._last = call
        if name and not call.started and name != call.name:
            call.name += name
        if not arguments:
            return
        if call.started:
            self._blocks.arguments(call, arguments, out)
        elif call.name:
            early, call.parts = "".join(call.parts), []
            self._blocks.start(call, out)
            self._blocks.arguments(call, early + arguments, out)
        else:
            call.parts.append(arguments)

    def _find(self, delta: ToolDelta, name: str) -> OpenCall | None:
        if delta.index is not None:
            return self._by_index.get(delta.index)
        if delta.id:
            return self._by_id.get(delta.id) or (None if name else self._last)
        repeats = self._last is not None and name in ("", self._last.name) and not self._last.parts
        return self._last if not name or repeats else None

    def _begin(self, delta: ToolDelta, out: Events) -> OpenCall:
        known = delta.id if delta.id and delta.id not in self._by_id else self._new_id()
        call = self._blocks.call(known, out)
        self._by_id[known] = call
        if delta.index is not None:
            self._by_index[delta.index] = call
        return call


def _counted(wire: WireUsage) -> Usage:
    """Tokens, with the cached ones taken out of the input wherever the server puts their number."""
    prompt, completion = wire.prompt_tokens_details, wire.completion_tokens_details
    written = count(prompt.cache_write_tokens if prompt else None)
    inside = prompt.cached_tokens if prompt else None
    cached = count(inside or wire.prompt_cache_hit_tokens or wire.cached_tokens)
    return Usage(
        input=max(0, count(wire.prompt_tokens) - cached - written),
        output=count(wire.completion_tokens),
        cache_read=cached,
        cache_write=written,
        reasoning=count(completion.reasoning_tokens if completion else None),
    )
