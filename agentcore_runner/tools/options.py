"""What a tool is given when it is made: its names, its place, its limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agentcore_runner.core.tools import ToolExecutionMode

if TYPE_CHECKING:
    from agentcore_runner.tools.process import Children


class ToolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`label` and `description` are the tool's own where None. File tools refuse paths outside `root`, except
    that they may read in `side_dir`, where full outputs are kept; it is made on first use. `env` is the whole
    environment a child gets. `max_output` is in bytes, `timeout` in seconds."""

    name: str
    label: str | None = None
    description: str | None = None
    root: Path
    cwd: Path
    env: Mapping[str, str]
    max_output: int
    side_dir: Path
    timeout: float | None = None
    execution_mode: ToolExecutionMode | None = None
    children: Children
