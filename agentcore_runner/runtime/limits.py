"""The limits in force: the file's, tightened by flags."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.definition.types import AgentDefinition, Limits
from agentcore_runner.errors import ConfigError
from agentcore_runner.runtime.options import RunOptions
from agentcore_runner.words import did_you_mean

NAMES = tuple(name for name in Limits.__struct_fields__ if name != "written")


def effective_limits(definition: AgentDefinition, options: RunOptions) -> Limits:
    """The file's limits with those of the options. An option may tighten a limit that a file wrote; loosening
    one takes `raise_limits`, and defaults bind nobody. Raises ConfigError naming each that is no limit, no
    number, or goes too far."""
    mistakes = []
    for name, value in options.limits.items():
        if name not in NAMES:
            hint = did_you_mean(name, NAMES) or f" (it is one of {', '.join(NAMES)})"
            mistakes.append(f"there is no limit {name!r}{hint}")
        elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            mistakes.append(f"limits.{name}: expected a number of at least 0, found {value!r}")
        elif loosens(definition.limits, name, value) and not options.raise_limits:
            flag, written = name.replace("_", "-"), getattr(definition.limits, name)
            mistakes.append(
                f"--{flag} {value:g} loosens limits.{name}, which {definition.path} sets to {written:g} "
                "(add --raise-limits to allow it)"
            )
    if mistakes:
        raise ConfigError("; ".join(mistakes))
    return msgspec.structs.replace(definition.limits, **options.limits)


def loosens(limits: Limits, name: str, value: float) -> bool:
    """Whether the value allows more than the file does."""
    return name in limits.written and value > getattr(limits, name)


def as_record(limits: Limits) -> dict[str, Any]:
    """The limits by name, in seconds and bytes."""
    return {name: getattr(limits, name) for name in NAMES}
