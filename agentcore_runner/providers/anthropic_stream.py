"""The events of the Messages API become stream events; no I/O."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec

from agentcore_runner.core.messages import StopReason, Usage
from agentcore_runner.core.model import Model, ModelCost, priced
from agentcore_runner.providers.anthropic_blocks import BlockReader
from agentcore_runner.providers.anthropic_wire import (
    Event,
    StopDetails,
    WireUsage,
    read_event,
    read_message,
)
from agentcore_runner.providers.blocks import Events
from agentcore_runner.providers.failures import RequestFailed, check_whole, failed, from_stream
from agentcore_runner.providers.lenient import count
from agentcore_runner.providers.reports import error_value
from agentcore_runner.providers.retry import Outcome
from agentcore_runner.providers.sse import ServerEvent

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "done", "stop_sequence": "done", "tool_use": "done", "pause_turn": "done",
    "max_tokens": "length", "model_context_window_exceeded": "length",
    "refusal": "refused", "sensitive": "refused",
}  # fmt: skip
EVENTS = (
    "", "message", "message_start", "message_delta", "message_stop",
    "content_block_start", "content_block_delta", "content_block_stop",
)  # fmt: skip


class MessagesDecoder:
    """Feed it the events of one answer; `finish` closes the blocks and says how the answer ended. Blocks of
    kinds that are not known, such as those of tools that the service runs itself, are left out; a missing or
    repeated id of a call is replaced by `new_id()`."""

    def __init__(
        self,
        model: Model,
        *,
        mask: Callable[[str], str] = str,
        new_id: Callable[[], str] = lambda: f"toolu_{secrets.token_hex(12)}",
    ) -> None:
        self.complete = False
        self.replayable = True
        self._model = model
        self._mask = mask
        self._blocks = BlockReader(new_id)
        self._usage = WireUsage()
        self._stop_reason: str | None = None
        self._stop_details: StopDetails | None = None
        self._response_id: str | None = None
        self._response_model: str | None = None

    @property
    def answered(self) -> bool:
        """Nothing but the last event says that the answer is whole."""
        return self.complete

    @property
    def usage(self) -> Usage | None:
        """What has been used so far; None while the server has not said."""
        if self._usage.input_tokens is None and self._usage.output_tokens is None:
            return None
        return _counted(self._usage, self._model.cost)

    def feed(self, event: ServerEvent) -> Events:
        """The events that one server event stands for, none for one that says nothing. Raises
        `RequestFailed` on an error object."""
        wire = read_event(event.data)
        if event.name == "error" or (wire is not None and (wire.error or wire.type == "error")):
            if self._stop_reason is None:
                raise self._error(event.data)
            self.complete = True  # it takes nothing from an answer that is whole
            return []
        out: Events = []
        if wire is not None:
            self._take(wire, out)
            self.replayable = not self._blocks.any_call_ended
        elif event.name in EVENTS and not event.data.startswith(b"[DONE]"):
            shown = self._mask(event.data.decode("utf-8", "replace"))[:200]
            raise failed("stream", f"the server sent an event that is no JSON object: {shown}")
        return out

    def whole(self, body: bytes) -> Events:
        """The events of an answer that came as one JSON document."""
        message = read_message(body)
        if message is None:
            check_whole(body, mask=self._mask)
        if message is None or message.type == "error" or message.content is None:
            raise self._error(body)
        out: Events = []
        self._response_id, self._response_model = message.id or None, message.model or None
        for index, block in enumerate(message.content):
            self._blocks.start(index, block, message.odd, out)
            self._blocks.stop(index, out)
        self._stop_reason, self._stop_details = message.stop_reason, message.stop_details
        self._usage = message.usage or self._usage
        self.complete = True
        self.replayable = not self._blocks.any_call_ended
        return out

    def finish(self) -> tuple[Events, Outcome]:
        """The events that close what is open, and the outcome. Raises `RequestFailed` where the stream
        ended before the answer did."""
        stop_reason = self._stopped()
        out: Events = []
        self._blocks.close(out, cut=stop_reason == "length")
        category = self._stop_details.category if self._stop_details else None
        other = self._response_model != self._model.id
        return out, Outcome(
            stop_reason=stop_reason,
            usage=self.usage or Usage(),
            raw_stop_reason=f"{self._stop_reason} ({category})" if category else self._stop_reason,
            response_model=self._response_model if other else None,
            response_id=self._response_id,
        )

    def _take(self, wire: Event, out: Events) -> None:
        match wire.type:
            case "content_block_delta":
                if wire.delta is not None:
                    self._blocks.delta(wire.index, wire.delta, wire.odd, out)
            case "content_block_start":
                if wire.content_block is not None:
                    self._blocks.start(wire.index, wire.content_block, wire.odd, out)
            case "content_block_stop":
                self._blocks.stop(wire.index, out)
            case "message_start":
                if wire.message is not None:
                    self._response_id = wire.message.id or None
                    self._response_model = wire.message.model or None
                    self._count(wire.message.usage)
            case "message_delta":
                self._count(wire.usage)
                if wire.delta is not None:
                    self._stop_reason = wire.delta.stop_reason or self._stop_reason
                    self._stop_details = wire.delta.stop_details or self._stop_details
            case "message_stop":
                self.complete = True

    def _count(self, usage: WireUsage | None) -> None:
        """Take in figures: the later ones hold, where there are any."""
        for name in WireUsage.__struct_fields__:
            value = getattr(usage, name, None)
            if value is not None:
                setattr(self._usage, name, value)

    def _stopped(self) -> StopReason:
        """How the answer ended, in our words. Raises where it did not."""
        raw = self._stop_reason
        if not self.complete:
            raise failed("stream", "the stream ended without a message_stop")
        if raw is None:
            raise failed("stream", "the stream ended without a stop_reason")
        if raw not in STOP_REASONS and self._blocks.empty:
            raise failed("stream", f"the answer broke off with stop_reason {raw!r}")
        if raw == "tool_use" and not self._blocks.any_call:
            raise failed("stream", "stop_reason is 'tool_use', but there is no tool call")
        return STOP_REASONS.get(raw, "done")

    def _error(self, data: bytes) -> RequestFailed:
        """The failure that an error object stands for; what is none of ours is told as it came."""
        value = error_value(data)
        failure = from_stream(value, mask=self._mask)
        request_id = value.get("request_id") if isinstance(value, dict) else None
        if isinstance(request_id, str):
            failure.info = msgspec.structs.replace(failure.info, request_id=self._mask(request_id))
        return failure


def _counted(wire: WireUsage, cost: ModelCost | None) -> Usage:
    """Tokens, and what they cost. Writing to the cache for an hour costs twice what input costs, whatever it
    costs for five minutes."""
    details = wire.output_tokens_details
    usage = priced(
        Usage(
            input=count(wire.input_tokens),
            output=count(wire.output_tokens),
            cache_read=count(wire.cache_read_input_tokens),
            cache_write=count(wire.cache_creation_input_tokens),
            reasoning=count(details.thinking_tokens if details else None),
        ),
        cost,
    )
    hour = count(wire.cache_creation.ephemeral_1h_input_tokens if wire.cache_creation else None)
    if not hour or cost is None or usage.cost is None:
        return usage
    rates = cost.rates(usage.input + usage.cache_read + usage.cache_write)
    dearer = usage.cost.cache_write + hour * (2 * rates.input - rates.cache_write) / 1_000_000
    return msgspec.structs.replace(usage, cost=msgspec.structs.replace(usage.cost, cache_write=dearer))
