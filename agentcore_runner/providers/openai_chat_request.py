"""What is told to a Chat Completions server: each message is made and encoded once."""

from __future__ import annotations

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
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.stream import LlmContext, StreamOptions
from agentcore_runner.core.tools import AgentTool
from agentcore_runner.providers.openai_chat_compat import Compat
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.transform import REASONING_FIELDS, Replay, encode, without_images

NO_OUTPUT = "(no output)"
IMAGES_BELOW = "(the image follows below)"
IMAGES_CAPTION = "Images from the tool results above:"
BRIDGE = "I have the results of the tools."
EFFORTS = {ThinkingLevel.XHIGH: "high", ThinkingLevel.MAX: "high"}
"""Levels that this API has no word for; the others are its own words."""


class ChatRequest:
    """Makes request after request for one conversation. It keeps the bytes of each message, so that a request
    costs what is new in it."""

    def __init__(self, model: Model, compat: Compat, settings: ModelSettings) -> None:
        self._model = model
        self._compat = compat
        self._settings = settings
        self._history = _History(model, compat)
        self._tools: tuple[AgentTool, ...] = ()
        self._tools_json = msgspec.Raw(b"[]")

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object; the parts that are kept are `msgspec.Raw`."""
        settings, compat = self._settings, self._compat
        body: dict[str, Any] = {
            "model": self._model.id,
            "messages": [*self._system(context.system_prompt), *self._history.pieces(context.messages)],
            "stream": True,
        }
        if compat.supports_usage_in_streaming:
            body["stream_options"] = {"include_usage": True}
        if compat.supports_store:
            body["store"] = False
        if context.tools:
            body["tools"] = self._tool_list(context.tools)
        caps = [cap for cap in (settings.max_output_tokens, options.max_output_tokens) if cap is not None]
        if caps:
            body[compat.max_tokens_field] = min(caps)
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if settings.top_p is not None:
            body["top_p"] = settings.top_p
        level = options.thinking_level
        if compat.supports_reasoning_effort and level is not ThinkingLevel.OFF:
            body["reasoning_effort"] = EFFORTS.get(level, level.value)
        return body | settings.extra_body

    def _system(self, text: str) -> list[msgspec.Raw]:
        if not text:
            return []
        role = "developer" if self._compat.supports_developer_role else "system"
        return [_raw({"role": role, "content": text})]

    def _tool_list(self, tools: tuple[AgentTool, ...]) -> msgspec.Raw:
        if tools is not self._tools:
            strict = {"strict": False} if self._compat.supports_strict_mode else {}
            self._tools = tools
            self._tools_json = _raw([_tool(tool, strict) for tool in tools])
        return self._tools_json


class _History:
    """The messages that were in the last request, and what was made of them."""

    def __init__(self, model: Model, compat: Compat) -> None:
        self._model = model
        self._compat = compat
        self._restart()

    def pieces(self, messages: list[Message]) -> list[msgspec.Raw]:
        """The encoded messages. Those of the last request are taken as they are; another beginning, as after
        a compaction, is made anew."""
        known = len(self._messages)
        if messages[:known] != self._messages:
            self._restart()
            known = 0
        for message in messages[known:]:
            self._messages.append(message)
            for kept in self._replay.feed(message):
                self._add(kept)
        return [*self._pieces, *self._tail()]

    def _restart(self) -> None:
        self._messages: list[Message] = []
        self._replay = Replay(self._model)
        self._pieces: list[msgspec.Raw] = []
        self._images: list[ImageContent] = []
        self._after_result = False

    def _add(self, message: Message) -> None:
        if isinstance(message, ToolResultMessage):
            self._pieces.append(_raw(self._result(message)))
            self._images += _images(message.content) if "image" in self._model.input else []
            self._after_result = True
            return
        self._pieces += self._after_results(bridge=isinstance(message, UserMessage))
        self._images, self._after_result = [], False
        if isinstance(message, UserMessage):
            self._pieces.append(_raw(_user(without_images(message.content, self._model))))
        else:
            self._pieces.append(_raw(_assistant(message)))

    def _tail(self) -> list[msgspec.Raw]:
        """What must follow the last message for now: missing results and images of results."""
        missing = [
            self._result(result) for result in self._replay.rest() if isinstance(result, ToolResultMessage)
        ]
        return [*map(_raw, missing), *self._after_results(bridge=False)]

    def _after_results(self, *, bridge: bool) -> list[msgspec.Raw]:
        """The images of the tool results that have just ended, in a message of their own: the API takes only
        text in a result. The `bridge` is for servers that allow no user message after a result."""
        pieces = []
        if (
            self._after_result
            and self._compat.requires_assistant_after_tool_result
            and (bridge or self._images)
        ):
            pieces.append(_raw({"role": "assistant", "content": BRIDGE}))
        if self._images:
            pieces.append(_raw(_user((TextContent(text=IMAGES_CAPTION), *self._images))))
        return pieces

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


def _tool(tool: AgentTool, strict: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters, **strict}
    return {"type": "function", "function": function}


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


def _assistant(message: AssistantMessage) -> dict[str, Any]:
    """One string of text, the calls, and thinking in the field it came from. The arguments of a malformed
    call become an empty object: servers refuse anything but JSON, and its result says what was wrong."""
    item: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    for block in message.content:
        if isinstance(block, ThinkingContent) and block.thinking_signature in REASONING_FIELDS:
            field = block.thinking_signature
            item[field] = item.get(field, "") + block.thinking
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


def _images(content: Iterable[UserContent]) -> list[ImageContent]:
    return [block for block in content if isinstance(block, ImageContent)]


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(value))
