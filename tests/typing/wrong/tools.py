"""Tools that would fail when they are called."""

from typing import Any

from agentcore_runner.core import AbortSignal, AgentContext, AgentTool, AgentToolResult, OnUpdate, text_result

OBJECT: dict[str, Any] = {"type": "object"}


async def short(params: dict[str, Any]) -> AgentToolResult:
    return text_result(str(params))


def plain(
    call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate, context: AgentContext
) -> AgentToolResult:
    on_update("half")  # error: mypy, pyright
    context.messages = []  # error: mypy, pyright
    return text_result(params["x"] if signal.aborted() else "")  # error: mypy, pyright


async def words(
    call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate, context: AgentContext
) -> str:
    return "done"


async def typed(
    call_id: str, params: list[str], signal: AbortSignal, on_update: OnUpdate, context: AgentContext
) -> AgentToolResult:
    return AgentToolResult(content="text")  # error: mypy, pyright


AgentTool(name="a", description="", parameters=OBJECT, execute=short)  # error: mypy, pyright
AgentTool(name="b", description="", parameters=OBJECT, execute=plain)  # error: mypy, pyright
AgentTool(name="c", description="", parameters=OBJECT, execute=words)  # error: mypy, pyright
AgentTool(name="d", description="", parameters=OBJECT, execute=typed)  # error: mypy, pyright
AgentTool(name="e", description="", parameters=OBJECT)  # error: mypy, pyright
