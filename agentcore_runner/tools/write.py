"""The `write` tool: a whole new file."""

from __future__ import annotations

from agentcore_runner.core.tools import AgentTool, AgentToolResult, text_result
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.paths import access_error, display, resolve
from agentcore_runner.tools.store import encode, file_lock, store
from agentcore_runner.tools.tool import Call, make_tool, object_schema, text, timed
from agentcore_runner.words import counted


def write_tool(options: ToolOptions) -> AgentTool:
    """Creates or replaces a file inside the root, with the folders above it."""

    async def write(call: Call) -> AgentToolResult:
        path = resolve(options, call.params["path"], reading=False)
        data = encode(call.params["content"], "content")
        shown = display(path, options.cwd)
        async with file_lock(path, call.signal):
            try:
                created = store(path, data)
            except OSError as exc:
                raise access_error(shown, exc) from exc
        details = {"path": str(path), "bytes": len(data), "created": created}
        return text_result(f"Wrote {counted(len(data), 'byte')} to {shown}", details)

    return make_tool(
        options,
        timed(options, write),
        description="Write a file: it is created, with the folders above it, or replaced as a whole.",
        parameters=object_schema(
            ("path", "content"),
            path=text("The file, relative to the working directory."),
            content=text("Everything the file is to hold."),
        ),
    )
