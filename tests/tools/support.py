"""What the tests of the tools share: options over a temporary folder, and one call of a tool."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from agentcore_runner.core.messages import ImageContent, TextContent
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentContext, AgentTool, AgentToolResult
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.process import Children

T = TypeVar("T")
PATIENCE_S = 30.0


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run to the end, within a bound."""
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE_S))


def options(
    folder: Path, *, name: str = "tool", children: Children | None = None, **changes: Any
) -> ToolOptions:
    """Options with everything inside `folder`."""
    values: dict[str, Any] = {
        "name": name,
        "root": folder,
        "cwd": folder,
        "env": {"PATH": os.environ["PATH"], "HOME": str(folder)},
        "max_output": 50 * 1024,
        "side_dir": folder / "side",
        "children": children or Children(f"run-{os.getpid()}", grace=0.2),
    }
    return ToolOptions(**{**values, **changes})


async def call(
    tool: AgentTool,
    params: dict[str, Any],
    *,
    id: str = "call-1",
    signal: AbortSignal | None = None,
    on_update: Callable[[AgentToolResult], None] | None = None,
) -> AgentToolResult:
    """One call, as the loop makes it."""
    prepared = tool.prepare_arguments(params) if tool.prepare_arguments else params
    return await tool.execute(
        id, prepared, signal or AbortSignal(), on_update or (lambda update: None), AgentContext(messages=[])
    )


def text_of(result: AgentToolResult) -> str:
    """The text of a result that has nothing else."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def image_of(result: AgentToolResult) -> tuple[str, ImageContent]:
    """The note and the picture of a result."""
    note, image = result.content
    assert isinstance(note, TextContent) and isinstance(image, ImageContent)
    return note.text, image


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Return as soon as the condition holds; fail if it does not within the bound."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may go while it is read
        return not Path("/proc/self").exists()
