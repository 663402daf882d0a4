"""The model that settings name, put together from all that is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentcore_runner.core.model import Model, ModelCost
from agentcore_runner.providers.apis import CHAT_API, SCRIPTED_API, compat_mistakes
from agentcore_runner.providers.known import KnownModel, merged, own_model, shipped_model
from agentcore_runner.providers.mistakes import refuse
from agentcore_runner.providers.services import Vendor
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.vendors import api_of, base_url_of, host_of, is_own, vendor_of


def describe(settings: ModelSettings, env: Mapping[str, str]) -> Model:
    """The model that the settings name: what they say of it, else the user's models file, else the catalogue,
    else usual values. Needs neither key nor network; raises `ConfigError` for an unknown provider, API or
    compat key and for a base URL that is none."""
    settings = with_file(settings)
    vendor = vendor_of(settings)
    if vendor.api == SCRIPTED_API:
        return _model(
            settings, vendor, SCRIPTED_API, "", KnownModel(reasoning=False, inputs=("text", "image"))
        )
    base_url = base_url_of(settings, vendor, env)
    known, api = _known(settings, vendor, base_url)
    refuse(compat_mistakes(api, settings.compat))
    model = _model(settings, vendor, api, base_url, known)
    if api != CHAT_API:
        return model
    from agentcore_runner.providers.openai_chat_compat import seen_as

    return seen_as(model, reasoning=known.reasoning, inputs=known.inputs)


def with_file(settings: ModelSettings) -> ModelSettings:
    """The settings, with what the models file says where they say nothing."""
    provider = settings.models.providers.get(settings.provider) if settings.models else None
    if provider is None:
        return settings
    own = own_model(settings.models, settings.provider, settings.id)
    return msgspec.structs.replace(
        settings,
        api=settings.api or own.api,
        base_url=settings.base_url or provider.base_url,
        api_key_env=settings.api_key_env or provider.api_key_env,
        headers=provider.headers | settings.headers,
    )


def _known(settings: ModelSettings, vendor: Vendor, base_url: str) -> tuple[KnownModel, str]:
    """What is known of the model, and the API to speak. The catalogue's APIs are those at the vendor's own
    address, and its prices are not those of a region; flags are for the API that they were written for."""
    shipped = shipped_model(vendor.catalogue or vendor.name, settings.id)
    if host_of(base_url) != host_of(vendor.base_url):
        api = shipped.api if is_own(base_url, vendor) else None
        shipped = msgspec.structs.replace(shipped, cost=None, api=api)
    own = own_model(settings.models, vendor.name, settings.id)
    usual = shipped.api or api_of(msgspec.structs.replace(settings, api=None), vendor, base_url)
    api = settings.api or usual
    accounts = [
        account if api == spoken else msgspec.structs.replace(account, compat={})
        for account, spoken in ((shipped, usual), (own, own.api or usual))
    ]
    return merged(*accounts), api


def _model(settings: ModelSettings, vendor: Vendor, api: str, base_url: str, known: KnownModel) -> Model:
    cost = known.cost.cost() if known.cost else ModelCost() if api == SCRIPTED_API else None
    optional: dict[str, Any] = {
        "context_window": settings.context_window or known.context_window,
        "max_tokens": settings.max_output_tokens or known.max_tokens,
    }
    return Model(
        id=settings.id,
        name=settings.id,
        api=api,
        provider=vendor.name,
        base_url=base_url,
        reasoning=known.reasoning is not False,
        input=known.inputs or ("text", "image"),
        cost=settings.cost or cost,
        thinking_levels={level.value: told for level, told in known.thinking_levels.items()},
        compat=known.compat | settings.compat,
        **{name: value for name, value in optional.items() if value is not None},
    )
