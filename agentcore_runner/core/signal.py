"""An abort signal: set once, seen by everyone who holds it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class AbortSignal:
    """Says that a run is to stop. `reason` is a short word for why, such as `SIGTERM` or `timeout`."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._callbacks: dict[object, Callable[[], None]] = {}

    @property
    def aborted(self) -> bool:
        """Whether the signal is set."""
        return self.reason is not None

    def abort(self, reason: str = "abort") -> None:
        """Set the signal and call everyone who waits for it; a second call changes nothing."""
        if self.reason is not None:
            return
        self.reason = reason
        callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on abort (at once if it has happened); returns a function that takes that back."""
        if self.reason is not None:
            callback()
            return lambda: None
        key = object()
        self._callbacks[key] = callback

        def take_back() -> None:
            self._callbacks.pop(key, None)

        return take_back

    async def wait(self) -> None:
        """Return once the signal is set."""
        event = asyncio.Event()
        remove = self.on_abort(event.set)
        try:
            await event.wait()
        finally:
            remove()
