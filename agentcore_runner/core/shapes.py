"""Whether a value plainly fits a JSON Schema, told without a schema library.

Nearly every tool call is right, and nearly every tool's schema is simple: such a call need not wait until a
full validator is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from agentcore_runner.json_schema import has_type

Schema: TypeAlias = dict[str, Any] | bool


def plainly_valid(value: Any, schema: Schema) -> bool:
    """True when the value surely fits. False means only that a full validator must decide: it does not fit,
    or the schema uses a keyword that is not known here."""
    if not isinstance(schema, dict):
        return schema is True
    for keyword, wanted in schema.items():
        if keyword in _NOTES:
            continue
        check = _CHECKS.get(keyword)
        if check is None or not check(value, wanted, schema):
            return False
    return True


def _type(value: Any, wanted: Any, _: dict[str, Any]) -> bool:
    """An integral float is left to the coercion, which makes it an int."""
    return has_type(value, wanted) and (not isinstance(value, float) or "number" in wanted)


def _properties(value: Any, wanted: Any, _: dict[str, Any]) -> bool:
    if not isinstance(value, dict):
        return True
    return all(plainly_valid(value[name], part) for name, part in wanted.items() if name in value)


def _additional(value: Any, wanted: Any, schema: dict[str, Any]) -> bool:
    if wanted is True or not isinstance(value, dict):
        return True
    declared = schema.get("properties", {})
    return all(plainly_valid(item, wanted) for name, item in value.items() if name not in declared)


def _items(value: Any, wanted: Any, _: dict[str, Any]) -> bool:
    return not isinstance(value, list) or all(plainly_valid(item, wanted) for item in value)


def _required(value: Any, wanted: Any, _: dict[str, Any]) -> bool:
    return isinstance(wanted, list) and (not isinstance(value, dict) or all(name in value for name in wanted))


def _enum(value: Any, wanted: Any, _: dict[str, Any]) -> bool:
    return any(type(value) is type(choice) and value == choice for choice in wanted)


def _minimum(value: Any, wanted: Any, _: dict[str, Any]) -> bool:
    return not has_type(value, "number") or bool(value >= wanted)


def _maximum(value: Any, wanted: Any, _: dict[str, Any]) -> bool:
    return not has_type(value, "number") or bool(value <= wanted)


def _longer(kind: type[str] | type[list[Any]]) -> Callable[[Any, Any, dict[str, Any]], bool]:
    return lambda value, wanted, _: not isinstance(value, kind) or len(value) >= wanted


def _shorter(kind: type[str] | type[list[Any]]) -> Callable[[Any, Any, dict[str, Any]], bool]:
    return lambda value, wanted, _: not isinstance(value, kind) or len(value) <= wanted


_NOTES = frozenset(
    {"$schema", "$comment", "title", "description", "default", "examples", "format", "deprecated"}
)
_CHECKS: dict[str, Callable[[Any, Any, dict[str, Any]], bool]] = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "required": _required,
    "enum": _enum,
    "minimum": _minimum,
    "maximum": _maximum,
    "minLength": _longer(str),
    "maxLength": _shorter(str),
    "minItems": _longer(list),
    "maxItems": _shorter(list),
}
