"""Command tools: an argv of the author's, filled in with the model's arguments; never a shell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentcore_runner.core.tools import AgentTool, AgentToolResult
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.program import DEFAULT_TIMEOUT_S, run_program
from agentcore_runner.tools.tool import Call, make_tool


def command_tool(
    options: ToolOptions,
    *,
    parameters: dict[str, Any],
    argv: Callable[[dict[str, Any]], list[str]],
    stdin: Callable[[dict[str, Any]], str | None] | None = None,
    env: Mapping[str, str] | None = None,
    ok_exit_codes: tuple[int, ...] = (0,),
) -> AgentTool:
    """A tool that runs `argv(arguments)` with `stdin(arguments)` as its input and `env` beside the options'
    environment. An exit code outside `ok_exit_codes` is an error; one that is not 0 is told in any case."""

    async def command(call: Call) -> AgentToolResult:
        given = stdin(call.params) if stdin is not None else None
        return await run_program(
            options,
            call,
            argv(call.params),
            timeout=options.timeout or DEFAULT_TIMEOUT_S,
            stdin=(given or "").encode("utf-8", "replace"),
            env=env,
            ok_exit_codes=ok_exit_codes,
        )

    return make_tool(options, command, description=f"Run {options.name}.", parameters=parameters)
