"""The `edit` tool: exact replacements in a file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentTool, AgentToolResult, text_result
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.diff import Diff, diff
from agentcore_runner.tools.matching import Edit
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.output import NOT_UTF8
from agentcore_runner.tools.paths import access_error, display, resolve
from agentcore_runner.tools.splice import splice
from agentcore_runner.tools.store import file_lock, store
from agentcore_runner.tools.tool import Call, check, make_tool, object_schema, text, timed
from agentcore_runner.words import counted, size_text

SMALL = 1024 * 1024
MAX_SIZE = 64 * 1024 * 1024
SPELLINGS = {"oldText": "old_text", "newText": "new_text"}


def edit_tool(options: ToolOptions) -> AgentTool:
    """Replaces texts in a file inside the root; all of them or none."""

    async def edit(call: Call) -> AgentToolResult:
        path = resolve(options, call.params["path"], reading=False)
        shown = display(path, options.cwd)
        edits = [Edit(old_text=each["old_text"], new_text=each["new_text"]) for each in call.params["edits"]]
        async with file_lock(path, call.signal):
            made = await change(path, shown, edits, options.max_output, call.signal)
        details = {
            "path": str(path),
            "diff": NOT_UTF8.sub("\ufffd", made.text),
            "first_changed_line": made.first_changed_line,
        }
        return text_result(f"Replaced {counted(len(edits), 'text')} in {shown}", details)

    one = object_schema(
        ("old_text", "new_text"),
        old_text=text("Text of the file, with its white space; it must be unique."),
        new_text=text("What is to stand in its place."),
    )
    return make_tool(
        options,
        timed(options, edit),
        description="Replace texts in a file. Every old_text must stand in the file exactly once and no two "
        "may overlap; all refer to the file as it is before the call.",
        parameters=object_schema(
            ("path", "edits"),
            path=text("The file, relative to the working directory."),
            edits={"type": "array", "items": one, "minItems": 1},
        ),
        prepare_arguments=mend,
    )


async def change(path: Path, shown: str, edits: list[Edit], max_diff: int, signal: AbortSignal) -> Diff:
    """Read, edit, write; the difference that was made."""

    def work() -> Diff:
        spliced = splice(path.read_bytes(), edits, shown)
        check(signal)
        made = diff(spliced.text, spliced.changes, max_diff)
        store(path, spliced.data)
        return made

    try:
        if path.exists() and not path.is_file():
            raise ToolError(f"cannot access {shown!r}: it is not a file")
        size = path.stat().st_size
        if size > MAX_SIZE:
            raise ToolError(f"{shown} has {size_text(size)}; at most {size_text(MAX_SIZE)} can be edited")
        return work() if size <= SMALL else await asyncio.to_thread(work)
    except OSError as exc:
        raise access_error(shown, exc) from exc


def mend(raw: Any) -> Any:
    """Arguments as models also write them: edits as JSON text or a single object, the two texts beside the
    path, names in camel case. What cannot be understood is left to the validation."""
    if not isinstance(raw, dict):
        return raw
    params = renamed(raw)
    edits = params.get("edits", [])
    if isinstance(edits, str):
        try:
            edits = msgspec.json.decode(edits)
        except (ValueError, msgspec.MsgspecError):
            return raw
    if isinstance(edits, dict):
        edits = [edits]
    if not isinstance(edits, list):
        return raw
    edits = [renamed(edit) if isinstance(edit, dict) else edit for edit in edits]
    if "old_text" in params and "new_text" in params:
        edits.append({"old_text": params.pop("old_text"), "new_text": params.pop("new_text")})
    return {**params, "edits": edits}


def renamed(values: dict[str, Any]) -> dict[str, Any]:
    """The same values under the names of the schema."""
    return {SPELLINGS.get(name, name): value for name, value in values.items()}
