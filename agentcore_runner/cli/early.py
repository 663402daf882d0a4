"""Signals that come before a run has handlers of its own."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

from agentcore_runner.errors import SIGNALS

LOOK_AGAIN_S = 0.005


class Interrupted(BaseException):
    """A signal came before there was a run to stop."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
        self.code = SIGNALS[name]


class EarlySignals:
    """INT, TERM and HUP raise Interrupted. One that comes while a module is being imported, or while `held`,
    waits for the end of that: raising there would leave half a module, or half an event loop, behind.
    `came` has the names of those that came."""

    def __init__(self) -> None:
        self.came: list[str] = []
        self.held = False

    def catch(self) -> None:
        """Take over the signals, and the alarm that looks again whether one may be raised."""
        signal.signal(signal.SIGALRM, lambda _, frame: self._act(frame))
        for name in SIGNALS:
            signal.signal(getattr(signal, name), self._take)

    def leave_at_once(self) -> None:
        """From now on, the next signal ends the process with its exit code."""
        for name, code in SIGNALS.items():
            signal.signal(getattr(signal, name), lambda *_, code=code: os._exit(code))

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.came.append(signal.Signals(number).name)
        self._act(frame)

    def _act(self, frame: FrameType | None) -> None:
        if self.held or not self.came:
            return
        if is_importing(frame):
            signal.setitimer(signal.ITIMER_REAL, LOOK_AGAIN_S)
            return
        raise Interrupted(self.came[0])


EARLY = EarlySignals()
"""Those of this process."""


def is_importing(frame: Any) -> bool:
    """Whether the code at hand runs because a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
