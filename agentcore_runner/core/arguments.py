"""Tool arguments: made to fit the schema where their meaning is plain, refused with reasons where not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from agentcore_runner.core.coerce import Coercer, copy_json
from agentcore_runner.core.results import shortened
from agentcore_runner.core.shapes import Schema, plainly_valid
from agentcore_runner.core.tools import AgentTool
from agentcore_runner.errors import ToolError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

MOST_LINES = 10
MOST_CACHED = 256


def validate_tool_arguments(tool: AgentTool, arguments: Any) -> dict[str, Any]:
    """The arguments as the tool may have them, a deep copy. Raises ToolError that tells the model what is
    wrong with each and what was received."""
    schema = tool.parameters
    if isinstance(arguments, dict) and plainly_valid(arguments, schema):
        return dict(copy_json(arguments))
    checked = Coercer(schema, lambda value, part: _is_valid(schema, value, part)).coerce(
        copy_json(arguments), schema
    )
    if not isinstance(checked, dict):
        raise _refusal(tool, ["root: must be object"], arguments)
    if not plainly_valid(checked, schema):
        lines = list(dict.fromkeys(_lines(_validator(schema).iter_errors(checked))))
        if lines:
            raise _refusal(tool, lines, arguments)
    return checked


def _is_valid(root: dict[str, Any], value: Any, part: Schema) -> bool:
    return plainly_valid(value, part) or bool(_validator(root).evolve(schema=part).is_valid(value))


_validators: dict[int, tuple[dict[str, Any], Validator]] = {}
"""By the schema's identity; the schema is kept beside it, so that its id stays its own."""


def _validator(schema: dict[str, Any]) -> Validator:
    known = _validators.get(id(schema))
    if known is not None:
        return known[1]
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing.jsonschema import EMPTY_REGISTRY

    # A registry of our own: without one a remote reference would be fetched from the network.
    cls = validator_for(schema, default=Draft202012Validator)
    validator: Validator = cls(schema, registry=EMPTY_REGISTRY)
    if len(_validators) >= MOST_CACHED:
        _validators.clear()
    _validators[id(schema)] = (schema, validator)
    return validator


def _lines(errors: Iterable[ValidationError]) -> Iterator[str]:
    """`path: message` for each error; a missing property is named by its own path."""
    for error in errors:
        path = [str(step) for step in error.absolute_path]
        if error.validator == "required":
            found: Any = error.instance
            for name in _listed(error.validator_value):
                if name not in found:
                    yield f"{'.'.join([*path, name])}: required property is missing"
        else:
            yield f"{'.'.join(path) or 'root'}: {_message(error)}"


def _message(error: ValidationError) -> str:
    instance: Any = error.instance
    found = shortened(_as_json(instance), 80)
    wanted: Any = error.validator_value
    match error.validator:
        case "type":
            return f"must be {' or '.join(_listed(wanted))}, found {found}"
        case "enum":
            return f"must be one of {shortened(_as_json(wanted), 200)}, found {found}"
        case "additionalProperties" if wanted is False:
            declared = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
            extra = ", ".join(repr(name) for name in instance if name not in declared)
            return f"unknown property {shortened(extra, 200)} (known: {', '.join(declared) or 'none'})"
        case "anyOf" | "oneOf" if error.context:
            return "; or ".join(dict.fromkeys(_message(part) for part in error.context[:5]))
    return shortened(error.message, 200)


def _listed(wanted: Any) -> list[str]:
    return wanted if isinstance(wanted, list) else [wanted]


def _refusal(tool: AgentTool, lines: list[str], received: Any) -> ToolError:
    shown = [f"- {line}" for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"- and {len(lines) - MOST_LINES} more")
    pretty = shortened(msgspec.json.format(_as_json(received), indent=2), 2000)
    text = "\n".join(
        [f"Invalid arguments for tool {tool.name!r}; it was not run.", *shown, "Received arguments:", pretty]
    )
    return ToolError(text)


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=repr).decode()
