"""The `read` tool: a part of a text file, an image, or a description of what is neither."""

from __future__ import annotations

import asyncio
import base64
import stat
from pathlib import Path
from typing import IO, Any

import msgspec

from agentcore_runner.core.messages import ImageContent, TextContent
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentTool, AgentToolResult, text_result
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.kinds import SAMPLE, Kind, kind_of
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.output import NOT_UTF8
from agentcore_runner.tools.paths import access_error, display, resolve
from agentcore_runner.tools.tool import Call, check, make_tool, object_schema, text, timed, whole_number
from agentcore_runner.words import counted, size_text

MAX_LINES = 2000
SMALL = 1024 * 1024
MAX_IMAGE_BASE64 = int(4.5 * 1024 * 1024)
COUNT_REST_UP_TO = 8 * 1024 * 1024
CHUNK = 1024 * 1024
FOOTER_ROOM = 256


def read_tool(options: ToolOptions) -> AgentTool:
    """Reads files inside the root, and full outputs of other tools. Only as much of a file is read as is
    needed; lines are never split."""

    async def read(call: Call) -> AgentToolResult:
        path = resolve(options, call.params["path"], reading=True)
        wanted = Wanted(
            path=path,
            shown=display(path, options.cwd),
            first=call.params.get("offset", 1),
            limit=call.params.get("limit"),
            max_bytes=max(options.max_output - FOOTER_ROOM, options.max_output // 2),
        )
        try:
            if path.stat().st_size <= SMALL:
                return read_file(wanted, call.signal)
            return await asyncio.to_thread(read_file, wanted, call.signal)
        except OSError as exc:
            raise access_error(wanted.shown, exc) from exc

    return make_tool(
        options,
        timed(options, read),
        description=f"Read a file. Text is given up to {MAX_LINES} lines or {size_text(options.max_output)}, "
        "whichever is first; go on with `offset`. Images (png, jpg, gif, webp) are shown, other binary files "
        "described.",
        parameters=object_schema(
            ("path",),
            path=text("The file, relative to the working directory."),
            offset=whole_number("First line, counted from 1."),
            limit=whole_number("Most lines to read."),
        ),
    )


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to read: lines from `first` (1-based), at most `limit` lines and `max_bytes` bytes."""

    path: Path
    shown: str
    first: int
    limit: int | None
    max_bytes: int


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that were read. `more` says that the file goes on; `total` counts its lines if that is known;
    `too_long` that not even the first of them fitted."""

    lines: list[str]
    more: bool
    total: int | None
    invalid: int
    too_long: bool


def read_file(wanted: Wanted, signal: AbortSignal) -> AgentToolResult:
    """The result for the model."""
    status = wanted.path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{wanted.shown!r} is a directory; list it instead")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{wanted.shown!r} is no regular file")
    with wanted.path.open("rb") as file:
        kind = kind_of(file.read(SAMPLE))
        if kind.is_text:
            file.seek(0)
            return text_of(wanted, read_lines(file, wanted, status.st_size, signal), status.st_size)
        if kind.is_image and (status.st_size + 2) // 3 * 4 <= MAX_IMAGE_BASE64:
            file.seek(0)
            return image_of(file.read(), kind, wanted)
    return described(kind, wanted, status.st_size)


def image_of(data: bytes, kind: Kind, wanted: Wanted) -> AgentToolResult:
    """The picture, with a note for those who cannot see it."""
    note = TextContent(text=f"[image {wanted.shown}: {kind.mime_type}, {size_text(len(data))}]")
    image = ImageContent(data=base64.b64encode(data).decode(), mime_type=kind.mime_type)
    return AgentToolResult(content=(note, image), details={"bytes": len(data), "mime_type": kind.mime_type})


def described(kind: Kind, wanted: Wanted, size: int) -> AgentToolResult:
    """What a file is that cannot be shown."""
    why = "an image too large to be shown" if kind.is_image else "not text"
    text = f"[{wanted.shown} is {why}: {kind.name}, {counted(size, 'byte')} ({size_text(size)})]"
    return text_result(text, {"bytes": size, "mime_type": kind.mime_type})


def read_lines(file: IO[bytes], wanted: Wanted, size: int, signal: AbortSignal) -> Lines:
    """Read what is wanted, and no more than a line beyond it."""
    skip_lines(file, wanted, signal)
    lines: list[str] = []
    used = invalid = 0
    most = min(wanted.limit or MAX_LINES, MAX_LINES)
    too_long = full = False
    while not full and len(lines) < most and (raw := file.readline(wanted.max_bytes + 1)):
        escaped = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "surrogateescape")
        line, bad = NOT_UTF8.subn("\ufffd", escaped)
        used += len(line.encode()) + 1
        unfinished = len(raw) > wanted.max_bytes and not raw.endswith(b"\n")
        full = unfinished or used > wanted.max_bytes + 1
        if full:
            too_long = not lines
        else:
            lines.append(line)
            invalid += bad
    more = full or bool(file.read(1))
    total: int | None = None
    if not more:
        total = wanted.first - 1 + len(lines)
    elif not full and size - file.tell() <= COUNT_REST_UP_TO:
        file.seek(-1, 1)
        total = wanted.first - 1 + len(lines) + count_lines(file, signal)
    return Lines(lines=lines, more=more, total=total, invalid=invalid, too_long=too_long)


def skip_lines(file: IO[bytes], wanted: Wanted, signal: AbortSignal) -> None:
    """Go to the start of the first wanted line; raises ToolError if the file ends before it."""
    passed, ended_in_line = 0, False
    while passed < wanted.first - 1:
        check(signal)
        chunk = file.read(CHUNK)
        if not chunk:
            total = passed + ended_in_line
            raise ToolError(f"offset {wanted.first} is past the end of the file ({counted(total, 'line')})")
        found = chunk.count(b"\n")
        ended_in_line = not chunk.endswith(b"\n")
        if passed + found < wanted.first - 1:
            passed += found
            continue
        at = -1
        while passed < wanted.first - 1:
            at = chunk.index(b"\n", at + 1)
            passed += 1
        file.seek(at + 1 - len(chunk), 1)
    if wanted.first > 1 and not file.read(1):
        raise ToolError(f"offset {wanted.first} is past the end of the file ({counted(passed, 'line')})")
    if wanted.first > 1:
        file.seek(-1, 1)


def count_lines(file: IO[bytes], signal: AbortSignal) -> int:
    """The lines from here to the end."""
    found, last = 0, b"\n"
    while chunk := file.read(CHUNK):
        check(signal)
        found, last = found + chunk.count(b"\n"), chunk[-1:]
    return found + (last != b"\n")


def text_of(wanted: Wanted, found: Lines, size: int) -> AgentToolResult:
    """The lines, and in brackets what the model should know about them."""
    notes = []
    last = wanted.first - 1 + len(found.lines)
    if found.too_long:
        notes.append(
            f"line {wanted.first} is longer than {size_text(wanted.max_bytes)}; a part of it: "
            f"sed -n '{wanted.first}p' {wanted.shown} | head -c {wanted.max_bytes // 2}"
        )
    elif found.more:
        whole = f"{found.total:,} lines" if found.total is not None else f"a file of {size_text(size)}"
        notes.append(f"lines {wanted.first}-{last} of {whole}; use offset={last + 1} to continue")
    if found.invalid:
        notes.append(f"{counted(found.invalid, 'byte')} not UTF-8, replaced by U+FFFD")
    body = ["\n".join(found.lines)] if found.lines else []
    foot = [f"[{'; '.join(notes)}]"] if notes else []
    details: dict[str, Any] = {"truncated": found.more, "bytes": size, "lines": len(found.lines)}
    if found.invalid:
        details["invalid_utf8_bytes"] = found.invalid
    return text_result("\n\n".join(body + foot) or "(empty file)", details)
