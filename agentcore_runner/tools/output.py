"""Collects what a tool puts out: decoded, counted, cut to a size, with the full bytes in a side file."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import IO, Any

import msgspec

from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.side_file import SIDE_FILE_LIMIT, SideFile, open_side_file
from agentcore_runner.words import counted, size_text

HEAD_SHARE = 0.25
NOT_UTF8 = re.compile("[\udc80-\udcff]")


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is shown, at most `max_output` bytes of UTF-8, and what the record says about it."""

    text: str
    details: dict[str, Any]


class Collector:
    """Takes output piece by piece; the result does not depend on where the pieces were cut. Holds no more
    than about twice `max_bytes`: what is longer goes to a side file, and loses its middle (`head_share` of
    the room is kept from the start, the rest from the end) or, with `head_share` 1, its end."""

    def __init__(
        self,
        *,
        max_bytes: int,
        side_file: Callable[[], IO[bytes]],
        head_share: float = HEAD_SHARE,
        side_limit: int = SIDE_FILE_LIMIT,
    ) -> None:
        self._max = max(max_bytes, 1)
        self._head_share = head_share
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._side = SideFile(side_file, side_limit)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._invalid = 0
        self._lines = 0
        self._total = 0
        self._last = b""

    @property
    def total_bytes(self) -> int:
        """How much has come so far."""
        return self._total

    def feed(self, data: bytes) -> None:
        """Take a piece; never raises, also when the side file cannot be written."""
        if not data:
            return
        self._total += len(data)
        self._lines += data.count(b"\n")
        self._last = data[-1:]
        self._count_invalid(data)
        if self._total <= self._max:
            self._head += data
            return
        if not self._side.used:
            self._side.write(bytes(self._head))
        self._side.write(data)
        self._keep(data)

    def feed_text(self, text: str) -> None:
        """Take a piece of a tool's own text."""
        self.feed(text.encode("utf-8", "replace"))

    def tail(self, size: int) -> str:
        """The end of what has come so far, about `size` bytes."""
        data = (self._tail_bytes() if self._side.used else bytes(self._head))[-size:]
        return from_boundary(data, self._total > len(data))

    def finish(self, *, status: str = "", empty: str = "", notices: Sequence[str] = ()) -> Output:
        """The result: `empty` stands for no output, `notices` follow in one bracket, `status` comes last."""
        self._count_invalid(b"", final=True)
        notes = list(notices)
        if self._invalid:
            notes.append(f"{counted(self._invalid, 'byte')} not UTF-8, replaced by U+FFFD")
        whole = decoded(bytes(self._head)) if not self._side.used else ""
        end = ending(notes, status)
        if not self._side.used and len((whole + end).encode()) <= self._max:
            text, truncated = (whole.rstrip("\n") or empty) + end, False
        else:
            if not self._side.used:
                self._side.write(bytes(self._head))
                self._keep(b"")
            text, truncated = self._cut(notes, status), True
        self._side.close()
        return Output(text=text, details=self._details(text, truncated))

    def _keep(self, data: bytes) -> None:
        """Keep the start, and a window on the end."""
        if not self._tail:
            self._push(bytes(self._head))
        self._head += data[: self._max - len(self._head)]
        self._push(data)

    def _push(self, data: bytes) -> None:
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= self._max:
            self._tail_size -= len(self._tail.popleft())

    def _tail_bytes(self) -> bytes:
        return b"".join(self._tail)[-self._max :]

    def _count_invalid(self, data: bytes, *, final: bool = False) -> None:
        text = self._decoder.decode(data, final)
        if not text.isascii():
            # An escaped byte takes three bytes when passed and one when replaced.
            passed, replaced = text.encode("utf-8", "surrogatepass"), text.encode("utf-8", "replace")
            self._invalid += (len(passed) - len(replaced)) // 2

    def _cut(self, notes: list[str], status: str) -> str:
        """The kept parts with a mark between them (or after them), within the size."""
        lines = self._lines + (self._last != b"\n")
        mark = f"{size_text(self._total)} in {counted(lines, 'line')} cut to {size_text(self._max)}; "
        mark += self._side.where()
        if self._head_share >= 1:
            end = ending([*notes, mark], status)
            return fit_start(decoded_start(bytes(self._head)), self._max - len(end.encode())) + end
        middle, end = f"\n\n[… {mark} …]\n\n", ending(notes, status)
        room = max(self._max - len((middle + end).encode()), 0)
        head = fit_start(decoded_start(bytes(self._head)), int(room * self._head_share))
        tail = from_boundary(self._tail_bytes(), True).rstrip("\n")
        return head + middle + fit_end(tail, room - len(head.encode())) + end

    def _details(self, text: str, truncated: bool) -> dict[str, Any]:
        details: dict[str, Any] = {
            "truncated": truncated,
            "total_bytes": self._total,
            "total_lines": self._lines + (self._last not in (b"\n", b"")),
            "output_bytes": len(text.encode()),
        }
        if self._side.path is not None:
            details["full_output_path"] = self._side.path
        if self._side.fault is not None:
            details["full_output_error"] = self._side.fault
        if self._invalid:
            details["invalid_utf8_bytes"] = self._invalid
        return details


def collector(options: ToolOptions, tool_call_id: str, *, head_share: float = HEAD_SHARE) -> Collector:
    """A collector for one call, with its side file in the run's folder."""
    return Collector(
        max_bytes=options.max_output,
        side_file=lambda: open_side_file(options.side_dir, tool_call_id),
        head_share=head_share,
    )


def decoded(data: bytes) -> str:
    """Text with one U+FFFD for every byte that is not UTF-8."""
    text = data.decode("utf-8", "surrogateescape")
    return text if text.isascii() else NOT_UTF8.sub("\ufffd", text)


def decoded_start(data: bytes) -> str:
    """The same for the start of something longer: a character cut at the end is left out."""
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(data)
    return NOT_UTF8.sub("\ufffd", text)


def from_boundary(data: bytes, cut: bool) -> str:
    """Text of the end of something longer: a character cut at the start is left out."""
    skip = 0
    while cut and skip < min(3, len(data)) and data[skip] & 0xC0 == 0x80:
        skip += 1
    return decoded_start(data[skip:])


def fit_start(text: str, room: int) -> str:
    """As much of the start as fits `room` bytes: whole lines, or a part of the line if it is the only one."""
    data = text.encode()
    if len(data) <= room:
        return text.rstrip("\n")
    kept = data[: max(room, 0)]
    whole = kept.rfind(b"\n")
    return (kept if whole < 0 else kept[:whole]).decode("utf-8", "ignore")


def fit_end(text: str, room: int) -> str:
    """The same for the end."""
    data = text.encode()
    if len(data) <= room:
        return text
    kept = data[len(data) - room :] if room > 0 else b""
    whole = kept.find(b"\n")
    return (kept if whole < 0 else kept[whole + 1 :]).decode("utf-8", "ignore")


def ending(notes: Sequence[str], status: str) -> str:
    """What follows the output: notes in one bracket, the status on a line of its own."""
    text = f"\n\n[{'; '.join(notes)}]" if notes else ""
    return text + (f"\n\n{status}" if status else "")
