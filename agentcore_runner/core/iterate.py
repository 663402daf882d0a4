"""A run as an async iterator of its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from typing import TYPE_CHECKING

from agentcore_runner.core.events import AgentEvent
from agentcore_runner.core.messages import AgentMessage, ImageContent
from agentcore_runner.core.prompt import PromptInput

if TYPE_CHECKING:
    from agentcore_runner.core.agent import Agent

MOST_WAITING = 256
"""Events that may wait for the reader before the run has to."""


async def iterate_events(
    agent: Agent, prompt: PromptInput, images: Sequence[ImageContent]
) -> AsyncGenerator[AgentEvent, None]:
    """The events of `agent.prompt(prompt, images)`, none left out. Raises what `prompt` raises."""
    inbox: asyncio.Queue[AgentEvent | None] = asyncio.Queue(MOST_WAITING)
    reading = True

    def listen(event: AgentEvent) -> Awaitable[None] | None:
        if not reading:
            return None
        if inbox.full():
            return inbox.put(event)
        inbox.put_nowait(event)
        return None

    async def run() -> list[AgentMessage]:
        unsubscribe = agent.subscribe(listen)
        try:
            return await agent.prompt(prompt, images)
        finally:
            unsubscribe()
            if reading:
                await inbox.put(None)

    task = asyncio.create_task(run())
    try:
        while (event := await inbox.get()) is not None:
            yield event
        await task
    finally:
        reading = False
        if not task.done():
            agent.abort("abandoned")
            while not inbox.empty():
                inbox.get_nowait()
            await asyncio.wait([task])
        if task.done() and not task.cancelled():
            task.exception()  # seen: whoever reads on gets it from `await task`
