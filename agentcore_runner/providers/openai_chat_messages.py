"""Messages in the words of Chat Completions, each made and encoded once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from agentcore_runner.core.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from agentcore_runner.core.model import Model
from agentcore_runner.providers.openai_chat_compat import Compat
from agentcore_runner.providers.transform import REASONING_FIELDS, encode, without_images

NO_OUTPUT = "(no output)"
IMAGES_BELOW = "(the image follows below)"
IMAGES_CAPTION = "Images from the tool results above:"
BRIDGE = "I have the results of the tools."
CACHED = {"cache_control": {"type": "ephemeral"}}
"""Marks the end of what a server should keep, in Anthropic's words."""
MAX_ID = 40
NINE = re.compile(r"[A-Za-z0-9]{9}")


class ChatWriter:
    """The messages in this API's words, each encoded once."""

    def __init__(self, model: Model, compat: Compat) -> None:
        self._model = model
        self._compat = compat
        self._pieces: list[msgspec.Raw] = []
        self._last: dict[str, Any] = {}
        self._images: list[ImageContent] = []
        self._after_result = False

    def add(self, message: Message) -> None:
        """Write the next message."""
        if isinstance(message, ToolResultMessage):
            self._write(self._result(message))
            self._images += _images(message.content) if "image" in self._model.input else []
            self._after_result = True
            return
        for item in self._after_results(bridge=isinstance(message, UserMessage)):
            self._write(item)
        self._images, self._after_result = [], False
        if isinstance(message, UserMessage):
            self._write(_user(without_images(message.content, self._model)))
        else:
            self._write(self._assistant(message))

    def pieces(self, missing: list[Message]) -> list[msgspec.Raw]:
        """Everything so far, and what must follow it for now: missing results and images of results. The last
        message bears the mark for the server's cache, if it wants one."""
        rest = [self._result(each) for each in missing if isinstance(each, ToolResultMessage)]
        rest += self._after_results(bridge=False)
        if rest:
            rest[-1] = marked(rest[-1], self._compat)
            return [*self._pieces, *[raw(item) for item in rest]]
        if self._pieces and self._compat.cache_control_format != "none":
            return [*self._pieces[:-1], raw(marked(self._last, self._compat))]
        return self._pieces

    def _write(self, item: dict[str, Any]) -> None:
        self._pieces.append(raw(item))
        self._last = item

    def _after_results(self, *, bridge: bool) -> list[dict[str, Any]]:
        """The images of the tool results that have just ended, in a message of their own: the API takes only
        text in a result. The `bridge` is for servers that allow no user message after a result."""
        items: list[dict[str, Any]] = []
        if (
            self._after_result
            and self._compat.requires_assistant_after_tool_result
            and (bridge or self._images)
        ):
            items.append({"role": "assistant", "content": BRIDGE})
        if self._images:
            items.append(_user((TextContent(text=IMAGES_CAPTION), *self._images)))
        return items

    def _assistant(self, message: AssistantMessage) -> dict[str, Any]:
        """One string of text, the calls, and thinking as the server takes it back. The arguments of a
        malformed call become an empty object: servers refuse anything but JSON, and its result says what was
        wrong."""
        item: dict[str, Any] = {"role": "assistant", "content": message.text or None}
        for field, thought in _thoughts(message).items():
            if self._compat.requires_thinking_as_text:
                item["content"] = "\n\n".join(filter(None, (thought, item["content"])))
            elif self._compat.thinking_replay == "chunks":
                item["content"] = _chunks(thought, message.text)
            elif self._compat.thinking_replay == "field":
                item[field] = thought
        if self._compat.requires_reasoning_content_on_assistant_messages and self._model.reasoning:
            item.setdefault(REASONING_FIELDS[0], "")
        if message.tool_calls:
            item["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": encode(call.arguments).decode()},
                }
                for call in message.tool_calls
            ]
        return item

    def _result(self, message: ToolResultMessage) -> dict[str, Any]:
        content = without_images(message.content, self._model)
        text = "\n".join([block.text for block in content if isinstance(block, TextContent)])
        result = {
            "role": "tool",
            "tool_call_id": message.tool_call_id,
            "content": text or (IMAGES_BELOW if _images(content) else NO_OUTPUT),
        }
        if self._compat.requires_tool_result_name:
            result["name"] = message.tool_name
        return result


def _user(content: tuple[UserContent, ...]) -> dict[str, Any]:
    """One string where there is only text: every server takes that."""
    if not _images(content):
        text = "\n".join([block.text for block in content if isinstance(block, TextContent)])
        return {"role": "user", "content": text}
    return {"role": "user", "content": [_part(block) for block in content]}


def _part(block: UserContent) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _thoughts(message: AssistantMessage) -> dict[str, str]:
    """The thinking of an answer, by the field that it came in."""
    found: dict[str, str] = {}
    for block in message.content:
        if isinstance(block, ThinkingContent) and block.thinking_signature in REASONING_FIELDS:
            field = block.thinking_signature
            found[field] = found.get(field, "") + block.thinking
    return found


def _chunks(thought: str, text: str) -> list[dict[str, Any]]:
    """Thinking and text as Mistral writes them."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}
    return [thinking, {"type": "text", "text": text}] if text else [thinking]


def marked(item: dict[str, Any], compat: Compat) -> dict[str, Any]:
    """The message with the mark for the server's cache at the end of its text, if it wants one."""
    content = item.get("content")
    if compat.cache_control_format == "none" or not content:
        return item
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    last = max((index for index, part in enumerate(parts) if part["type"] == "text"), default=None)
    if last is None:
        return item
    parts[last] = parts[last] | CACHED
    return item | {"content": parts}


def at_most_forty(identity: str) -> str:
    """The id as OpenAI takes it: not too long, and not the two in one that other APIs make."""
    call = identity.split("|", 1)[0]
    if 0 < len(call) <= MAX_ID:
        return call
    return f"{call[: MAX_ID - 9]}_{_hash(identity)[:8]}" if call else f"call_{_hash(identity)[:24]}"


def nine_characters(identity: str) -> str:
    """The id as Mistral takes it: nine letters and digits."""
    return identity if NINE.fullmatch(identity) else _hash(identity)[:9]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _images(content: Iterable[UserContent]) -> list[ImageContent]:
    return [block for block in content if isinstance(block, ImageContent)]


def raw(value: Any) -> msgspec.Raw:
    """The value, encoded for good."""
    return msgspec.Raw(encode(value))
