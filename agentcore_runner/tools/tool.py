"""The shape our tools share: one call's facts, and how options become an `AgentTool`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentContext, AgentTool, AgentToolResult, OnUpdate
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.options import ToolOptions


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    id: str
    params: dict[str, Any]
    signal: AbortSignal
    on_update: OnUpdate


Body: TypeAlias = Callable[[Call], Awaitable[AgentToolResult]]


def make_tool(
    options: ToolOptions,
    body: Body,
    *,
    description: str,
    parameters: dict[str, Any],
    prepare_arguments: Callable[[Any], Any] | None = None,
) -> AgentTool:
    """The tool under the names and limits of its options; a call after the abort does not reach the body."""

    async def execute(
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal,
        on_update: OnUpdate,
        context: AgentContext,
    ) -> AgentToolResult:
        check(signal)
        return await body(Call(id=tool_call_id, params=params, signal=signal, on_update=on_update))

    return AgentTool(
        name=options.name,
        label=options.label or options.name,
        description=options.description or description,
        parameters=parameters,
        execute=execute,
        prepare_arguments=prepare_arguments,
        execution_mode=options.execution_mode,
    )


def timed(options: ToolOptions, body: Body) -> Body:
    """The body within the options' timeout, for tools that start no process of their own."""

    async def within_time(call: Call) -> AgentToolResult:
        try:
            async with asyncio.timeout(options.timeout):
                return await body(call)
        except TimeoutError:
            raise ToolError(f"timed out after {options.timeout:g} seconds") from None

    return body if options.timeout is None else within_time


def check(signal: AbortSignal) -> None:
    """Raise ToolError if the signal is set."""
    if signal.aborted:
        raise ToolError("Operation aborted")


def object_schema(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with these properties."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def text(description: str) -> dict[str, Any]:
    """The schema of a string."""
    return {"type": "string", "description": description}


def whole_number(description: str, minimum: int = 1) -> dict[str, Any]:
    """The schema of an integer."""
    return {"type": "integer", "minimum": minimum, "description": description}


def flag(description: str) -> dict[str, Any]:
    """The schema of a boolean."""
    return {"type": "boolean", "description": description}
