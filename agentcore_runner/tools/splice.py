"""Applies edits to a file's bytes so that every line they do not change stays as it was."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from agentcore_runner.errors import ToolError
from agentcore_runner.tools.matching import Edit, Span, locate, normal_line_ends
from agentcore_runner.tools.store import encode

BOM = b"\xef\xbb\xbf"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Text to put in place of a part of the old text, whose line ends are `\\n`."""

    start: int
    end: int
    new: str


class Spliced(msgspec.Struct, frozen=True, kw_only=True):
    """The new bytes, and what was changed in the old text."""

    data: bytes
    text: str
    changes: list[Change]


def splice(data: bytes, edits: Sequence[Edit], where: str) -> Spliced:
    """The bytes with all edits made. A byte order mark, bytes that are not UTF-8 and each line's own ending
    are kept; new lines end like those they replace, or like their neighbours. Raises ToolError."""
    if b"\0" in data:
        raise ToolError(f"{where} is not text; it cannot be edited")
    mark = BOM if data.startswith(BOM) else b""
    original = data[len(mark) :].decode("utf-8", "surrogateescape")
    text = normal_line_ends(original)
    plain = [clean(edit, index) for index, edit in enumerate(edits)]
    changes = [narrowed(text, span, plain[span.index]) for span in locate(text, plain, where)]
    result = mark + rebuilt(original, text, changes).encode("utf-8", "surrogateescape")
    if result == data:
        raise ToolError(f"no change: the edits leave {where} as it is")
    return Spliced(data=result, text=text, changes=changes)


def clean(edit: Edit, index: int) -> Edit:
    """The edit with plain line ends; raises ToolError for new text that cannot be stored."""
    encode(edit.new_text, f"edits[{index}].new_text")
    return Edit(old_text=normal_line_ends(edit.old_text), new_text=normal_line_ends(edit.new_text))


def narrowed(text: str, span: Span, edit: Edit) -> Change:
    """The change without the lines that the edit repeats unchanged at its start and end."""
    old, new = edit.old_text.split("\n"), edit.new_text.split("\n")
    old = [line + "\n" for line in old[:-1]] + old[-1:]
    new = [line + "\n" for line in new[:-1]] + new[-1:]
    before, after = common_ends(old, new)
    breaks = [found.end() for found in re.finditer("\n", text[span.start : span.end])]
    limits = [0, *breaks]
    start = span.start + (limits[before] if before < len(limits) else span.end - span.start)
    end = span.start + limits[len(old) - after] if after else span.end
    return Change(start=start, end=end, new="".join(new[before : len(new) - after]))


def common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines both have in common at the start, and how many of the rest at the end."""
    most = min(len(old), len(new))
    before = next((at for at in range(most) if old[at] != new[at]), most)
    after = next((at for at in range(most - before) if old[-1 - at] != new[-1 - at]), most - before)
    return before, after


def rebuilt(original: str, text: str, changes: Sequence[Change]) -> str:
    """The original with the changes, which refer to the text with plain line ends, made in it."""
    ends = LineEnds(original, text)
    pieces, at = [], 0
    for change in changes:
        pieces.append(original[at : ends.offset(change.start)])
        pieces.append(ends.dress(change))
        at = ends.offset(change.end)
    pieces.append(original[at:])
    return "".join(pieces)


class LineEnds:
    """The way from a text with plain line ends back to the original."""

    def __init__(self, original: str, text: str) -> None:
        self._breaks = [found.start() for found in re.finditer("\n", text)]
        # The n-th `\r\n` lies n characters further back in the plain text.
        self._crlf = [found.start() - n for n, found in enumerate(re.finditer("\r\n", original))]
        self._is_crlf = frozenset(self._crlf)

    def offset(self, position: int) -> int:
        """The original's offset for one in the plain text."""
        return position + bisect_left(self._crlf, position)

    def dress(self, change: Change) -> str:
        """The new text, its lines ended as those it replaces; surplus lines as the last of them, or as the
        nearest line where none is replaced."""
        lines = change.new.split("\n")
        if len(lines) == 1:
            return change.new
        first, last = bisect_left(self._breaks, change.start), bisect_left(self._breaks, change.end)
        replaced = self._breaks[first:last] or self._breaks[first : first + 1] or self._breaks[-1:]
        ends = ["\r\n" if at in self._is_crlf else "\n" for at in replaced[: len(lines) - 1]] or ["\n"]
        ends += ends[-1:] * (len(lines) - 1 - len(ends))
        return "".join([line + end for line, end in zip(lines, [*ends, ""], strict=True)])
