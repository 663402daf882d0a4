"""Tools: as a function, as an object's method, with everything that a tool may have and give."""

import asyncio
from typing import Any

from agentcore_runner.core import (
    AbortSignal,
    AgentContext,
    AgentTool,
    AgentToolResult,
    Execute,
    OnUpdate,
    TextContent,
    ToolError,
    ToolExecutionMode,
    Usage,
    text_result,
    validate_tool_arguments,
)


async def count(
    tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate, context: AgentContext
) -> AgentToolResult:
    word: str = params["word"]
    if not word:
        raise ToolError("give a word", {"call": tool_call_id})
    for done in range(3):
        on_update(text_result(f"{done} of 3"))
        if signal.aborted:
            return text_result(f"stopped: {signal.reason}", is_error=True)
    said = [message for message in context.messages if word in repr(message)]
    return AgentToolResult(
        content=(TextContent(text=str(len(said))),),
        details={"word": word},
        usage=Usage(input=1),
        added_tool_names=("more",),
        terminate=True,
    )


def tidy(raw: Any) -> Any:
    return {"word": raw} if isinstance(raw, str) else raw


COUNT = AgentTool(
    name="count",
    label="Count a word",
    description="How many messages have a word",
    parameters={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    execute=count,
    prepare_arguments=tidy,
    execution_mode=ToolExecutionMode.SEQUENTIAL,
)


class Door:
    """A tool with a state of its own."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()

    async def open(self, _id: str, _params: Any, signal: AbortSignal, *_rest: Any) -> AgentToolResult:
        forget = signal.on_abort(self.opened.clear)
        self.opened.set()
        forget()
        return text_result("It is open.", details={"open": True})

    def tool(self) -> AgentTool:
        execute: Execute = self.open
        return AgentTool(name="open", description="Open", parameters={"type": "object"}, execute=execute)


arguments: dict[str, Any] = validate_tool_arguments(COUNT, {"word": "a"})
