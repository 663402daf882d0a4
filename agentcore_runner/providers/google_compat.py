"""What a Gemini model takes and how it is told to think, by its name, and what a definition says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from agentcore_runner.core.model import Model
from agentcore_runner.providers.mistakes import Mistake, flag_mistakes, with_flags

Levels: TypeAlias = dict[str, str | int | None]


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """Flags of a model, or of the server before it. `supports_images_in_results`: images may stand inside a
    tool's result; `supports_call_ids`: calls and results may carry ids; `requires_thought_signature`: an
    answer with calls is refused where the first of them has none."""

    supports_images: bool = True
    supports_thinking: bool = True
    supports_images_in_results: bool = True
    supports_call_ids: bool = True
    requires_thought_signature: bool = True


GEMINI = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
FIRST_TO_THINK = (2, 5)
NEWEST = (3, 99)
"""The version of a name that has none, such as `gemini-flash-latest`."""


def effective_compat(model: Model) -> Compat:
    """The flags for a model. Raises `Mistaken` for keys and values that are none."""
    version = version_of(model.id)
    newer = version is not None and version >= (3, 0)
    detected = Compat(
        supports_images="image" in model.input,
        supports_thinking=model.reasoning and (version is None or version >= FIRST_TO_THINK),
        supports_images_in_results=newer,
        supports_call_ids=newer or version is None,
        requires_thought_signature=newer,
    )
    return with_flags(detected, model.compat)


def as_flagged(model: Model, compat: Compat) -> Model:
    """The model as its flags have it, with the levels that are usual for one of its name where nothing is
    known of them."""
    return msgspec.structs.replace(
        model,
        input=("text", "image") if compat.supports_images else ("text",),
        reasoning=compat.supports_thinking,
        thinking_levels=_usual_levels(model.id) | model.thinking_levels,
    )


def compat_mistakes(overrides: dict[str, Any]) -> Iterator[Mistake]:
    """The keys that are none, and the values that do not fit."""
    return flag_mistakes(overrides, Compat)


def version_of(model_id: str) -> tuple[int, int] | None:
    """The version that the name of a Gemini model says; None for a model of another family."""
    found = GEMINI.search(model_id)
    if found is not None:
        return int(found[1]), int(found[2] or 0)
    return NEWEST if "gemini" in model_id else None


def _usual_levels(model_id: str) -> Levels:
    """Words for models that are told a level, tokens for those that are told a budget."""
    version = version_of(model_id)
    if version is None:
        return GEMMA
    if version < (3, 0):
        return next((levels for name, levels in BUDGETS if name in model_id), ANY_BUDGET)
    if "pro" not in model_id:
        return FLASH
    return PRO_OF_3_0 if version == (3, 0) else PRO


FLASH: Levels = {"off": "MINIMAL", "minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
"""The least that there is does as good as no thinking."""
PRO: Levels = FLASH | {"off": None, "minimal": None}
PRO_OF_3_0: Levels = PRO | {"medium": None}
GEMMA: Levels = {"minimal": "MINIMAL", "low": "MINIMAL", "medium": "HIGH", "high": "HIGH"}
ANY_BUDGET: Levels = {"off": 0, "minimal": -1, "low": -1, "medium": -1, "high": -1}
"""The model decides itself."""
BUDGETS: tuple[tuple[str, Levels], ...] = (
    ("2.5-pro", {"off": None, "minimal": 128, "low": 2048, "medium": 8192, "high": 32_768}),
    ("2.5-flash-lite", {"off": 0, "minimal": 512, "low": 2048, "medium": 8192, "high": 24_576}),
    ("2.5-flash", {"off": 0, "minimal": 128, "low": 2048, "medium": 8192, "high": 24_576}),
)
