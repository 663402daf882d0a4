"""Bends arguments towards a JSON Schema where their meaning is plain: "7" for 7, JSON text for a list."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from agentcore_runner.core.shapes import Schema
from agentcore_runner.json_schema import has_type, pointed

IsValid: TypeAlias = Callable[[Any, Schema], bool]
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_MISSING = object()


class Coercer:
    """Coerces values to parts of one tool's schema; `is_valid` decides between alternatives.

    Containers are changed in place: pass a copy. What cannot be coerced comes back as it is, for the
    validation to refuse.
    """

    def __init__(self, root: dict[str, Any], is_valid: IsValid) -> None:
        self._root = root
        self._is_valid = is_valid

    def coerce(self, value: Any, schema: Schema, seen: tuple[str, ...] = ()) -> Any:
        """The value, nearer to the schema. `seen` are the references followed for this very value."""
        if not isinstance(schema, dict):
            return value
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            value = self.coerce(value, self._resolve(reference), (*seen, reference))
        for part in schema.get("allOf", ()):
            value = self.coerce(value, part, seen)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                value = self._choose(value, schema[keyword], seen)
        if "type" in schema:
            value = self._to_type(value, schema)
        return self._inside(value, schema)

    def _resolve(self, reference: str) -> Schema:
        """The part of the schema that a local reference names; `True`, which asks nothing, for others."""
        part = pointed(self._root, reference)
        return part if isinstance(part, dict | bool) else True

    def _choose(self, value: Any, members: list[Schema], seen: tuple[str, ...]) -> Any:
        """An exact match wins; else the first alternative that fits after coercion."""
        if any(self._is_valid(value, member) for member in members):
            return value
        for member in members:
            candidate = self.coerce(copy_json(value), member, seen)
            if self._is_valid(candidate, member):
                return candidate
        return value

    def _to_type(self, value: Any, schema: dict[str, Any]) -> Any:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if has_type(value, names):
            return int(value) if isinstance(value, float) and "number" not in names else value
        for name in names:
            candidate = self._from_json(value, schema, name) if name in _CONTAINERS else _scalar(value, name)
            if candidate is not _MISSING:
                return candidate
        return value

    def _from_json(self, value: Any, schema: dict[str, Any], name: str) -> Any:
        """Models now and then write a list or an object as JSON text; it counts if what it says fits."""
        if not isinstance(value, str) or not value.strip().startswith(_CONTAINERS[name]):
            return _MISSING
        try:
            parsed = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return _MISSING
        parsed = self._inside(parsed, schema)
        return parsed if self._is_valid(parsed, schema) else _MISSING

    def _inside(self, value: Any, schema: dict[str, Any]) -> Any:
        if isinstance(value, dict):
            self._properties(value, schema)
        elif isinstance(value, list):
            prefix = schema.get("prefixItems", [])
            rest = schema.get("items", True)
            for index, item in enumerate(value):
                value[index] = self.coerce(item, prefix[index] if index < len(prefix) else rest)
        return value

    def _properties(self, value: dict[str, Any], schema: dict[str, Any]) -> None:
        declared = schema.get("properties", {})
        required = schema.get("required", ())
        other = schema.get("additionalProperties", True)
        for name in list(value):
            part = declared.get(name, other)
            if value[name] is None and name in declared and name not in required:
                if not self._is_valid(None, part):
                    del value[name]  # "not given", as many models write it
            else:
                value[name] = self.coerce(value[name], part)


def copy_json(value: Any) -> Any:
    """A deep copy of plain JSON data."""
    if isinstance(value, dict):
        return {name: copy_json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


def _scalar(value: Any, name: str) -> Any:
    """The value as this scalar type, or _MISSING."""
    convert = _SCALARS.get(name)
    return convert(value) if convert is not None else _MISSING


def _to_number(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, str) or len(value) > 300 or not _NUMBER.fullmatch(value.strip()):
        return _MISSING
    text = value.strip()
    number = float(text) if set(text) & set(".eE") else int(text)
    return number if math.isfinite(number) else _MISSING


def _to_integer(value: Any) -> Any:
    number = _to_number(value)
    if isinstance(number, float):
        return int(number) if number.is_integer() else _MISSING
    return number


def _to_boolean(value: Any) -> Any:
    if value is None:
        return False
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value, _MISSING)
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else _MISSING


def _to_string(value: Any) -> Any:
    if value is None:
        return ""  # never the word "null", which a tool would take for a name
    return msgspec.json.encode(value).decode() if isinstance(value, bool | int | float) else _MISSING


def _to_null(value: Any) -> Any:
    return None if value == "" or (isinstance(value, bool | int | float) and value == 0) else _MISSING


_CONTAINERS = {"array": "[", "object": "{"}
_SCALARS: dict[str, Callable[[Any], Any]] = {
    "number": _to_number,
    "integer": _to_integer,
    "boolean": _to_boolean,
    "string": _to_string,
    "null": _to_null,
}
