"""The API `openai-completions`: Chat Completions, as most model services and local servers speak it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.stream import LlmContext, StreamOptions
from agentcore_runner.providers.openai_chat_compat import effective_compat
from agentcore_runner.providers.openai_chat_request import ChatRequest
from agentcore_runner.providers.openai_chat_stream import ChatDecoder
from agentcore_runner.providers.openai_chat_thinking import level_warnings
from agentcore_runner.providers.settings import ModelSettings


class ChatApi:
    """A model behind Chat Completions."""

    def __init__(self, model: Model, settings: ModelSettings) -> None:
        self.url = f"{model.base_url}/chat/completions"
        self.model = model
        self._compat = effective_compat(model)
        name = self._compat.session_header
        self.headers: Mapping[str, str] = {name.lower(): uuid4().hex} if name else {}
        self._request = ChatRequest(model, self._compat, settings)

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object."""
        return self._request.body(context, options)

    def decoder(self, mask: Callable[[str], str]) -> ChatDecoder:
        """A fresh decoder for one answer."""
        return ChatDecoder(self.model, needs_finish_reason=self._compat.supports_finish_reason, mask=mask)

    def warnings(self, level: ThinkingLevel) -> list[str]:
        """A level that is not sent, or sent as another."""
        return level_warnings(self.model, self._compat, level)
