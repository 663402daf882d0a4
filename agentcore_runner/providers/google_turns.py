"""The messages of a conversation as turns of `generateContent`, each made and encoded once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from agentcore_runner.core.messages import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from agentcore_runner.core.model import Model
from agentcore_runner.providers.google_compat import Compat
from agentcore_runner.providers.transform import encode, without_images

NO_TEXT = "(no text)"
NO_OUTPUT = "(no output)"
IMAGES_ATTACHED = "(the image is attached)"
IMAGES_BELOW = "(the image follows below)"
IMAGES_CAPTION = "Images from the tool results above:"
GOES_ON = "(The conversation goes on.)"
"""Stands before an answer that follows no turn of the user's: the API refuses calls there."""
UNSIGNED = "skip_thought_signature_validator"
"""What the API takes for the signature of a call that another model, or nobody, has thought of."""
SIGNATURE = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
LONGEST_NAME = 128


class TurnWriter:
    """The turns in this API's words. All results of an answer's calls are one turn, in the order of the
    calls, which stays open until something else follows."""

    def __init__(self, model: Model, compat: Compat) -> None:
        self._model = model
        self._compat = compat
        self._turns: list[msgspec.Raw] = []
        self._users = False
        self._calls: dict[str, tuple[int, str]] = {}
        self._results: list[_Result] = []

    def add(self, message: Message) -> None:
        """Write the next message."""
        if isinstance(message, ToolResultMessage):
            self._results.append(self._result(message))
            return
        self._turns += self._result_turns(self._results)
        self._users = self._users or bool(self._results)
        self._calls, self._results = {}, []
        if isinstance(message, UserMessage):
            self._turns.append(_turn("user", _user(without_images(message.content, self._model))))
            self._users = True
        else:
            self._answer(message)

    def turns(self, missing: list[Message]) -> list[msgspec.Raw]:
        """Everything so far, and the results that are missing for now."""
        late = [self._result(each) for each in missing if isinstance(each, ToolResultMessage)]
        found = [*self._turns, *self._result_turns([*self._results, *late])]
        return found or [_turn("user", [_text(GOES_ON)])]

    def _answer(self, message: AssistantMessage) -> None:
        parts = _answer_parts(message.content, self._compat)
        if not parts:
            return
        if not self._users:
            self._turns.append(_turn("user", [_text(GOES_ON)]))
        self._turns.append(_turn("model", parts))
        self._users = False
        self._calls = {call.id: (at, _name(call.name)) for at, call in enumerate(message.tool_calls)}

    def _result(self, message: ToolResultMessage) -> _Result:
        content = without_images(message.content, self._model)
        images = [block for block in content if isinstance(block, ImageContent)]
        nested = self._compat.supports_images_in_results
        text = "\n".join([block.text for block in content if isinstance(block, TextContent)])
        if not text:
            text = (IMAGES_ATTACHED if nested else IMAGES_BELOW) if images else NO_OUTPUT
        at, name = self._calls.get(message.tool_call_id, (0, _name(message.tool_name)))
        response: dict[str, Any] = {"id": message.tool_call_id} if self._compat.supports_call_ids else {}
        response |= {"name": name, "response": {"error" if message.is_error else "output": text}}
        if images and nested:
            response["parts"] = [_image(image) for image in images]
        part = _raw({"functionResponse": response})
        return _Result(at=at, part=part, images=() if nested else tuple(images))

    def _result_turns(self, results: list[_Result]) -> list[msgspec.Raw]:
        """The turn of these results, and one of their images where the API takes only text in a result."""
        if not results:
            return []
        results = sorted(results, key=lambda result: result.at)
        turns = [_turn("user", [result.part for result in results])]
        images = [image for result in results for image in result.images]
        if images:
            turns.append(_turn("user", [_text(IMAGES_CAPTION), *map(_image, images)]))
        return turns


class _Result(msgspec.Struct, frozen=True, kw_only=True):
    """A result that is written; `at` is the place of its call."""

    at: int
    part: msgspec.Raw
    images: tuple[ImageContent, ...]


def _user(content: tuple[UserContent, ...]) -> list[dict[str, Any]]:
    """The parts; the API refuses a turn without any, and a text without characters."""
    parts = [
        _text(block.text) if isinstance(block, TextContent) else _image(block)
        for block in content
        if isinstance(block, ImageContent) or block.text
    ]
    return parts or [_text(NO_TEXT)]


def _answer_parts(content: Iterable[AssistantContent], compat: Compat) -> list[dict[str, Any]]:
    """The parts of an answer, with their signatures. Where the first of its calls has none, it gets the one
    that says so, in older answers too: they stay the same in every request, and are found in the cache."""
    parts: list[dict[str, Any]] = []
    unsigned = compat.requires_thought_signature
    for block in content:
        part, signature = _part(block, compat)
        if isinstance(block, ToolCall):
            signature = signature or (UNSIGNED if unsigned else None)
            unsigned = False
        if signature:
            part["thoughtSignature"] = signature
        if part.get("text") != "" or signature:
            parts.append(part)
    return parts


def _part(block: AssistantContent, compat: Compat) -> tuple[dict[str, Any], str | None]:
    match block:
        case TextContent():
            return _text(block.text), _signature(block.text_signature)
        case ThinkingContent():
            return _text(block.thinking) | {"thought": True}, _signature(block.thinking_signature)
        case ToolCall():
            call: dict[str, Any] = {"id": block.id} if compat.supports_call_ids else {}
            call |= {"name": _name(block.name), "args": block.arguments}
            return {"functionCall": call}, _signature(block.thought_signature)


def _signature(text: str | None) -> str | None:
    """The signature, if the API can read it: base64."""
    return text if text and len(text) % 4 == 0 and SIGNATURE.fullmatch(text) else None


def _name(name: str) -> str:
    """A tool's name as the API takes it; models call tools that do not exist by names that it refuses."""
    name = re.sub("[^A-Za-z0-9_.:-]", "_", name)
    return (name if re.match("[A-Za-z_]", name) else f"_{name}")[:LONGEST_NAME]


def _text(text: str) -> dict[str, Any]:
    return {"text": text}


def _image(image: ImageContent) -> dict[str, Any]:
    return {"inlineData": {"mimeType": image.mime_type, "data": image.data}}


def _turn(role: str, parts: Iterable[Any]) -> msgspec.Raw:
    return _raw({"role": role, "parts": list(parts)})


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(value))
