"""Every example in the documentation works: YAML is valid, commands run, Python runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from agentcore_runner.providers.apis import APIS
from tests.runner import PROGRAM, environment

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMED = {
    match[1]: match[0]
    for page in PAGES
    for match in re.finditer(
        r"(?<=```yaml\n)# ([\w-]+\.yaml)\n.*?(?=^```$)", page.read_text("utf-8"), re.M | re.S
    )
}
"""The fences that begin with the name of a file: others extend them."""
NEEDS_THE_WORLD = re.compile(r"OPENAI_|ollama/|venv|--model openai|--model llamacpp|--model vllm")
SCRIPTED = "--model scripted/agents/scripts/"


def fences(language: str) -> list[object]:
    """Every fence in this language, named by page and line."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if match[1] == language:
                line = text.count("\n", 0, match.start()) + 1
                found.append(pytest.param(match[2], id=f"{page.name}:{line}"))
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git repository with our agents and a README in it."""
    shutil.copytree(ROOT / "agents", tmp_path / "agents")
    shutil.copy(ROOT / "README.md", tmp_path)
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "Begin"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env=environment())
    return tmp_path


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, _, anchor in (link.partition("#") for link in LINK.findall(page.read_text("utf-8"))):
        other = page.parent / target if target else page
        assert other.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", other.read_text("utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings]


@pytest.mark.parametrize("text", fences("yaml"))
def test_every_agent_in_the_docs_is_valid(text: str, tmp_path: Path) -> None:
    if "schema_version" not in text or text in NAMED.values():
        yaml.safe_load(text)
        return
    for name in set(re.findall(r"_file: ([\w./-]+)|file: ([\w./-]+\.\w+)", text)):
        path = tmp_path / next(filter(None, name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")
    for name, parent in NAMED.items():
        (tmp_path / name).write_text(parent)
    (tmp_path / "agent.yaml").write_text(text)
    (tmp_path / "src").mkdir(exist_ok=True)
    variables = dict.fromkeys(re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", text), "x")

    done = subprocess.run(
        [PROGRAM, "validate", "agent.yaml"],
        cwd=tmp_path,
        env=environment(variables),
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "1 agent is valid.\n")


@pytest.mark.parametrize("text", fences("python"))
def test_every_python_example_runs(text: str, project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=project, env=environment(), capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("text", fences("sh"))
def test_every_command_in_the_docs_runs(text: str, project: Path) -> None:
    """Commands that need a model service run with the scripted model; those that set up a machine are run by
    CI as they stand."""
    lines = [scripted(line) for line in text.splitlines() if not NEEDS_THE_WORLD.search(line)]
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    first = "agentcore-run agents/explain.yaml -i file=README.md --model scripted/agents/scripts/explain.yaml"

    done = subprocess.run(
        ["bash", "-euc", "\n".join([f"{first} -q", *lines])],
        cwd=project,
        env=environment({"PATH": path}),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode == 0, done.stderr


def scripted(line: str) -> str:
    """The same command answered by the agent's script."""
    agent = re.match(r"agentcore-run agents/(\w+)\.yaml", line)
    if agent is None or SCRIPTED in line:
        return line
    command, space, comment = line.partition("  #")
    return f"{command} {SCRIPTED}{agent[1]}.yaml{space}{comment}"


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses", "anthropic", "google"])
def test_every_compat_flag_of_every_api_is_explained(api: str) -> None:
    flags = import_module(f"agentcore_runner.providers.{api}_compat").Compat.__struct_fields__
    page = (ROOT / "docs" / "providers.md").read_text("utf-8").partition("## compat")[2]
    (heading,) = [kind for kind, spec in APIS.items() if spec.adapter[0] == api]
    table = page.partition(f"Those of `{heading}`")[2].partition("\n\n|")[2].partition("\n\n")[0]

    assert sorted(re.findall(r"^\| `(\w+)` ", "|" + table, re.MULTILINE)) == sorted(flags)
