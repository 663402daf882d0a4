"""Waiting with an end: what ignores an abort for too long is interrupted or left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from agentcore_runner.core.signal import AbortSignal

T = TypeVar("T")


class AbortIgnored(Exception):
    """The grace time after an abort is over."""


class Patience:
    """Interrupts this task's wait once an abort is `grace_s` seconds old, and again should it be ignored.

    Only waits are interrupted: `with` a flag rather than a scope around each wait, because there is one wait
    per stream event. Set `waiting` before the wait and reset it after; call `close()` at the end, and give
    it any CancelledError first.
    """

    def __init__(self, signal: AbortSignal, grace_s: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.waiting = False
        self._task = task
        self._foreign = task.cancelling()
        self._interrupts = 0
        self._grace_s = grace_s
        self._timer: asyncio.TimerHandle | None = None
        self._forget = signal.on_abort(self._count_down)

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """The awaitable's result; raises AbortIgnored when the grace time is over first."""
        self.waiting = True
        try:
            return await awaitable
        except asyncio.CancelledError as exc:
            if self.was_mine():
                raise AbortIgnored from exc
            raise
        finally:
            self.waiting = False
            self.close()

    def was_mine(self) -> bool:
        """Whether the CancelledError at hand is this object's doing, and nobody else's."""
        mine = self._interrupts > 0
        self._take_back()
        return mine and self._task.cancelling() <= self._foreign

    def close(self) -> None:
        """Let go of the signal, the timer and the interrupts that had no effect."""
        self._forget()
        if self._timer is not None:
            self._timer.cancel()
        self._take_back()

    def _count_down(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._grace_s, self._interrupt)

    def _interrupt(self) -> None:
        if self.waiting:
            self._interrupts += 1
            self._task.cancel()
        self._count_down()

    def _take_back(self) -> None:
        while self._interrupts:
            self._interrupts -= 1
            self._task.uncancel()


def cancelled_from_outside() -> bool:
    """Whether this task is being cancelled, rather than something it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def after_abort(signal: AbortSignal, grace_s: float, callback: Callable[[], None]) -> Callable[[], None]:
    """Call back `grace_s` seconds after the abort; returns a function that takes that back."""
    timers: list[asyncio.TimerHandle] = []
    loop = asyncio.get_running_loop()
    forget = signal.on_abort(lambda: timers.append(loop.call_later(grace_s, callback)))

    def take_back() -> None:
        forget()
        for timer in timers:
            timer.cancel()

    return take_back


async def close_in_time(stream: Any, seconds: float) -> None:
    """Let a stream that was left in the middle clean up; raises TimeoutError, or what that raises."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        async with asyncio.timeout(seconds):
            await close()


_left_behind: set[asyncio.Task[Any]] = set()


def leave_behind(task: asyncio.Task[Any], report: Callable[[BaseException, str], None], where: str) -> None:
    """Cancel a task and stop caring: it stays referenced until it ends, and what still comes of it, other
    than that it was cancelled, is reported."""

    def settle(ended: asyncio.Task[Any]) -> None:
        _left_behind.discard(ended)
        if not ended.cancelled():
            error = ended.exception()
            report(error or RuntimeError(f"ended after it was left behind: {ended.result()!r:.500}"), where)

    _left_behind.add(task)
    task.add_done_callback(settle)
    task.cancel()
