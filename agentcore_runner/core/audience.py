"""Who hears an agent's events: its state, then the sink, then the listeners."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from agentcore_runner.core.config import OnError
from agentcore_runner.core.events import AgentEvent, MessageUpdateEvent, Sink
from agentcore_runner.core.patience import cancelled_from_outside


class Audience:
    """Passes events on. The sink's failure is raised, after the listeners were told; what a listener raises
    goes to `report` and nobody else notices."""

    def __init__(self, take_in: Callable[[AgentEvent], None], sink: Sink | None, report: OnError) -> None:
        self.sink = sink
        self._take_in = take_in
        self._report = report
        self._listeners: tuple[Sink, ...] = ()
        self._subscriptions: dict[object, Sink] = {}

    def subscribe(self, listener: Sink) -> Callable[[], None]:
        """Add a listener after the others; returns a function that removes it."""
        key = object()
        self._subscriptions[key] = listener
        self._listeners = tuple(self._subscriptions.values())

        def unsubscribe() -> None:
            self._subscriptions.pop(key, None)
            self._listeners = tuple(self._subscriptions.values())

        return unsubscribe

    def emit(self, event: AgentEvent) -> Awaitable[None] | None:
        """Pass one event on. An awaitable comes back only when somebody has to be waited for: most events
        are deltas, and most listeners are plain functions."""
        if type(event) is not MessageUpdateEvent:
            self._take_in(event)
        if self.sink is not None:
            try:
                waiting = self.sink(event)
            except Exception as exc:
                return self._after_sink(event, None, exc)
            if waiting is not None:
                return self._after_sink(event, waiting, None)
        return self._tell(event, iter(self._listeners))

    async def _after_sink(
        self, event: AgentEvent, waiting: Awaitable[None] | None, failure: BaseException | None
    ) -> None:
        try:
            if waiting is not None:
                await waiting
        except (Exception, asyncio.CancelledError) as exc:
            failure = exc
        rest = self._tell(event, iter(self._listeners))
        if rest is not None:
            await rest
        if failure is not None:
            raise failure

    def _tell(self, event: AgentEvent, listeners: Iterator[Sink]) -> Awaitable[None] | None:
        for listener in listeners:
            try:
                waiting = listener(event)
            except Exception as exc:
                self._report(exc, "listener")
                continue
            if waiting is not None:
                return self._wait_and_tell(event, waiting, listeners)
        return None

    async def _wait_and_tell(
        self, event: AgentEvent, waiting: Awaitable[None], listeners: Iterator[Sink]
    ) -> None:
        cancelled: asyncio.CancelledError | None = None
        try:
            await waiting
        except (Exception, asyncio.CancelledError) as exc:
            if isinstance(exc, asyncio.CancelledError) and cancelled_from_outside():
                cancelled = exc  # of the run: the others are to hear the event all the same
            else:
                self._report(exc, "listener")
        rest = self._tell(event, listeners)
        if rest is not None:
            await rest
        if cancelled is not None:
            raise cancelled
