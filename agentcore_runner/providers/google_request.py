"""What is told to a Gemini model, beside the conversation."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.core.model import Model
from agentcore_runner.core.stream import LlmContext, StreamOptions
from agentcore_runner.core.tools import AgentTool
from agentcore_runner.providers.google_compat import Compat
from agentcore_runner.providers.google_thinking import thinking_config
from agentcore_runner.providers.google_turns import TurnWriter
from agentcore_runner.providers.history import History
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.transform import encode, plain_id


class GoogleRequest:
    """Makes request after request for one conversation. It keeps the bytes of each turn, so that a request
    costs what is new in it."""

    def __init__(self, model: Model, compat: Compat, settings: ModelSettings) -> None:
        self._model = model
        self._settings = settings
        self._history = History(model, lambda: TurnWriter(model, compat), plain_id)
        self._tools: tuple[AgentTool, ...] = ()
        self._tools_json = msgspec.Raw(b"[]")

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object; the parts that are kept are `msgspec.Raw`. Keys of `extra_body` win, in
        the `generationConfig` key by key."""
        writer, missing = self._history.write(context.messages)
        body: dict[str, Any] = {"contents": writer.turns(missing)}
        if context.system_prompt:
            body["systemInstruction"] = {"parts": [{"text": context.system_prompt}]}
        if context.tools:
            body["tools"] = self._tool_list(context.tools)
        extra = dict(self._settings.extra_body)
        config = self._generation_config(options)
        theirs = extra.get("generationConfig", {})
        if isinstance(theirs, dict):
            extra.pop("generationConfig", None)
            config |= theirs
        return body | ({"generationConfig": config} if config else {}) | extra

    def _generation_config(self, options: StreamOptions) -> dict[str, Any]:
        settings = self._settings
        caps = [cap for cap in (settings.max_output_tokens, options.max_output_tokens) if cap is not None]
        config = {
            "temperature": settings.temperature,
            "topP": settings.top_p,
            "maxOutputTokens": min(caps) if caps else None,
            "thinkingConfig": thinking_config(self._model, options),
        }
        return {name: value for name, value in config.items() if value is not None}

    def _tool_list(self, tools: tuple[AgentTool, ...]) -> msgspec.Raw:
        if tools is not self._tools:
            self._tools = tools
            declarations = [_declaration(tool) for tool in tools]
            self._tools_json = msgspec.Raw(encode([{"functionDeclarations": declarations}]))
        return self._tools_json


def _declaration(tool: AgentTool) -> dict[str, Any]:
    """The schema goes as it is: this field takes all of JSON Schema, unlike `parameters`."""
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
