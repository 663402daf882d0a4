"""What a JSON value is: equality, the words for it and its type, patterns and the formats of ours."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import msgspec

from agentcore_runner.definition.scalars import parse_duration, parse_size
from agentcore_runner.errors import ConfigError

TYPE_WORDS = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "array": "a list", "object": "a map", "null": "nothing",
}  # fmt: skip
LONGEST_FOUND = 60


def found(value: Any, source: str | None = None) -> str:
    """A value as a message names it; `source` is how an unquoted one was written."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, str):
        return repr(value if len(value) <= LONGEST_FOUND else value[:LONGEST_FOUND] + "…")
    word = "" if isinstance(value, bool) else "the number "
    return word + (source or str(value).lower())[:LONGEST_FOUND]


def equal(left: Any, right: Any) -> bool:
    """JSON equality: 1 is 1.0 and not true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return bool(left == right)


def repeats(value: list[Any]) -> bool:
    """Whether an item stands twice in a list."""
    seen = {msgspec.json.encode(item, order="sorted") for item in value}
    return len(seen) < len(value)


def shown(value: Any) -> str:
    """A wanted value as a message names it: a text in quotes, anything else as JSON writes it."""
    return repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def type_words(schema: dict[str, Any]) -> str:
    """`a string or nothing`: the words for a schema's types."""
    kinds = schema.get("type", "another value")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(TYPE_WORDS.get(kind, kind) for kind in kinds)


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """A schema's pattern, for `search`. Raises `re.error`."""
    # `$` of Python also matches before a last line feed; JSON Schema's does not.
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") and pattern[-2:] != r"\$" else pattern)


def _parses(parse: Callable[[Any], object]) -> Callable[[Any], bool]:
    def accepts(value: Any) -> bool:
        try:
            parse(value)
        except ConfigError:
            return False
        return True

    return accepts


def _is_regular_expression(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except (re.error, RecursionError, OverflowError):
        return False


FORMATS: dict[str, Callable[[Any], bool]] = {
    "seconds-or-duration": _parses(parse_duration),
    "bytes-or-size": _parses(parse_size),
    "regular-expression": _is_regular_expression,
}
