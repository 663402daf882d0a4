"""JSON lines as bytes → commands for an agent, or what is wrong with a line."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.definition.kinds import found
from agentcore_runner.runtime.dialogue import Command, Line, Mistake
from agentcore_runner.words import did_you_mean, size_text

MOST_BYTES = 64 * 1024 * 1024
"""How long a line may be."""
KINDS = ("prompt", "steer", "follow_up", "abort")
KEYS = ("type", "text")
SHAPE = '{"type": "prompt|steer|follow_up|abort", "text": "…"}'
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines:
    """Takes bytes cut anywhere and gives a command, or a mistake, for each line that is not blank. Only a
    line feed ends a line; `flush` takes what stands after the last one for a line too."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._number = 1
        self._line = bytearray()
        self._size = 0

    def feed(self, data: bytes) -> list[Line]:
        """What the bytes complete."""
        lines: list[Line] = []
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._keep(end, lines)
            self._end_line(lines)
        self._keep(rest, lines)
        return lines

    def flush(self) -> list[Line]:
        """What is left at the end."""
        lines: list[Line] = []
        self._end_line(lines)
        return lines

    def _keep(self, piece: bytes, lines: list[Line]) -> None:
        """Keep a piece of the line at hand. A line that becomes too long is said so at once, and once."""
        was_short = self._size <= self._most
        self._size += len(piece)
        if self._size <= self._most:
            self._line += piece
        elif was_short:
            self._line.clear()
            lines.append(self._mistake(f"expected a line of at most {size_text(self._most)}, found more"))

    def _end_line(self, lines: list[Line]) -> None:
        raw = bytes(self._line)
        if self._number == 1:
            raw = raw.removeprefix(BYTE_ORDER_MARK)
        if self._size <= self._most and raw.strip():
            try:
                lines.append(command_of(raw))
            except ValueError as exc:
                lines.append(self._mistake(str(exc)))
        self._number += 1
        self._line.clear()
        self._size = 0

    def _mistake(self, sentence: str) -> Mistake:
        return Mistake(message=f"standard input, line {self._number}: {sentence}")


def command_of(raw: bytes) -> Command:
    """The command that a line is; ValueError with what was wanted and what was found."""
    data = decoded(raw)
    if not isinstance(data, dict):
        raise ValueError(f"expected an object like {SHAPE}, found {found(data)}")
    for key in data:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS)
            raise ValueError(f"a command has no key {found(key)}{hint}; its keys are {' and '.join(KEYS)}")
    kind, text = data.get("type"), data.get("text")
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        raise ValueError(f"type: expected one of {', '.join(KINDS)}, found {found(kind)}{hint}")
    if kind == "abort" and text is None:
        return Command(kind="abort")
    if not isinstance(text, str):
        raise ValueError(f"text: expected a string, found {found(text)}")
    if kind != "abort" and not text.strip():
        raise ValueError("text: expected something to say, found only white space")
    return Command(kind=kind, text=text)


def decoded(raw: bytes) -> Any:
    """The JSON value of a line; ValueError where it is none."""
    try:
        return msgspec.json.decode(raw.decode())
    except UnicodeDecodeError as exc:
        raise ValueError(f"expected UTF-8, found byte 0x{raw[exc.start]:02X} at offset {exc.start}") from exc
    except (msgspec.DecodeError, RecursionError) as exc:
        raise ValueError(f"expected an object like {SHAPE}, found no JSON: {exc}") from exc
