"""The API `anthropic-messages`: Anthropic's own, which other services and local servers offer as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.stream import LlmContext, StreamOptions
from agentcore_runner.providers.anthropic_compat import Compat, as_flagged, effective_compat
from agentcore_runner.providers.anthropic_request import MessagesRequest
from agentcore_runner.providers.anthropic_stream import MessagesDecoder
from agentcore_runner.providers.anthropic_thinking import sampling_warnings, thinking_warnings
from agentcore_runner.providers.settings import ModelSettings

VERSION = "2023-06-01"
"""Of the API. The one after it takes no temperature, whatever the model."""
INTERLEAVED = "interleaved-thinking-2025-05-14"
BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"


class AnthropicApi:
    """A model behind the Messages API."""

    def __init__(self, model: Model, settings: ModelSettings) -> None:
        self.url = url_of(model.base_url)
        self._settings = settings
        self._compat = effective_compat(model)
        self._model = as_flagged(model, self._compat)
        betas = ",".join(_betas(self._compat))
        self.headers: Mapping[str, str] = {
            "anthropic-version": VERSION,
            **({"anthropic-beta": betas} if betas else {}),
        }
        # A header of the settings replaces ours; what it does not name may not be sent.
        own = {name.lower(): value for name, value in settings.headers.items()}
        drops_blocks = BINDING_CONTROLS in own.get("anthropic-beta", betas)
        self._request = MessagesRequest(self._model, self._compat, settings, drops_blocks=drops_blocks)

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object."""
        return self._request.body(context, options)

    def decoder(self, mask: Callable[[str], str]) -> MessagesDecoder:
        """A fresh decoder for one answer."""
        return MessagesDecoder(self._model, mask=mask)

    def warnings(self, level: ThinkingLevel) -> list[str]:
        """A level that is not sent, or sent as another, and sampling that the model would refuse."""
        return [
            *thinking_warnings(self._model, self._compat, level),
            *sampling_warnings(self._model, self._compat, self._settings, level),
        ]


def url_of(base_url: str) -> str:
    """Where messages go. An address that ends in a version of the API keeps it."""
    return f"{base_url}/messages" if re.search(r"/v\d+$", base_url) else f"{base_url}/v1/messages"


def _betas(compat: Compat) -> Iterator[str]:
    """What must be asked for by name."""
    if compat.supports_thinking and compat.supports_interleaved_thinking:
        yield INTERLEAVED
    if compat.binds_thinking:
        yield BINDING_CONTROLS
