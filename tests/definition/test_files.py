"""Agent files that are wrong get the text that stands beside them; those that are right load."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from agentcore_runner.definition.layers import Overrides
from agentcore_runner.definition.load import check_agent
from agentcore_runner.definition.problems import RULES, render_text

AGENTS = Path(__file__).parents[1] / "agents"
INVALID = sorted(path.name for path in (AGENTS / "invalid").glob("*.yaml"))
VALID = sorted(path.name for path in (AGENTS / "valid").glob("*.yaml"))


def flags_of(path: Path) -> Overrides:
    """The flags that the first line of a file asks for: `# --profile ci --set name=a`."""
    first = path.read_bytes().partition(b"\n")[0].decode("latin-1")
    words = iter(shlex.split(first.removeprefix("#")) if first.startswith("# --") else ())
    given = [(flag, next(words)) for flag in words]
    return Overrides(
        profile=dict(given).get("--profile"), settings=tuple(text for flag, text in given if flag == "--set")
    )


@pytest.mark.parametrize("name", INVALID)
def test_mistakes_get_the_expected_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(AGENTS / "invalid")
    expected = Path(name).with_suffix(".txt").read_text(encoding="utf-8")

    loaded = check_agent(name, env={}, overrides=flags_of(Path(name)))

    assert render_text(loaded.problems) == expected
    assert loaded.definition is None
    assert {problem.rule for problem in loaded.problems} <= RULES.keys()


@pytest.mark.parametrize("name", VALID)
def test_right_files_have_no_problems(name: str) -> None:
    loaded = check_agent(str(AGENTS / "valid" / name), env={"CI": "1"})

    assert loaded.problems == ()
    assert loaded.definition is not None
