"""Events of the Responses API become stream events; no I/O."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from agentcore_runner.core.messages import StopReason, Usage
from agentcore_runner.core.model import Model, priced
from agentcore_runner.providers.blocks import Events
from agentcore_runner.providers.failures import RequestFailed, check_whole, failed, from_stream
from agentcore_runner.providers.lenient import count
from agentcore_runner.providers.openai_responses_items import text_signature
from agentcore_runner.providers.openai_responses_slots import BETWEEN, Kind, Slot, Slots
from agentcore_runner.providers.openai_responses_wire import (
    Event,
    Item,
    Part,
    Response,
    WireUsage,
    read_event,
    read_item,
    read_response,
)
from agentcore_runner.providers.reports import error_value
from agentcore_runner.providers.retry import Outcome
from agentcore_runner.providers.sse import ServerEvent

PIECES: dict[str | None, Kind] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "call",
}
FINISHED: dict[str | None, Kind] = {
    "response.output_text.done": "text",
    "response.refusal.done": "text",
    "response.reasoning_summary_text.done": "thinking",
    "response.reasoning_text.done": "thinking",
    "response.function_call_arguments.done": "call",
}
LAST = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
    "response.done": "completed",
}
"""The events that end a stream, and the status that they stand for where the response has none."""
STATUSES = tuple(LAST.values())
CUT = ("max_output_tokens", "max_tokens", "length")
SOON = re.compile(r"try again in (\d+(?:\.\d+)?) ?(ms|s)\b", re.I)


class ResponsesDecoder:
    """Feed it the events of one answer; `finish` says how the answer ended."""

    def __init__(
        self,
        model: Model,
        *,
        mask: Callable[[str], str] = str,
        new_id: Callable[[], str] = lambda: f"call_{secrets.token_hex(12)}",
    ) -> None:
        self.replayable = True
        self._model = model
        self._mask = mask
        self._slots = Slots(new_id)
        self._refused = False
        self._first = Response()
        self._last: Response | None = None
        self._usage: WireUsage | None = None
        self._stop: tuple[StopReason, str] = ("done", "")

    @property
    def answered(self) -> bool:
        """The response has ended; nothing may follow."""
        return self._last is not None

    @property
    def complete(self) -> bool:
        """The same: the last event brings the figures."""
        return self.answered

    @property
    def usage(self) -> Usage | None:
        """What has been used; None while the server has not said."""
        wire = self._usage
        if wire is None or (wire.input_tokens is None and wire.output_tokens is None):
            return None
        return priced(_counted(wire), self._model.cost)

    def feed(self, event: ServerEvent) -> Events:
        """The events that one server event stands for, none for one that says nothing. Raises
        `RequestFailed` on an error, and on the end of a response that failed."""
        data = event.data
        if data.startswith(b"[DONE]"):
            return []
        wire = read_event(data)
        out: Events = []
        if wire is None:
            if event.name in ("", "message") or event.name.startswith("response."):
                shown = self._mask(data.decode("utf-8", "replace"))[:200]
                raise failed("stream", f"the server sent an event that is no JSON object: {shown}")
        elif "error" in (event.name, wire.type) or (wire.error and not wire.type):
            raise self._error(_value(data))
        else:
            self._take(wire, wire.type or event.name, out)
        return out

    def whole(self, body: bytes) -> Events:
        """The events of an answer that came as one JSON document."""
        response = read_response(body)
        if response is None or response.error or (response.output is None and not response.status):
            check_whole(body, mask=self._mask)
            raise self._error(_value(body))
        out: Events = []
        self._end(response, response.status or "completed", out)
        return out

    def finish(self) -> tuple[Events, Outcome]:
        """No more events, and the outcome. Raises `RequestFailed` where the stream ended before the answer
        did."""
        if self._last is None:
            raise failed("stream", "the stream ended before the response did (no response.completed)")
        stop_reason, raw = self._stop
        model = self._first.model or self._last.model
        return [], Outcome(
            stop_reason="refused" if self._refused else stop_reason,
            usage=self.usage or Usage(),
            raw_stop_reason=raw,
            response_model=model if model != self._model.id else None,
            response_id=self._first.id or self._last.id,
        )

    def _take(self, wire: Event, name: str, out: Events) -> None:
        if (kind := PIECES.get(name)) is not None:
            if wire.delta:
                self._refused = self._refused or name == "response.refusal.delta"
                self._slots.find(wire, kind, out).add(wire.delta, _part(wire), wire.odd, out)
        elif (kind := FINISHED.get(name)) is not None:
            text = wire.text or wire.refusal or wire.arguments
            if text:
                self._refused = self._refused or bool(wire.refusal)
                self._slots.find(wire, kind, out).settle(_part(wire), text)
        elif name == "response.output_item.added":
            item = read_item(wire.item)
            if item is not None:
                self._slots.begin(item, wire.output_index, out)
        elif name == "response.output_item.done":
            self._take_item(wire.item, wire.output_index, out)
        elif name == "response.created":
            self._first = read_response(wire.response) or self._first
        elif name in LAST:
            response = read_response(wire.response) or Response()
            self._end(response, response.status if response.status in STATUSES else LAST[name], out)

    def _take_item(self, data: msgspec.Raw, output_index: int | None, out: Events) -> None:
        """An item that is whole, whatever its pieces were."""
        item = read_item(data)
        if item is not None:
            self._close(self._slots.end(item, output_index, out), item, data, out)

    def _close(self, slot: Slot, item: Item, data: msgspec.Raw, out: Events) -> None:
        if not slot.open:
            return
        if slot.kind == "text":
            parts = item.content or []
            self._refused = self._refused or any(part.refusal for part in parts)
            signature = text_signature(item.id, item.phase)
            slot.close(out, whole=_joined(parts, BETWEEN["text"]), signature=signature)
        elif slot.kind == "thinking":
            parts = [*(item.summary or []), *(item.content or [])]
            signature = bytes(data).decode("utf-8", "replace")
            slot.close(out, whole=_joined(parts, BETWEEN["thinking"]), signature=signature)
        else:
            cut = item.status == "incomplete"
            slot.close(out, whole=item.arguments or "", signature=item.id or None, cut=cut)
            self.replayable = self.replayable and slot.kind != "call"

    def _end(self, response: Response, status: str, out: Events) -> None:
        """The response has ended. Raises `RequestFailed` where it failed."""
        self._usage = response.usage
        reason = response.incomplete_details.reason if response.incomplete_details else None
        if status == "completed":
            self._stop = ("done", status)
        elif status == "incomplete" and reason in (*CUT, None):
            self._stop = ("length", reason or status)
        elif status == "incomplete" and reason == "content_filter":
            self._stop = ("refused", reason)
        elif response.error:
            raise self._error(response.error)
        else:
            why = f"status {status!r}" + (f", {reason!r}" if reason else "")
            raise failed("stream", f"the answer broke off with {self._mask(why)}")
        self._take_output(response.output or [], out)
        for slot in self._slots.all:
            slot.close(out, cut=self._stop[0] == "length")
        self._last = response

    def _take_output(self, output: list[msgspec.Raw], out: Events) -> None:
        """What the whole response has and the events before did not: all of it, or the ends of items."""
        if not self._slots.all:
            for at, data in enumerate(output):
                self._take_item(data, at, out)
            return
        waiting = {slot.item_id: slot for slot in self._slots.all if slot.open and slot.item_id}
        for data in output if waiting else ():
            item = read_item(data)
            if item is not None and (slot := waiting.get(item.id or "")) is not None:
                self._close(slot, item, data, out)

    def _error(self, value: Any) -> RequestFailed:
        """The failure that an error object stands for, with the pause that its words ask for."""
        failure = from_stream(value, mask=self._mask)
        soon = SOON.search(failure.info.message) if failure.info.kind == "rate_limit" else None
        if soon is not None:
            failure.wait = float(soon[1]) / (1000 if soon[2].lower() == "ms" else 1)
        return failure


def _part(wire: Event) -> object:
    """What tells the parts of an item apart."""
    return (wire.summary_index, wire.content_index)


def _joined(parts: list[Part], between: str) -> str:
    return between.join([text for part in parts if (text := part.text or part.refusal)])


def _value(data: bytes) -> Any:
    """The JSON of an error, or its text; what else stands around it in an event is left out."""
    value = error_value(data)
    if not isinstance(value, dict) or value.get("error"):
        return value
    if value.get("type") == "error":
        value = {name: each for name, each in value.items() if name not in ("type", "sequence_number")}
    return value


def _counted(wire: WireUsage) -> Usage:
    """Tokens, with the cached ones taken out of the input."""
    details, made = wire.input_tokens_details, wire.output_tokens_details
    cached = count(details.cached_tokens if details else None)
    written = count(details.cache_write_tokens if details else None)
    return Usage(
        input=max(0, count(wire.input_tokens) - cached - written),
        output=count(wire.output_tokens),
        cache_read=cached,
        cache_write=written,
        reasoning=count(made.reasoning_tokens if made else None),
    )
