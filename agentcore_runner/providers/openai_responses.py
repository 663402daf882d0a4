"""The API `openai-responses`: OpenAI's own, which some local servers offer as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentcore_runner.core.model import Model, ThinkingLevel, nearest_level
from agentcore_runner.core.stream import LlmContext, StreamOptions
from agentcore_runner.providers.openai_responses_compat import as_flagged, effective_compat
from agentcore_runner.providers.openai_responses_request import ResponsesRequest, effort_of
from agentcore_runner.providers.openai_responses_stream import ResponsesDecoder
from agentcore_runner.providers.settings import ModelSettings


class ResponsesApi:
    """A model behind the Responses API."""

    headers: Mapping[str, str] = {}

    def __init__(self, model: Model, settings: ModelSettings) -> None:
        self.url = f"{model.base_url}/responses"
        self._settings = settings
        self._compat = effective_compat(model)
        self._model = as_flagged(model, self._compat)
        self._request = ResponsesRequest(self._model, self._compat, settings)

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object."""
        return self._request.body(context, options)

    def decoder(self, mask: Callable[[str], str]) -> ResponsesDecoder:
        """A fresh decoder for one answer."""
        return ResponsesDecoder(self._model, mask=mask)

    def warnings(self, level: ThinkingLevel) -> list[str]:
        """A level that is not sent, or sent as another, and sampling that the model would refuse."""
        return [*self._about_thinking(level), *self._about_sampling(level)]

    def _about_thinking(self, level: ThinkingLevel) -> list[str]:
        if not self._compat.supports_reasoning_effort:
            if level is ThinkingLevel.OFF:
                return []
            what = f"thinking_level {level.value!r} is not sent: {self._model.key} is not known to take one"
            return [f"{what} (model.compat: {{supports_reasoning_effort: true}} sends it)"]
        nearest = nearest_level(self._model, level)
        if nearest is level:
            return []
        return [f"thinking_level {level.value!r} is sent as {nearest.value!r}, the nearest that there is"]

    def _about_sampling(self, level: ThinkingLevel) -> list[str]:
        given = [name for name in ("temperature", "top_p") if getattr(self._settings, name) is not None]
        effort = effort_of(self._model, self._compat, level)
        if not given or self._request.samples(effort):
            return []
        flag = (
            "supports_temperature_when_reasoning"
            if self._compat.supports_temperature
            else "supports_temperature"
        )
        return [
            f"{' and '.join(given)} not sent: {self._model.key} takes none when it reasons"
            f" (model.compat: {{{flag}: true}} sends it)"
        ]
