"""A text file and the places in it: bytes → text, and problems that show the line they are about."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from agentcore_runner.definition.problems import Problem, Severity, excerpt

LINE_BREAK = re.compile(r"\r\n|\r|\n")
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Mistake(Exception):
    """One problem that ends the reading of a file."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Source:
    """A file's text under the name it has in messages. Lines end where YAML ends them: LF, CR LF or CR.
    `path` is the file itself, None for a text that is none; `chain` holds the places that lead to it, from
    the one that names it to the agent file."""

    def __init__(
        self, file: str, text: str, *, path: Path | None = None, chain: tuple[str, ...] = ()
    ) -> None:
        self.file, self.text = file, text
        self.path, self.chain = path, chain

    @functools.cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return LINE_BREAK.split(self.text)

    def problem(
        self,
        line: int,
        column: int,
        rule: str,
        message: str,
        *,
        hint: str | None = None,
        severity: Severity = "error",
        width: int = 1,
    ) -> Problem:
        """A problem at a place of this file, with its excerpt."""
        return Problem(
            file=self.file,
            line=line,
            column=column,
            rule=rule,
            severity=severity,
            message=message,
            hint=hint,
            excerpt=excerpt(self.lines, line, column, width),
            chain=self.chain,
        )

    def problem_at(self, offset: int, rule: str, message: str, hint: str | None = None) -> Problem:
        """A problem at a character offset."""
        before = LINE_BREAK.split(self.text[:offset])
        return self.problem(len(before), len(before[-1]) + 1, rule, message, hint=hint)


def decode(file: str, data: bytes) -> Source:
    """The file's text, without a byte order mark; raises Mistake for bytes that are not UTF-8 text."""
    if data.startswith(UTF16_MARKS) or (data[:4096].count(b"\0") * 3 > len(data[:4096])):
        raise Mistake(_encoding(file, 1, 1, "the file is UTF-16 or UTF-32, not UTF-8", "save it as UTF-8"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        # A byte order mark is not part of what the codec counts.
        offset = exc.start + (len(data) - len(exc.object))
        before = LINE_BREAK.split(data[:offset].decode("utf-8-sig"))
        message = f"the byte 0x{data[offset]:02X} at offset {offset} is not UTF-8"
        raise Mistake(
            _encoding(file, len(before), len(before[-1]) + 1, message, "save it as UTF-8")
        ) from None
    if "\0" in text:
        offset = data.index(b"\0")
        raise Mistake(
            Source(file, text).problem_at(
                text.index("\0"), "encoding", f"a NUL byte at offset {offset}", "a text file holds none"
            )
        )
    return Source(file, text)


def _encoding(file: str, line: int, column: int, message: str, hint: str) -> Problem:
    return Problem(file=file, line=line, column=column, rule="encoding", message=message, hint=hint)
