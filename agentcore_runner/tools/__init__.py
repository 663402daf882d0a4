"""What an agent can do: each module fills `core.tools.AgentTool`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from agentcore_runner.core.tools import AgentTool
    from agentcore_runner.tools.options import ToolOptions

    MakeTool: TypeAlias = Callable[[ToolOptions], AgentTool]


def lazily(name: str) -> MakeTool:
    """The maker of a built-in tool, which imports its module when it is first called."""

    def make(options: ToolOptions) -> AgentTool:
        maker: MakeTool = getattr(importlib.import_module(f"agentcore_runner.tools.{name}"), f"{name}_tool")
        return maker(options)

    return make


BUILTINS: dict[str, MakeTool] = {
    name: lazily(name) for name in ("read", "write", "edit", "grep", "find", "ls", "bash")
}
