"""Doubles for the core: a model that says what a list of turns tells it, tools, and labels for events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from agentcore_runner.core import events as ev
from agentcore_runner.core import stream as st
from agentcore_runner.core.agent import Agent
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    ErrorInfo,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
)
from agentcore_runner.core.model import Model
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentContext, AgentTool, AgentToolResult, OnUpdate, text_result

T = TypeVar("T")
MODEL = Model(id="tiny", name="Tiny", api="scripted", provider="test")
Block = str | ThinkingContent | ToolCall
Turn = list[st.AssistantMessageEvent] | Callable[..., AsyncIterator[st.AssistantMessageEvent]]


def run(coroutine: Coroutine[Any, Any, T], seconds: float = 10) -> T:
    """Run to the end, but not for ever."""

    async def within() -> T:
        # Not `wait_for`: on Python 3.11 it makes a task of its own, and tests look at what tasks are left.
        async with asyncio.timeout(seconds):
            return await coroutine

    return asyncio.run(within())


def call(id: str, name: str = "echo", /, **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def answer(*blocks: Block, stop: StopReason = "done", error: ErrorInfo | None = None) -> AssistantMessage:
    return AssistantMessage(
        content=tuple(TextContent(text=b) if isinstance(b, str) else b for b in blocks),
        api=MODEL.api,
        provider=MODEL.provider,
        model=MODEL.id,
        stop_reason=stop,
        timestamp=0,
        error=error,
        error_message=error.message if error else None,
    )


def says(*blocks: Block, stop: StopReason = "done") -> list[st.AssistantMessageEvent]:
    """A turn of these blocks, each streamed in two pieces."""
    events: list[st.AssistantMessageEvent] = [st.Start()]
    for index, block in enumerate(blocks):
        match block:
            case str():
                half = len(block) // 2
                events += [
                    st.TextStart(content_index=index),
                    st.TextDelta(content_index=index, delta=block[:half]),
                    st.TextDelta(content_index=index, delta=block[half:]),
                    st.TextEnd(content_index=index, content=block),
                ]
            case ThinkingContent(thinking=text):
                events += [
                    st.ThinkingStart(content_index=index),
                    st.ThinkingDelta(content_index=index, delta=text),
                    st.ThinkingEnd(content_index=index, content=text),
                ]
            case ToolCall():
                events += [
                    st.ToolCallStart(content_index=index, id=block.id, tool_name=block.name),
                    st.ToolCallEnd(content_index=index, tool_call=block),
                ]
    message = answer(*blocks, stop=stop)
    last = st.Failed if stop in ("error", "aborted") else st.Done
    return [*events, last(reason=stop, message=message)]


class Script:
    """A `stream_fn` that plays its turns in order and keeps what it was asked."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.contexts: list[st.LlmContext] = []
        self.options: list[st.StreamOptions] = []
        self.models: list[Model] = []

    async def __call__(
        self, model: Model, context: st.LlmContext, options: st.StreamOptions
    ) -> AsyncIterator[st.AssistantMessageEvent]:
        self.contexts.append(context)
        self.options.append(options)
        self.models.append(model)
        turn = self.turns.pop(0) if self.turns else says("(nothing left)")
        if callable(turn):
            async for event in turn(model, context, options):
                yield event
        else:
            for event in turn:
                yield event


Body = Callable[[dict[str, Any], AbortSignal, OnUpdate], Awaitable[AgentToolResult]]


def tool(name: str, body: Body | None = None, **fields: Any) -> AgentTool:
    """A tool that takes anything; without a body it says its name and arguments."""

    async def execute(
        call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate, context: AgentContext
    ) -> AgentToolResult:
        if body is not None:
            return await body(params, signal, on_update)
        return text_result(f"{name} {params}")

    fields.setdefault("parameters", {"type": "object"})
    return AgentTool(name=name, description=name, execute=execute, **fields)


def now() -> int:
    return 1000


def agent(*turns: Turn, tools: list[AgentTool] | None = None, **fields: Any) -> Agent:
    """An agent that plays the turns, with the tool `echo` unless others are given."""
    fields.setdefault("stream_fn", Script(*turns))
    return Agent(model=MODEL, now=now, tools=[tool("echo")] if tools is None else tools, **fields)


class Heard:
    """A listener that keeps the events; `errors` is an error channel beside it."""

    def __init__(self, agent: Agent | None = None) -> None:
        self.events: list[ev.AgentEvent] = []
        self.errors: list[tuple[str, str]] = []
        if agent is not None:
            agent.subscribe(self)
            agent.on_error = self.on_error

    def __call__(self, event: ev.AgentEvent) -> None:
        self.events.append(event)

    def on_error(self, error: BaseException, where: str) -> None:
        self.errors.append((where, str(error)))

    @property
    def labels(self) -> list[str]:
        return [label(event) for event in self.events]

    @property
    def story(self) -> list[str]:
        """The labels without updates of messages."""
        return [name for name in self.labels if not name.startswith("message_update")]


def label(event: ev.AgentEvent) -> str:
    """An event in a few words."""
    name = str(event.__struct_config__.tag)
    match event:
        case ev.MessageStartEvent(message=message):
            return f"{name} {role(message)}"
        case ev.MessageEndEvent(message=message):
            return f"{name} {role(message, ended=True)}"
        case ev.MessageUpdateEvent(assistant_message_event=piece):
            return f"{name} {piece.__struct_config__.tag}"
        case ev.ToolExecutionEndEvent():
            return f"{name} {event.tool_call_id}{' error' if event.is_error else ''}"
        case ev.ToolExecutionStartEvent() | ev.ToolExecutionUpdateEvent():
            return f"{name} {event.tool_call_id}"
        case ev.TurnEndEvent():
            return f"{name} {len(event.tool_results)}"
    return name


def role(message: AgentMessage, *, ended: bool = False) -> str:
    match message:
        case ToolResultMessage():
            return f"result {message.tool_call_id}"
        case AssistantMessage() if ended:
            return f"assistant {message.stop_reason}"
        case AssistantMessage():
            return "assistant"
    return "user"


def texts(messages: list[AgentMessage]) -> list[str]:
    """Who said what."""
    return [
        f"{role(m, ended=True)}: {''.join(getattr(b, 'text', '') for b in m.content)}"  # type: ignore[union-attr]
        for m in messages
    ]
