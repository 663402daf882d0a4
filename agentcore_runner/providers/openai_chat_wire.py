"""What a Chat Completions server sends, as lenient types: any field may be missing, null or unknown."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from agentcore_runner.providers import lenient

Number: TypeAlias = int | float | None


class Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class ToolDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    """A `delta`, or the whole `message` of an answer that is not streamed."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolDelta] | None = None


class Details(msgspec.Struct, gc=False):
    cached_tokens: Number = None
    cache_write_tokens: Number = None
    reasoning_tokens: Number = None


class WireUsage(msgspec.Struct):
    prompt_tokens: Number = None
    completion_tokens: Number = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None
    prompt_cache_hit_tokens: Number = None
    cached_tokens: Number = None


class Choice(msgspec.Struct):
    index: int | None = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    usage: WireUsage | None = None


class Chunk(msgspec.Struct):
    """One `data:` payload, or a whole answer. Strings of an `odd` one may hold lone surrogates."""

    id: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: WireUsage | None = None
    error: Any = None
    odd: bool = False


_decode = msgspec.json.Decoder(Chunk).decode


def read_chunk(data: bytes) -> Chunk | None:
    """The payload; None when it is no JSON object. Where a field has an odd type, each field is taken for
    what it can mean."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return _tolerant(data)


def _tolerant(data: bytes) -> Chunk | None:
    """The slow way: the standard decoder (which lets half a surrogate pair pass), then field by field."""
    import json

    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return Chunk(
        id=_text(value.get("id")),
        model=_text(value.get("model")),
        choices=[_choice(item) for item in lenient.items(value.get("choices"))],
        usage=_usage(value.get("usage")),
        error=value.get("error"),
        odd=True,
    )


def _choice(value: Any) -> Choice:
    value = lenient.mapping(value)
    return Choice(
        index=lenient.whole(value.get("index")),
        delta=_delta(value.get("delta")),
        message=_delta(value.get("message")),
        finish_reason=_text(value.get("finish_reason")),
        usage=_usage(value.get("usage")),
    )


def _delta(value: Any) -> Delta | None:
    if not isinstance(value, dict):
        return None
    content = value.get("content")
    return Delta(
        content=_text(content),
        reasoning_content=_text(value.get("reasoning_content")) or _thoughts(content),
        reasoning=_text(value.get("reasoning")),
        reasoning_text=_text(value.get("reasoning_text")),
        refusal=_text(value.get("refusal")),
        tool_calls=[_tool_delta(item) for item in lenient.items(value.get("tool_calls"))],
    )


def _tool_delta(value: Any) -> ToolDelta:
    value = lenient.mapping(value)
    function = lenient.mapping(value.get("function"))
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = msgspec.json.encode(arguments).decode()
    return ToolDelta(
        index=lenient.whole(value.get("index")),
        id=_text(value.get("id")),
        function=Function(name=_text(function.get("name")), arguments=_text(arguments)),
    )


def _usage(value: Any) -> WireUsage | None:
    if not isinstance(value, dict):
        return None
    names = ("prompt_tokens", "completion_tokens", "prompt_cache_hit_tokens", "cached_tokens")
    return WireUsage(
        **{name: lenient.whole(value.get(name)) for name in names},
        prompt_tokens_details=_details(value.get("prompt_tokens_details")),
        completion_tokens_details=_details(value.get("completion_tokens_details")),
    )


def _details(value: Any) -> Details:
    value = lenient.mapping(value)
    names = ("cached_tokens", "cache_write_tokens", "reasoning_tokens")
    return Details(**{name: lenient.whole(value.get(name)) for name in names})


def _text(value: Any) -> str | None:
    """A string, a number as its digits, or the joined `text` of a list of parts."""
    if isinstance(value, list):
        return "".join([_text(lenient.mapping(part).get("text")) or "" for part in value])
    return lenient.text(value)


def _thoughts(content: Any) -> str | None:
    """The thinking among the parts of a content, as Mistral sends it."""
    return (
        "".join([_text(lenient.mapping(part).get("thinking")) or "" for part in lenient.items(content)])
        or None
    )
