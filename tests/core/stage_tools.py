"""Tools that answer, fail or misbehave, each in its own way."""

from __future__ import annotations

import asyncio
from typing import Any

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentToolResult, OnUpdate, text_result
from agentcore_runner.errors import ToolError
from tests.core.scripted import Body


async def say(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
    return text_result(str(params))


async def _show(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
    on_update(text_result("so"))
    await asyncio.sleep(0)
    on_update(text_result("far"))
    return text_result("shown")


async def _fail(*_: object) -> AgentToolResult:
    raise ToolError("no such file", {"path": "x"})


async def _raise(*_: object) -> AgentToolResult:
    await asyncio.sleep(0)
    raise ValueError("broken")


async def _nothing(*_: object) -> Any:
    return None


async def _cancelled(*_: object) -> AgentToolResult:
    raise asyncio.CancelledError


async def _end(*_: object) -> AgentToolResult:
    return AgentToolResult(terminate=True)


BODIES: dict[str, Body] = {
    "shows": _show,
    "fails": _fail,
    "raises": _raise,
    "returns nothing": _nothing,
    "is cancelled": _cancelled,
    "ends": _end,
}
PICKY = {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}}
FIELDS: dict[str, dict[str, Any]] = {
    "alone": {"execution_mode": "sequential"},
    "picky": {"parameters": PICKY},
}
