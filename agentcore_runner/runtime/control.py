"""How a run is stopped from outside: once politely, twice at once."""

from __future__ import annotations

from agentcore_runner.core.signal import AbortSignal


class Control:
    """`stop` ends the run with everything closed and recorded; `hurry` drops what is still running.
    `interrupt` sets the first, then the second; the first reason stays the run's."""

    def __init__(self) -> None:
        self.stop = AbortSignal()
        self.hurry = AbortSignal()

    def interrupt(self, reason: str) -> None:
        """Stop for this reason, such as `SIGTERM`; a second call ends at once what still runs."""
        if self.stop.aborted:
            self.hurry.abort(reason)
        self.stop.abort(reason)
