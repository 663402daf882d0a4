"""What generateContent sends, as lenient types: any field may be missing, null or unknown."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from agentcore_runner.providers import lenient
from agentcore_runner.providers.transform import encode

Number: TypeAlias = int | float | None


class FunctionCall(msgspec.Struct):
    """A call; `args` is its JSON as it came."""

    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = msgspec.Raw(b"")


class Blob(msgspec.Struct, rename="camel"):
    mime_type: str | None = None


class Code(msgspec.Struct):
    """Code that the service ran itself, or what came of it."""

    code: str | None = None
    output: str | None = None


class Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    inline_data: Blob | None = None
    executable_code: Code | None = None
    code_execution_result: Code | None = None


class Content(msgspec.Struct):
    parts: list[Part] | None = None


class Candidate(msgspec.Struct, rename="camel"):
    index: int | None = None
    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class WireUsage(msgspec.Struct, rename="camel"):
    prompt_token_count: Number = None
    cached_content_token_count: Number = None
    tool_use_prompt_token_count: Number = None
    candidates_token_count: Number = None
    thoughts_token_count: Number = None


class Chunk(msgspec.Struct, rename="camel"):
    """One `data:` payload, or a whole answer. Strings of an `odd` one may hold lone surrogates."""

    candidates: list[Candidate] | None = None
    prompt_feedback: Feedback | None = None
    usage_metadata: WireUsage | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Any = None
    odd: bool = False


_decode = msgspec.json.Decoder(Chunk).decode
_decode_list = msgspec.json.Decoder(list[Chunk]).decode


def read_chunks(data: bytes) -> list[Chunk] | None:
    """The payload, or all of them where it is a list; None when it is neither an object nor a list of some.
    Where a field has an odd type, each field is taken for what it can mean."""
    try:
        return [_decode(data)] if data.startswith(b"{") else _decode_list(data)
    except (msgspec.DecodeError, RecursionError):
        return _tolerant(data)


def _tolerant(data: bytes) -> list[Chunk] | None:
    """The slow way: the standard decoder (which lets half a surrogate pair pass), then field by field."""
    import json

    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in values):
        return None
    return [_chunk(item) for item in values]


def _chunk(value: dict[str, Any]) -> Chunk:
    feedback = value.get("promptFeedback")
    return Chunk(
        candidates=[_candidate(lenient.mapping(item)) for item in lenient.items(value.get("candidates"))],
        prompt_feedback=Feedback(block_reason=lenient.text(lenient.mapping(feedback).get("blockReason"))),
        usage_metadata=_usage(value.get("usageMetadata")),
        model_version=lenient.text(value.get("modelVersion")),
        response_id=lenient.text(value.get("responseId")),
        error=value.get("error"),
        odd=True,
    )


def _candidate(value: dict[str, Any]) -> Candidate:
    parts = lenient.items(lenient.mapping(value.get("content")).get("parts"))
    return Candidate(
        index=lenient.whole(value.get("index")),
        content=Content(parts=[_part(lenient.mapping(item)) for item in parts]),
        finish_reason=lenient.text(value.get("finishReason")),
        finish_message=lenient.text(value.get("finishMessage")),
    )


def _part(value: dict[str, Any]) -> Part:
    blob = value.get("inlineData")
    call = value.get("functionCall")
    return Part(
        text=lenient.text(value.get("text")),
        thought=value.get("thought") is True,
        thought_signature=lenient.text(value.get("thoughtSignature")),
        function_call=_call(call) if isinstance(call, dict) else None,
        inline_data=Blob(mime_type=lenient.text(blob.get("mimeType"))) if isinstance(blob, dict) else None,
        executable_code=_code(value.get("executableCode")),
        code_execution_result=_code(value.get("codeExecutionResult")),
    )


def _call(value: dict[str, Any]) -> FunctionCall:
    args = value.get("args")
    raw = msgspec.Raw(b"" if args is None else encode(args))
    return FunctionCall(id=lenient.text(value.get("id")), name=lenient.text(value.get("name")), args=raw)


def _code(value: Any) -> Code | None:
    if not isinstance(value, dict):
        return None
    return Code(code=lenient.text(value.get("code")), output=lenient.text(value.get("output")))


def _usage(value: Any) -> WireUsage | None:
    if not isinstance(value, dict):
        return None
    return WireUsage(
        prompt_token_count=lenient.whole(value.get("promptTokenCount")),
        cached_content_token_count=lenient.whole(value.get("cachedContentTokenCount")),
        tool_use_prompt_token_count=lenient.whole(value.get("toolUsePromptTokenCount")),
        candidates_token_count=lenient.whole(value.get("candidatesTokenCount")),
        thoughts_token_count=lenient.whole(value.get("thoughtsTokenCount")),
    )
