"""A standard stream as a sink that never blocks the event loop and never drops a byte unless told to."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import stat
from collections import deque
from collections.abc import Awaitable

from agentcore_runner.errors import RunnerError, StdoutClosed, TranscriptError

# A pipe that is ready for writing has room for this much (POSIX: PIPE_BUF, at least 512), so that a write of
# it returns at once although the descriptor, which other processes may share, stays in blocking mode.
SAFE_WRITE: int = getattr(select, "PIPE_BUF", 512)


class Stdout:
    """Writes lines to a descriptor. `line` returns None when everything went out, else an awaitable that ends
    when it has. Raises StdoutClosed when the reader has gone, TranscriptError for any other failure."""

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd
        self._queue: deque[memoryview] = deque()
        self._error: RunnerError | None = None
        self._ready: asyncio.Future[None] | None = None
        self._blocks = can_block(fd)

    def line(self, data: bytes) -> Awaitable[None] | None:
        """Write `data`, now or as soon as the reader takes it."""
        if self._error is not None:
            raise self._error
        self._queue.append(memoryview(data))
        if len(self._queue) > 1 or not self._pump():
            return self._drain()
        return None

    def _pump(self) -> bool:
        """Write while it cannot block; True when nothing is left."""
        while self._queue:
            data = self._queue[0]
            if self._blocks:
                if not is_writable(self._fd):
                    return False
                data = data[:SAFE_WRITE]
            try:
                written = os.write(self._fd, data)
            except BlockingIOError:
                return False
            except OSError as exc:
                self._queue.clear()
                self._error = failure(exc)
                raise self._error from exc
            self._queue[0] = self._queue[0][written:]
            if not self._queue[0]:
                self._queue.popleft()
        return True

    async def _drain(self) -> None:
        while not self._pump():
            await asyncio.shield(self._writable())
        if self._error is not None:
            raise self._error

    def _writable(self) -> asyncio.Future[None]:
        """Done when the reader may take more; one for all who wait."""
        if self._ready is not None and not self._ready.done():
            return self._ready
        loop = asyncio.get_running_loop()
        ready = self._ready = loop.create_future()

        def wake() -> None:
            loop.remove_writer(self._fd)
            if not ready.done():
                ready.set_result(None)

        try:
            loop.add_writer(self._fd, wake)
        except (OSError, NotImplementedError):
            loop.call_later(0.05, ready.set_result, None)
        return ready


class Stderr:
    """Writes short lines of text to a descriptor, if that can be done without waiting for its reader: what is
    told to a person is worth less than the run."""

    def __init__(self, fd: int = 2) -> None:
        self._fd = fd
        self._blocks = can_block(fd)

    def line(self, text: str, *, patience: float = 0.0) -> None:
        """Write a line, waiting `patience` seconds for a reader that is behind; else drop it."""
        data = text.encode("utf-8", "replace")[: SAFE_WRITE - 1] + b"\n"
        try:
            if not self._blocks or is_writable(self._fd, patience):
                os.write(self._fd, data)
        except OSError:
            self._blocks = True


def can_block(fd: int) -> bool:
    """Whether a write to the descriptor may have to wait for somebody."""
    try:
        return not stat.S_ISREG(os.fstat(fd).st_mode)
    except OSError:
        return True


def is_writable(fd: int, seconds: float = 0.0) -> bool:
    """Whether the descriptor takes a short write now, or within so many seconds."""
    return bool(select.select([], [fd], [], seconds)[1])


def failure(error: OSError) -> RunnerError:
    """What a failed write to standard output means for the run."""
    if error.errno in (errno.EPIPE, errno.ECONNRESET, errno.EBADF):
        return StdoutClosed("Standard output was closed by its reader.")
    return TranscriptError(f"cannot write to standard output: {error.strerror}")
