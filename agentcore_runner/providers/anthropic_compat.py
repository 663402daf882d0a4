"""What a model behind the Messages API takes, by its name, and what a definition says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from agentcore_runner.core.model import USUAL_BUDGETS, Model
from agentcore_runner.providers.mistakes import Mistake, flag_mistakes, with_flags

Levels: TypeAlias = dict[str, str | int | None]
Version: TypeAlias = tuple[int, int]


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """Flags of a model, or of the server before it. The defaults are what servers of models other than Claude
    take.

    `adaptive_thinking`: the model is told an effort and decides itself how long it thinks, and is told a
    budget only where it `supports_thinking_budgets` besides; the others are always told a budget.
    `thinking_off` says how thinking is turned off: the request leaves it out, or names one of the two types.
    `binds_thinking`: thinking counts only behind the conversation in which it came about.
    `supports_interleaved_thinking`: a model with a budget thinks between calls where a header asks for it.
    `supports_temperature` and `supports_temperature_when_thinking` stand for `top_p` as well. `cache_ttl` is
    how long a prompt stays in the cache. `allows_empty_signature`: thinking without a signature goes back
    with an empty one, else it is left out.
    """

    supports_images: bool = True
    supports_thinking: bool = True
    supports_thinking_budgets: bool = True
    supports_interleaved_thinking: bool = False
    supports_temperature: bool = True
    supports_temperature_when_thinking: bool = True
    supports_top_p_with_temperature: bool = True
    supports_cache_control: bool = True
    adaptive_thinking: bool = False
    thinking_off: Literal["omitted", "disabled", "between_tools"] = "omitted"
    binds_thinking: bool = False
    cache_ttl: Literal["5m", "1h"] = "5m"
    allows_empty_signature: bool = False


VERSION = re.compile(r"claude\D*(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
NEWEST: Version = (99, 0)
"""The version of a Claude whose name says none, such as `claude-mythos-preview`."""
THINKS_AT_ALL: Version = (3, 7)
ONE_OF_TWO: Version = (4, 1)
"""From here on a request has a temperature or a `top_p`, not both."""
ADAPTIVE: Version = (4, 6)
NO_SAMPLING: Version = (4, 7)
"""From here on neither temperature nor budgets are taken, and there are the efforts `xhigh` and `max`."""
THINKS_UNASKED: Version = (5, 0)
BINDING: Version = (5, 1)


def effective_compat(model: Model) -> Compat:
    """The flags for a model. Raises `Mistaken` for keys and values that are none."""
    return with_flags(_detected(model), model.compat)


def as_flagged(model: Model, compat: Compat) -> Model:
    """The model as its flags have it, with the levels that are usual for one of its name where nothing is
    known of them."""
    usual: Levels = _efforts(model.id) if compat.adaptive_thinking else {**BUDGETS}
    return msgspec.structs.replace(
        model,
        input=("text", "image") if compat.supports_images else ("text",),
        reasoning=compat.supports_thinking,
        thinking_levels=usual | model.thinking_levels,
    )


def compat_mistakes(overrides: dict[str, Any]) -> Iterator[Mistake]:
    """The keys that are none, and the values that do not fit."""
    return flag_mistakes(overrides, Compat)


def version_of(model_id: str) -> Version | None:
    """The version that the name of a Claude says; None for a model of another family."""
    found = VERSION.search(model_id)
    if found is not None:
        return int(found[1]), int(found[2] or 0)
    return NEWEST if "claude" in model_id else None


def _detected(model: Model) -> Compat:
    version = version_of(model.id)
    told = {type(value) for value in model.thinking_levels.values()}
    adaptive = str in told or (int not in told and version is not None and version >= ADAPTIVE)
    images = "image" in model.input
    if version is None:
        return Compat(supports_images=images, supports_thinking=model.reasoning, adaptive_thinking=adaptive)
    return Compat(
        supports_images=images,
        supports_thinking=model.reasoning and version >= THINKS_AT_ALL,
        supports_thinking_budgets=version < NO_SAMPLING,
        supports_interleaved_thinking=(4, 0) <= version < ADAPTIVE,
        supports_temperature=version < NO_SAMPLING,
        supports_temperature_when_thinking=False,
        supports_top_p_with_temperature=version < ONE_OF_TWO,
        adaptive_thinking=adaptive,
        thinking_off=_thinking_off(model.id, version),
        binds_thinking=version >= BINDING,
    )


def _thinking_off(model_id: str, version: Version) -> Literal["omitted", "disabled", "between_tools"]:
    if version < THINKS_UNASKED:
        return "omitted"
    return "between_tools" if version >= BINDING and "sonnet" in model_id else "disabled"


def _efforts(model_id: str) -> Levels:
    """The words for an effort, as far as models of that name know them."""
    version = version_of(model_id)
    levels: Levels = {**EFFORTS}
    if version is not None:
        levels["max"] = "max"
    if version is not None and version >= NO_SAMPLING:
        levels["xhigh"] = "xhigh"
        if "fable" in model_id or "mythos" in model_id or (version >= BINDING and "opus" in model_id):
            levels["off"] = None
    return levels


BUDGETS = {level.value: tokens for level, tokens in USUAL_BUDGETS.items()}
EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
