"""Bytes, cut anywhere, become server-sent events; no I/O."""

from __future__ import annotations

import msgspec

BOM = b"\xef\xbb\xbf"


class ServerEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: its `event:` name, empty if it has none, and its data lines joined by LF."""

    name: str
    data: bytes


class SseParser:
    """Feed it the body as it arrives; lines are split as bytes, so that a character may be cut anywhere.

    LF, CRLF and CR end a line, a leading BOM is skipped, comments and fields other than `event` and `data`
    are ignored. An event without data is no event.
    """

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._after_cr = False
        self._first_line = True
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that this chunk completes."""
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_lf_only(chunk)
        if b"\n" not in chunk:
            self._partial.append(chunk)
            return []
        if self._partial:
            chunk = b"".join([*self._partial, chunk])
        lines = chunk.split(b"\n")
        rest = lines.pop()
        self._partial = [rest] if rest else []
        return self._take(lines)

    def flush(self) -> list[ServerEvent]:
        """The event that the end of the body leaves unfinished: some servers omit the last empty line."""
        line = b"".join(self._partial)
        self._partial = []
        return self._take([line, b""])

    def _with_lf_only(self, chunk: bytes) -> bytes:
        """Turn CRLF and CR into LF; a CRLF cut in two counts once."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _take(self, lines: list[bytes]) -> list[ServerEvent]:
        """Take in whole lines."""
        if self._first_line and lines:
            lines[0] = lines[0].removeprefix(BOM)
            self._first_line = False
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif not line:
                if self._data:
                    data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                    events.append(ServerEvent(self._name, data))
                    self._data = []
                self._name = ""
            elif line.startswith(b"event:"):
                self._name = line[6:].strip().decode("utf-8", "replace")
            elif line == b"data":
                self._data.append(b"")
        return events
