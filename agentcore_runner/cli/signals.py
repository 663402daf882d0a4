"""Signals: the first stops the run, the second ends it at once, and neither waits for busy code."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

from agentcore_runner.cli.early import EARLY
from agentcore_runner.cli.main import leave
from agentcore_runner.errors import SIGNALS
from agentcore_runner.runtime.control import Control
from agentcore_runner.runtime.execute import Execution

REACTS_WITHIN_S = 2.0
GONE_WITHIN_S = 0.8


def handle_signals(control: Control, stuck: Stuck) -> None:
    """INT, TERM and HUP stop the run; a second one ends it at once. An alarm watches over both: `stuck` is
    called with the first signal's name when the event loop does not react in time, because our own code is
    busy, with a template that never ends, say."""
    loop = asyncio.get_running_loop()
    came: list[str] = []

    def interrupt(number: int, _: Any) -> None:
        came.append(signal.Signals(number).name)
        loop.call_soon_threadsafe(control.interrupt, came[-1])
        if len(came) <= 2:
            signal.setitimer(signal.ITIMER_REAL, REACTS_WITHIN_S if len(came) == 1 else GONE_WITHIN_S)

    def alarm(*_: Any) -> None:
        if len(came) > 1 or not control.stop.aborted:
            stuck(came[0])

    signal.signal(signal.SIGALRM, alarm)
    for name in SIGNALS:
        signal.signal(getattr(signal, name), interrupt)
    for name in EARLY.came:
        interrupt(getattr(signal, name), None)


class Stuck:
    """Leaves with a signal's exit code, whatever is going on, and closes the record of `execution`, if there
    is one by then."""

    def __init__(self, control: Control) -> None:
        self.execution: Execution | None = None
        self._control = control

    def __call__(self, name: str) -> None:
        self._control.stop.abort(name)
        if self.execution is not None:
            self.execution.leave_now()
        print(f"agentcore-run: interrupted ({int(SIGNALS[name])}) by {name} while busy", file=sys.stderr)
        leave(SIGNALS[name])
