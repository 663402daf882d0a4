"""The catalogue that ships: every entry makes sense, and what is known is used."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from typing import Any

import msgspec
import pytest

from agentcore_runner.core.messages import Usage
from agentcore_runner.core.model import ModelCost, ThinkingLevel, priced, supported_levels
from agentcore_runner.providers.apis import APIS, CHAT_API, compat_mistakes
from agentcore_runner.providers.catalog import ModelSettings, describe, parse_model
from agentcore_runner.providers.known import (
    SHIPPED,
    KnownModel,
    KnownProvider,
    Prices,
    Tier,
    shipped_model,
    shipped_parts,
    shipped_provider,
)
from agentcore_runner.providers.services import VENDORS

PROVIDERS = sorted(shipped_parts())
MODELS = [
    pytest.param(provider, name, model, id=f"{provider}/{name}")
    for provider in PROVIDERS
    for name, model in (shipped_provider(provider) or KnownProvider()).models.items()
]


@pytest.mark.parametrize("name", PROVIDERS)
def test_figures_of_every_provider_have_a_date_and_a_source(name: str) -> None:
    provider = shipped_provider(name)

    assert provider is not None and provider.models
    assert name in VENDORS
    assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", provider.as_of or "")
    assert provider.source
    assert (provider.api, provider.base_url, provider.api_key_env, provider.headers) == (None, None, None, {})


@pytest.mark.parametrize(("provider", "name", "model"), MODELS)
def test_every_entry_makes_sense(provider: str, name: str, model: KnownModel) -> None:
    window, most = model.context_window or 1_000, model.max_tokens or 1_000

    assert 1_000 <= most <= max(window, most) <= 10_000_000
    assert model.max_tokens is None or model.max_tokens <= window
    assert model.inputs is None or model.inputs[0] == "text"
    assert model.api is None or model.api in APIS
    if model.cost is not None:
        sensible(model.cost)
        thresholds = [tier.input_tokens_above for tier in model.cost.tiers]
        assert thresholds == sorted(set(thresholds))
        assert all(threshold < window for threshold in thresholds)
        for tier in model.cost.tiers:
            sensible(tier)
            assert tier.input > model.cost.input
            assert tier.output > model.cost.output


def sensible(prices: Prices | Tier) -> None:
    assert 0 < prices.input <= prices.output < 1_000
    assert 0 < (prices.cache_read or prices.input) <= prices.input
    assert prices.input <= (prices.cache_write or prices.input) <= 2 * prices.input


@pytest.mark.parametrize(("provider", "name", "model"), MODELS)
def test_every_entry_can_be_described(provider: str, name: str, model: KnownModel) -> None:
    described = describe(ModelSettings(provider=provider, id=name), {})

    assert described.context_window == (model.context_window or 128_000)
    assert described.max_tokens == (model.max_tokens or 16_384)
    assert described.cost == (model.cost.cost() if model.cost else None)
    assert not compat_mistakes(described.api, described.compat)
    assert model.reasoning is not True or supported_levels(described)
    words = [told for told in described.thinking_levels.values() if told is not None]
    assert all(told != "" and (isinstance(told, str) or told >= 0) for told in words)


@pytest.mark.parametrize(
    ("provider", "model", "base"),
    [
        ("openai", "gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic", "claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("openai", "gpt-5-latest", "gpt-5"),
    ],
)
def test_id_with_a_date_is_the_model_without(provider: str, model: str, base: str) -> None:
    assert shipped_model(provider, model) == shipped_model(provider, base) != KnownModel()
    assert describe(ModelSettings(provider=provider, id=model), {}).id == model


@pytest.mark.parametrize("model", ["openai/gpt-5-mini-2025", "openai/gpt-5-x", "groq/gpt-5", "vllm/gpt-5"])
def test_other_ids_are_not_known(model: str) -> None:
    described = describe(parse_model(model), {})

    assert (described.cost, described.context_window, described.max_tokens) == (None, 128_000, 16_384)


def test_settings_win_key_by_key() -> None:
    known = describe(parse_model("groq/openai/gpt-oss-20b"), {})

    ours = describe(
        ModelSettings(
            provider="groq",
            id="openai/gpt-oss-20b",
            context_window=5_000,
            compat={"supports_images": True},
        ),
        {},
    )

    assert ours == msgspec.structs.replace(
        known, context_window=5_000, input=("text", "image"), compat={"supports_images": True}
    )
    priced_by_us = ModelSettings(
        provider="openai", id="gpt-5", cost=ModelCost(input=1.0), max_output_tokens=7
    )
    described = describe(priced_by_us, {})
    assert (described.cost, described.max_tokens) == (ModelCost(input=1.0), 7)


def test_prices_are_those_at_the_service_itself() -> None:
    own = describe(parse_model("openai/gpt-5"), {})
    elsewhere = describe(ModelSettings(provider="openai", id="gpt-5", base_url="http://127.0.0.1:1/v1"), {})
    azure = describe(parse_model("azure/gpt-5"), {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com"})

    assert own.cost is not None
    for other in (elsewhere, azure):
        assert (other.api, other.cost) == (CHAT_API, None)
        assert (other.context_window, other.thinking_levels) == (own.context_window, own.thinking_levels)


def test_long_requests_cost_what_their_tier_says() -> None:
    cost = describe(parse_model("anthropic/claude-haiku-5-5"), {}).cost

    short = priced(Usage(input=90_000, cache_read=10_000, output=1_000), cost).cost
    long = priced(Usage(input=90_001, cache_read=10_000, output=1_000), cost).cost

    assert round(short.total, 9) == round((90_000 * 0.1 + 10_000 * 0.01 + 1_000 * 0.5) / 1e6, 9)
    assert round(long.total, 9) == round((90_001 * 0.5 + 10_000 * 0.05 + 1_000 * 2.5) / 1e6, 9)


def test_tokens_of_a_cache_without_a_price_cost_what_others_do() -> None:
    assert Prices(input=2, output=6).cost() == ModelCost(input=2, output=6, cache_read=2, cache_write=2)


@pytest.mark.parametrize(
    ("model", "levels"),
    [
        ("openai/gpt-5", "minimal low medium high"),
        ("openai/gpt-5.1", "off low medium high"),
        ("openai/gpt-6.2-sol", "low medium high xhigh max"),
        ("openai/gpt-4.1", "off"),
        ("anthropic/claude-opus-4-6", "off minimal low medium high max"),
        ("anthropic/claude-opus-5-5", "minimal low medium high xhigh max"),
        ("google/gemini-2.5-pro", "minimal low medium high"),
        ("google/gemini-4-neon", "low medium high xhigh"),
        ("groq/openai/gpt-oss-120b", "low medium high"),
        ("deepseek/deepseek-v4-pro", "off minimal low medium high max"),
        ("mistral/mistral-medium-3-5", "off high"),
    ],
)
def test_models_have_their_levels(model: str, levels: str) -> None:
    assert supported_levels(describe(parse_model(model), {})) == tuple(map(ThinkingLevel, levels.split()))


def test_a_run_reads_only_the_part_it_needs_and_that_quickly() -> None:
    code = (
        "import agentcore_runner.providers.catalog as c, agentcore_runner.providers.known as k;"
        "assert k.shipped_parts.cache_info().currsize == 0, 'read at import';"
        "c.describe(c.parse_model('groq/x'), {}); assert k.shipped_provider.cache_info().currsize == 1"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

    taken = []
    for _ in range(5):
        shipped_parts.cache_clear()
        shipped_provider.cache_clear()
        started = time.perf_counter()
        shipped_model("openai", "gpt-5")
        taken.append(time.perf_counter() - started)
    assert min(taken) < 0.005
    assert SHIPPED.stat().st_size < 100_000


def test_a_mistake_in_the_catalogue_would_be_seen() -> None:
    def read(**model: Any) -> None:
        msgspec.convert({"models": {"x": model}}, KnownProvider)

    for wrong in (
        {"contextwindow": 5},
        {"context_window": 0},
        {"cost": {"input": 1}},
        {"cost": {"input": -1, "output": 1}},
        {"inputs": ["text", "video"]},
        {"thinking_levels": {"huge": "x"}},
    ):
        with pytest.raises(msgspec.ValidationError):
            read(**wrong)
