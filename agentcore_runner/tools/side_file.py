"""The full output of a call on disk, made when it is too long to be shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import IO

from agentcore_runner.words import size_text

SIDE_FILE_LIMIT = 512 * 1024 * 1024


class SideFile:
    """The full output on disk, made at the first byte. A fault is kept and told; it stops nothing."""

    def __init__(self, open_file: Callable[[], IO[bytes]], limit: int) -> None:
        self._open = open_file
        self._limit = limit
        self._file: IO[bytes] | None = None
        self._written = 0
        self.used = False
        self.path: str | None = None
        self.fault: str | None = None

    def write(self, data: bytes) -> None:
        """Append, until the size limit."""
        self.used = True
        if self.fault is not None:
            return
        try:
            if self._file is None:
                self._file = self._open()
                self.path = str(self._file.name)
            self._written += len(data)
            if self._written > self._limit:
                self.fault = f"stopped after {size_text(self._limit)}"
                return
            self._file.write(data)
        except OSError as exc:
            self.fault = exc.strerror or str(exc)

    def close(self) -> None:
        """Bring the rest to the file."""
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as exc:
            self.fault = exc.strerror or str(exc)
        self._file = None

    def where(self) -> str:
        """Where the full output is, in words."""
        if self.fault is None:
            return f"full output: {self.path}"
        return f"full output could not be stored whole ({self.fault})"


def open_side_file(folder: Path, tool_call_id: str) -> IO[bytes]:
    """A new file named after the call; a number is added where the name is taken."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", tool_call_id)[:100] or "output"
    number = 1
    while True:
        path = folder / (f"{stem}.txt" if number == 1 else f"{stem}-{number}.txt")
        try:
            return path.open("xb")
        except FileExistsError:
            number += 1
