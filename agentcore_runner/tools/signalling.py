"""Sends a signal to processes, each once: the groups of our own programs as one."""

from __future__ import annotations

import contextlib
import os
import signal as signals
from collections.abc import Sequence

from agentcore_runner.tools.orphans import Process


def send(
    processes: Sequence[Process], number: signals.Signals, told: set[tuple[int, int]], leaders: set[int]
) -> None:
    """Signal each process that was not told before. A group whose leader is ours is told as one, so that
    none of it can slip away by forking and none gets a signal twice."""
    fresh = [process for process in processes if (process.pid, process.started) not in told]
    told.update((process.pid, process.started) for process in fresh)
    groups = {process.group for process in fresh if process.group in leaders}
    groups = {group for group in groups if (group, -1) not in told}
    told.update((group, -1) for group in groups)
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for process in fresh:
        if process.group not in groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


def group_of(leader: int) -> Process:
    """A process that leads a session of its own, as it is known without a look at the process table."""
    return Process(leader, 0, leader, leader, 0, False)
