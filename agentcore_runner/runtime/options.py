"""What a caller asks of a run, beside the agent file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.definition.layers import Overrides


class RawInput(msgspec.Struct, frozen=True):
    """An input's value as text from a command line: read by the input's type."""

    text: str


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Overrides and values of one run.

    `profile` names one of the file's profiles, `settings` are values as `path=value`; both go into the file
    before it is checked. `prompts` are plain text: the first replaces the file's prompt, the rest are
    follow-ups. `limits` maps a key of the file's `limits` to a tighter value; `raise_limits` allows a looser
    one. `transcript` is a file, a folder or `none`; `models_file` tells of models and providers of the user's
    own. `stdin_text` reads standard input for whoever asks by name (None where nothing can come),
    `stdin_prompt` where it is the last resort for a prompt. `sole_parent` says that nothing else in this
    process starts children, so that every orphan is one of the run's."""

    profile: str | None = None
    settings: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = {}
    attachments: tuple[Path, ...] = ()
    model: str | None = None
    models_file: Path | None = None
    thinking_level: str | None = None
    cwd: Path = Path()
    limits: Mapping[str, float] = {}
    raise_limits: bool = False
    transcript: str | None = None
    partial: bool = False
    stdin_text: Callable[[str], str | None] | None = None
    stdin_prompt: Callable[[], str] | None = None
    sole_parent: bool = False

    @property
    def overrides(self) -> Overrides:
        """What changes the file itself."""
        return Overrides(profile=self.profile, settings=self.settings, raise_limits=self.raise_limits)
