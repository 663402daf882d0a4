"""`provider/id` becomes a model and the adapter that speaks to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from agentcore_runner.core.model import Model, ModelCost, ThinkingLevel
from agentcore_runner.core.stream import AssistantMessageEvent, LlmContext, StreamOptions
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.local import local_hint, refused_hint
from agentcore_runner.providers.mistakes import Mistake, Mistaken, refuse
from agentcore_runner.providers.openai_chat_compat import compat_mistakes, effective_compat, is_openai
from agentcore_runner.providers.retry import RetryPolicy
from agentcore_runner.providers.settings import ModelSettings, parse_model
from agentcore_runner.providers.vendors import (
    KEY_VARIABLES,
    SCRIPTED_API,
    VENDORS,
    Vendor,
    base_url_of,
    vendor_mistakes,
    vendor_of,
)

__all__ = [
    "KEY_VARIABLES",
    "Mistake",
    "Mistaken",
    "ModelSettings",
    "Provider",
    "RetryPolicy",
    "describe",
    "model_mistakes",
    "open_provider",
    "parse_model",
]


OWN_BODY_KEYS = ("messages", "model", "stream", "tools")
OWN_HEADERS = ("accept-encoding", "connection", "content-length", "host", "transfer-encoding")
"""What the request itself stands on; the settings cannot replace it."""


class Provider(Protocol):
    """A model that can be asked. Close it when the run is over."""

    @property
    def model(self) -> Model: ...

    @property
    def scripted(self) -> bool:
        """No model answers, but a script."""

    def stream(
        self, model: Model, context: LlmContext, options: StreamOptions
    ) -> AsyncIterator[AssistantMessageEvent]:
        """A core `StreamFn`."""

    def preview(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """The request as it would be sent, without sending it: `method`, `url`, `headers` with keys masked,
        `body`."""

    def warnings(self, level: ThinkingLevel) -> list[str]:
        """What of this thinking level the model will not be told; a sentence each."""

    async def aclose(self) -> None:
        """Close the connections."""


def describe(settings: ModelSettings, env: Mapping[str, str]) -> Model:
    """The model that the settings name. Needs neither key nor network; raises `ConfigError` for an unknown
    provider, API or compat key and for a base URL that is none."""
    vendor = vendor_of(settings)
    base_url, reasoning, images = "", False, True
    if vendor.api != SCRIPTED_API:
        base_url = base_url_of(settings, vendor, env)
        compat = effective_compat(base_url, settings.id, settings.compat)
        reasoning, images = compat.supports_reasoning_effort, compat.supports_images
    optional: dict[str, Any] = {
        "context_window": settings.context_window,
        "max_tokens": settings.max_output_tokens,
    }
    return Model(
        id=settings.id,
        name=settings.id,
        api=vendor.api,
        provider=vendor.name,
        base_url=base_url,
        reasoning=reasoning,
        input=("text", "image") if images else ("text",),
        cost=settings.cost or (ModelCost() if vendor.api == SCRIPTED_API else None),
        compat=settings.compat,
        **{name: value for name, value in optional.items() if value is not None},
    )


def model_mistakes(
    settings: ModelSettings, env: Mapping[str, str], *, cwd: Path, agent_directory: Path
) -> list[Mistake]:
    """All that can be wrong with a model without a key or the network: provider, API, address, compat,
    headers and body, or a script that is missing or cannot be played."""
    found = list(vendor_mistakes(settings))
    vendor = VENDORS.get(settings.provider)
    try:
        if vendor is not None and vendor.api == SCRIPTED_API:
            if not found:
                from agentcore_runner.providers.scripted import read_script

                read_script(describe(settings, env), cwd, agent_directory)
        else:
            found += compat_mistakes(settings.compat)
            base_url_of(settings, vendor or VENDORS["openai"], {} if vendor is None else env)
    except Mistaken as exc:
        found += exc.mistakes
    return [*found, *_request_mistakes(settings)]


def open_provider(
    settings: ModelSettings,
    *,
    env: Mapping[str, str],
    cwd: Path,
    agent_directory: Path,
    idle_timeout: float,
    now: Callable[[], int],
    retry: RetryPolicy = RetryPolicy(),  # noqa: B008 - a frozen value
) -> Provider:
    """The adapter for the settings, ready to be asked; no network yet. `now` gives Unix milliseconds,
    `idle_timeout` is in seconds. Raises `ConfigError`, also for a missing key and for a script that cannot be
    played."""
    model = describe(settings, env)
    refuse(_request_mistakes(settings))
    if model.api == SCRIPTED_API:
        from agentcore_runner.providers.scripted import open_script

        return open_script(model, cwd=cwd, agent_directory=agent_directory, now=now, retry=retry)
    from agentcore_runner.providers.openai_chat import OpenAIChat

    return OpenAIChat(
        model,
        settings,
        headers=_headers(settings, vendor_of(settings), model.base_url, env),
        env=env,
        idle_timeout=idle_timeout,
        now=now,
        retry=retry,
        refused_hint=partial(refused_hint, settings.provider, model.base_url, env),
    )


def _headers(
    settings: ModelSettings, vendor: Vendor, base_url: str, env: Mapping[str, str]
) -> dict[str, str]:
    """The settings' own headers and the key. A key is demanded at OpenAI's own address and where the settings
    name its variable; elsewhere none is sent when there is none."""
    headers = {name.lower(): value for name, value in settings.headers.items()}
    if "authorization" in headers:
        return headers
    variable = settings.api_key_env or vendor.key_env
    key = env.get(variable, "").strip() if variable else ""
    if not key and variable and (settings.api_key_env or is_openai(base_url)):
        raise ConfigError(_no_key(settings, variable, env))
    if not _sendable(key):
        raise ConfigError(f"{variable} holds characters that cannot be in an API key")
    return headers | {"authorization": f"Bearer {key}"} if key else headers


def _request_mistakes(settings: ModelSettings) -> Iterator[Mistake]:
    """Headers that cannot be sent; headers and keys of the body that are not the settings' to give."""
    for name, value in settings.headers.items():
        key = ("headers", name)
        if not (_sendable(name) and " " not in name and _sendable(value)):
            message = f"model {settings.key!r}: header {name!r} holds characters that cannot be sent"
            yield Mistake(message=message, key=key)
        elif name.lower() in OWN_HEADERS:
            message = f"model {settings.key!r}: header {name!r} is set by the connection itself; remove it"
            yield Mistake(message=message, key=key)
    for name in settings.extra_body:
        if name in OWN_BODY_KEYS:
            message = (
                f"model {settings.key!r}: extra_body may not replace {name!r}, which the run itself sends"
            )
            yield Mistake(message=message, key=("extra_body", name))


def _no_key(settings: ModelSettings, variable: str, env: Mapping[str, str]) -> str:
    found = local_hint(env)
    advice = found or "without a key, start a local server (`ollama serve`) and use --model ollama/NAME"
    return f"model {settings.key!r} needs an API key: set {variable}. {advice[0].upper()}{advice[1:]}"


def _sendable(text: str) -> bool:
    """Whether the text may stand in a header."""
    return text.isascii() and text.isprintable()
