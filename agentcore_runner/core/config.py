"""What a run of the loop is given: the model, the clock, the hooks and the queues."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    Message,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserContent,
    Value,
)
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.queues import MessageQueue
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import StreamFn
from agentcore_runner.core.tools import AgentContext, AgentTool, AgentToolResult, ToolExecutionMode

T = TypeVar("T")
MaybeAwaitable: TypeAlias = Awaitable[T] | T


class BeforeToolCall(Value, frozen=True, kw_only=True):
    """A call about to run. `args` are validated, and again after the hook; `tool_call` is as written."""

    assistant_message: AssistantMessage
    tool_call: ToolCall
    args: dict[str, Any]
    context: AgentContext
    signal: AbortSignal


class BeforeToolCallResult(Value, frozen=True, kw_only=True):
    """`block` refuses the call and tells the model the `reason`; `terminate` is the refused call's vote to
    stop after the batch. `args` replace the arguments and are validated again."""

    block: bool = False
    reason: str | None = None
    terminate: bool = False
    args: dict[str, Any] | None = None


class AfterToolCall(Value, frozen=True, kw_only=True):
    """A call that has run. `duration_ms` counts from its start event."""

    assistant_message: AssistantMessage
    tool_call: ToolCall
    args: dict[str, Any]
    context: AgentContext
    signal: AbortSignal
    result: AgentToolResult
    is_error: bool
    duration_ms: int


class AfterToolCallResult(Value, frozen=True, kw_only=True):
    """Each field that is not None replaces the result's, whole."""

    content: tuple[UserContent, ...] | None = None
    details: Any = None
    is_error: bool | None = None
    usage: Usage | None = None
    terminate: bool | None = None


class TurnContext(Value, frozen=True, kw_only=True):
    """A turn that has ended; `new_messages` are those of the run so far. Read it, do not change it."""

    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]
    context: AgentContext
    new_messages: list[AgentMessage]


class NextTurn(Value, frozen=True, kw_only=True):
    """What changes from the next turn on; None leaves a thing as it is. `tools` wins over `context.tools`.
    `stop` ends the run without another request; what was queued stays queued."""

    model: Model | None = None
    thinking_level: ThinkingLevel | None = None
    tools: tuple[AgentTool, ...] | None = None
    context: AgentContext | None = None
    stop: bool = False


class FitRequest(Value, frozen=True, kw_only=True):
    """A request that is about to be made, or, with `answer`, one that failed or was cut: does its context fit
    the model? `stream_fn` asks that model; `deadline` is in the event loop's clock."""

    context: AgentContext
    model: Model
    stream_fn: StreamFn
    thinking_level: ThinkingLevel
    signal: AbortSignal
    deadline: float | None = None
    answer: AssistantMessage | None = None


class OtherModel(Value, frozen=True, kw_only=True):
    """The model that goes on where another has failed; without a level it thinks as the run does."""

    model: Model
    thinking_level: ThinkingLevel | None = None


ConvertToLlm: TypeAlias = Callable[[Sequence[AgentMessage]], MaybeAwaitable[list[Message]]]
TransformContext: TypeAlias = Callable[
    [list[AgentMessage], AbortSignal], MaybeAwaitable[Sequence[AgentMessage]]
]
FitContext: TypeAlias = Callable[[FitRequest], MaybeAwaitable[Sequence[AgentMessage] | None]]
FallBack: TypeAlias = Callable[[AssistantMessage], MaybeAwaitable[OtherModel | None]]
BeforeHook: TypeAlias = Callable[[BeforeToolCall], MaybeAwaitable[BeforeToolCallResult | None]]
AfterHook: TypeAlias = Callable[[AfterToolCall], MaybeAwaitable[AfterToolCallResult | None]]
ShouldStop: TypeAlias = Callable[[TurnContext], MaybeAwaitable[bool]]
PrepareNextTurn: TypeAlias = Callable[[TurnContext], MaybeAwaitable[NextTurn | None]]
OnError: TypeAlias = Callable[[BaseException, str], None]
"""The error channel: what was raised, and by whom (`listener`, `sink`, `stream_fn`, or the hook's name)."""


class AgentLoopConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a run goes. `now` gives Unix milliseconds.

    Hooks may be plain or async functions. `transform_context` changes what one request sees, never the
    transcript; `fit_context` is asked before it, and after a request that was too long or an answer that was
    cut: the messages it gives take the place of the context's for good, and a request that failed is made
    again with them, once. `fall_back` is asked about an answer that failed or was refused: the model that it
    names gets the same request, and all that follow. `should_stop_after_turn` is asked after every good turn;
    `prepare_next_turn` only when another turn is certain, before it starts. A tool or hook may ignore an
    abort for `abort_grace_s` seconds, then it is left behind. `deadline` is in the event loop's clock and is
    handed to the model.
    """

    model: Model
    stream_fn: StreamFn
    now: Callable[[], int]
    thinking_level: ThinkingLevel = ThinkingLevel.OFF
    tool_execution: ToolExecutionMode = ToolExecutionMode.PARALLEL
    convert_to_llm: ConvertToLlm | None = None
    transform_context: TransformContext | None = None
    fit_context: FitContext | None = None
    fall_back: FallBack | None = None
    before_tool_call: BeforeHook | None = None
    after_tool_call: AfterHook | None = None
    should_stop_after_turn: ShouldStop | None = None
    prepare_next_turn: PrepareNextTurn | None = None
    steering: MessageQueue | None = None
    follow_up: MessageQueue | None = None
    abort_grace_s: float = 5.0
    deadline: float | None = None
    on_error: OnError | None = None
