"""Read a transcript back: records one by one, tolerant of what a killed run leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.errors import TranscriptError
from agentcore_runner.transcript import records as rec


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line: its number from 1, its plain data, and the record if it is of a type we know; `error` says
    why a line is no record."""

    number: int
    data: dict[str, Any] | None = None
    record: rec.AnyRecord | None = None
    error: str | None = None
    torn: bool = False


KNOWN = {str(kind.__struct_config__.tag) for kind in rec.AnyRecord.__args__}
DECODER: msgspec.json.Decoder[rec.AnyRecord] = msgspec.json.Decoder(rec.AnyRecord)
PLAIN = msgspec.json.Decoder()


def read_lines(path: Path) -> Iterator[Line]:
    """Every line of the file; raises TranscriptError when it cannot be read at all."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                yield parse_line(number, raw)
    except OSError as exc:
        raise TranscriptError(f"{path}: cannot read the transcript: {exc.strerror}") from exc


def parse_line(number: int, raw: bytes) -> Line:
    """One line as data and, if its type is known, as a record."""
    torn = not raw.endswith(b"\n")
    try:
        data = PLAIN.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        return Line(number=number, error=f"not JSON: {exc}", torn=torn)
    if not isinstance(data, dict):
        return Line(number=number, error=f"expected an object, found {type(data).__name__}")
    if data.get("type") not in KNOWN:
        kind = data.get("type")
        return Line(number=number, data=data, error=None if isinstance(kind, str) else "no `type`")
    try:
        return Line(number=number, data=data, record=DECODER.decode(raw))
    except (msgspec.ValidationError, ValueError, RecursionError) as exc:
        return Line(number=number, data=data, error=f"{data['type']}: {exc}")
