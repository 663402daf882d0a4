"""Commands from standard input: those that are there before the run, then the others as they come."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator

from agentcore_runner.cli.lines import Lines
from agentcore_runner.cli.stdin import Stdin
from agentcore_runner.errors import ConfigError
from agentcore_runner.runtime.dialogue import Command, Line, Mistake

READER = "--input-format jsonl"
MOST_AHEAD = 1024 * 1024
"""Bytes that are read before the run, where so many are there: somebody may never stop writing."""
MOST_WAITING = 8
"""Pieces of input that may wait for the event loop before the reading thread has to."""


class Intake:
    """The commands on standard input, which it claims for itself. `first_prompt` and `read_ahead` are for
    the time before the run, in a thread: there a line that is no command is a ConfigError. `commands` is for
    the run and gives it as a `Mistake`."""

    def __init__(self, stdin: Stdin) -> None:
        """Raises ConfigError where nothing can come, or something else reads standard input."""
        stdin.open(READER)
        self._stdin = stdin
        self._lines = Lines()
        self._ready: deque[Command] = deque()
        self._ended = False

    def first_prompt(self) -> str:
        """The text of the first line that says something, however long that takes to come."""
        self._stdin.await_first(READER)
        while True:
            while self._ready:
                command = self._ready.popleft()
                if command.kind != "abort":
                    return command.text
            if self._ended:
                raise ConfigError(
                    f"no prompt was given: {READER} found no line with a prompt on standard input, "
                    "and there is none in a flag or the agent file"
                )
            self._read()

    def read_ahead(self) -> None:
        """Take what is there already."""
        size = 0
        while not self._ended and size < MOST_AHEAD and self._stdin.has_piece():
            size += self._read()

    async def commands(self) -> AsyncIterator[Line]:
        """What was read before, then what comes, until standard input ends."""
        while self._ready:
            yield self._ready.popleft()
        if self._ended:
            return
        inbox: asyncio.Queue[list[Line] | None] = asyncio.Queue()
        room = threading.Semaphore(MOST_WAITING)
        loop = asyncio.get_running_loop()
        # Nobody can end a read: a daemon keeps no process.
        threading.Thread(target=self._pump, args=(loop, inbox, room), daemon=True).start()
        while (lines := await inbox.get()) is not None:
            room.release()
            for line in lines:
                yield line

    def _read(self) -> int:
        """Take the next piece and give its size."""
        data = self._stdin.piece(READER)
        self._ended = not data
        lines = self._lines.feed(data) if data else self._lines.flush()
        mistakes = [line for line in lines if isinstance(line, Mistake)]
        if mistakes:
            more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
            raise ConfigError(f"{mistakes[0].message}{more}")
        self._ready += [line for line in lines if isinstance(line, Command)]
        return len(data)

    def _pump(
        self,
        loop: asyncio.AbstractEventLoop,
        inbox: asyncio.Queue[list[Line] | None],
        room: threading.Semaphore,
    ) -> None:
        """Read on, in a thread of its own, as fast as somebody takes what is read."""

        def post(lines: list[Line] | None) -> None:
            room.acquire()
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody asks any more
                loop.call_soon_threadsafe(inbox.put_nowait, lines)

        try:
            while data := self._stdin.piece(READER):
                post(self._lines.feed(data))
            post(self._lines.flush())
        except ConfigError as exc:
            post([Mistake(message=str(exc))])
        post(None)
