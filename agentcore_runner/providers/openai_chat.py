"""The adapter for `openai-completions`: Chat Completions, as OpenAI and most local servers speak it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from agentcore_runner.core.assemble import Assembler
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.stream import AssistantMessageEvent, LlmContext, StreamOptions
from agentcore_runner.providers.http import HttpClient
from agentcore_runner.providers.openai_chat_compat import effective_compat
from agentcore_runner.providers.openai_chat_request import EFFORTS, ChatRequest
from agentcore_runner.providers.openai_chat_stream import ChatDecoder
from agentcore_runner.providers.pump import Call, attempt
from agentcore_runner.providers.retry import RetryPolicy, stream_with_retries
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.transform import encode

SECRET_HEADER = re.compile(r"authorization|api-?key|token|secret|cookie", re.I)


class OpenAIChat:
    """A model behind Chat Completions. `headers` are those of the settings, the key included."""

    scripted = False

    def __init__(
        self,
        model: Model,
        settings: ModelSettings,
        *,
        headers: dict[str, str],
        env: Mapping[str, str],
        idle_timeout: float,
        now: Callable[[], int],
        retry: RetryPolicy,
        refused_hint: Callable[[], str],
    ) -> None:
        self.model = model
        self._compat = effective_compat(model.base_url, model.id, model.compat)
        self._request = ChatRequest(model, self._compat, settings)
        self._url = f"{model.base_url}/chat/completions"
        self._headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            "user-agent": "agentcore-runner",
            **headers,
        }
        self._secrets = _secrets(headers)
        self._client = HttpClient(model.base_url, env=env, refused_hint=refused_hint)
        self._idle_timeout = idle_timeout
        self._now = now
        self._retry = retry

    def stream(
        self, model: Model, context: LlmContext, options: StreamOptions
    ) -> AsyncIterator[AssistantMessageEvent]:
        """A core `StreamFn`."""
        return stream_with_retries(
            lambda: attempt(self._call(context, options)),
            assembler=Assembler(model.api, model.provider, model.id, self._now()),
            options=options,
            policy=self._retry,
            now_s=self._now_s,
        )

    def preview(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request as it would be sent, with keys masked."""
        headers = {
            name: "***" if SECRET_HEADER.search(name) else text for name, text in self._headers.items()
        }
        body = msgspec.json.decode(encode(self._request.body(context, options)))
        return {"method": "POST", "url": self._url, "headers": headers, "body": body}

    def warnings(self, level: ThinkingLevel) -> list[str]:
        """A level that is not sent, or sent as another."""
        if level is ThinkingLevel.OFF:
            return []
        if not self._compat.supports_reasoning_effort:
            what = f"thinking_level {level.value!r} is not sent: {self.model.key} is not known to take one"
            return [f"{what} (model.compat: {{supports_reasoning_effort: true}} sends it)"]
        effort = EFFORTS.get(level, level.value)
        return [] if effort == level.value else [f"thinking_level {level.value!r} is sent as {effort!r}"]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _call(self, context: LlmContext, options: StreamOptions) -> Call:
        return Call(
            client=self._client,
            url=self._url,
            headers=self._headers,
            body=encode(self._request.body(context, options)),
            decoder=partial(
                ChatDecoder,
                self.model,
                needs_finish_reason=self._compat.supports_finish_reason,
                mask=self._mask,
            ),
            signal=options.signal,
            idle_timeout=self._idle_timeout,
            mask=self._mask,
            now_s=self._now_s,
        )

    def _now_s(self) -> float:
        return self._now() / 1000

    def _mask(self, text: str) -> str:
        """The text without the keys: a server may repeat them."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _secrets(headers: dict[str, str]) -> list[str]:
    """The values that must not be shown: those of secret headers, without their scheme."""
    found = {value.split(" ", 1)[-1].strip() for name, value in headers.items() if SECRET_HEADER.search(name)}
    return sorted([value for value in found if len(value) >= 6], key=len, reverse=True)
