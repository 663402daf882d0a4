"""What is known of a model before it is asked: the catalogue that ships, and the user's models file."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from agentcore_runner.core.model import CostTier, ModelCost, ThinkingLevel

SHIPPED = Path(__file__).with_name("models.json")
DATED = re.compile(r"[-@](20\d\d-\d\d-\d\d|20\d{6}|latest)$")
"""What may follow the id of a known model and leaves it the same model."""

Price: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Tokens: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Inputs: TypeAlias = Annotated[tuple[Literal["text", "image"], ...], msgspec.Meta(min_length=1)]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A map of a models file."""


class Tier(Entry, frozen=True, kw_only=True):
    """Prices of requests of more than `input_tokens_above` tokens, cached ones included."""

    input_tokens_above: Count
    input: Price
    output: Price
    cache_read: Price | None = None
    cache_write: Price | None = None


class Prices(Entry, frozen=True, kw_only=True):
    """USD per million tokens. Tokens from and for the cache cost what `input` costs, unless it is said
    otherwise."""

    input: Price
    output: Price
    cache_read: Price | None = None
    cache_write: Price | None = None
    tiers: tuple[Tier, ...] = ()

    def cost(self) -> ModelCost:
        """The same for the core."""
        tiers = [CostTier(input_tokens_above=tier.input_tokens_above, **_rates(tier)) for tier in self.tiers]
        return ModelCost(**_rates(self), tiers=tuple(tiers))


class KnownModel(Entry, frozen=True, kw_only=True):
    """What is known of one model; None and empty: nothing. `max_tokens` is the most that it answers,
    `thinking_levels` says what the API is told for a level (see `Model`)."""

    api: str | None = None
    context_window: Count | None = None
    max_tokens: Count | None = None
    cost: Prices | None = None
    inputs: Inputs | None = None
    reasoning: bool | None = None
    thinking_levels: dict[ThinkingLevel, str | Tokens | None] = {}
    compat: dict[str, Any] = {}


class KnownProvider(Entry, frozen=True, kw_only=True):
    """A provider's models, by id. `as_of` and `source` say when and where the figures were read. The other
    keys are for the user's file: how a provider is reached and spoken to."""

    as_of: str | None = None
    source: str | None = None
    note: str | None = None
    api: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}
    models: dict[str, KnownModel] = {}


class ModelsFile(msgspec.Struct, frozen=True, kw_only=True):
    """The user's providers, by name."""

    providers: dict[str, KnownProvider] = {}


NOTHING = KnownModel()


def shipped_model(provider: str, model: str) -> KnownModel:
    """What the catalogue says; only that provider's part of it is decoded."""
    found = shipped_provider(provider)
    return _find(found.models, model) if found else NOTHING


@functools.cache
def shipped_provider(name: str) -> KnownProvider | None:
    """The catalogue's part for a provider."""
    part = shipped_parts().get(name)
    return None if part is None else msgspec.json.decode(part, type=KnownProvider)


@functools.cache
def shipped_parts() -> dict[str, msgspec.Raw]:
    """The catalogue, each provider's part still as JSON."""
    return msgspec.json.decode(SHIPPED.read_bytes(), type=_Shipped).providers


def own_model(file: ModelsFile | None, provider: str, model: str) -> KnownModel:
    """What the user's file says of a model, and of its provider as a whole, whose flags are for its API."""
    found = file.providers.get(provider) if file else None
    if found is None:
        return NOTHING
    named = _find(found.models, model)
    same = named.api in (None, found.api)
    return merged(KnownModel(api=found.api, compat=found.compat if same else {}), named)


def merged(base: KnownModel, over: KnownModel) -> KnownModel:
    """One model of two accounts of it: `over` wins, key by key, also in the maps."""
    given = {name: value for name, value in msgspec.structs.asdict(over).items() if value not in (None, {})}
    given["thinking_levels"] = base.thinking_levels | over.thinking_levels
    given["compat"] = base.compat | over.compat
    return msgspec.structs.replace(base, **given)


class _Shipped(msgspec.Struct):
    providers: dict[str, msgspec.Raw]


def _find(models: Mapping[str, KnownModel], model: str) -> KnownModel:
    """The entry of this id, else that of the id without its date or the name of its collection."""
    short = model.removeprefix("models/")
    tried = (model, short, DATED.sub("", short))
    return next((models[name] for name in tried if name in models), NOTHING)


def _rates(prices: Prices | Tier) -> dict[str, float]:
    return {
        "input": prices.input,
        "output": prices.output,
        "cache_read": prices.input if prices.cache_read is None else prices.cache_read,
        "cache_write": prices.input if prices.cache_write is None else prices.cache_write,
    }
