"""A Jinja2 template that knows where it was written."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Any

import msgspec

# How many characters of white space and escapes may lie between two parts of a text.
MOST_SKIPPED = 4096
MARKERS = ("{{", "{%", "{#")


class Included(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a template includes, imports or extends. `name` is its path from the project folder, `file`
    what messages call it."""

    name: str
    file: str
    text: str


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A template's source and the place of its first character. `text` is the whole file, to show the line
    of a failure; `name` is its path from the project folder; `includes` holds every file it reads; `marks`
    are (offset, line, column) wherever the source stops following the file character by character, as in a
    YAML block."""

    source: str
    file: str
    line: int
    column: int
    text: str = ""
    name: str = ""
    includes: tuple[Included, ...] = ()
    marks: tuple[tuple[int, int, int], ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the text is its own result."""
        return not any(marker in self.source for marker in MARKERS)

    def render(self, variables: Mapping[str, Any]) -> str:
        """The text with the variables filled in; raises ConfigError naming file, line and column."""
        if self.is_plain:
            return self.source
        from agentcore_runner.definition.jinja import render

        return render(self, variables)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column in the file of a character of the text."""
        if self.marks:
            index = bisect.bisect_right(self.marks, (offset, 1 << 62, 0)) - 1
            start, line, column = self.marks[max(index, 0)]
            return line, column + max(offset - start, 0)
        lines = self.source.count("\n", 0, offset)
        if lines == 0:
            return self.line, self.column + offset
        return self.line + lines, offset - self.source.rfind("\n", 0, offset)

    def unfolded(self) -> str:
        """The text with a line feed for every space that was a line's end in the file: as long as the text,
        and the same to Jinja2, whose line numbers then are as fine as the file's."""
        characters = list(self.source) if self.marks else []
        for offset, _, _ in self.marks:
            if offset and characters[offset - 1] == " ":
                characters[offset - 1] = "\n"
        return "".join(characters) or self.source


def evaluate(template: Template, variables: Mapping[str, Any]) -> Any:
    """The value of a template that is one bare Jinja2 expression; raises ConfigError naming its place."""
    from agentcore_runner.definition.jinja import evaluate

    return evaluate(template, variables)


def dotted(root: str, name: str) -> str:
    """`inputs.language`, or `inputs['base-ref']` where a dot would not do."""
    return f"{root}.{name}" if name.isidentifier() else f"{root}[{name!r}]"


def marks_of(
    text: str, lines: list[str], start: tuple[int, int], end: tuple[int, int], style: str | None
) -> tuple[tuple[int, int, int], ...]:
    """The marks of a YAML scalar's text that stands in `lines` from `start` to before `end`, both line and
    column."""
    marks: list[tuple[int, int, int]] = []
    offset = 0
    for number in range(start[0], min(end[0], len(lines)) + 1):
        if number == start[0] and style in ("|", ">"):
            continue
        line = lines[number - 1]
        first = start[1] - 1 if number == start[0] else 0
        last = end[1] - 1 if number == end[0] else len(line)
        for at, piece in _pieces(line, first, last, style):
            found = text.find(piece, offset, offset + len(piece) + MOST_SKIPPED)
            if found >= 0:
                marks.append((found, number, at + 1))
                offset = found + len(piece)
    return tuple(marks)


def _pieces(line: str, start: int, end: int, style: str | None) -> list[tuple[int, str]]:
    """The parts of a line between two offsets that stand in the text as they are, and where: quotes and
    escapes are left out."""
    import re

    if style in ("|", ">", None, ""):
        pattern = r"\S(?:.*\S)?"
    elif style == "'":
        pattern = r"(?:[^'\s]|(?<=[^'\s])[ \t]+(?=[^'\s]))+"
    else:
        pattern = r"""\\(?:x..|u....|U.{8}|.)|((?:[^"\\\s]|(?<=[^"\\\s])[ \t]+(?=[^"\\\s]))+)"""
    pieces = []
    for match in re.finditer(pattern, line[start:end]):
        piece = match[match.lastindex or 0] if style == '"' else match[0]
        if style != '"' or match.lastindex:
            pieces.append((start + match.start(), piece))
    return pieces
