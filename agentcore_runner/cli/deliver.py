"""Where a result goes: standard output, `--output`, `--answer-file`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeAlias

from agentcore_runner.cli.stdout import Stdout
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.errors import RunnerError, TranscriptError
from agentcore_runner.report.result import RunResult
from agentcore_runner.runtime.record import taken
from agentcore_runner.tools.store import store
from agentcore_runner.transcript.lines import encode_line

Format: TypeAlias = Literal["text", "json", "jsonl"]


class Delivery:
    """Delivers a result, and once more where a place failed and changed it. A place that failed, and standard
    output once it was written to, are left alone."""

    def __init__(
        self,
        form: Format,
        stdout: Stdout,
        *,
        output: Path | None,
        answer_file: Path | None,
        stop: AbortSignal,
    ) -> None:
        self._form = form
        self._stdout: Stdout | None = stdout
        self._stop = stop
        self._files = [
            (path, content)
            for path, content in ((answer_file, answer_of), (output, encode_line))
            if path is not None
        ]

    async def __call__(self, result: RunResult) -> None:
        """Write the result everywhere, files first, for they can be written again. Raises the first failure
        when all had their turn; a reader of standard output that stalls is one, soon after `stop`."""
        self.write_files(result)
        await self._print(result)

    def write_files(self, result: RunResult) -> None:
        """Write the files only."""
        failures: list[RunnerError] = []
        for place in tuple(self._files):
            path, content = place
            try:
                write_file(path, content(result))
            except TranscriptError as exc:
                self._files.remove(place)
                failures.append(exc)
        if failures:
            raise failures[0]

    async def _print(self, result: RunResult) -> None:
        stdout, self._stdout = self._stdout, None
        data = encode_line(result) if self._form == "json" else answer_of(result)
        if stdout is None or self._form == "jsonl" or not data:
            return
        waiting = stdout.line(data)
        if waiting is not None:
            await taken(waiting, self._stop)


def write_file(path: Path, data: bytes) -> None:
    """Write a file as a whole, so that nobody reads half of it; a device or pipe is written as it is. Nothing
    to write leaves it alone. Raises TranscriptError naming the path and the cause."""
    if not data:
        return
    try:
        if path.exists() and not path.is_file():
            write_through(path, data)
        else:
            store(Path(os.path.realpath(path)), data)
    except OSError as exc:
        raise TranscriptError(f"{path}: cannot write: {exc.strerror}") from exc


def write_through(path: Path, data: bytes) -> None:
    """Write to a device or pipe; a named pipe that nobody reads is an error instead of a wait."""
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.set_blocking(fd, True)
    with os.fdopen(fd, "wb") as file:
        file.write(data)


def answer_of(result: RunResult) -> bytes:
    """The answer in UTF-8, ending in one line feed at least; nothing where there is none."""
    if result.answer is None:
        return b""
    data = result.answer.encode("utf-8", "replace")
    return data if data.endswith(b"\n") else data + b"\n"
