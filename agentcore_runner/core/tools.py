"""What an agent can do: tools, their results, and the context they are offered in."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from agentcore_runner.core.messages import AgentMessage, TextContent, Usage, UserContent, Value
from agentcore_runner.core.signal import AbortSignal


class ToolExecutionMode(enum.StrEnum):
    """`sequential` runs a call alone, `parallel` beside its neighbours."""

    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"


class AgentToolResult(Value, frozen=True, kw_only=True):
    """What a tool gives back. `is_error` marks a failure the model should see; raising `ToolError` says the
    same. `terminate` asks the run to stop after this batch; every call of the batch must agree."""

    content: tuple[UserContent, ...] = ()
    details: Any = None
    usage: Usage | None = None
    added_tool_names: tuple[str, ...] = ()
    terminate: bool = False
    is_error: bool = False


OnUpdate: TypeAlias = Callable[[AgentToolResult], None]
Execute: TypeAlias = Callable[
    [str, dict[str, Any], AbortSignal, OnUpdate, "AgentContext"], Awaitable[AgentToolResult]
]


class AgentTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool. `parameters` is a JSON Schema of an object; `execute(tool_call_id, params, signal, on_update,
    context)` gets arguments that satisfy it and should stop soon after the signal is set;
    `prepare_arguments` may mend raw arguments before they are validated."""

    name: str
    description: str
    parameters: dict[str, Any]
    execute: Execute
    label: str = ""
    prepare_arguments: Callable[[Any], Any] | None = None
    execution_mode: ToolExecutionMode | None = None


class AgentContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent knows when a request is made: read it, do not change it."""

    system_prompt: str = ""
    messages: list[AgentMessage]
    tools: tuple[AgentTool, ...] = ()


def text_result(text: str, details: Any = None, *, is_error: bool = False) -> AgentToolResult:
    """A result of one text block."""
    return AgentToolResult(content=(TextContent(text=text),), details=details, is_error=is_error)
