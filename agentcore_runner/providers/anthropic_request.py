"""What is told to a model behind the Messages API, beside the conversation."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.core.model import Model
from agentcore_runner.core.stream import LlmContext, StreamOptions
from agentcore_runner.core.tools import AgentTool
from agentcore_runner.providers.anthropic_compat import Compat
from agentcore_runner.providers.anthropic_thinking import sampling_of, thinking_keys, thinking_of
from agentcore_runner.providers.anthropic_turns import TurnWriter, cached
from agentcore_runner.providers.history import History
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.transform import encode, plain_id


class MessagesRequest:
    """Makes request after request for one conversation. It keeps the bytes of each turn, so that a request
    costs what is new in it. `drops_blocks`: the service can be told to leave out thinking that no longer fits
    the conversation."""

    def __init__(self, model: Model, compat: Compat, settings: ModelSettings, *, drops_blocks: bool) -> None:
        self._model = model
        self._compat = compat
        self._settings = settings
        self._drops_blocks = drops_blocks
        self._history = History(model, lambda: TurnWriter(model, compat), plain_id)
        self._tools: tuple[AgentTool, ...] = ()
        self._tools_json = msgspec.Raw(b"[]")
        self._bound = Bound()

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object; the parts that are kept are `msgspec.Raw`. Keys of `extra_body` win, in
        the `output_config` key by key."""
        writer, missing = self._history.write(context.messages)
        thoughtless = writer.in_thoughtless_loop(missing)
        thinking = thinking_of(self._model, self._compat, self._settings, options, thoughtless=thoughtless)
        body: dict[str, Any] = {"model": self._model.id, "max_tokens": thinking.max_tokens, "stream": True}
        if context.system_prompt.strip():
            body["system"] = [cached({"type": "text", "text": context.system_prompt}, self._compat)]
        if context.tools:
            body["tools"] = self._tool_list(context.tools)
        dropped = thinking.type == "adaptive" and self._drops_blocks
        unthought = self._bound.unthought(writer, body.get("system"), body.get("tools"), dropped=dropped)
        body["messages"] = writer.turns(missing, unthought=unthought)
        body |= thinking_keys(thinking, drops_blocks=dropped)
        body |= sampling_of(self._compat, self._settings, thinks=thinking.on)
        extra = dict(self._settings.extra_body)
        ours, theirs = body.get("output_config"), extra.get("output_config")
        if isinstance(ours, dict) and isinstance(theirs, dict):
            extra["output_config"] = ours | theirs
        return body | extra

    def _tool_list(self, tools: tuple[AgentTool, ...]) -> msgspec.Raw:
        if tools is not self._tools:
            self._tools = tools
            described = [_tool(tool) for tool in tools]
            described[-1] = cached(described[-1], self._compat)
            self._tools_json = msgspec.Raw(encode(described))
        return self._tools_json


class Bound:
    """Keeps thinking away from where it would not be accepted.

    Some models refuse a request where anything before a piece of their thinking has changed since. The
    service can be told to leave such thinking out, but only in a request that asks for thinking. In others,
    only the thinking that came about since the last change goes back.
    """

    def __init__(self) -> None:
        self._sent: tuple[TurnWriter, Any, Any] | None = None
        self._unthought = 0

    def unthought(self, writer: TurnWriter, system: Any, tools: Any, *, dropped: bool) -> int:
        """How many turns of a model that binds must go without their thinking. `dropped`: the service sees to
        it."""
        if dropped:
            self._sent = None
            return 0
        sent = (writer, system, tools)
        if self._sent is None or self._sent[0] is not writer or self._sent[1:] != sent[1:]:
            self._unthought = writer.count
        self._sent = sent
        return self._unthought


def _tool(tool: AgentTool) -> dict[str, Any]:
    """The schema goes as it is, but that the API wants its type to be said."""
    schema = {"type": "object", **tool.parameters}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}
