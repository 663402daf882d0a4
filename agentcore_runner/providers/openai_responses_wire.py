"""What a Responses server sends, as lenient types: any field may be missing, null or unknown."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec

Number: TypeAlias = int | float | None
NOTHING = msgspec.Raw()


class Event(msgspec.Struct):
    """One `data:` payload. What only few events have, an item or the whole response, stays JSON until it is
    wanted. Strings of an `odd` one may hold lone surrogates."""

    type: str | None = None
    item_id: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    delta: str | None = None
    text: str | None = None
    refusal: str | None = None
    arguments: str | None = None
    item: msgspec.Raw = NOTHING
    response: msgspec.Raw = NOTHING
    error: Any = None
    odd: bool = False


class Part(msgspec.Struct, gc=False):
    """A part of a message, of a summary or of reasoning."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None


class Item(msgspec.Struct):
    """One thing that the model put out: a message, a function call, reasoning, or something else."""

    type: str | None = None
    id: str | None = None
    status: str | None = None
    content: list[Part] | None = None
    phase: str | None = None
    summary: list[Part] | None = None
    encrypted_content: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class InputDetails(msgspec.Struct, gc=False):
    cached_tokens: Number = None
    cache_write_tokens: Number = None


class OutputDetails(msgspec.Struct, gc=False):
    reasoning_tokens: Number = None


class WireUsage(msgspec.Struct):
    input_tokens: Number = None
    output_tokens: Number = None
    input_tokens_details: InputDetails | None = None
    output_tokens_details: OutputDetails | None = None


class Incomplete(msgspec.Struct, gc=False):
    reason: str | None = None


class Response(msgspec.Struct):
    """The response as a whole, as the first and the last event and an answer that is not streamed have it.
    `output` is None where there is none."""

    id: str | None = None
    model: str | None = None
    status: str | None = None
    output: list[msgspec.Raw] | None = None
    usage: WireUsage | None = None
    incomplete_details: Incomplete | None = None
    error: Any = None


S = TypeVar("S", bound=msgspec.Struct)

_event = msgspec.json.Decoder(Event).decode
_item = msgspec.json.Decoder(Item).decode
_response = msgspec.json.Decoder(Response).decode


def read_event(data: bytes) -> Event | None:
    """The payload; None when it is no JSON object. Where a field has an odd type, each field is taken for
    what it can mean."""
    try:
        return _event(data)
    except (msgspec.DecodeError, RecursionError):
        event = _tolerant(data, Event)
        if event is not None:
            event.odd = True
        return event


def read_item(data: msgspec.Raw) -> Item | None:
    """The item, read in the same way."""
    return _read(data, _item, Item)


def read_response(data: msgspec.Raw | bytes) -> Response | None:
    """The response, read in the same way."""
    return _read(data, _response, Response)


def _read(data: msgspec.Raw | bytes, decode: Callable[[msgspec.Raw | bytes], S], kind: type[S]) -> S | None:
    try:
        return decode(data)
    except (msgspec.DecodeError, RecursionError):
        return _tolerant(bytes(data), kind)


def _tolerant(data: bytes, kind: type[S]) -> S | None:
    """The slow way: the standard decoder (which lets half a surrogate pair pass), then field by field."""
    import json

    try:
        value = json.loads(data.decode("utf-8", "replace"))
        return _struct(value, kind) if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        return None


def _struct(value: dict[str, Any], kind: type[S]) -> S:
    fitting = {
        field.name: _fitting(value[field.name], field.type)
        for field in msgspec.structs.fields(kind)
        if value.get(field.name) is not None
    }
    return kind(**{name: found for name, found in fitting.items() if found is not None})


def _fitting(value: Any, kind: Any) -> Any:
    """The value as one of this type, or None."""
    if kind is msgspec.Raw:
        import json

        return msgspec.Raw(json.dumps(value).encode())
    inner = get_args(kind)
    if get_origin(kind) in (Union, types.UnionType):
        return next((found for one in inner if (found := _fitting(value, one)) is not None), None)
    if get_origin(kind) is list:
        found = [_fitting(each, inner[0]) for each in value] if isinstance(value, list) else []
        return [each for each in found if each is not None]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(value, kind) if isinstance(value, dict) else None
    try:
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, OverflowError):
        return None
