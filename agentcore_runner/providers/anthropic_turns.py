"""The messages of a conversation as turns of the Messages API, each made and encoded once."""

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
from agentcore_runner.providers.anthropic_compat import Compat
from agentcore_runner.providers.transform import encode, without_images

NO_OUTPUT = "(no output)"
IMAGES_ATTACHED = "(the image is attached)"
IMAGES_BELOW = "(the image follows below)"
GOES_ON = "(The conversation goes on.)"
"""Stands where the API wants a turn of the user's and there is none."""
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
LONGEST_NAME = 128


class TurnWriter:
    """The turns in this API's words, the user's and the model's by turns. All that stands between two answers
    is one turn, which stays open until the next answer."""

    def __init__(self, model: Model, compat: Compat) -> None:
        self._model = model
        self._identity = (model.provider, model.api, model.id)
        self._compat = compat
        self._mark = (
            encode({"cache_control": _cache_control(compat)}) if compat.supports_cache_control else b""
        )
        self._turns: list[msgspec.Raw] = []
        self._unthought: dict[int, msgspec.Raw] = {}
        self._results: list[msgspec.Raw] = []
        self._said: list[msgspec.Raw] = []
        self._asked: list[msgspec.Raw] = []
        self._loop_thinks = False

    @property
    def count(self) -> int:
        """Turns that are closed: what will be written stands behind them."""
        return len(self._turns)

    def add(self, message: Message) -> None:
        """Write the next message."""
        match message:
            case UserMessage():
                self._said += _blocks(without_images(message.content, self._model))
            case ToolResultMessage():
                result, images = self._result(message)
                self._results.append(result)
                self._said += images
            case AssistantMessage():
                self._answer(message)

    def in_thoughtless_loop(self, missing: list[Message]) -> bool:
        """Whether results are about to be sent for calls that came about without thinking, as those of
        another model did: what asks for thinking in such a place is refused."""
        return bool(self._results or missing) and not self._loop_thinks

    def turns(self, missing: list[Message], *, unthought: int = 0) -> list[msgspec.Raw]:
        """Everything so far, and the results that are missing for now. The last turns of the user's end with
        marks, up to which the service caches: the one before the last is where the last request ended. The
        first `unthought` turns go without their thinking."""
        turns = list(self._turns)
        for index, turn in self._unthought.items():
            if index < unthought:
                turns[index] = turn
        if self._asked and self._mark:
            turns[-2] = _turn("user", self._asked, self._mark)
        late = [self._result(each)[0] for each in missing if isinstance(each, ToolResultMessage)]
        last = [*self._results, *late, *self._said] or [_text(GOES_ON)]
        return [*turns, _turn("user", last, self._mark)]

    def _answer(self, message: AssistantMessage) -> None:
        """Close the user's turn and write the model's, if there is anything to say in it."""
        plain = [_answer_block(block) for block in message.content if _is_said(block)]
        if not plain:
            return
        blocks = [
            _answer_block(block)
            for block in message.content
            if _is_said(block) or (isinstance(block, ThinkingContent) and self._is_signed(block))
        ]
        own = (message.provider, message.api, message.model) == self._identity
        if len(blocks) > len(plain):
            self._loop_thinks = True
        elif not own or self._said or not self._results:
            # A model that has thought at the start of a loop need not think again in it.
            self._loop_thinks = False
        self._asked = [*self._results, *self._said] or [_text(GOES_ON)]
        self._results, self._said = [], []
        self._turns += [_turn("user", self._asked), _turn("assistant", blocks)]
        if self._compat.binds_thinking and len(blocks) > len(plain):
            self._unthought[len(self._turns) - 1] = _turn("assistant", plain)

    def _is_signed(self, block: ThinkingContent) -> bool:
        """Whether the API takes the thinking back."""
        empty = self._compat.allows_empty_signature and bool(block.thinking)
        return bool(block.thinking_signature) or (empty and not block.redacted)

    def _result(self, message: ToolResultMessage) -> tuple[msgspec.Raw, list[msgspec.Raw]]:
        """The result, and the images that must follow all results: the API takes none in a failure."""
        content = without_images(message.content, self._model)
        words = [_image(block) if isinstance(block, ImageContent) else block for block in content]
        text = "\n".join([block.text for block in words if isinstance(block, TextContent)])
        images = [_raw(block) for block in words if isinstance(block, dict)]
        inside: list[msgspec.Raw] | str = text if text.strip() else NO_OUTPUT
        below: list[msgspec.Raw] = []
        if images and message.is_error:
            inside = text if text.strip() else IMAGES_BELOW
            below = [_text(f"From the result of {message.tool_name or 'the tool'}:"), *images]
        elif images:
            inside = [_text(text if text.strip() else IMAGES_ATTACHED), *images]
        result = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": inside}
        return _raw(result | ({"is_error": True} if message.is_error else {})), below


def cached(block: dict[str, Any], compat: Compat) -> dict[str, Any]:
    """The block with a mark up to which the service caches, where there are such marks."""
    return block | {"cache_control": _cache_control(compat)} if compat.supports_cache_control else block


def _cache_control(compat: Compat) -> dict[str, str]:
    """Five minutes are meant where nothing is said."""
    return {"type": "ephemeral"} | ({} if compat.cache_ttl == "5m" else {"ttl": compat.cache_ttl})


def _blocks(content: tuple[UserContent, ...]) -> list[msgspec.Raw]:
    """The blocks of a user's message. The API refuses a text of nothing but white space."""
    found = []
    for block in content:
        made = _image(block) if isinstance(block, ImageContent) else block
        if isinstance(made, dict):
            found.append(_raw(made))
        elif made.text.strip():
            found.append(_text(made.text))
    return found


def _is_said(block: AssistantContent) -> bool:
    return isinstance(block, ToolCall) or (isinstance(block, TextContent) and bool(block.text.strip()))


def _answer_block(block: AssistantContent) -> msgspec.Raw:
    match block:
        case TextContent():
            return _text(block.text)
        case ThinkingContent(redacted=True):
            return _raw({"type": "redacted_thinking", "data": block.thinking_signature})
        case ThinkingContent():
            signature = block.thinking_signature or ""
            return _raw({"type": "thinking", "thinking": block.thinking, "signature": signature})
        case ToolCall():
            name = re.sub("[^A-Za-z0-9_-]", "_", block.name)[:LONGEST_NAME] or "_"
            return _raw({"type": "tool_use", "id": block.id, "name": name, "input": block.arguments})


def _image(image: ImageContent) -> dict[str, Any] | TextContent:
    """The image, or a line of text in place of one that the API refuses."""
    kind = "image/jpeg" if image.mime_type == "image/jpg" else image.mime_type
    if kind not in IMAGE_TYPES:
        return TextContent(text=f"[{image.mime_type} left out: only JPEG, PNG, GIF and WebP can be sent]")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": image.data}}


def _text(text: str) -> msgspec.Raw:
    return _raw({"type": "text", "text": text})


def _turn(role: str, blocks: Iterable[msgspec.Raw], mark: bytes = b"") -> msgspec.Raw:
    """The blocks as a message; `mark` is an object whose key the last block gets besides."""
    content = b",".join([bytes(block) for block in blocks])
    if mark:
        content = content[:-1] + b"," + mark[1:]
    return msgspec.Raw(b'{"role":"' + role.encode() + b'","content":[' + content + b"]}")


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(value))
