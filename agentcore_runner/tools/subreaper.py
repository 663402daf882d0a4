"""Asks Linux to give this process the orphans among its descendants, for as long as a run needs them."""

from __future__ import annotations

import os
import threading

PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37


class Subreaper:
    """Counts who needs the orphans; the first turns it on, the last puts back what was before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._before = 0

    def acquire(self) -> bool:
        """True where orphans will come to this process, and can be found there."""
        with self._lock:
            if self._holders == 0:
                before = switch_on()
                if before is None:
                    return False
                self._before = before
            self._holders += 1
            return True

    def release(self) -> None:
        """Give up what `acquire` granted."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._before == 0:
                switch_off()


def switch_on() -> int | None:
    """Become a subreaper; the state before, or None where this system cannot."""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return None
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    before = ctypes.c_int(0)
    if prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0) != 0:
        return None
    if prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        return None
    return before.value


def switch_off() -> None:
    """Stop being a subreaper."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


SUBREAPER = Subreaper()
