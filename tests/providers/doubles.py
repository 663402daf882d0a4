"""What the tests of the adapters share: a conversation, a provider on a server, a stream in words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.core.messages import AssistantMessage, Message, TextContent, UserMessage
from agentcore_runner.core.model import ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import (
    AssistantMessageEvent,
    Done,
    Failed,
    LlmContext,
    Retry,
    StreamOptions,
    TextDelta,
)
from agentcore_runner.core.tools import AgentTool
from agentcore_runner.providers.catalog import ModelSettings, Provider, RetryPolicy, open_provider

QUICK = RetryPolicy(min_delay=0.001, max_backoff=0.002)
NOW_MS = 1_700_000_000_000
LIMIT = 10.0
"""Seconds after which a test that waits has failed."""


def user(text: str = "Hi") -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), timestamp=1)


def context(*messages: Message, system: str = "Be brief.", tools: tuple[AgentTool, ...] = ()) -> LlmContext:
    return LlmContext(system_prompt=system, messages=list(messages) or [user()], tools=tools)


def opened(
    base_url: str | None,
    model: str = "openai/mock",
    *,
    env: dict[str, str] | None = None,
    folder: Path = Path(),
    idle_timeout: float = 5.0,
    retry: RetryPolicy = QUICK,
    **settings: Any,
) -> Provider:
    provider, _, name = model.partition("/")
    return open_provider(
        ModelSettings(provider=provider, id=name, base_url=base_url, **settings),
        env=env or {},
        cwd=folder,
        agent_directory=folder,
        idle_timeout=idle_timeout,
        now=lambda: NOW_MS,
        retry=retry,
    )


def stream(
    provider: Provider,
    *contexts: LlmContext,
    on_event: Callable[[AssistantMessageEvent, AbortSignal], None] = lambda event, signal: None,
    thinking_level: ThinkingLevel = ThinkingLevel.OFF,
    deadline_in: float | None = None,
) -> list[AssistantMessageEvent]:
    """The events of one request for each context, one after the other, in a loop of its own."""

    async def run() -> list[AssistantMessageEvent]:
        events = []
        loop = asyncio.get_running_loop()
        try:
            for one in contexts or (context(),):
                signal = AbortSignal()
                options = StreamOptions(
                    signal=signal,
                    thinking_level=thinking_level,
                    deadline=None if deadline_in is None else loop.time() + deadline_in,
                )
                async for event in provider.stream(provider.model, one, options):
                    events.append(event)
                    on_event(event, signal)
        finally:
            await provider.aclose()
        return events

    return asyncio.run(asyncio.wait_for(run(), LIMIT))


def answer(events: list[AssistantMessageEvent]) -> AssistantMessage:
    """The message of the last event, which must be a final one."""
    last = events[-1]
    assert isinstance(last, Done | Failed)
    return last.message


def told(events: list[AssistantMessageEvent]) -> list[Any]:
    """The events in few words."""
    words: list[Any] = []
    for event in events:
        match event:
            case TextDelta(delta=delta):
                words.append(delta)
            case Retry(attempt=attempt, status=status):
                words.append(("retry", attempt, status))
            case Done(reason=reason) | Failed(reason=reason):
                words.append(reason)
            case _:
                words.append(event.__struct_config__.tag)
    return words


def plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
