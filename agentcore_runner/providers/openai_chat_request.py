"""What is told to a Chat Completions server, request after request."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.core.model import Model
from agentcore_runner.core.stream import LlmContext, StreamOptions
from agentcore_runner.core.tools import AgentTool
from agentcore_runner.providers.history import History
from agentcore_runner.providers.openai_chat_compat import Compat
from agentcore_runner.providers.openai_chat_messages import (
    CACHED,
    ChatWriter,
    at_most_forty,
    marked,
    nine_characters,
    raw,
)
from agentcore_runner.providers.openai_chat_thinking import thinking_keys
from agentcore_runner.providers.settings import ModelSettings


class ChatRequest:
    """Makes request after request for one conversation. It keeps the bytes of each message, so that a request
    costs what is new in it."""

    def __init__(self, model: Model, compat: Compat, settings: ModelSettings) -> None:
        self._model = model
        self._compat = compat
        self._settings = settings
        ids = nine_characters if compat.tool_call_ids == "mistral" else at_most_forty
        self._history = History(model, lambda: ChatWriter(model, compat), ids)
        self._tools: tuple[AgentTool, ...] = ()
        self._tools_json = msgspec.Raw(b"[]")

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object; the parts that are kept are `msgspec.Raw`."""
        settings, compat = self._settings, self._compat
        writer, missing = self._history.write(context.messages)
        body: dict[str, Any] = {
            "model": self._model.id,
            "messages": [*self._system(context.system_prompt), *writer.pieces(missing)],
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
        if compat.supports_prompt_cache_key and options.session_id:
            body["prompt_cache_key"] = options.session_id[:64]
        return body | thinking_keys(self._model, compat, options) | settings.extra_body

    def _system(self, text: str) -> list[msgspec.Raw]:
        if not text:
            return []
        role = "developer" if self._compat.supports_developer_role else "system"
        return [raw(marked({"role": role, "content": text}, self._compat))]

    def _tool_list(self, tools: tuple[AgentTool, ...]) -> msgspec.Raw:
        if tools is not self._tools:
            strict = {"strict": False} if self._compat.supports_strict_mode else {}
            self._tools = tools
            described = [_tool(tool, strict) for tool in tools]
            if self._compat.cache_control_format == "anthropic":
                described[-1] |= CACHED
            self._tools_json = raw(described)
        return self._tools_json


def _tool(tool: AgentTool, strict: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters, **strict}
    return {"type": "function", "function": function}
