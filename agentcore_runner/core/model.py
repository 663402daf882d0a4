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


class ModelCost(Value, frozen=True, kw_only=True):
    """USD per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class Model(Value, frozen=True, kw_only=True):
    """A model behind an API. `cost` is None when no price is known; `compat` holds what its server needs
    to be spoken to differently."""

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
    compat: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """`provider/id`, the model's name in agent files and results."""
        return f"{self.provider}/{self.id}"


def priced(usage: Usage, cost: ModelCost | None) -> Usage:
    """The usage with its cost in USD filled in, or unchanged where no price is known."""
    if cost is None:
        return usage
    million = 1_000_000
    return Usage(
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        reasoning=usage.reasoning,
        cost=UsageCost(
            input=usage.input * cost.input / million,
            output=usage.output * cost.output / million,
            cache_read=usage.cache_read * cost.cache_read / million,
            cache_write=usage.cache_write * cost.cache_write / million,
        ),
    )
