"""Every shipped agent is valid, and runs with its script."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runner import environment, run

ROOT = Path(__file__).parents[1]
AGENTS = sorted(path.stem for path in (ROOT / "agents").glob("*.yaml"))
INPUTS = {"explain": ["-i", "file=src/sum.py"]}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with our agents and one commit of code."""
    shutil.copytree(ROOT / "agents", tmp_path / "agents")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/sum.py").write_text("def add(a, b):\n    return a + b\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "Begin")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, env=environment())


def test_every_agent_has_a_script() -> None:
    assert sorted(path.stem for path in (ROOT / "agents/scripts").glob("*.yaml")) == AGENTS


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_is_valid_and_runs_with_its_script(repository: Path, name: str) -> None:
    model = f"scripted/agents/scripts/{name}.yaml"

    checked = run("validate", f"agents/{name}.yaml", cwd=repository)
    done = run(f"agents/{name}.yaml", "--model", model, *INPUTS.get(name, []), cwd=repository)

    assert (checked.code, checked.stderr) == (0, "1 agent is valid.\n")
    assert done.code == 0, done.stderr
    assert not any(record["is_error"] for record in done.of_type("tool_execution_end"))
    assert done.records[-1]["tool_calls"] > 0
    assert run("show", "--check", done.transcript, cwd=repository).code == 0


def first_prompt(repository: Path, *flags: str) -> str:
    """What the reviewer is asked."""
    done = run(
        "agents/reviewer.yaml", "--model", "scripted/agents/scripts/reviewer.yaml", *flags, cwd=repository
    )
    assert done.code == 0, done.stderr
    return str(done.of_type("message_end")[0]["message"]["content"][0]["text"])


def test_the_reviewer_sees_the_uncommitted_changes(repository: Path) -> None:
    (repository / "src/sum.py").write_text("def add(a, b):\n    return a - b\n")

    prompt = first_prompt(repository)

    assert "-    return a + b\n+    return a - b" in prompt
    assert " M src/sum.py" in prompt


def test_the_reviewer_sees_new_files(repository: Path) -> None:
    (repository / "src/new file.py").write_text("x = 1\n")

    prompt = first_prompt(repository)

    assert "+++ b/src/new file.py" in prompt
    assert "+x = 1" in prompt
    assert "The last commit" not in prompt


def test_the_reviewer_sees_the_last_commit_of_a_clean_tree(repository: Path) -> None:
    assert ": Begin\n" in first_prompt(repository)


def test_the_reviewer_sees_a_branch_against_its_base(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "change")
    (repository / "src/sum.py").write_text("def add(a, b):\n    return b + a\n")
    git(repository, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qam", "Swap")

    prompt = first_prompt(repository, "-i", "base_ref=main", "-i", "focus=arithmetic")

    assert "+    return b + a" in prompt
    assert "Look most closely at: arithmetic." in prompt


def test_a_base_that_does_not_exist_is_said_before_anything_is_sent(repository: Path) -> None:
    done = run(
        "agents/reviewer.yaml", "--model", "scripted/agents/scripts/reviewer.yaml", "-i", "base_ref=nowhere",
        cwd=repository,
    )  # fmt: skip

    assert done.code == 2
    assert "context 'diff'" in done.stderr
    assert "nowhere" in done.stderr
