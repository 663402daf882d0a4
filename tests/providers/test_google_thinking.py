"""What a Gemini model is told about thinking, and what a definition may say of it."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.google import GoogleApi
from agentcore_runner.providers.google_compat import compat_mistakes, version_of
from agentcore_runner.providers.settings import ModelSettings
from tests.providers.doubles import context

PRO_3, PRO_31, FLASH_3, GEMMA = (
    "gemini-3-pro-preview",
    "gemini-3.1-pro",
    "gemini-3-flash-preview",
    "gemma-4-31b",
)
PRO_25, FLASH_25, LITE_25 = "gemini-2.5-pro", "gemini-2.5-flash", "models/gemini-2.5-flash-lite-001"


def google(model: str, *, reasoning: bool = True, levels: Any = None, compat: Any = None) -> GoogleApi:
    described = Model(
        id=model,
        name=model,
        api="google-generative-ai",
        provider="google",
        base_url="https://generativelanguage.googleapis.com",
        reasoning=reasoning,
        thinking_levels=levels or {},
        compat=compat or {},
    )
    return GoogleApi(described, ModelSettings(provider="google", id=model))


def told(api: GoogleApi, level: str = "off", budget: int | None = None) -> Any:
    """The level or the budget, and whether thoughts are asked for."""
    options = StreamOptions(signal=AbortSignal(), thinking_level=ThinkingLevel(level), thinking_budget=budget)
    config = api.body(context(), options).get("generationConfig", {}).get("thinkingConfig")
    if config is None:
        return None
    return config.get("thinkingLevel", config.get("thinkingBudget")), "includeThoughts" in config


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (PRO_3, ["LOW", "LOW", "LOW", "HIGH", "HIGH"]),
        (PRO_31, ["LOW", "LOW", "LOW", "MEDIUM", "HIGH"]),
        ("gemini-pro-latest", ["LOW", "LOW", "LOW", "MEDIUM", "HIGH"]),
        (FLASH_3, ["MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH"]),
        ("gemini-flash-latest", ["MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH"]),
        (PRO_25, [128, 128, 2048, 8192, 32_768]),
        (FLASH_25, [0, 128, 2048, 8192, 24_576]),
        (LITE_25, [0, 512, 2048, 8192, 24_576]),
    ],
)
def test_levels_are_told_as_the_model_takes_them(model: str, expected: list[Any]) -> None:
    api = google(model)

    assert [told(api, level) for level in ("off", "minimal", "low", "medium", "high")] == [
        (each, at > 0) for at, each in enumerate(expected)
    ]
    assert told(api, "xhigh") == told(api, "max") == told(api, "high")


def test_model_that_is_no_gemini_is_told_only_what_is_asked() -> None:
    api = google(GEMMA)

    assert told(api, "off") is None
    assert [told(api, level) for level in ("minimal", "low", "medium", "high")] == [
        ("MINIMAL", True), ("MINIMAL", True), ("HIGH", True), ("HIGH", True),
    ]  # fmt: skip
    assert told(google(GEMMA, levels={"off": "LOW"}), "off") == ("LOW", False)


def test_model_that_does_not_think_is_not_told_to() -> None:
    assert told(google("gemini-2.0-flash"), "high") is None
    assert told(google(FLASH_3, reasoning=False), "high") is None
    assert told(google("gemini-2.0-flash", compat={"supports_thinking": True}), "high") == (-1, True)


def test_what_is_known_of_a_model_wins() -> None:
    api = google(FLASH_3, levels={"off": None, "minimal": "low", "xhigh": "XHIGH"})

    assert [told(api, level)[0] for level in ("off", "minimal", "xhigh", "max")] == [
        "LOW",
        "LOW",
        "XHIGH",
        "XHIGH",
    ]


@pytest.mark.parametrize(
    ("model", "budget", "expected"),
    [
        (FLASH_25, 5000, (5000, True)), (FLASH_25, 0, (0, False)), (FLASH_25, -1, (-1, True)),
        (FLASH_25, 99_999, (24_576, True)), (FLASH_25, 1, (128, True)), (PRO_25, 0, (128, False)),
        (LITE_25, 100, (512, True)), (FLASH_3, 0, ("MINIMAL", False)), (FLASH_3, 100, ("MINIMAL", True)),
        (FLASH_3, 5000, ("MEDIUM", True)), (PRO_3, 9000, ("HIGH", True)), (PRO_31, 99_999, ("HIGH", True)),
    ],
)  # fmt: skip
def test_budget_wins_over_the_level(model: str, budget: int, expected: Any) -> None:
    assert told(google(model), "medium", budget) == expected


@pytest.mark.parametrize(
    ("model", "level", "warning"),
    [
        (FLASH_3, "off", None),
        (FLASH_3, "high", None),
        (FLASH_25, "off", None),
        (FLASH_25, "medium", None),
        (FLASH_25, "max", "thinking_level 'max' is sent as 'high', the nearest that there is"),
        (PRO_25, "off", "thinking_level 'off' is sent as 'minimal', the nearest that there is"),
        (PRO_3, "off", "thinking_level 'off' is sent as 'low', the nearest that there is"),
        (PRO_3, "medium", "thinking_level 'medium' is sent as 'high', the nearest that there is"),
        (GEMMA, "low", "thinking_level 'low' is sent as 'minimal'"),
        ("gemini-2.0-flash", "off", None),
        (
            "gemini-2.0-flash",
            "low",
            "thinking_level 'low' is not sent: google/gemini-2.0-flash is not known to think "
            "(model.compat: {supports_thinking: true} sends it)",
        ),
    ],
)
def test_what_is_sent_differently_is_said(model: str, level: str, warning: str | None) -> None:
    assert google(model).warnings(ThinkingLevel(level)) == ([warning] if warning else [])


def test_model_that_decides_itself_is_said_to() -> None:
    api = google("gemini-2.0-flash", compat={"supports_thinking": True})

    assert api.warnings(ThinkingLevel.LOW) == [
        "thinking_level 'low' is not sent: google/gemini-2.0-flash decides itself how much it thinks"
    ]


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("gemini-2.5-flash", (2, 5)), ("models/gemini-3-pro-preview", (3, 0)), ("gemini-3.8-flash", (3, 8)),
        ("gemini-flash-lite-latest", (3, 99)), ("gemma-4-31b", None), ("claude-opus-4-6", None),
    ],
)  # fmt: skip
def test_version_is_read_from_the_name(model: str, version: Any) -> None:
    assert version_of(model) == version


def test_mistakes_in_flags_are_told() -> None:
    wrong = {"supports_call_id": True, "supports_images": "yes", "supports_thinking": True}

    assert [(found.key, found.message) for found in compat_mistakes(wrong)] == [
        (
            ("compat", "supports_call_id"),
            "'supports_call_id' is not a key of model.compat (did you mean 'supports_call_ids'?)",
        ),
        (("compat", "supports_images"), "model.compat.supports_images: expected true or false, found 'yes'"),
    ]
    with pytest.raises(ConfigError):
        google(FLASH_3, compat=wrong)
