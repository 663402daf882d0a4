"""Numbers, sizes and near misses, in words for people."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_WORD = 80
"""Characters of a word that are compared: the cost grows with their number."""


def counted(number: int, noun: str) -> str:
    """`1 byte`, `2,000 bytes`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def size_text(size: int) -> str:
    """A number of bytes: `812 B`, `50.0 KB`, `4.5 MB`."""
    if size < 1024:
        return f"{size} B"
    for unit in ("KB", "MB"):
        size_in_unit = size / (1024 if unit == "KB" else 1024 * 1024)
        if size_in_unit < 1024:
            return f"{size_in_unit:.1f} {unit}"
    return f"{size / 1024**3:.1f} GB"


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that was probably meant; None when none is near. `cutoff` is the likeness from which a
    word counts; 1 is sameness."""
    import difflib

    by_plain = {plain(name): name for name in known}
    close = difflib.get_close_matches(plain(word[:LONGEST_WORD]), by_plain, 1, cutoff)
    return by_plain[close[0]] if close else None


def plain(word: str) -> str:
    """`maxTurns`, `max-turns` and `Max_Turns` are one word."""
    import re

    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).replace("-", "_").lower()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` to follow a sentence about an unknown word, or nothing when none is near."""
    near = nearest(word, known)
    return f" (did you mean {near!r}?)" if near else ""
