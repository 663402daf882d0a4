"""Ends a wait when the run is aborted or nothing has been heard for too long."""

from __future__ import annotations

import asyncio
from types import TracebackType

from agentcore_runner.core.signal import AbortSignal

EARLY = 0.001
"""Seconds by which a timer may fire early; the rest is not worth another timer."""


class Aborted(Exception):
    """The signal was set."""


class Silent(Exception):
    """Nothing was heard for as long as allowed."""


class Watch:
    """Guards awaits: `with watch: await …` raises `Aborted` or `Silent` in place of the await.

    One timer serves the whole request. `heard()` only notes the time, and the timer looks at it when it
    fires: an event costs no timer of its own. Nothing is interrupted outside of the `with` block, so an
    iterator may be left suspended there for as long as its consumer likes.
    """

    def __init__(self, signal: AbortSignal, idle: float | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._signal = signal
        self._idle = idle
        self._limit: float | None = None
        self._heard = self._loop.time()
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._verdict: type[Aborted] | type[Silent] | None = None
        self._timer = self._loop.call_later(idle, self._look) if idle is not None else None
        self._forget = signal.on_abort(lambda: self._interrupt(Aborted))

    def heard(self) -> None:
        """Something came: the silence begins anew."""
        self._heard = self._loop.time()

    def finish_within(self, seconds: float) -> None:
        """From now on, whatever is heard, waiting ends as `Silent` after so many seconds."""
        self._limit = self._loop.time() + seconds
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._limit, self._look)

    def close(self) -> None:
        """Let go of the timer and of the signal."""
        self._forget()
        if self._timer is not None:
            self._timer.cancel()

    def __enter__(self) -> None:
        if self._signal.aborted:
            raise Aborted
        if self._limit is not None and self._loop.time() >= self._limit:
            raise Silent
        task = asyncio.current_task()
        assert task is not None
        self._cancelling = task.cancelling()
        self._task = task

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        verdict, self._verdict = self._verdict, None
        if verdict is not None and task is not None and task.uncancel() <= self._cancelling:
            raise verdict from value

    def _look(self) -> None:
        """The timer fired: is it time, or was something heard since it was set?"""
        now = self._loop.time()
        if self._task is None:  # the consumer is busy; what it does is no silence of the server
            due = now + (self._idle or 1.0)
        elif self._limit is not None:
            due = self._limit
        else:
            due = self._heard + (self._idle or 0.0)
        if due - now > EARLY:
            self._timer = self._loop.call_at(due, self._look)
        else:
            self._interrupt(Silent)

    def _interrupt(self, verdict: type[Aborted] | type[Silent]) -> None:
        if self._task is not None and self._verdict is None:
            self._verdict = verdict
            self._task.cancel()
