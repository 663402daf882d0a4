"""What commands of a run stand on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.tools.process import Children


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """Where the commands of a run work (`cwd`), with which environment, as whose children, and what ends
    them."""

    cwd: Path
    env: Mapping[str, str]
    children: Children
    signal: AbortSignal
