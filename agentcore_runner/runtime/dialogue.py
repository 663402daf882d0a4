"""A dialogue with an agent: what is said to it during its runs and between them, line by line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, TypeAlias

import msgspec

from agentcore_runner.core.agent import Agent
from agentcore_runner.core.messages import AgentMessage
from agentcore_runner.core.queues import Kind
from agentcore_runner.core.signal import AbortSignal

ABORTED = "an abort line asked for it"
"""Why a run ended whose last word was an `abort`, as the end of a sentence."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Something to say to the agent, of a kind that says when, or `abort`, which stops what it is doing."""

    kind: Kind | Literal["abort"]
    text: str = ""


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """What came in a command's place: a sentence with its line, what was found and what was wanted."""

    message: str


Line: TypeAlias = Command | Mistake


class Dialogue:
    """Passes lines on to an agent. `aborted` says whether a line aborted the agent's last run.

    `stop`, which is to abort the agent too, ends the dialogue. `is_over` says that nothing more is to be
    done, for this reason or another; `may_go_on` is asked before the agent gets more to do, and makes it over
    where a limit forbids that. `on_queued` is called when the queues may have changed, `warn` gets every
    mistake."""

    def __init__(
        self,
        agent: Agent,
        lines: AsyncIterator[Line],
        *,
        stop: AbortSignal,
        is_over: Callable[[], bool],
        may_go_on: Callable[[], Awaitable[bool]],
        on_queued: Callable[[], Awaitable[None] | None],
        warn: Callable[[str], Awaitable[None]],
    ) -> None:
        self.aborted = False
        self._agent = agent
        self._lines = lines
        self._stop = stop
        self._is_over = is_over
        self._may_go_on = may_go_on
        self._on_queued = on_queued
        self._warn = warn
        self._resumed: asyncio.Future[list[AgentMessage]] | None = None  # the event loop alone keeps no task

    async def hold(self, first: AgentMessage) -> None:
        """Say the first thing, then what comes; return when the agent is idle and nothing more will come, or
        when the dialogue is over. The agent is idle then in any case."""
        try:
            await self._say(first, "prompt")
            while (line := await self._next()) is not None:
                await self._take(line)
            await self._agent.wait_for_idle()
            while await self._resume():
                await self._agent.wait_for_idle()
        finally:
            self._agent.abort("cancelled")  # says something only to a run that a failure or cancellation left
            await self._agent.wait_for_idle()

    async def _next(self) -> Line | None:
        """The next line; None where there is none, or the dialogue is over. What a failed run has left in the
        queues is not kept waiting for it."""
        coming = asyncio.ensure_future(anext(self._lines, None))
        try:
            await self._resume()
            while not (coming.done() or self._is_over()):
                await self._wait(coming)
                await self._resume()
            return None if self._is_over() else coming.result()
        finally:
            coming.cancel()

    async def _wait(self, coming: asyncio.Future[Line | None]) -> None:
        """Return when the line is there, the run in progress has ended or, where none is, `stop` is set."""
        other = asyncio.ensure_future(self._agent.wait_for_idle() if self._busy else self._stop.wait())
        either: list[asyncio.Future[Any]] = [coming, other]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            other.cancel()

    async def _take(self, line: Line) -> None:
        if isinstance(line, Mistake):
            await self._warn(line.message)
        elif line.kind == "abort":
            await self._abort()
        elif await self._has_leave():
            await self._resume()  # what was said before this line comes before it
            await self._say(line.text, line.kind)

    async def _say(self, message: str | AgentMessage, kind: Kind) -> None:
        if self._agent.submit(message, kind=kind).status == "started":
            self.aborted = False
        waiting = self._on_queued()
        if waiting is not None:
            await waiting

    async def _abort(self) -> None:
        """Stop the run in progress, if there is one, and wait for its end: what follows is said to an idle
        agent, however long its tools take to stop."""
        if self._busy:
            self.aborted = True
            self._agent.abort("abort line")
            await self._agent.wait_for_idle()

    async def _resume(self) -> bool:
        """Start a run with what the last one has left in the queues because it failed; whether there was
        anything to start. After an abort the queues wait for the next line."""
        left = len(self._agent.steering) + len(self._agent.follow_ups)
        if self._busy or self.aborted or not left or not await self._has_leave():
            return False
        self._resumed = asyncio.ensure_future(self._agent.continue_())
        await asyncio.sleep(0)  # its first step: from here on the agent is busy
        if self._resumed.done():
            self._resumed.result()
        return True

    async def _has_leave(self) -> bool:
        """Whether the agent may get more to do, now: while a limit was being recorded a signal may have come,
        which no longer reaches a run that is not there yet."""
        return await self._may_go_on() and not self._is_over()

    @property
    def _busy(self) -> bool:
        return self._agent.state.is_streaming
