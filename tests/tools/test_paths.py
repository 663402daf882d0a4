from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentcore_runner.errors import ToolError
from agentcore_runner.tools import BUILTINS

from .support import call, options, run, text_of


@pytest.mark.parametrize(
    ("name", "params", "found"),
    [
        ("ls", {}, "a.txt"),
        ("find", {"pattern": "*.txt"}, "a.txt"),
        ("grep", {"pattern": "here"}, "a.txt:1: here"),
    ],
)
def test_a_tool_looks_in_its_working_directory_by_default(
    tmp_path: Path, name: str, params: dict[str, str], found: str
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.txt").write_text("here\n")
    (tmp_path / "b.txt").write_text("here\n")
    tool = BUILTINS[name](options(tmp_path, root=tmp_path / "src", cwd=tmp_path / "src"))

    assert text_of(run(call(tool, params))) == found


@pytest.mark.parametrize("name", ["read", "ls", "find", "grep", "write", "edit"])
def test_a_path_outside_the_root_is_refused_with_what_paths_are_relative_to(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "src").mkdir()
    params = {
        "path": "../b.txt",
        "pattern": "x",
        "content": "",
        "edits": [{"old_text": "a", "new_text": "b"}],
    }
    tool = BUILTINS[name](options(tmp_path, name=name, root=tmp_path / "src", cwd=tmp_path / "src"))

    with pytest.raises(ToolError) as caught:
        run(
            call(
                tool, {key: params[key] for key in tool.parameters.get("required", [])} | {"path": "../b.txt"}
            )
        )

    folder = os.path.realpath(tmp_path / "src")
    assert str(caught.value) == (
        f"'../b.txt' is outside {folder!r}, the folder that {name!r} may use; "
        f"paths are relative to {folder!r}"
    )


def test_a_file_tool_ends_with_its_timeout(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    tool = BUILTINS["write"](options(tmp_path, timeout=0.2))

    async def blocked() -> None:
        from agentcore_runner.core.signal import AbortSignal
        from agentcore_runner.tools.store import file_lock

        async with file_lock(Path(os.path.realpath(tmp_path / "a.txt")), AbortSignal()):
            await call(tool, {"path": "a.txt", "content": "two"})

    with pytest.raises(ToolError, match=r"timed out after 0\.2 seconds"):
        run(blocked())

    assert (tmp_path / "a.txt").read_text() == "one"
