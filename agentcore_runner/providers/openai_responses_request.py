"""What is told to a Responses server, beside the conversation."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.core.model import Model, ThinkingLevel, level_of_budget, nearest_level
from agentcore_runner.core.stream import LlmContext, StreamOptions
from agentcore_runner.core.tools import AgentTool
from agentcore_runner.providers.history import History
from agentcore_runner.providers.openai_responses_compat import Compat
from agentcore_runner.providers.openai_responses_items import ItemWriter, short
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.transform import encode, plain_id

NO_EFFORT = "none"
LEAST_OUTPUT = 16
"""Tokens; the API takes no smaller cap."""


class ResponsesRequest:
    """Makes request after request for one conversation. It keeps the bytes of each message, so that a request
    costs what is new in it."""

    def __init__(self, model: Model, compat: Compat, settings: ModelSettings) -> None:
        self._model = model
        self._compat = compat
        self._settings = settings
        self._history = History(model, lambda: ItemWriter(model), plain_id)
        self._tools: tuple[AgentTool, ...] = ()
        self._tools_json = msgspec.Raw(b"[]")

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object; the parts that are kept are `msgspec.Raw`."""
        writer, missing = self._history.write(context.messages)
        body: dict[str, Any] = {"model": self._model.id, "input": writer.pieces(missing), "stream": True}
        if context.system_prompt:
            body["instructions"] = context.system_prompt
        if self._compat.supports_store:
            body["store"] = False
        if context.tools:
            body["tools"] = self._tool_list(context.tools)
        caps = [
            cap for cap in (self._settings.max_output_tokens, options.max_output_tokens) if cap is not None
        ]
        if caps:
            body["max_output_tokens"] = max(LEAST_OUTPUT, min(caps))
        if options.session_id and self._compat.supports_prompt_cache_key:
            body["prompt_cache_key"] = short(options.session_id)
        return body | self._thinking(options) | self._settings.extra_body

    def samples(self, effort: str | None) -> bool:
        """Whether the model takes a temperature when it thinks as hard as that."""
        compat = self._compat
        free = compat.supports_temperature_when_reasoning or not compat.supports_reasoning_effort
        return compat.supports_temperature and (free or effort == NO_EFFORT)

    def _thinking(self, options: StreamOptions) -> dict[str, Any]:
        """What is said of thinking, and of sampling, which depends on it."""
        body: dict[str, Any] = {}
        if self._compat.supports_encrypted_reasoning:
            body["include"] = ["reasoning.encrypted_content"]
        effort = effort_of(self._model, self._compat, _asked(options))
        if effort is not None:
            body["reasoning"] = {"effort": effort}
            if effort != NO_EFFORT and self._compat.supports_reasoning_summary:
                body["reasoning"]["summary"] = "auto"
        if self.samples(effort):
            chosen = {"temperature": self._settings.temperature, "top_p": self._settings.top_p}
            body |= {name: value for name, value in chosen.items() if value is not None}
        return body

    def _tool_list(self, tools: tuple[AgentTool, ...]) -> msgspec.Raw:
        if tools is not self._tools:
            # A server that is not told takes a schema for a strict one, and refuses most of them.
            strict = {"strict": False} if self._compat.supports_strict_mode else {}
            self._tools = tools
            self._tools_json = _raw([_tool(tool, strict) for tool in tools])
        return self._tools_json


def effort_of(model: Model, compat: Compat, level: ThinkingLevel) -> str | None:
    """The API's word for how hard to think; None where nothing is to be said. A model that cannot but think
    is told to do so as little as it can."""
    if not compat.supports_reasoning_effort:
        return None
    nearest = nearest_level(model, level)
    word = model.thinking_levels.get(nearest.value)
    if isinstance(word, str):
        return word
    if nearest is ThinkingLevel.OFF:
        return NO_EFFORT if compat.supports_effort_none else None
    return nearest.value


def _asked(options: StreamOptions) -> ThinkingLevel:
    """The level that is asked for, or the one that stands for the budget."""
    budget = options.thinking_budget
    if budget is None:
        return options.thinking_level
    return level_of_budget(budget)


def _tool(tool: AgentTool, strict: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **function, **strict}


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(value))
