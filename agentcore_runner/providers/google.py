"""The API `google-generative-ai`: generateContent, by which the Gemini models are reached."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.stream import LlmContext, StreamOptions
from agentcore_runner.providers.google_compat import as_flagged, effective_compat
from agentcore_runner.providers.google_request import GoogleRequest
from agentcore_runner.providers.google_stream import GoogleDecoder
from agentcore_runner.providers.google_thinking import thinking_warnings
from agentcore_runner.providers.settings import ModelSettings

USUAL_VERSION = "v1beta"
COLLECTIONS = ("models/", "tunedModels/")


class GoogleApi:
    """A model behind generateContent."""

    headers: Mapping[str, str] = {}

    def __init__(self, model: Model, settings: ModelSettings) -> None:
        compat = effective_compat(model)
        self.url = url_of(model.base_url, model.id)
        self._model = as_flagged(model, compat)
        self._request = GoogleRequest(self._model, compat, settings)

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object."""
        return self._request.body(context, options)

    def decoder(self, mask: Callable[[str], str]) -> GoogleDecoder:
        """A fresh decoder for one answer."""
        return GoogleDecoder(self._model, mask=mask)

    def warnings(self, level: ThinkingLevel) -> list[str]:
        """A level that is not sent, or sent as another."""
        return thinking_warnings(self._model, level)


def url_of(base_url: str, model_id: str) -> str:
    """Where a model is asked for a stream. An address that ends in a version of the API keeps it; an id that
    names its collection, such as `tunedModels/mine`, stays in it."""
    base = base_url if re.search(r"/v\d\w*$", base_url) else f"{base_url}/{USUAL_VERSION}"
    name = model_id if model_id.startswith(COLLECTIONS) else f"models/{model_id}"
    return f"{base}/{quote(name, safe='/')}:streamGenerateContent?alt=sse"
