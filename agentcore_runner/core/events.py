"""The ten agent events, and the sink they go to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from agentcore_runner.core.messages import AgentMessage, ToolResultMessage, Value
from agentcore_runner.core.stream import AssistantMessageEvent
from agentcore_runner.core.tools import AgentToolResult


class AgentStartEvent(Value, frozen=True, kw_only=True, tag="agent_start", tag_field="type"):
    """A run of the loop begins."""


class AgentEndEvent(Value, frozen=True, kw_only=True, tag="agent_end", tag_field="type"):
    """The run is over; `messages` are those it added, in order."""

    messages: tuple[AgentMessage, ...]


class TurnStartEvent(Value, frozen=True, kw_only=True, tag="turn_start", tag_field="type"):
    """A turn, one request and the tools it calls, begins."""


class TurnEndEvent(Value, frozen=True, kw_only=True, tag="turn_end", tag_field="type"):
    """The turn's answer, and a result for each of its tool calls."""

    message: AgentMessage
    tool_results: tuple[ToolResultMessage, ...] = ()


class MessageStartEvent(Value, frozen=True, kw_only=True, tag="message_start", tag_field="type"):
    """A message begins; an assistant message has no content yet."""

    message: AgentMessage


class MessageUpdateEvent(Value, frozen=True, kw_only=True, tag="message_update", tag_field="type"):
    """A piece of the assistant message that is open. It carries the piece only; `Agent.state` can show the
    whole so far."""

    assistant_message_event: AssistantMessageEvent


class MessageEndEvent(Value, frozen=True, kw_only=True, tag="message_end", tag_field="type"):
    """The message is whole."""

    message: AgentMessage


class ToolExecutionStartEvent(Value, frozen=True, kw_only=True, tag="tool_execution_start", tag_field="type"):
    """A call is taken up; `args` as the model wrote them."""

    tool_call_id: str
    tool_name: str
    args: Any


class ToolExecutionUpdateEvent(
    Value, frozen=True, kw_only=True, tag="tool_execution_update", tag_field="type"
):
    """A running tool shows what it has so far."""

    tool_call_id: str
    tool_name: str
    args: Any
    partial_result: AgentToolResult


class ToolExecutionEndEvent(Value, frozen=True, kw_only=True, tag="tool_execution_end", tag_field="type"):
    """The call is over; `duration_ms` counts from its start event."""

    tool_call_id: str
    tool_name: str
    result: AgentToolResult
    is_error: bool
    duration_ms: int = 0


AgentEvent: TypeAlias = (
    AgentStartEvent
    | AgentEndEvent
    | TurnStartEvent
    | TurnEndEvent
    | MessageStartEvent
    | MessageUpdateEvent
    | MessageEndEvent
    | ToolExecutionStartEvent
    | ToolExecutionUpdateEvent
    | ToolExecutionEndEvent
)

Sink: TypeAlias = Callable[[AgentEvent], Awaitable[None] | None]
"""Takes every event in order. An awaitable it returns is awaited before the run goes on, so that a slow
consumer slows the run instead of losing events."""
