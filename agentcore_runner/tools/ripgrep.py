"""Reads the JSON lines that ripgrep prints, in bounded memory."""

from __future__ import annotations

import base64
import re

import msgspec

LONGEST_LINE = 256 * 1024
KEPT_TEXT = 8 * 1024
NUMBER = re.compile(rb'\},"line_number":(\d+),')
NUMBER_ROOM = 64
HEAD = re.compile(
    rb'\{"type":"(match|context)","data":\{"path":(\{.*?\}),"lines":\{"(text|bytes)":"(.*)', re.DOTALL
)


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A text, or in `bytes` the base64 of one that is not UTF-8."""

    text: str | None = None
    bytes: str | None = None

    def decoded(self) -> str:
        """As text; bytes that are not UTF-8 are escaped as surrogates."""
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "surrogateescape")


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What an event is about."""

    path: Text | None = None
    lines: Text | None = None
    line_number: int | None = None
    binary_offset: int | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """`begin`, `match`, `context`, `end` or `summary`."""

    type: str
    data: Data


class EventReader:
    """Takes bytes as they come and gives whole events. A line too long to keep gives its start, and its
    number."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._size = 0
        self._skimmed: Skimmed | None = None
        self._decoder = msgspec.json.Decoder(Event)

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete."""
        events = []
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._take(end)
            event = self._finish()
            if event is not None:
                events.append(event)
        self._take(rest)
        return events

    def _take(self, piece: bytes) -> None:
        if self._skimmed is not None:
            self._skimmed.feed(piece)
            return
        self._pending.append(piece)
        self._size += len(piece)
        if self._size > LONGEST_LINE:
            self._skimmed = Skimmed(b"".join(self._pending))
            self._pending = []

    def _finish(self) -> Event | None:
        line, skimmed = b"".join(self._pending), self._skimmed
        self._pending, self._size, self._skimmed = [], 0, None
        if skimmed is not None:
            return skimmed.event()
        try:
            return self._decoder.decode(line)
        except msgspec.MsgspecError:  # not an event, or of a kind that is not needed
            return None


class Skimmed:
    """An event too long to keep: its start, and the line number that comes after the text."""

    def __init__(self, start: bytes) -> None:
        self._start = start[: KEPT_TEXT * 2]
        self._window = b""
        self._number: int | None = None
        self.feed(start)

    def feed(self, piece: bytes) -> None:
        """Look for the line number. Quotes inside the text are escaped, so it is found nowhere else."""
        if self._number is None:
            window = self._window + piece
            if found := NUMBER.search(window):
                self._number = int(found[1])
            self._window = window[-NUMBER_ROOM:]

    def event(self) -> Event | None:
        """The event with the start of its text."""
        head = HEAD.match(self._start)
        if head is None or self._number is None:
            return None
        kind, path, field, text = head.groups()
        kept = cut_json(text[:KEPT_TEXT]) if field == b"text" else text[: KEPT_TEXT // 4 * 4].decode()
        lines = Text(text=kept) if field == b"text" else Text(bytes=kept)
        data = Data(path=msgspec.json.decode(path, type=Text), lines=lines, line_number=self._number)
        return Event(type=kind.decode(), data=data)


def cut_json(inner: bytes) -> str:
    """The text of a JSON string whose end is missing."""
    text = inner.decode("utf-8", "ignore")
    for shorter in range(min(len(text), 12)):
        try:
            return msgspec.json.decode('"' + text[: len(text) - shorter] + '"', type=str)
        except msgspec.MsgspecError:
            continue
    return ""
