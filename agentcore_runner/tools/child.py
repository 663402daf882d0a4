"""One running program: started in a session of its own, its output handed on, its end awaited."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.errors import ToolError

CHUNK = 64 * 1024
READS_AT_EXIT = 32

OnOutput: TypeAlias = Callable[[bytes], None]
"""Takes a piece of output as it comes; it must not raise."""


class Ending(enum.Enum):
    """Why waiting for a program was over."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    ABORTED = "aborted"


class Child:
    """A running program. `on_exit` is called once, after its status was taken."""

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        *,
        outputs: Mapping[int, OnOutput],
        stdin: tuple[int, bytes] | None,
        on_exit: Callable[[Child], None],
        portable: bool,
    ) -> None:
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._outputs = dict(outputs)
        self._on_exit = on_exit
        self._exit = self._loop.create_future()
        self._end_of_output: asyncio.Future[None] = self._loop.create_future()
        self._last_output = self._loop.time()
        self._stdin = -1
        for fd in outputs:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._read, fd)
        if stdin is not None:
            self._open_stdin(*stdin)
        self._pidfd = -1
        self._watch(portable)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def code(self) -> int | None:
        """The exit code, 128 + n for a program that signal n ended, None while it runs."""
        code = self._popen.returncode
        return code if code is None or code >= 0 else 128 - code

    async def wait(self, timeout: float | None, signal: AbortSignal | None) -> Ending:
        """Return when the program has ended, `timeout` seconds are over or the signal is set."""
        woken: asyncio.Future[Ending] = self._loop.create_future()

        def wake(why: Ending) -> None:
            if not woken.done():
                woken.set_result(why)

        self._exit.add_done_callback(lambda _: wake(Ending.EXITED))
        timer = self._loop.call_later(timeout, wake, Ending.TIMED_OUT) if timeout is not None else None
        remove = signal.on_abort(lambda: wake(Ending.ABORTED)) if signal else None
        try:
            return await woken
        finally:
            if timer is not None:
                timer.cancel()
            if remove is not None:
                remove()

    async def drain(self, idle: float, longest: float) -> None:
        """Read on after the end until the output is closed, silent for `idle` seconds, or `longest` is over:
        a grandchild may hold it open."""
        started = self._loop.time()
        self._last_output = max(self._last_output, started)
        while not self._end_of_output.done():
            now = self._loop.time()
            rest = min(self._last_output + idle, started + longest) - now
            if rest <= 0:
                return
            await asyncio.wait([self._end_of_output], timeout=rest)

    def release(self) -> list[int]:
        """Stop reading and writing; what is left are the outputs still held open by others."""
        self._close_stdin()
        open_fds = list(self._outputs)
        for fd in open_fds:
            self._loop.remove_reader(fd)
        self._outputs.clear()
        return open_fds

    def _watch(self, portable: bool) -> None:
        """Learn of the end: from a pidfd, which costs no thread, where there is one."""
        if not portable:
            with contextlib.suppress(AttributeError, OSError):
                self._pidfd = os.pidfd_open(self.pid)
        if self._pidfd >= 0:
            self._loop.add_reader(self._pidfd, self._ended)
        else:
            threading.Thread(target=self._wait_in_thread, daemon=True).start()

    def _wait_in_thread(self) -> None:
        self._popen.wait()
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._ended)

    def _ended(self) -> None:
        if self._popen.poll() is None:
            return
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        for _ in range(READS_AT_EXIT):
            if not [fd for fd in tuple(self._outputs) if self._read(fd)]:
                break
        self._exit.set_result(None)
        self._on_exit(self)

    def _read(self, fd: int) -> bool:
        """Hand on what is there; False when there was nothing."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._last_output = self._loop.time()
            self._outputs[fd](data)
            return True
        self._loop.remove_reader(fd)
        os.close(fd)
        del self._outputs[fd]
        if not self._outputs:
            self._end_of_output.set_result(None)
        return False

    def _open_stdin(self, fd: int, data: bytes) -> None:
        self._stdin = fd
        self._rest = memoryview(data)
        os.set_blocking(fd, False)
        self._write()
        if self._stdin >= 0:
            self._loop.add_writer(fd, self._write)

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._stdin, self._rest) :]
        except BlockingIOError:
            return
        except OSError:  # it does not read any more
            self._rest = self._rest[:0]
        if not self._rest:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1


def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes,
    on_output: OnOutput,
    on_stderr: OnOutput | None,
    on_exit: Callable[[Child], None],
    portable: bool,
) -> Child:
    """Start a program; raises ToolError naming what keeps it from starting. Its standard error goes into the
    output unless `on_stderr` wants it."""
    made: list[int] = []
    err, err_end, in_end, in_ = -1, subprocess.STDOUT, subprocess.DEVNULL, -1
    try:
        out, out_end = pipe(made)
        if on_stderr is not None:
            err, err_end = pipe(made)
        if stdin:
            in_end, in_ = pipe(made)
        popen = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=in_end, stdout=out_end, stderr=err_end, start_new_session=True
        )
    except (OSError, ValueError) as exc:
        close_all(made)
        raise ToolError(why_not(argv, cwd, exc)) from exc
    close_all((out_end, err_end, in_end))
    outputs = {out: on_output}
    if on_stderr is not None:
        outputs[err] = on_stderr
    return Child(
        popen, outputs=outputs, stdin=(in_, stdin) if stdin else None, on_exit=on_exit, portable=portable
    )


def pipe(made: list[int]) -> tuple[int, int]:
    """A new pipe; its ends are also noted among those made."""
    ends = os.pipe()
    made.extend(ends)
    return ends


def close_all(fds: Sequence[int]) -> None:
    """Close those that are real descriptors."""
    for fd in fds:
        if fd >= 0:
            os.close(fd)


def why_not(argv: Sequence[str], cwd: Path, exc: OSError | ValueError) -> str:
    """Why a program could not be started."""
    program = argv[0] if argv else ""
    if not isinstance(exc, OSError):
        return f"cannot start {program!r}: {exc}"
    if not cwd.is_dir():
        return f"cannot start {program!r}: there is no working directory {str(cwd)!r}"
    if isinstance(exc, FileNotFoundError):
        where = "at that path" if "/" in program else "on PATH"
        return f"cannot start {program!r}: no such program {where} (or its interpreter is missing)"
    if isinstance(exc, PermissionError):
        return f"cannot start {program!r}: it is not executable"
    return f"cannot start {program!r}: {exc.strerror}"
