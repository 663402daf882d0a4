"""Strings that UTF-8 cannot hold, made whole: JSON and Python let half a character stand alone."""

from __future__ import annotations

from typing import Any

REPLACEMENT = "\ufffd"
"""What stands for a character that is not known."""


def mend(text: str) -> str:
    """The text with the halves of surrogate pairs joined and each lone half replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mended(value: Any) -> Any:
    """Plain data with every string in it mended, keys too; tuples become lists, as in JSON."""
    match value:
        case str():
            return mend(value)
        case dict():
            return {mend(key) if isinstance(key, str) else key: mended(item) for key, item in value.items()}
        case list() | tuple():
            return [mended(item) for item in value]
        case _:
            return value


class Halves:
    """Mends a text that arrives in pieces: half a character at the end of one waits for the next, as
    `pending`, which is empty otherwise."""

    def __init__(self) -> None:
        self.pending = ""

    def feed(self, piece: str) -> str:
        """What of the text is whole by now, and was not given before."""
        text, self.pending = self.pending + piece, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self.pending = text[:-1], text[-1]
        return mend(text)
