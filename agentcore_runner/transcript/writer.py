"""The transcript file: whole lines appended, on disk when it matters."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from agentcore_runner.errors import TranscriptError

NAME_ANOTHER = "name a new file, or a folder that ends in / for a new file in it at each run"


class TranscriptFile:
    """An append-only file of its own. One write per line; a line that could not be written whole is taken
    back, so that the file always ends at a line's end. After a failure nothing more is written."""

    def __init__(self, path: Path, *, fsync: bool = True) -> None:
        """Create the file and its folder; raises TranscriptError naming the path and the cause."""
        self.path = path
        self.error: TranscriptError | None = None
        self._fsync = fsync
        self._unsynced = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except OSError as exc:
            if path.is_file():
                raise TranscriptError(f"{path}: exists already; {NAME_ANOTHER}") from exc
            raise TranscriptError(f"{path}: cannot create the transcript: {exc.strerror}") from exc
        self._size = 0

    def write(self, line: bytes) -> None:
        """Append one line; raises TranscriptError, once, when the disk says no."""
        if self.error is not None:
            return
        self._append(line)
        self._size += len(line)
        self._unsynced = True

    def probe(self, size: int) -> None:
        """Raise TranscriptError if a line of `size` bytes could not be written now; the file stays as it is
        (a kill in between leaves blanks at its end, which read as a torn line)."""
        if self.error is None:
            self._append(b" " * size)
            os.ftruncate(self._fd, self._size)

    async def sync(self) -> None:
        """Return once every line so far is on disk; costs nothing where there is no new one."""
        if self._unsynced and self._fsync and self.error is None:
            self._unsynced = False
            await asyncio.get_running_loop().run_in_executor(None, self._sync_now)

    def close(self) -> None:
        """Bring the rest to disk and close the file."""
        if self._fd >= 0:
            if self._unsynced and self._fsync:
                self._sync_now()
            os.close(self._fd)
            self._fd = -1

    def _append(self, line: bytes) -> None:
        try:
            done = os.write(self._fd, line)
            while done < len(line):
                done += os.write(self._fd, line[done:])
        except OSError as exc:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            self.error = TranscriptError(f"{self.path}: cannot write the transcript: {exc.strerror}")
            raise self.error from exc

    def _sync_now(self) -> None:
        # Pipes and some network file systems cannot be synchronised: the write itself has succeeded.
        with contextlib.suppress(OSError):
            os.fsync(self._fd)
