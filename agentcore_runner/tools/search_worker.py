"""Searches texts and names in a process of its own, as ripgrep and fd do, with the standard library only.

A pattern can keep Python's regular expressions busy for ever, and nothing in the same process can stop them.
"""

from __future__ import annotations

import base64
import codecs
import json
import os
import re
import sys
import warnings
from collections import deque
from collections.abc import Iterator
from typing import IO, Any

from agentcore_runner.tools.globs import path_filter
from agentcore_runner.tools.ignore import walk

LONGEST_PIECE = 8 * 1024 * 1024
SHOWN_TEXT = 2000
BAD_PATTERN = 3
POSIX_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def main() -> int:
    """Do what the JSON object on standard input asks. Texts give ripgrep's JSON lines, names end in NUL."""
    request = json.load(sys.stdin)
    if request["search"] == "names":
        print_names(request["pattern"])
        return 0
    try:
        pattern = compiled(request["pattern"], request["literal"], request["ignore_case"])
    except (re.error, RecursionError, OverflowError) as exc:
        sys.stderr.write(str(exc))
        return BAD_PATTERN
    for path in paths(request["target"], request["glob"]):
        search_file(path, pattern, request["context"])
    return 0


def print_names(pattern: str) -> None:
    """Every name below the working directory that fits; folders end in a slash."""
    fits = path_filter(pattern)
    for entry in walk(".", (".fdignore", ".ignore")):
        if fits(entry.path):
            sys.stdout.write(entry.path + "/" * entry.is_dir + "\0")


def compiled(pattern: str, literal: bool, ignore_case: bool) -> re.Pattern[str]:
    """The pattern as Python understands it, POSIX classes included."""
    source = re.escape(pattern) if literal else re.sub(
        r"\[:(\w+):\]", lambda found: POSIX_CLASSES.get(found[1], found[0]), pattern
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(source, re.IGNORECASE if ignore_case else 0)


def paths(target: str, glob: str | None) -> Iterator[str]:
    """The files to search: the target if it is one, else what lies below it."""
    if not os.path.isdir(target):
        yield target
        return
    fits = path_filter(glob) if glob else None
    for entry in walk(target, (".rgignore", ".ignore")):
        if entry.is_file and (fits is None or fits(entry.path)):
            yield "./" + entry.path


def search_file(path: str, pattern: re.Pattern[str], context: int) -> None:
    """Print the lines of a file that match, with those around them."""
    try:
        with open(path, "rb") as file:
            if has_nul(file):
                return
            found = search_lines(path, lines_of(file), pattern, context)
    except OSError:
        return
    if found:
        show({"type": "end", "data": {"path": named(path), "binary_offset": None}})
        sys.stdout.flush()


def has_nul(file: IO[bytes]) -> bool:
    """Whether the file is binary: a NUL anywhere, except in UTF-16."""
    start = file.read(2)
    found = False
    if start not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        found = b"\0" in start
        while not found and (chunk := file.read(1024 * 1024)):
            found = b"\0" in chunk
    file.seek(0)
    return found


def lines_of(file: IO[bytes]) -> Iterator[str]:
    """The lines without their ends; a very long one comes in pieces."""
    start = file.read(3)
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        file.seek(0)
        for line in codecs.getreader("utf-16")(file, "replace"):
            yield line.removesuffix("\n").removesuffix("\r")
        return
    file.seek(3 if start == codecs.BOM_UTF8 else 0)
    while raw := file.readline(LONGEST_PIECE):
        yield raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "surrogateescape")


def search_lines(path: str, lines: Iterator[str], pattern: re.Pattern[str], context: int) -> bool:
    """Print what matches; whether anything did."""
    before: deque[tuple[int, str]] = deque(maxlen=context)
    after, found = 0, False
    for number, line in enumerate(lines, 1):
        if pattern.search(line):
            for earlier in before:
                show_line("context", path, *earlier)
            before.clear()
            show_line("match", path, number, line)
            after, found = context, True
        elif after:
            show_line("context", path, number, line)
            after -= 1
        else:
            before.append((number, line))
    return found


def show_line(kind: str, path: str, number: int, line: str) -> None:
    """Print one line of a file."""
    data = {"path": named(path), "lines": named(line[:SHOWN_TEXT]), "line_number": number}
    show({"type": kind, "data": data})


def show(event: dict[str, Any]) -> None:
    """Print one event."""
    sys.stdout.write(json.dumps(event) + "\n")


def named(text: str) -> dict[str, str]:
    """A text in the form that ripgrep gives it: as `text`, or as `bytes` in base64 where it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return {"bytes": base64.b64encode(os.fsencode(text)).decode()}
    return {"text": text}
