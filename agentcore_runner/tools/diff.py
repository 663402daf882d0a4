"""A unified diff of changes whose places are known, so that nothing has to be searched for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import msgspec

from agentcore_runner.tools.splice import Change, common_ends

CONTEXT = 3


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Old lines `first` up to `last` (0-based, exclusive) that give way to new ones."""

    first: int
    last: int
    new: list[str]


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """The diff's text, cut to a size, and the first line (1-based) of the new text that differs."""

    text: str
    first_changed_line: int


def diff(text: str, changes: Sequence[Change], max_bytes: int) -> Diff:
    """The difference that the changes, in order, make to the text."""
    lines = text.split("\n")
    blocks = list(blocks_of(text, lines, changes))
    output: list[str] = []
    room, shift, at = max_bytes, 0, 0
    while at < len(blocks):
        stop = at + 1
        while stop < len(blocks) and blocks[stop].first - blocks[stop - 1].last <= 2 * CONTEXT:
            stop += 1
        hunk = list(hunk_of(lines, blocks[at:stop], shift))
        shift += sum(len(block.new) - (block.last - block.first) for block in blocks[at:stop])
        room -= sum(len(line.encode("utf-8", "replace")) + 1 for line in hunk)
        if room < 0:
            output.append("… the rest of the difference is left out")
            break
        output += hunk
        at = stop
    return Diff(text="\n".join(output), first_changed_line=blocks[0].first + 1 if blocks else 1)


def blocks_of(text: str, lines: Sequence[str], changes: Sequence[Change]) -> Iterator[Block]:
    """Whole lines that change; changes in one line, or in neighbouring ones, are one block."""
    breaks = [-1]
    for line in lines:
        breaks.append(breaks[-1] + len(line) + 1)
    at = 0
    while at < len(changes):
        first = line_of(breaks, changes[at].start)
        last = line_of(breaks, changes[at].end)
        stop = at + 1
        while stop < len(changes) and line_of(breaks, changes[stop].start) <= last:
            last = max(last, line_of(breaks, changes[stop].end))
            stop += 1
        yield narrowed(first, lines[first : last + 1], changed(text, breaks, first, last, changes[at:stop]))
        at = stop


def line_of(breaks: Sequence[int], offset: int) -> int:
    """The line in which an offset lies."""
    return bisect_left(breaks, offset) - 1


def changed(text: str, breaks: Sequence[int], first: int, last: int, changes: Sequence[Change]) -> list[str]:
    """The lines from `first` to `last` after the changes."""
    pieces, at = [], breaks[first] + 1
    for change in changes:
        pieces += [text[at : change.start], change.new]
        at = change.end
    pieces.append(text[at : breaks[last + 1]])
    return "".join(pieces).split("\n")


def narrowed(first: int, old: Sequence[str], new: list[str]) -> Block:
    """The block without equal lines at its start and end."""
    before, after = common_ends(old, new)
    return Block(first=first + before, last=first + len(old) - after, new=new[before : len(new) - after])


def hunk_of(lines: Sequence[str], blocks: Sequence[Block], shift: int) -> Iterator[str]:
    """One hunk: its head, context, and the blocks."""
    start = max(blocks[0].first - CONTEXT, 0)
    # After the last line end comes no line.
    number = len(lines) - (lines[-1] == "")
    stop = max(min(blocks[-1].last + CONTEXT, number), blocks[-1].last)
    grown = sum(len(block.new) - (block.last - block.first) for block in blocks)
    yield f"@@ -{start + 1},{stop - start} +{start + 1 + shift},{stop - start + grown} @@"
    at = start
    for block in blocks:
        yield from (f" {line}" for line in lines[at : block.first])
        yield from (f"-{line}" for line in lines[block.first : block.last])
        yield from (f"+{line}" for line in block.new)
        at = block.last
    yield from (f" {line}" for line in lines[at:stop])
