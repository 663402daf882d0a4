"""`provider/id` becomes a model and the adapter that speaks to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.stream import AssistantMessageEvent, LlmContext, StreamOptions
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.apis import APIS, SCRIPTED_API, adapter_for, compat_mistakes
from agentcore_runner.providers.describe import describe, with_file
from agentcore_runner.providers.keys import header_mistake, headers_of, key_mistake
from agentcore_runner.providers.known import ModelsFile
from agentcore_runner.providers.local import refused_hint
from agentcore_runner.providers.mistakes import Mistake, Mistaken, refuse
from agentcore_runner.providers.retry import RetryPolicy
from agentcore_runner.providers.services import KEY_VARIABLES, VENDORS, Vendor
from agentcore_runner.providers.settings import ModelSettings, parse_model
from agentcore_runner.providers.vendors import (
    api_of,
    base_url_of,
    named_vendor,
    vendor_mistakes,
    vendor_of,
)

__all__ = [
    "KEY_VARIABLES",
    "Mistake",
    "Mistaken",
    "ModelSettings",
    "ModelsFile",
    "Provider",
    "RetryPolicy",
    "describe",
    "model_mistakes",
    "open_provider",
    "parse_model",
    "read_models",
]


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


def read_models(path: Path) -> ModelsFile:
    """The user's models file, for `ModelSettings.models`. Raises `ConfigError` with every mistake in it."""
    from agentcore_runner.providers import models_file

    return models_file.read_models(path)


def model_mistakes(
    settings: ModelSettings, env: Mapping[str, str], *, cwd: Path, agent_directory: Path
) -> list[Mistake]:
    """All that can be wrong with a model without a key or the network: provider, API, address, compat,
    headers and body, or a script that is missing or cannot be played."""
    settings = with_file(settings)
    found = list(vendor_mistakes(settings))
    vendor = named_vendor(settings)
    try:
        if vendor is not None and vendor.api == SCRIPTED_API:
            if not found:
                from agentcore_runner.providers.scripted import read_script

                read_script(describe(settings, env), cwd, agent_directory)
        else:
            found += _spoken_mistakes(settings, vendor or VENDORS["openai"], {} if vendor is None else env)
    except Mistaken as exc:
        found += exc.mistakes
    return [*found, *_request_mistakes(settings, _api_in_force(settings, env))]


def _spoken_mistakes(settings: ModelSettings, vendor: Vendor, env: Mapping[str, str]) -> Iterator[Mistake]:
    """Mistakes in the address and in the flags of the API that is spoken there. An address that only a
    variable can give may be missing: it is needed in a run."""
    base_url = vendor.base_url
    wrong: tuple[Mistake, ...] = ()
    try:
        if base_url or settings.base_url or (vendor.address_env and env.get(vendor.address_env, "").strip()):
            base_url = base_url_of(settings, vendor, env)
    except Mistaken as exc:
        wrong = exc.mistakes
    api = api_of(settings, vendor, base_url)
    yield from compat_mistakes(api if api in APIS else vendor.api, settings.compat)
    yield from wrong


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
    settings = with_file(settings)
    model = describe(settings, env)
    refuse(_request_mistakes(settings, model.api))
    if model.api == SCRIPTED_API:
        from agentcore_runner.providers.scripted import open_script

        return open_script(model, cwd=cwd, agent_directory=agent_directory, now=now, retry=retry)
    from agentcore_runner.providers.remote import RemoteModel

    return RemoteModel(
        model,
        adapter_for(model, settings),
        headers=headers_of(settings, vendor_of(settings), model, env),
        env=env,
        idle_timeout=idle_timeout,
        now=now,
        retry=retry,
        refused_hint=partial(refused_hint, settings.provider, model.base_url, env),
    )


def _api_in_force(settings: ModelSettings, env: Mapping[str, str]) -> str:
    """The API that will be spoken, or most likely would be where something else is wrong."""
    try:
        return describe(settings, env).api
    except ConfigError:
        vendor = named_vendor(settings) or VENDORS["openai"]
        usual = vendor.api if settings.base_url or vendor.own_api is None else vendor.own_api
        return settings.api if settings.api in APIS else usual


def _request_mistakes(settings: ModelSettings, api: str) -> Iterator[Mistake]:
    """Headers that cannot be sent; headers and keys of the body that are not the settings' to give."""
    wrong = key_mistake(settings.api_key_env)
    if wrong:
        yield Mistake(message=f"model {settings.key!r}: {wrong}", key=("api_key_env",))
    for name, value in settings.headers.items():
        wrong = header_mistake(name, value)
        if wrong:
            yield Mistake(message=f"model {settings.key!r}: header {name!r} {wrong}", key=("headers", name))
    for name in settings.extra_body:
        if api in APIS and name in APIS[api].own_keys:
            message = (
                f"model {settings.key!r}: extra_body may not replace {name!r}, which the run itself sends"
            )
            yield Mistake(message=message, key=("extra_body", name))
