"""What a server of the Messages API sends, as lenient types: any field may be missing, null or unknown."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from agentcore_runner.providers import lenient
from agentcore_runner.providers.transform import encode

Number: TypeAlias = int | float | None


class StopDetails(msgspec.Struct):
    category: str | None = None


class Delta(msgspec.Struct):
    """A piece of a block, or what a `message_delta` says of the whole answer."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_details: StopDetails | None = None


class Block(msgspec.Struct):
    """A block as it begins, or a whole one; `input` is its JSON as it came."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"")


class CacheCreation(msgspec.Struct):
    ephemeral_1h_input_tokens: Number = None


class OutputDetails(msgspec.Struct):
    thinking_tokens: Number = None


class WireUsage(msgspec.Struct):
    input_tokens: Number = None
    output_tokens: Number = None
    cache_read_input_tokens: Number = None
    cache_creation_input_tokens: Number = None
    cache_creation: CacheCreation | None = None
    output_tokens_details: OutputDetails | None = None


class WireMessage(msgspec.Struct):
    """The answer: its head in a stream, or all of it."""

    type: str | None = None
    id: str | None = None
    model: str | None = None
    content: list[Block] | None = None
    stop_reason: str | None = None
    stop_details: StopDetails | None = None
    usage: WireUsage | None = None
    odd: bool = False


class Event(msgspec.Struct):
    """One `data:` payload. Strings of an `odd` one may hold lone surrogates."""

    type: str | None = None
    index: int | None = None
    delta: Delta | None = None
    content_block: Block | None = None
    message: WireMessage | None = None
    usage: WireUsage | None = None
    error: Any = None
    odd: bool = False


_decode = msgspec.json.Decoder(Event).decode
_decode_message = msgspec.json.Decoder(WireMessage).decode


def read_event(data: bytes) -> Event | None:
    """The payload; None when it is no JSON object. Where a field has an odd type, each field is taken for
    what it can mean."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, RecursionError):
        value = _tolerant(data)
    if value is None:
        return None
    message, block, delta = value.get("message"), value.get("content_block"), value.get("delta")
    return Event(
        type=lenient.text(value.get("type")),
        index=lenient.whole(value.get("index")),
        delta=_delta(delta) if isinstance(delta, dict) else None,
        content_block=_block(block) if isinstance(block, dict) else None,
        message=_message(message) if isinstance(message, dict) else None,
        usage=_usage(value.get("usage")),
        error=value.get("error"),
        odd=True,
    )


def read_message(data: bytes) -> WireMessage | None:
    """An answer that is one JSON document; None when it is no JSON object."""
    try:
        return _decode_message(data)
    except (msgspec.DecodeError, RecursionError):
        value = _tolerant(data)
    return None if value is None else _message(value)


def _tolerant(data: bytes) -> dict[str, Any] | None:
    """The slow way: the standard decoder, which lets half a surrogate pair pass."""
    import json

    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _message(value: dict[str, Any]) -> WireMessage:
    content = value.get("content")
    return WireMessage(
        type=lenient.text(value.get("type")),
        id=lenient.text(value.get("id")),
        model=lenient.text(value.get("model")),
        content=[_block(lenient.mapping(item)) for item in content] if isinstance(content, list) else None,
        stop_reason=lenient.text(value.get("stop_reason")),
        stop_details=StopDetails(
            category=lenient.text(lenient.mapping(value.get("stop_details")).get("category"))
        ),
        usage=_usage(value.get("usage")),
        odd=True,
    )


def _block(value: dict[str, Any]) -> Block:
    names = ("type", "text", "thinking", "signature", "data", "id", "name")
    texts = {name: lenient.text(value.get(name)) for name in names}
    arguments = value.get("input")
    return Block(**texts, input=msgspec.Raw(b"" if arguments is None else encode(arguments)))


def _delta(value: dict[str, Any]) -> Delta:
    names = ("type", "text", "thinking", "signature", "partial_json", "stop_reason")
    texts = {name: lenient.text(value.get(name)) for name in names}
    return Delta(
        **texts,
        stop_details=StopDetails(
            category=lenient.text(lenient.mapping(value.get("stop_details")).get("category"))
        ),
    )


def _usage(value: Any) -> WireUsage | None:
    if not isinstance(value, dict):
        return None
    hour = lenient.mapping(value.get("cache_creation")).get("ephemeral_1h_input_tokens")
    thought = lenient.mapping(value.get("output_tokens_details")).get("thinking_tokens")
    return WireUsage(
        input_tokens=lenient.whole(value.get("input_tokens")),
        output_tokens=lenient.whole(value.get("output_tokens")),
        cache_read_input_tokens=lenient.whole(value.get("cache_read_input_tokens")),
        cache_creation_input_tokens=lenient.whole(value.get("cache_creation_input_tokens")),
        cache_creation=CacheCreation(ephemeral_1h_input_tokens=lenient.whole(hour)),
        output_tokens_details=OutputDetails(thinking_tokens=lenient.whole(thought)),
    )
