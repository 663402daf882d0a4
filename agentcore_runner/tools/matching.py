"""Finds the one place in a text that an edit means: exactly, else leniently."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, islice, pairwise

import msgspec

from agentcore_runner.errors import ToolError

PLAINER = {
    **dict.fromkeys(map(ord, "‘’‚‛′"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
    **dict.fromkeys([0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000, 0xA0], " "),
}


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """Replace `old_text`, which must stand in the file once, by `new_text`. Line ends are `\\n` in both."""

    old_text: str
    new_text: str


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Where an edit applies: offsets into the text, and the edit's place in the list."""

    start: int
    end: int
    index: int


def locate(text: str, edits: Sequence[Edit], where: str) -> list[Span]:
    """The span of every edit, in the text's order. Raises ToolError for text that is empty, not found, found
    more than once, or claimed by two edits."""
    lenient = LenientText(text)
    spans = [find(text, lenient, edit.old_text, index, where) for index, edit in enumerate(edits)]
    spans.sort(key=lambda span: span.start)
    for before, after in pairwise(spans):
        if after.start < before.end:
            first, second = sorted((before.index, after.index))
            raise ToolError(f"edits[{first}] and edits[{second}] overlap; make them one edit")
    return spans


def find(text: str, lenient: LenientText, old: str, index: int, where: str) -> Span:
    """The only place of one edit. A unique exact match wins, however many look alike."""
    if not old:
        raise ToolError(f"edits[{index}]: old_text is empty; quote the text to be replaced")
    first = text.find(old)
    if first >= 0:
        if text.find(old, first + 1) < 0:
            return Span(start=first, end=first + len(old), index=index)
        raise ToolError(too_many(index, max(text.count(old), 2), where))
    found = list(islice(lenient.matches(old), 2))
    if not found:
        raise ToolError(
            f"edits[{index}]: old_text was not found in {where}; read the file again and quote it exactly, "
            "with its white space"
        )
    if len(found) > 1:
        raise ToolError(too_many(index, max(lenient.count(old), 2), where))
    return Span(start=found[0][0], end=found[0][1], index=index)


def too_many(index: int, number: int, where: str) -> str:
    """What the model is told about text that is not unique."""
    return f"edits[{index}]: old_text occurs {number} times in {where}; quote more lines around it"


class LenientText:
    """The text without differences that are easily made in quoting: compatibility forms (NFKC), trailing
    white space, kinds of quotes, dashes and spaces. It has the same lines as the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._columns: dict[int, dict[int, int]] = {}

    def matches(self, old: str) -> Iterator[tuple[int, int]]:
        """Every place in the text that reads like `old`, as offsets into the text."""
        needle = simplified(old)
        if not needle.strip():
            return
        simple, at = self._simple, -1
        while (at := simple.find(needle, at + 1)) >= 0:
            start, end = self._offset(at, end=False), self._offset(at + len(needle), end=True)
            if start is not None and end is not None:
                yield start, end

    def count(self, old: str) -> int:
        """How often the text reads like `old`, without overlaps."""
        return self._simple.count(simplified(old))

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.split("\n")

    @cached_property
    def _simple_lines(self) -> list[str]:
        return [simplify(line) for line in self._lines]

    @cached_property
    def _simple(self) -> str:
        return "\n".join(self._simple_lines)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    @cached_property
    def _simple_starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self._simple_lines), initial=0))

    def _offset(self, simple_offset: int, *, end: bool) -> int | None:
        """The text's offset for one in the simple text; None inside what was one character. The end of a line
        takes its trailing white space along."""
        number = bisect_right(self._simple_starts, simple_offset) - 1
        line, simple = self._lines[number], self._simple_lines[number]
        column: int | None = simple_offset - self._simple_starts[number]
        if end and column == len(simple):
            column = len(line)
        elif not line.startswith(simple):
            column = self._columns_of(number).get(simple_offset - self._simple_starts[number])
        return None if column is None else self._starts[number] + column

    def _columns_of(self, number: int) -> dict[int, int]:
        if number not in self._columns:
            self._columns[number] = dict(columns(self._lines[number]))
        return self._columns[number]


def simplified(text: str) -> str:
    """Every line made simple."""
    return "\n".join([simplify(line) for line in text.split("\n")])


def simplify(line: str) -> str:
    """A line as the lenient comparison sees it."""
    if not line.isascii():
        line = "".join([simple_form(cluster) for cluster in clusters(line)])
    return line.rstrip()


def columns(line: str) -> Iterator[tuple[int, int]]:
    """Pairs of a column in the simple line and the column of the same place in the line."""
    simple = plain = 0
    for cluster in clusters(line):
        yield simple, plain
        simple += len(simple_form(cluster))
        plain += len(cluster)
    yield simple, plain


def clusters(line: str) -> list[str]:
    """Characters with the marks that combine with them."""
    if not any(map(unicodedata.combining, line)):
        return list(line)
    starts = [at for at, char in enumerate(line) if at == 0 or not unicodedata.combining(char)]
    return [line[start:stop] for start, stop in zip(starts, [*starts[1:], len(line)], strict=True)]


@lru_cache(maxsize=4096)
def simple_form(cluster: str) -> str:
    """One character with its marks, made simple."""
    return unicodedata.normalize("NFKC", cluster).translate(PLAINER)


def normal_line_ends(text: str) -> str:
    """The text with `\\n` for `\\r\\n`."""
    return re.sub("\r\n", "\n", text)
