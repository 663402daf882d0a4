"""Which model, what it costs, how hard it thinks."""

from __future__ import annotations

import enum
from typing import Any

from agentcore_runner.core.messages import Usage, UsageCost, Value


class ThinkingLevel(enum.StrEnum):
    """How much a model may think before it answers."""

    OFF = "off"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


class CostTier(Value, frozen=True, kw_only=True):
    """USD per million tokens, for requests of more than `input_tokens_above` tokens, cached ones included."""

    input_tokens_above: int
    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class ModelCost(Value, frozen=True, kw_only=True):
    """USD per million tokens. Where a request is long enough for one of the `tiers`, that of the highest
    threshold holds for all of it."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    tiers: tuple[CostTier, ...] = ()

    def rates(self, prompt_tokens: int) -> ModelCost | CostTier:
        """The prices for a request of so many tokens."""
        reached = [tier for tier in self.tiers if prompt_tokens > tier.input_tokens_above]
        return max(reached, key=lambda tier: tier.input_tokens_above) if reached else self


class Model(Value, frozen=True, kw_only=True):
    """A model behind an API. `cost` is None when no price is known; `compat` holds what its server needs
    to be spoken to differently. `thinking_levels` says what the API is told for a level: its word, or tokens;
    None is a level that the model does not have. A level that is missing is told as the API has it, but
    `xhigh` and `max` exist only where they are named."""

    id: str
    name: str
    api: str
    provider: str
    base_url: str = ""
    reasoning: bool = False
    input: tuple[str, ...] = ("text",)
    cost: ModelCost | None = None
    context_window: int = 128_000
    max_tokens: int = 16_384
    thinking_levels: dict[str, str | int | None] = {}
    compat: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """`provider/id`, the model's name in agent files and results."""
        return f"{self.provider}/{self.id}"


def supported_levels(model: Model) -> tuple[ThinkingLevel, ...]:
    """The levels that a model has, least first."""
    if not model.reasoning:
        return (ThinkingLevel.OFF,)
    named = model.thinking_levels
    usual = {level.value: level.value for level in ThinkingLevel if level not in _ONLY_WHERE_NAMED}
    return tuple(level for level in ThinkingLevel if (usual | named).get(level.value) is not None)


def nearest_level(model: Model, level: ThinkingLevel) -> ThinkingLevel:
    """The level itself where the model has it, else the next higher one, else the next lower one."""
    levels, order = supported_levels(model), list(ThinkingLevel)
    if level in levels or not levels:
        return level
    higher = [each for each in levels if order.index(each) > order.index(level)]
    return higher[0] if higher else levels[-1]


def level_of_budget(tokens: int) -> ThinkingLevel:
    """The least level that usually thinks so many tokens or more, for a model that is told none; 0 is off."""
    enough = (level for level, usual in USUAL_BUDGETS.items() if tokens <= usual)
    return ThinkingLevel.OFF if tokens <= 0 else next(enough, ThinkingLevel.HIGH)


USUAL_BUDGETS = {
    ThinkingLevel.MINIMAL: 1024,
    ThinkingLevel.LOW: 2048,
    ThinkingLevel.MEDIUM: 8192,
    ThinkingLevel.HIGH: 16_384,
}
"""Tokens that a level stands for where a model is told tokens."""
_ONLY_WHERE_NAMED = (ThinkingLevel.XHIGH, ThinkingLevel.MAX)


def priced(usage: Usage, cost: ModelCost | None) -> Usage:
    """The usage with its cost in USD filled in, or unchanged where no price is known."""
    if cost is None:
        return usage
    million = 1_000_000
    rates = cost.rates(usage.prompt_tokens)
    return Usage(
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        reasoning=usage.reasoning,
        cost=UsageCost(
            input=usage.input * rates.input / million,
            output=usage.output * rates.output / million,
            cache_read=usage.cache_read * rates.cache_read / million,
            cache_write=usage.cache_write * rates.cache_write / million,
        ),
    )
