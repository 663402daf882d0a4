"""The state of the repository that an agent file is kept in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentcore_runner.errors import ToolError
from agentcore_runner.runtime.ground import Ground

TIMEOUT_S = 5.0
MAX_STATUS_BYTES = 1 << 20
COMMAND = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]


async def git_state(project: Path, ground: Ground) -> dict[str, Any] | None:
    """`commit` (None before the first) and `dirty`, by tracked files; None outside a repository or where git
    cannot tell."""
    if not (project / ".git").exists():
        return None
    try:
        done = await ground.children.capture(
            COMMAND,
            cwd=project,
            env={**ground.env, "GIT_OPTIONAL_LOCKS": "0"},
            max_bytes=MAX_STATUS_BYTES,
            timeout=TIMEOUT_S,
            signal=ground.signal,
        )
    except ToolError:
        return None
    if done.exit.code != 0:
        return None
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    commit = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    return {
        "commit": None if commit == "(initial)" else commit,
        "dirty": any(not line.startswith("#") for line in lines),
    }
