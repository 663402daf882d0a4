"""A model behind HTTP: the pump of every API, around that API's pure parts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from agentcore_runner.core.assemble import Assembler
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.stream import AssistantMessageEvent, LlmContext, StreamOptions
from agentcore_runner.providers.http import HttpClient
from agentcore_runner.providers.pump import Call, Decoder, attempt
from agentcore_runner.providers.retry import RetryPolicy, stream_with_retries
from agentcore_runner.providers.transform import encode

HARMLESS = frozenset(
    ("accept", "accept-language", "content-type", "user-agent", "anthropic-version", "anthropic-beta",
     "openai-beta", "openai-organization", "openai-project", "http-referer", "referer", "x-title")
)  # fmt: skip
"""Headers of the settings that may be shown; any other may hold a key."""
SCHEME = re.compile(r"(bearer|basic|token|key)\s+", re.I)
SHORTEST_SECRET = 6
"""A value that is shorter stands in too many texts to be hidden in them."""


class Api(Protocol):
    """How one model is spoken to over one API. Nothing in it does I/O; it may keep what it has made of a
    conversation, to make the next request from."""

    @property
    def url(self) -> str:
        """Where requests go."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What the API wants beside the key; the settings' own headers win over these."""

    def body(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request's JSON object; parts of it may be `msgspec.Raw`."""

    def decoder(self, mask: Callable[[str], str]) -> Decoder:
        """A fresh decoder for one answer; `mask` hides keys in texts that are shown."""

    def warnings(self, level: ThinkingLevel) -> list[str]:
        """What of this thinking level the model will not be told; a sentence each."""


class RemoteModel:
    """A `Provider`. `headers` are those of the settings, the key included."""

    scripted = False

    def __init__(
        self,
        model: Model,
        api: Api,
        *,
        headers: Mapping[str, str],
        env: Mapping[str, str],
        idle_timeout: float,
        now: Callable[[], int],
        retry: RetryPolicy,
        refused_hint: Callable[[], str],
    ) -> None:
        self.model = model
        self._api = api
        self._headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            "user-agent": "agentcore-runner",
            **api.headers,
            **headers,
        }
        self._hidden = {name for name in headers if name.lower() not in HARMLESS}
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
        headers = {name: "***" if name in self._hidden else text for name, text in self._headers.items()}
        body = msgspec.json.decode(encode(self._api.body(context, options)))
        return {"method": "POST", "url": self._api.url, "headers": headers, "body": body}

    def warnings(self, level: ThinkingLevel) -> list[str]:
        """What of this thinking level the model will not be told."""
        return self._api.warnings(level)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _call(self, context: LlmContext, options: StreamOptions) -> Call:
        return Call(
            client=self._client,
            url=self._api.url,
            headers=self._headers,
            body=encode(self._api.body(context, options)),
            decoder=partial(self._api.decoder, self._mask),
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


def _secrets(headers: Mapping[str, str]) -> list[str]:
    """The values that must not be shown, the longest first."""
    found = {
        secret.strip()
        for name, value in headers.items()
        if name.lower() not in HARMLESS
        for secret in _parts(name.lower(), value.strip())
    }
    return sorted([value for value in found if len(value) >= SHORTEST_SECRET], key=len, reverse=True)


def _parts(name: str, value: str) -> list[str]:
    """What of a header's value is secret in itself: the key without its scheme, each cookie's value."""
    if name == "cookie":
        return [value, *[pair.partition("=")[2] for pair in value.split(";")]]
    if name in ("authorization", "proxy-authorization"):
        return [value.partition(" ")[2] or value]
    return [value, SCHEME.sub("", value, count=1)]
