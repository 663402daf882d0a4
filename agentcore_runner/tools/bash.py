"""The `bash` tool: a shell command, its output, its exit code."""

from __future__ import annotations

from agentcore_runner.core.tools import AgentTool, AgentToolResult
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.program import DEFAULT_TIMEOUT_S, installed, run_program
from agentcore_runner.tools.tool import Call, make_tool, object_schema, text

LONGEST_TIMEOUT_S = 600.0
DESCRIPTION = (
    "Run a shell command in the working directory. Standard input is empty; standard output and error come "
    "back together, followed by the exit code where it is not 0. Long output loses its middle, and the whole "
    "is kept in a file that is named. Processes left in the background live until the run ends."
)


def bash_tool(options: ToolOptions) -> AgentTool:
    """Runs commands with bash where there is one, else with sh. A timeout in the options is the default of
    the argument and its upper bound; else these are 120 and 600 seconds."""
    default = options.timeout or DEFAULT_TIMEOUT_S
    longest = options.timeout or LONGEST_TIMEOUT_S

    async def bash(call: Call) -> AgentToolResult:
        argv = [installed(options.env, "bash", "sh") or "/bin/sh", "-c", call.params["command"]]
        return await run_program(
            options, call, argv, timeout=within(call.params.get("timeout"), default, longest)
        )

    timeout = {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": f"Seconds until it is ended; default {default:g}, at most {longest:g}.",
    }
    return make_tool(
        options,
        bash,
        description=DESCRIPTION,
        parameters=object_schema(
            ("command",), command=text("The command, as typed in a shell."), timeout=timeout
        ),
    )


def within(asked: float | None, default: float, longest: float) -> float:
    """The timeout in seconds for what was asked."""
    if asked is None:
        return default
    if not asked > 0:  # also not a number
        raise ToolError(f"timeout: expected seconds above 0, found {asked:g}")
    return min(asked, longest)
