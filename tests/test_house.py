"""The rules of the house that no other tool checks."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import agentcore_runner

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "agentcore_runner"
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = ("agentcore_runner", "agents", "benchmarks", "docs", "schemas", "tests", ".ci")
TEXTS = [
    path
    for path in sorted([*ROOT.iterdir(), *(path for name in FOLDERS for path in (ROOT / name).rglob("*"))])
    if "node_modules" not in path.parts
    and (
        path.suffix in {".py", ".mjs", ".md", ".yaml", ".json", ".toml", ".txt", ".sse", ".jsonl"}
        or path.name == "run"
    )
]
MODULE_LINES, FUNCTION_LINES = 350, 70
HEAVY = {"click", "httpx", "jinja2", "jsonschema", "yaml"}
README_TESTS = (
    "python3 -m venv .venv && .venv/bin/pip install -q -e '.[dev]' && .venv/bin/python -m pytest\n"
    ".venv/bin/pip install -q -e '.[node]' && .venv/bin/npm ci --prefix tests/servers"
    " && .venv/bin/python -m pytest -m node\n"
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_module_has_a_docstring_and_a_comfortable_length(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)

    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = {node.name: (node.end_lineno or node.lineno) - node.lineno + 1 for node in functions}

    assert ast.get_docstring(tree)
    assert len(text.splitlines()) <= MODULE_LINES
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES} == {}


def test_no_path_of_a_machine_stands_anywhere() -> None:
    machine = re.compile(r"(?<![\w.*)}\]-])/(work|root|home|Users)/|\.\./sha" + "red")

    assert found(machine, TEXTS) == []


def test_nothing_is_left_to_do() -> None:
    assert found(re.compile("TO" + "DO"), MODULES) == []


def found(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in paths
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_public_names_are_those_that_type_checkers_see() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.asname or alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    public = {name: getattr(agentcore_runner, name) for name in agentcore_runner.__all__}

    assert public == {
        "__version__": agentcore_runner.__version__,
        **{name: getattr(import_module(module), name) for name, module in seen.items()},
    }
    assert not any(isinstance(value, ModuleType) for value in public.values())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import agentcore_runner") & HEAVY == set()


def test_help_loads_click_and_nothing_else() -> None:
    code = "from agentcore_runner.cli.main import main; main()"

    assert loaded_by(code, "--help") - {"agentcore_runner"} == {"click"}


def loaded_by(code: str, *arguments: str) -> set[str]:
    """The packages outside the standard library that a fresh interpreter imports for this code."""

    def imported(code: str) -> set[str]:
        command = [sys.executable, "-X", "importtime", "-c", code, *arguments]
        child = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert child.returncode == 0, child.stderr
        names = re.findall(r"^import time: +\d+ \| +\d+ \| +(\w+)", child.stderr, re.MULTILINE)
        return {name for name in names if not name.startswith("_")} - sys.stdlib_module_names

    return imported(code) - imported("")


def test_contributing_gives_a_reason_for_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    npm = json.loads((ROOT / "tests/servers/package.json").read_text(encoding="utf-8"))["dependencies"]
    wanted = [*project["dependencies"], *extras["test"], *extras["check"], *extras["node"], *npm]

    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Dependencies")[2]
    told = re.findall(r"^\| `([\w@/-]+)` \| \S", text, re.MULTILINE)

    assert told == [re.split(r"[<>=!~ \[]", requirement)[0] for requirement in wanted]


def test_readme_contributing_and_ci_set_up_and_test_alike() -> None:
    readme, contributing, ci = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md", ".ci/run")
    )

    steps = [
        step.replace(".venv/bin/", "").replace(" .venv", "")
        for step in re.split(" && |\n", README_TESTS.strip())
    ]

    assert README_TESTS in readme
    assert README_TESTS in contributing
    assert [step for step in steps if step not in ci.replace('"$venv/bin/', "").replace('"', "")] == []
