"""What makes an author's JSON Schema unusable although every key is right: its references and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agentcore_runner.definition.problems import KeyPath
from agentcore_runner.json_schema import pointed

# Where a schema holds schemas: one, a list of them, a map of them.
SINGLE = {
    "items", "contains", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "propertyNames",
    "contentSchema", "not", "if", "then", "else",
}  # fmt: skip
LISTS = {"prefixItems", "allOf", "anyOf", "oneOf"}
MAPS = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
# Those that look at the same value again, and so may run in a circle.
SAME_VALUE = {"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"}


def unusable(schema: Any) -> Iterator[tuple[KeyPath, str]]:
    """Paths in a schema, and what is wrong there: references to nothing or in a circle, keys of
    `patternProperties` that are no regular expression."""
    subschemas = dict(_subschemas(schema, ()))
    # One schema may stand at many paths, through aliases.
    wrong = False
    for path, part in subschemas.items():
        for pattern in _map(part, "patternProperties"):
            if not _is_pattern(pattern):
                yield (*path, "patternProperties", pattern), f"{pattern!r} is no regular expression"
        reference = part.get("$ref")
        if isinstance(reference, str) and not isinstance(_target(schema, reference), dict | bool):
            wrong = True
            yield (*path, "$ref"), f"{reference!r} points to nothing in this schema"
    if not wrong:
        yield from _circles(schema, subschemas)


def _circles(root: Any, subschemas: dict[KeyPath, dict[str, Any]]) -> Iterator[tuple[KeyPath, str]]:
    """References that lead back to themselves without going into the value."""
    done: set[int] = set()
    places = {id(part): path for path, part in subschemas.items()}
    for start in subschemas.values():
        if id(start) in done:
            continue
        open_ids = {id(start)}
        waiting = [(start, _same_value(root, start))]
        while waiting:
            part, following = waiting[-1]
            entry = next(following, None)
            if entry is None:
                waiting.pop()
                open_ids.discard(id(part))
                done.add(id(part))
            elif id(entry) in open_ids:
                place = next(step for step, _ in reversed(waiting) if "$ref" in step)
                message = f"{place['$ref']!r} refers to itself, so that no value could ever be checked"
                yield (*places.get(id(place), ()), "$ref"), message
            elif id(entry) not in done:
                open_ids.add(id(entry))
                waiting.append((entry, _same_value(root, entry)))


def _same_value(root: Any, part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas that look at the same value as this one."""
    if isinstance(part.get("$ref"), str):
        target = _target(root, part["$ref"])
        if isinstance(target, dict):
            yield target
    for path, child in _children(part):
        if path[0] in SAME_VALUE:
            yield child


def _subschemas(schema: Any, path: KeyPath) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """The schema and every schema in it, by path."""
    if isinstance(schema, dict):
        yield path, schema
        for steps, child in _children(schema):
            yield from _subschemas(child, (*path, *steps))


def _children(schema: dict[str, Any]) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    for key, value in schema.items():
        entries: list[tuple[KeyPath, Any]] = []
        if key in SINGLE:
            entries = [((key,), value)]
        elif key in LISTS and isinstance(value, list):
            entries = [((key, index), entry) for index, entry in enumerate(value)]
        elif key in MAPS and isinstance(value, dict):
            entries = [((key, name), entry) for name, entry in value.items()]
        yield from ((path, entry) for path, entry in entries if isinstance(entry, dict))


def _target(root: Any, reference: str) -> Any:
    # An anchor (`#name`) has nothing to point to: `$anchor` is not a key of ours.
    return pointed(root, reference) if reference == "#" or reference.startswith("#/") else None


def _map(schema: dict[str, Any], key: str) -> dict[str, Any]:
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
