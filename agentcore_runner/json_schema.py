"""Two facts of JSON Schema: the types of a plain value, and where a reference leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def has_type(value: Any, wanted: str | list[str]) -> bool:
    """Whether the value is of this type, or of one of these: true is no number, 2.0 is an integer. An unknown
    type fits nothing."""
    if isinstance(wanted, list):
        return any(has_type(value, name) for name in wanted)
    check = _TYPES.get(wanted)
    return check is not None and check(value)


def pointed(root: Any, reference: str) -> Any:
    """What a reference such as `#/$defs/name` names in a schema, `True` for an anchor (`#name`), which is not
    looked for; None where it leads to nothing or out of the schema."""
    if not reference.startswith("#"):
        return None
    anchor, *steps = reference[1:].split("/")
    if anchor:
        return True
    place = root
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, list):
            place = place[int(name)] if name.isdecimal() and int(name) < len(place) else None
        else:
            place = place.get(name) if isinstance(place, dict) else None
    return place


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integer(value: Any) -> bool:
    return _number(value) and (isinstance(value, int) or value.is_integer())


_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _integer,
    "number": _number,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}
