"""How hard a Gemini model is told to think: a level or a budget, as the model takes it."""

from __future__ import annotations

from typing import Any

from agentcore_runner.core.model import Model, ThinkingLevel, level_of_budget, nearest_level
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.providers.levels import asked_for, missing_level


def thinking_config(model: Model, options: StreamOptions) -> dict[str, Any] | None:
    """The `thinkingConfig` of a request; None for a model that refuses to be told, and for one that is not a
    Gemini where nothing is asked. Thoughts are asked for only where thinking is: a model that cannot be
    stopped from it thinks unseen."""
    if not model.reasoning:
        return None
    level, budget = options.thinking_level, options.thinking_budget
    told: str | int
    if budget is not None and _takes_budgets(model):
        told = _within(model, budget)
        level = ThinkingLevel.OFF if budget == 0 else ThinkingLevel.HIGH
    else:
        if budget is not None:
            level = level_of_budget(budget)
        if level is ThinkingLevel.OFF and level.value not in model.thinking_levels:
            return None
        told = _told(model, level)
    shown = {"includeThoughts": True} if level is not ThinkingLevel.OFF else {}
    return shown | ({"thinkingBudget": told} if isinstance(told, int) else {"thinkingLevel": told})


def thinking_warnings(model: Model, level: ThinkingLevel) -> list[str]:
    """A level that is not sent, or sent as another; a sentence each."""
    missing = missing_level(model, level)
    if missing is not None:
        return missing
    asked = asked_for(level)
    told = _told(model, level)
    if isinstance(told, str) and told.lower() != level.value and level is not ThinkingLevel.OFF:
        return [f"{asked} is sent as {told.lower()!r}"]
    if told == -1:
        return [f"{asked} is not sent: {model.key} decides itself how much it thinks"]
    return []


def _told(model: Model, level: ThinkingLevel) -> str | int:
    """The API's word, or its budget in tokens, for a level."""
    told = model.thinking_levels.get(nearest_level(model, level).value)
    if isinstance(told, int):
        return told
    return (told or level.value).upper()


def _takes_budgets(model: Model) -> bool:
    return any(isinstance(told, int) for told in model.thinking_levels.values())


def _within(model: Model, budget: int) -> int:
    """The budget as the model takes it: beyond what its levels stand for it is refused."""
    known = [told for told in model.thinking_levels.values() if isinstance(told, int) and told > 0]
    if budget < 0 or not known or (budget == 0 and model.thinking_levels.get("off") == 0):
        return budget
    return min(max(budget, min(known)), max(known))
