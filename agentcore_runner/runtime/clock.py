"""The time of a run."""

from __future__ import annotations

import time
from collections.abc import Callable


def stopwatch() -> Callable[[], float]:
    """A clock that gives the seconds since now."""
    began = time.monotonic()
    return lambda: time.monotonic() - began


def unix_ms() -> int:
    """Now, as Unix milliseconds."""
    return time.time_ns() // 1_000_000


def file_stamp() -> str:
    """Now, in UTC, as part of a file name."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
