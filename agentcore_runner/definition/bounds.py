"""How much one operation of a template may make: enough for a prompt, too little to exhaust the machine."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from jinja2.exceptions import SecurityError

LARGEST = 10_000_000
"""Characters or items of what one operation of a template makes."""
MOST_BITS = 100_000
SIZED_FILTERS = {
    "center": LARGEST, "batch": LARGEST, "slice": LARGEST, "indent": 1000, "round": 1000, "tojson": 1000,
}  # fmt: skip
SIZED_CALLS = {"center", "ljust", "rjust", "zfill", "expandtabs", "generate_lorem_ipsum"}
NUMBER = re.compile(r"[0-9]+")
FIELD_SPEC = re.compile(r"\{[^{}:]*:([^{}]*)\}")
NESTED_FIELD = re.compile(r"\{[^{}]+\{")
PERCENT_SPEC = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(\*|[0-9]*)(?:\.(\*|[0-9]*))?")
NESTED_KEY = re.compile(r"%\([^)]*\(")


def limit_operation(operator: str, left: Any, right: Any) -> None:
    """Raise SecurityError where an operation would make a value that is too large."""
    if operator == "**" and isinstance(left, int) and isinstance(right, int):
        limit(left.bit_length() * right, MOST_BITS, "bits")
    elif operator == "*":
        for value, times in ((left, right), (right, left)):
            if isinstance(value, str | list | tuple | bytes) and isinstance(times, int):
                limit(len(value) * times)
        if isinstance(left, int) and isinstance(right, int):
            limit(left.bit_length() + right.bit_length(), MOST_BITS, "bits")
    elif operator == "%" and isinstance(left, str):
        limit_percent(left)
    elif operator == "+" and isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
        limit(len(left) + len(right))


def limit(size: int, most: int = LARGEST, what: str = "characters or items") -> None:
    """Raise SecurityError for a size above the most."""
    if size > most:
        raise SecurityError(f"the result would have more than {most:,} {what}")


def limit_numbers(values: Iterable[Any], most: int = LARGEST) -> None:
    """Raise SecurityError where one of the values is a number above the most."""
    for value in values:
        if isinstance(value, int) and abs(value) > most:
            raise SecurityError(f"a number here is at most {most:,}")


def limit_format(text: str) -> None:
    """Raise SecurityError for a text of `str.format` that pads too far, or as far as a value says."""
    if NESTED_FIELD.search(text):
        raise SecurityError("a width in a format is written out, not computed")
    _limit_widths(number for spec in FIELD_SPEC.findall(text) for number in NUMBER.findall(spec))


def limit_percent(text: str) -> None:
    """The same for a text of the operator `%`."""
    if NESTED_KEY.search(text):
        raise SecurityError("a key in a format holds no '('")
    widths = [width for pair in PERCENT_SPEC.findall(text) for width in pair if width]
    if "*" in widths:
        raise SecurityError("a width in a format is written out, not '*'")
    _limit_widths(widths)


def _limit_widths(widths: Iterable[str]) -> None:
    digits = [width.lstrip("0") for width in widths]
    if any(len(width) > len(str(LARGEST)) for width in digits):
        limit(LARGEST + 1)
    limit(sum(int(width or "0") for width in digits))


def limit_replace(text: str, old: object = "", new: object = "") -> None:
    """Raise SecurityError where replacing would make a text too long."""
    limit(len(text) + text.count(str(old)) * len(str(new)))


def sized(function: Callable[..., Any], most: int) -> Callable[..., Any]:
    """A filter whose numbers, after the value, say how much it makes."""

    @functools.wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        limit_numbers([*args[1:], *kwargs.values()], most)
        return function(*args, **kwargs)

    return bounded


def bounded_replace(function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter `replace` within the bounds."""

    @functools.wraps(function)
    def bounded(context: Any, text: Any, old: Any, new: Any, count: int | None = None) -> Any:
        limit_replace(str(text), old, new)
        return function(context, text, old, new, count)

    return bounded


def bounded_format(function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter `format` within the bounds."""

    @functools.wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        limit_percent(str(args[0]))
        return function(*args, **kwargs)

    return bounded
