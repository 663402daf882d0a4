"""How hard a model is told to think, by its name, its flags and what is known of it."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.providers.anthropic import AnthropicApi
from agentcore_runner.providers.anthropic_compat import Compat, compat_mistakes, version_of
from agentcore_runner.providers.catalog import describe, parse_model
from agentcore_runner.providers.mistakes import Mistaken
from agentcore_runner.providers.settings import ModelSettings
from tests.providers.doubles import context, user

LEVELS = [level.value for level in ThinkingLevel]


def api(
    model: str,
    *,
    max_tokens: int = 64_000,
    levels: dict[str, Any] | None = None,
    compat: dict[str, Any] | None = None,
    **wanted: Any,
) -> AnthropicApi:
    described = Model(
        id=model,
        name=model,
        api="anthropic-messages",
        provider="anthropic",
        reasoning=True,
        max_tokens=max_tokens,
        thinking_levels=levels or {},
        compat=compat or {},
    )
    return AnthropicApi(described, ModelSettings(provider="anthropic", id=model, **wanted))


def told(anthropic: AnthropicApi, level: str = "off", **options: Any) -> Any:
    """A budget, an effort, or the type that turns thinking off; None where nothing is said."""
    body = asked(anthropic, level, **options)
    thinking = body.get("thinking", {})
    assert thinking.get("display") == ("summarized" if thinking.get("type") == "adaptive" else None)
    match thinking.get("type"):
        case "enabled":
            return thinking["budget_tokens"]
        case "adaptive":
            return body["output_config"]["effort"]
        case other:
            assert "output_config" not in body
            return other


def asked(anthropic: AnthropicApi, level: str = "off", **options: Any) -> dict[str, Any]:
    given = StreamOptions(signal=AbortSignal(), thinking_level=ThinkingLevel(level), **options)
    return anthropic.body(context(user()), given)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-3-5-haiku-latest", [None] * 7),
        ("claude-3-7-sonnet-20250219", [None, 1024, 2048, 8192, 16384, 16384, 16384]),
        ("claude-opus-4-20250514", [None, 1024, 2048, 8192, 16384, 16384, 16384]),
        ("claude-haiku-4-5@20251001", [None, 1024, 2048, 8192, 16384, 16384, 16384]),
        ("us.anthropic.claude-opus-4-6-v1", [None, "low", "low", "medium", "high", "max", "max"]),
        ("claude-opus-4-8", [None, "low", "low", "medium", "high", "xhigh", "max"]),
        ("claude-opus-5", ["disabled", "low", "low", "medium", "high", "xhigh", "max"]),
        ("claude-opus-5-5", ["low", "low", "low", "medium", "high", "xhigh", "max"]),
        ("claude-haiku-5-5", ["disabled", "low", "low", "medium", "high", "xhigh", "max"]),
        ("claude-sonnet-5-5", ["between_tools", "low", "low", "medium", "high", "xhigh", "max"]),
        ("claude-mythos-preview", ["low", "low", "low", "medium", "high", "xhigh", "max"]),
        ("claude-fable-5-2", ["low", "low", "low", "medium", "high", "xhigh", "max"]),
        ("kimi-k3", [None, 1024, 2048, 8192, 16384, 16384, 16384]),
    ],
)
def test_level_is_told_as_the_model_takes_it(model: str, expected: list[Any]) -> None:
    assert [told(api(model), level) for level in LEVELS] == expected


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-5", "claude-sonnet-5",
        "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5", "claude-fable-5-2",
    ],
)  # fmt: skip
def test_name_says_the_same_as_the_catalogue(model: str) -> None:
    shipped = describe(parse_model(f"anthropic/{model}"), {})
    known = AnthropicApi(shipped, ModelSettings(provider="anthropic", id=model))

    assert [told(known, level) for level in LEVELS] == [told(api(model), level) for level in LEVELS]


def test_what_is_known_of_a_model_decides_before_its_name() -> None:
    budgets = api("claude-opus-5", levels={"low": 5000, "max": 40_000, "off": None})
    efforts = api("kimi-k3", levels={"low": "medium", "max": "max"})
    flagged = api("kimi-k3", compat={"adaptive_thinking": True, "thinking_off": "disabled"})

    assert [told(budgets, level) for level in LEVELS] == [1024, 1024, 5000, 8192, 16384, 40_000, 40_000]
    assert [told(efforts, level) for level in ("low", "high", "xhigh", "max")] == [
        "medium", "high", "max", "max"
    ]  # fmt: skip
    assert [told(flagged, level) for level in ("off", "low", "max")] == ["disabled", "low", "high"]


@pytest.mark.parametrize(
    ("cap", "most", "level", "expected"),
    [
        (None, 64_000, "high", (16_384, 64_000)),
        (2_000, 64_000, "high", (16_384, 18_384)),
        (60_000, 64_000, "high", (16_384, 64_000)),
        (None, 16_384, "high", (15_360, 16_384)),
        (100, 16_384, "high", (15_360, 16_384)),
        (None, 2_048, "high", (1_024, 2_048)),
        (None, 2_047, "high", (None, 2_047)),
        (100, 1_200, "minimal", (None, 100)),
    ],
)
def test_budget_leaves_room_for_the_answer(
    cap: int | None, most: int, level: str, expected: tuple[Any, int]
) -> None:
    body = asked(api("claude-sonnet-4-5", max_tokens=most), level, max_output_tokens=cap)

    assert (body.get("thinking", {}).get("budget_tokens"), body["max_tokens"]) == expected


def test_effort_leaves_the_cap_as_it_is() -> None:
    assert asked(api("claude-opus-5"), "max", max_output_tokens=2_000)["max_tokens"] == 2_000


def test_budget_of_the_run_wins_where_the_model_takes_one() -> None:
    old, both, new = api("claude-sonnet-4-5"), api("claude-opus-4-6"), api("claude-opus-5")

    assert told(old, "low", thinking_budget=3_000) == told(both, "low", thinking_budget=3_000) == 3_000
    assert told(old, "off", thinking_budget=3) == 1_024
    assert told(old, "high", thinking_budget=0) is None
    assert told(new, "medium", thinking_budget=3_000) == "medium"


@pytest.mark.parametrize(
    ("model", "level", "sent"),
    [
        ("claude-opus-4", "off", {"temperature": 0.5, "top_p": 0.9}),
        ("claude-sonnet-4-5", "off", {"temperature": 0.5}),
        ("claude-sonnet-4-5", "low", {}),
        ("claude-opus-4-6", "off", {"temperature": 0.5}),
        ("claude-opus-4-7", "off", {}),
        ("claude-opus-5", "off", {}),
        ("kimi-k3", "high", {"temperature": 0.5, "top_p": 0.9}),
    ],
)
def test_sampling_is_sent_where_it_is_taken(model: str, level: str, sent: dict[str, float]) -> None:
    body = asked(api(model, temperature=0.5, top_p=0.9), level)

    assert {name: body[name] for name in ("temperature", "top_p") if name in body} == sent


@pytest.mark.parametrize(
    ("anthropic", "level", "expected"),
    [
        (api("claude-sonnet-4-5"), "off", []),
        (api("claude-sonnet-4-5"), "minimal", []),
        (api("claude-sonnet-4-5"), "max",
         ["thinking_level 'max' is sent as 'high', the nearest that there is"]),
        (api("claude-sonnet-4-5", max_tokens=2_000), "low",
         ["thinking_level 'low' is not sent: max_output_tokens 2000 leaves no room to think"
          " (thinking and answer need 2048)"]),
        (api("claude-3-5-haiku"), "off", []),
        (api("claude-3-5-haiku"), "low",
         ["thinking_level 'low' is not sent: anthropic/claude-3-5-haiku is not known to think"
          " (model.compat: {supports_thinking: true} sends it)"]),
        (api("claude-opus-4-6"), "minimal", ["thinking_level 'minimal' is sent as 'low'"]),
        (api("claude-opus-4-6"), "xhigh",
         ["thinking_level 'xhigh' is sent as 'max', the nearest that there is"]),
        (api("claude-opus-5-5"), "off",
         ["thinking_level 'off' is sent as 'minimal', the nearest that there is"]),
        (api("claude-opus-5-5"), "xhigh", []),
        (api("claude-sonnet-5-5"), "off", []),
        (api("claude-opus-5", temperature=1.0), "low",
         ["temperature not sent: anthropic/claude-opus-5 takes none"
          " (model.compat: {supports_temperature: true} sends it)"]),
        (api("claude-opus-4-6", temperature=1.0), "low",
         ["temperature not sent: anthropic/claude-opus-4-6 takes none when it thinks"
          " (model.compat: {supports_temperature_when_thinking: true} sends it)"]),
        (api("claude-opus-4-6", temperature=1.0, top_p=0.1), "off",
         ["top_p not sent: anthropic/claude-opus-4-6 takes no top_p beside a temperature"
          " (model.compat: {supports_top_p_with_temperature: true} sends it)"]),
    ],
)  # fmt: skip
def test_warnings_say_what_is_sent_differently(
    anthropic: AnthropicApi, level: str, expected: list[str]
) -> None:
    assert anthropic.warnings(ThinkingLevel(level)) == expected


def test_every_flag_can_be_set_and_others_are_named() -> None:
    right: dict[str, Any] = dict.fromkeys(Compat.__struct_fields__, True)
    right |= {"thinking_off": "disabled", "cache_ttl": "1h"}
    wrong = {"adaptive": True, "adaptive_thinking": "yes", "cache_ttl": 5, "thinking_off": []}

    api("x", compat=right)
    messages = [mistake.message for mistake in compat_mistakes(right | wrong)]

    assert sorted(messages) == [
        "'adaptive' is not a key of model.compat (did you mean 'adaptive_thinking'?)",
        "model.compat.adaptive_thinking: expected true or false, found 'yes'",
        "model.compat.cache_ttl: expected '5m' or '1h', found 5",
        "model.compat.thinking_off: expected 'omitted' or 'disabled' or 'between_tools', found []",
    ]
    with pytest.raises(Mistaken):
        api("x", compat=wrong)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-3-7-sonnet-20250219", (3, 7)), ("claude-opus-4-20250514", (4, 0)),
        ("anthropic/claude-opus-4.5", (4, 5)), ("claude-fable-5-2", (5, 2)), ("claude-opus-6", (6, 0)),
        ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", (4, 5)), ("claude-mythos-preview", (99, 0)),
        ("claude-sonnet-latest", (99, 0)), ("glm-5.2", None), ("gpt-6", None),
    ],
)  # fmt: skip
def test_version_stands_in_the_name(name: str, version: tuple[int, int] | None) -> None:
    assert version_of(name) == version
