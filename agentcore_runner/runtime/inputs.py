"""The values of an agent's inputs: from flags, files, standard input and defaults, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from agentcore_runner.definition.load import parse_scalar
from agentcore_runner.definition.schema import value_errors
from agentcore_runner.definition.types import AgentDefinition, InputSpec
from agentcore_runner.errors import ConfigError
from agentcore_runner.runtime.options import RawInput
from agentcore_runner.words import did_you_mean


def resolve_inputs(
    definition: AgentDefinition,
    given: Mapping[str, Any],
    stdin_text: Callable[[str], str | None] | None,
) -> dict[str, Any]:
    """Every input's value, defaults filled in; raises ConfigError naming each input that is wrong."""
    mistakes = [unknown(name, definition.inputs) for name in given if name not in definition.inputs]
    values: dict[str, Any] = {}
    for name, spec in definition.inputs.items():
        try:
            value = value_of(name, spec, given, stdin_text)
            if value is not msgspec.UNSET:
                check(name, spec, value)
                values[name] = value
        except ConfigError as exc:
            mistakes.append(str(exc))
    if mistakes:
        raise ConfigError("; ".join(mistakes))
    return values


def value_of(
    name: str,
    spec: InputSpec,
    given: Mapping[str, Any],
    stdin_text: Callable[[str], str | None] | None,
) -> Any:
    """One input's value, unchecked; UNSET for an optional one that nobody gave."""
    if name in given:
        value = given[name]
        return parse(name, spec, value.text) if isinstance(value, RawInput) else value
    piped = stdin_text(f"input {name!r}") if spec.from_stdin and stdin_text is not None else None
    if piped is not None:
        return parse(name, spec, piped)
    if spec.default is not msgspec.UNSET:
        return spec.default
    if spec.required:
        how = "pipe it to standard input or give it" if spec.from_stdin else "give it"
        raise ConfigError(f"input {name!r} is required and has no default ({how} with -i {name}=VALUE)")
    return msgspec.UNSET


def parse(name: str, spec: InputSpec, text: str) -> Any:
    """A flag's text as the input's schema wants it: where it may be a string it stays text, else it is read
    as YAML 1.2."""
    wanted = spec.schema.get("type")
    if wanted == "string" or (isinstance(wanted, list) and "string" in wanted):
        return text
    if wanted is None and not faults(name, spec, text):
        return text
    try:
        return parse_scalar(text)
    except ConfigError as exc:
        raise ConfigError(f"input {name!r}: {exc}") from exc


def check(name: str, spec: InputSpec, value: Any) -> None:
    """Raise ConfigError unless the value satisfies the input's schema."""
    errors = faults(name, spec, value)
    if errors:
        raise ConfigError(f"input {name!r}: {errors[0]}")


def faults(name: str, spec: InputSpec, value: Any) -> list[str]:
    """What is wrong with a value; ConfigError where the schema itself cannot be used."""
    try:
        return value_errors(value, spec.schema)
    except ValueError as exc:
        raise ConfigError(f"the schema of input {name!r} cannot be used: {exc}") from exc


def unknown(name: str, declared: Mapping[str, InputSpec]) -> str:
    """The sentence for an input that the agent does not declare."""
    hint = did_you_mean(name, declared) or f" (it has {', '.join(declared) or 'none'})"
    return f"the agent has no input {name!r}{hint}"
