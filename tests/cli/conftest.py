from __future__ import annotations

from pathlib import Path

import pytest

AGENT = """\
schema_version: 1
name: demo
model: scripted/script.yaml
tools: [bash]
"""
SCRIPT = "turns: [{text: The answer.}]\n"


class Project:
    """A folder with an agent and its script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agent("")
        self.script(SCRIPT)

    def agent(self, more: str, base: str = AGENT) -> None:
        """Write the agent file."""
        (self.folder / "agent.yaml").write_text(base + more)

    def script(self, text: str) -> None:
        """Write the script that plays the model's part."""
        (self.folder / "script.yaml").write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)
