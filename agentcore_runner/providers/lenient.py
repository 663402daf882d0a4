"""Plain data of a server, taken for what it was meant to be: None, or nothing, where it is something else."""

from __future__ import annotations

from typing import Any


def text(value: Any) -> str | None:
    """A string; a number as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """A whole number, also one that is written as a text or with a fraction."""
    try:
        return int(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None


def mapping(value: Any) -> dict[str, Any]:
    """An object."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """A list."""
    return value if isinstance(value, list) else []


def count(value: float | None) -> int:
    """A number of tokens; one that is missing, or that cannot be, is 0."""
    try:
        return max(0, int(value or 0))
    except (ValueError, OverflowError):
        return 0
