"""What a model is asked and how its answer arrives: the port that providers fill."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

import msgspec

from agentcore_runner.core.messages import (
    AssistantMessage,
    ErrorKind,
    Message,
    StopReason,
    ToolCall,
    Usage,
    Value,
)
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentTool


class Start(Value, frozen=True, kw_only=True, tag="start", tag_field="type"):
    """The request is on its way. First in every stream."""


class TextStart(Value, frozen=True, kw_only=True, tag="text_start", tag_field="type"):
    """A text block begins; `content_index` is its place in the message, from 0."""

    content_index: int


class TextDelta(Value, frozen=True, kw_only=True, tag="text_delta", tag_field="type"):
    """The next piece of the text."""

    content_index: int
    delta: str


class TextEnd(Value, frozen=True, kw_only=True, tag="text_end", tag_field="type"):
    """The whole text; `signature` becomes the block's `text_signature`."""

    content_index: int
    content: str
    signature: str | None = None


class ThinkingStart(Value, frozen=True, kw_only=True, tag="thinking_start", tag_field="type"):
    """A block of thinking begins."""

    content_index: int


class ThinkingDelta(Value, frozen=True, kw_only=True, tag="thinking_delta", tag_field="type"):
    """The next piece of the thinking."""

    content_index: int
    delta: str


class ThinkingEnd(Value, frozen=True, kw_only=True, omit_defaults=True, tag="thinking_end", tag_field="type"):
    """The whole thinking; `signature` becomes the block's `thinking_signature`. Of `redacted` thinking there
    is nothing but that."""

    content_index: int
    content: str
    signature: str | None = None
    redacted: bool = False


class ToolCallStart(Value, frozen=True, kw_only=True, tag="toolcall_start", tag_field="type"):
    """A tool call begins; its arguments follow."""

    content_index: int
    id: str
    tool_name: str


class ToolCallDelta(Value, frozen=True, kw_only=True, tag="toolcall_delta", tag_field="type"):
    """A piece of the arguments' JSON text."""

    content_index: int
    delta: str


class ToolCallEnd(Value, frozen=True, kw_only=True, tag="toolcall_end", tag_field="type"):
    """The whole call, its arguments parsed."""

    content_index: int
    tool_call: ToolCall


class Retry(Value, frozen=True, kw_only=True, tag="retry", tag_field="type"):
    """The request failed and is made again after `delay_s` seconds: everything since `start` is void.
    `attempt` is 1 for the first failure; `status` is None where no response came. `usage` is what the failed
    attempt used, where it is known, and `model` (`provider/id`) who was asked, where that is another."""

    attempt: int
    delay_s: float
    status: int | None
    reason: str
    kind: ErrorKind = "connection"
    request_id: str | None = None
    usage: Usage | None = None
    model: str | None = None


class Done(Value, frozen=True, kw_only=True, tag="done", tag_field="type"):
    """The answer is whole (or cut at the output cap, or refused: see the stop reason)."""

    reason: StopReason
    message: AssistantMessage


class Failed(Value, frozen=True, kw_only=True, tag="error", tag_field="type"):
    """No whole answer: stop reason `error` or `aborted`, with what had arrived."""

    reason: StopReason
    message: AssistantMessage


AssistantMessageEvent: TypeAlias = (
    Start
    | TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | Retry
    | Done
    | Failed
)


class LlmContext(msgspec.Struct, frozen=True, kw_only=True):
    """What one request tells the model. A message that was in the last request is the same object again, so
    that an adapter can keep what it made of it."""

    system_prompt: str
    messages: list[Message]
    tools: tuple[AgentTool, ...] = ()


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to ask. `deadline` is in the event loop's clock: no retry may wait beyond it. `max_output_tokens`
    caps this answer below the model's own cap; `thinking_budget`, in tokens, stands in place of the level.
    `session_id` is the same for all requests of a conversation: by it an API that keeps
    what it has read finds it again."""

    thinking_level: ThinkingLevel = ThinkingLevel.OFF
    thinking_budget: int | None = None
    signal: AbortSignal
    deadline: float | None = None
    max_output_tokens: int | None = None
    session_id: str | None = None


StreamFn: TypeAlias = Callable[[Model, LlmContext, StreamOptions], AsyncIterator[AssistantMessageEvent]]
"""A model. The iterator gives `start`, then deltas, then exactly one `done` or `error`. A failure is a
message with stop reason `error`; to raise `ProviderError` says the same. Whatever else it raises is a defect:
it ends the answer as an internal error and goes to the error channel (`on_error`, as `stream_fn`)."""
