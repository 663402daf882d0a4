"""What calls left behind: open outputs that must not fill up, orphans that must be reaped."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence

from agentcore_runner.tools.orphans import Family

PERIOD_S = 0.1
CHUNK = 64 * 1024
CHUNKS_PER_PERIOD = 16


class Leftovers:
    """Reads away, at a bounded pace, what background processes still print, so that they neither block nor
    break; and waits for orphans to die."""

    def __init__(self) -> None:
        self._outputs: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._orphans: dict[int, int] = {}
        self._closed = False

    def add(self, outputs: Sequence[int]) -> None:
        """Take over the reading ends of a call's outputs; after `close` they are closed at once."""
        if self._closed:
            for fd in outputs:
                os.close(fd)
            return
        self._outputs.update(outputs)
        self._arm()

    def reap(self, family: Family) -> None:
        """Take the status of dead orphans; watch the living until they die."""
        for orphan in family.adopted():
            if orphan.pid in self._orphans:
                continue
            try:
                watch = os.pidfd_open(orphan.pid)
            except OSError:
                self._take(orphan.pid, family)
                continue
            self._orphans[orphan.pid] = watch
            asyncio.get_running_loop().add_reader(watch, self._died, orphan.pid, family)

    def close(self) -> None:
        """Let go of everything."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for fd in self._outputs:
            os.close(fd)
        self._outputs.clear()
        for watch in self._orphans.values():
            asyncio.get_running_loop().remove_reader(watch)
            os.close(watch)
        self._orphans.clear()

    def _died(self, pid: int, family: Family) -> None:
        watch = self._orphans.pop(pid)
        asyncio.get_running_loop().remove_reader(watch)
        os.close(watch)
        self._take(pid, family)
        self.reap(family)  # its own children are ours now

    def _take(self, pid: int, family: Family) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        family.forget(pid)

    def _arm(self) -> None:
        if self._outputs and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PERIOD_S, self._read_away)

    def _read_away(self) -> None:
        self._timer = None
        for fd in tuple(self._outputs):
            if at_end(fd):
                os.close(fd)
                self._outputs.discard(fd)
        self._arm()


def at_end(fd: int) -> bool:
    """Drop what is there, up to a bound; True when nobody holds the other end any more."""
    for _ in range(CHUNKS_PER_PERIOD):
        try:
            if not os.read(fd, CHUNK):
                return True
        except BlockingIOError:
            return False
        except OSError:
            return True
    return False
