"""Standard input: read only where something asks for it, never waited for without a word."""

from __future__ import annotations

import os
import select
import stat
import sys

from agentcore_runner.errors import ConfigError
from agentcore_runner.runtime.gather import decoded

NOTE_AFTER_S = 3.0
CHUNK = 1 << 16


class Stdin:
    """Standard input, to be read once. `timeout` bounds the wait for the first byte where it is only the last
    resort for a prompt."""

    def __init__(self, timeout: float, fd: int = 0) -> None:
        self._fd = fd
        self._timeout = timeout
        self._reader: str | None = None

    def required(self, reader: str) -> str:
        """All of it, for a flag that asked by name; ConfigError where nothing can come."""
        text = self.text(reader)
        if text is None:
            raise silent(reader)
        return text

    def text(self, reader: str) -> str | None:
        """All of it, for a reader that asked by name, None where nothing can come; a note says so while
        nothing does."""
        self._claim(reader)
        if self._is_silent():
            return None
        self.await_first(reader)
        return self._read(reader)

    def prompt(self) -> str:
        """All of it as the prompt, where nothing else gave one."""
        wanted = "no prompt was given: pass it as an argument, with --prompt, or pipe it to standard input"
        self._claim("the prompt")
        if self._is_silent():
            raise ConfigError(wanted)
        if not self._ready(self._timeout):
            raise ConfigError(
                f"{wanted} (waited {self._timeout:g} s for a first byte there; see --stdin-timeout)"
            )
        text = self._read("the prompt")
        if not text.strip():
            raise ConfigError(f"{wanted} (standard input was empty)")
        return text

    def open(self, reader: str) -> None:
        """Claim it for a flag that takes it piece by piece; ConfigError where nothing can come."""
        self._claim(reader)
        if self._is_silent():
            raise silent(reader)

    def await_first(self, reader: str) -> None:
        """Wait for something to come, or say after a while that somebody waits."""
        if not self._ready(NOTE_AFTER_S):
            print(f"agentcore-run: waiting for standard input ({reader})", file=sys.stderr, flush=True)

    def has_piece(self) -> bool:
        """Whether `piece` need not wait."""
        return self._ready(0)

    def piece(self, reader: str) -> bytes:
        """What comes next, waiting for it; empty at the end. ConfigError where it cannot be read."""
        try:
            self._ready(None)  # whoever gave us the pipe may have made reads of it not wait
            return os.read(self._fd, CHUNK)
        except OSError as exc:
            raise ConfigError(f"{reader}: standard input cannot be read: {exc.strerror}") from exc

    def unread_warning(self) -> str | None:
        """A sentence when a pipe has bytes ready that nothing asked for."""
        if self._reader is None and waiting_bytes(self._fd):
            return "standard input has data that nothing asked for; read it with --prompt - or -i NAME=-"
        return None

    def _claim(self, reader: str) -> None:
        if self._reader is not None:
            raise ConfigError(f"standard input can be read once: {self._reader} and {reader} both ask for it")
        self._reader = reader

    def _is_silent(self) -> bool:
        """Whether nothing can come: a terminal, the null device, or no standard input at all."""
        try:
            mode = os.fstat(self._fd)
        except OSError:
            return True
        return stat.S_ISCHR(mode.st_mode) and (
            os.isatty(self._fd) or os.path.samestat(mode, os.stat(os.devnull))
        )

    def _ready(self, seconds: float | None) -> bool:
        return bool(select.select([self._fd], [], [], seconds)[0])

    def _read(self, reader: str) -> str:
        chunks = []
        while chunk := self.piece(reader):
            chunks.append(chunk)
        return decoded(b"".join(chunks), f"{reader}: standard input")


def silent(reader: str) -> ConfigError:
    """What to say where a flag asks for input and nothing can come."""
    return ConfigError(
        f"{reader} reads standard input, which is a terminal or the null device: pipe something in"
    )


def waiting_bytes(fd: int) -> int:
    """How many bytes a pipe or socket has ready; 0 for anything else."""
    try:
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return 0
        import fcntl
        import termios

        return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder)
    except (OSError, ImportError):
        return 0
