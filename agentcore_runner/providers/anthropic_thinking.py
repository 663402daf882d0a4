"""How hard a model behind the Messages API is told to think, and how much it may answer then."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.core.model import Model, ThinkingLevel, nearest_level
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.providers.anthropic_compat import BUDGETS, EFFORTS, Compat, version_of
from agentcore_runner.providers.levels import asked_for, missing_level
from agentcore_runner.providers.settings import ModelSettings

LEAST_BUDGET = 1024
LEAST_ANSWER = 1024
"""Tokens that are kept for the answer itself."""


class Thinking(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says of thinking: the type, a budget in tokens or an effort, and `max_tokens`, which
    counts thinking and answer together. No type: nothing is said."""

    type: str | None = None
    budget: int | None = None
    effort: str | None = None
    max_tokens: int

    @property
    def on(self) -> bool:
        """Whether the model is asked to think."""
        return self.type in ("adaptive", "enabled")


def thinking_of(
    model: Model,
    compat: Compat,
    settings: ModelSettings,
    options: StreamOptions,
    *,
    thoughtless: bool = False,
) -> Thinking:
    """What is said for a level or a budget. A budget makes the answer longer by as much, up to what the model
    can answer at all; where that leaves no room for thinking, there is none. `thoughtless`: the request goes
    on with calls that came about without thinking, where a Claude takes no budget."""
    caps = [cap for cap in (settings.max_output_tokens, options.max_output_tokens) if cap is not None]
    answer = max(1, min(caps)) if caps else model.max_tokens
    budget, effort = _told(model, compat, options)
    if budget is not None and not (thoughtless and version_of(model.id) is not None):
        most = max(answer, min(answer + budget, model.max_tokens))
        budget = min(budget, most - LEAST_ANSWER)
        if budget >= LEAST_BUDGET:
            return Thinking(type="enabled", budget=budget, max_tokens=most)
    if effort is not None:
        return Thinking(type="adaptive", effort=effort, max_tokens=answer)
    off = None if compat.thinking_off == "omitted" or not model.reasoning else compat.thinking_off
    return Thinking(type=off, max_tokens=answer)


def thinking_keys(thinking: Thinking, *, drops_blocks: bool) -> dict[str, Any]:
    """The same as keys of the body. `drops_blocks`: the service is to leave out thinking that no longer fits
    the conversation, instead of refusing the request."""
    if thinking.type is None:
        return {}
    told: dict[str, Any] = {"type": thinking.type}
    if thinking.budget is not None:
        told["budget_tokens"] = thinking.budget
    if thinking.type == "adaptive":
        # Newer models would send signatures only.
        told["display"] = "summarized"
        if drops_blocks:
            told["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    effort = {} if thinking.effort is None else {"output_config": {"effort": thinking.effort}}
    return {"thinking": told, **effort}


def thinking_warnings(model: Model, compat: Compat, level: ThinkingLevel) -> list[str]:
    """A level that is not sent, or sent as another; a sentence each."""
    missing = missing_level(model, level)
    if missing is not None:
        return missing
    asked = asked_for(level)
    if level is ThinkingLevel.OFF:
        return []
    if compat.adaptive_thinking:
        word = _effort(model, level)
        return [] if word == level.value else [f"{asked} is sent as {word!r}"]
    if model.max_tokens < LEAST_BUDGET + LEAST_ANSWER:
        return [
            f"{asked} is not sent: max_output_tokens {model.max_tokens} leaves no room to think"
            f" (thinking and answer need {LEAST_BUDGET + LEAST_ANSWER})"
        ]
    return []


def sampling_of(compat: Compat, settings: ModelSettings, *, thinks: bool) -> dict[str, float]:
    """Temperature and `top_p`, as far as the model takes them."""
    given = {"temperature": settings.temperature, "top_p": settings.top_p}
    sent = {name: value for name, value in given.items() if value is not None}
    if not compat.supports_temperature or (thinks and not compat.supports_temperature_when_thinking):
        return {}
    if len(sent) > 1 and not compat.supports_top_p_with_temperature:
        del sent["top_p"]
    return sent


def sampling_warnings(
    model: Model, compat: Compat, settings: ModelSettings, level: ThinkingLevel
) -> list[str]:
    """What of the sampling is not sent."""
    thinks = model.reasoning and nearest_level(model, level) is not ThinkingLevel.OFF
    sent = sampling_of(compat, settings, thinks=thinks)
    left = [
        name for name in ("temperature", "top_p") if getattr(settings, name) is not None and name not in sent
    ]
    if not left:
        return []
    if not compat.supports_temperature:
        reason, flag = "takes none", "supports_temperature"
    elif thinks and not compat.supports_temperature_when_thinking:
        reason, flag = "takes none when it thinks", "supports_temperature_when_thinking"
    else:
        reason, flag = "takes no top_p beside a temperature", "supports_top_p_with_temperature"
    return [f"{' and '.join(left)} not sent: {model.key} {reason} (model.compat: {{{flag}: true}} sends it)"]


def _told(model: Model, compat: Compat, options: StreamOptions) -> tuple[int | None, str | None]:
    """The budget or the effort that the model is told; neither where it shall not think. To a model that
    knows no budgets goes the level that came along with the budget."""
    level, budget = options.thinking_level, options.thinking_budget
    if not model.reasoning:
        return None, None
    budgets = compat.supports_thinking_budgets or not compat.adaptive_thinking
    if budget is not None and budgets:
        if budget > 0:
            return max(LEAST_BUDGET, budget), None
        level = ThinkingLevel.OFF
    nearest = nearest_level(model, level)
    if nearest is ThinkingLevel.OFF:
        return None, None
    if compat.adaptive_thinking:
        return None, _effort(model, nearest)
    told = model.thinking_levels.get(nearest.value)
    usual = BUDGETS.get(nearest.value, BUDGETS["high"])
    return max(LEAST_BUDGET, told if isinstance(told, int) else usual), None


def _effort(model: Model, level: ThinkingLevel) -> str:
    told = model.thinking_levels.get(level.value)
    return told if isinstance(told, str) else EFFORTS.get(level.value, EFFORTS["high"])
