"""The `ls` tool: what a folder holds."""

from __future__ import annotations

import asyncio
import heapq
import os
from collections.abc import Iterator
from pathlib import Path

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentTool, AgentToolResult, text_result
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.output import collector
from agentcore_runner.tools.paths import access_error, display, printable, resolve
from agentcore_runner.tools.tool import Call, check, make_tool, object_schema, text, timed, whole_number

DEFAULT_LIMIT = 500


def ls_tool(options: ToolOptions) -> AgentTool:
    """Lists a folder inside the root by name, without regard to case; folders end in `/`."""

    async def ls(call: Call) -> AgentToolResult:
        path = resolve(options, call.params.get("path") or ".", reading=True)
        shown = display(path, options.cwd)
        limit = call.params.get("limit", DEFAULT_LIMIT)
        if path.exists() and not path.is_dir():
            raise ToolError(f"{shown!r} is not a directory; use a tool that reads files")
        try:
            names, total = await asyncio.to_thread(first_names, path, limit, call.signal)
        except OSError as exc:
            raise access_error(shown, exc) from exc
        output = collector(options, call.id, head_share=1)
        output.feed_text("\n".join(names))
        notices = []
        if total > len(names):
            notices.append(f"{len(names)} of {total} entries shown; use limit={total} for all")
        result = output.finish(empty="(empty directory)", notices=notices)
        return text_result(result.text, {**result.details, "entries": total})

    return make_tool(
        options,
        timed(options, ls),
        description="List a directory, hidden entries too, sorted by name; directories end in '/'.",
        parameters=object_schema(
            path=text("The directory; default: the working directory."),
            limit=whole_number(f"Most entries to show; default {DEFAULT_LIMIT}."),
        ),
    )


def first_names(path: Path, limit: int, signal: AbortSignal) -> tuple[list[str], int]:
    """The first names in order, and how many there are."""
    total = 0

    def entries() -> Iterator[str]:
        nonlocal total
        with os.scandir(path) as scan:
            for entry in scan:
                total += 1
                if total % 1000 == 0:
                    check(signal)
                yield entry.name + ("/" if entry.is_dir() else "")

    names = heapq.nsmallest(limit, entries(), key=lambda name: (name.casefold(), name))
    return [printable(name) for name in names], total
