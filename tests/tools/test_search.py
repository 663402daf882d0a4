from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.core.tools import AgentToolResult
from agentcore_runner.errors import ToolError
from agentcore_runner.tools import BUILTINS

from .support import call, options, run, text_of

WITHOUT = {"PATH": "/nonexistent"}
WITH = {"PATH": os.environ["PATH"]}
INSTALLED = [WITH] if shutil.which("rg") and (shutil.which("fd") or shutil.which("fdfind")) else []
engines = pytest.mark.parametrize(
    "env", [WITHOUT, *INSTALLED], ids=lambda env: "own" if env is WITHOUT else "rg-fd"
)


def use(
    tool: str, folder: Path, env: dict[str, str], params: dict[str, Any], **changes: Any
) -> AgentToolResult:
    async def main() -> AgentToolResult:
        given = options(folder, env=env, **changes)
        try:
            return await call(BUILTINS[tool](given), params)
        finally:
            await given.children.aclose()

    return run(main())


def grep(folder: Path, env: dict[str, str], pattern: str, **more: Any) -> str:
    return text_of(use("grep", folder, env, {"pattern": pattern, **more}))


def find(folder: Path, env: dict[str, str], pattern: str, **more: Any) -> str:
    return text_of(use("find", folder, env, {"pattern": pattern, **more}))


def grow(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@engines
def test_matches_come_sorted_by_path_with_line_numbers(env: dict[str, str], tmp_path: Path) -> None:
    grow(
        tmp_path,
        {"b.txt": "no\nneedle b\n", "a/x.txt": "needle a", "a-b.txt": "a needle", ".hidden": "needle h"},
    )

    assert grep(tmp_path, env, "needle") == (
        ".hidden:1: needle h\na/x.txt:1: needle a\na-b.txt:1: a needle\nb.txt:2: needle b"
    )


@engines
def test_paths_can_be_given_to_other_tools_as_they_are(env: dict[str, str], tmp_path: Path) -> None:
    grow(tmp_path, {"src/a.py": "needle", "b.py": "needle"})

    assert grep(tmp_path, env, "needle", path="src") == "src/a.py:1: needle"
    assert grep(tmp_path, env, "needle", path="src/a.py") == "src/a.py:1: needle"
    assert find(tmp_path, env, "*.py", path="src") == "src/a.py"


@engines
def test_context_surrounds_matches(env: dict[str, str], tmp_path: Path) -> None:
    lines = "".join(f"{number}\n" for number in range(1, 21))
    grow(tmp_path, {"n.txt": lines, "o.txt": "5\n"})

    assert grep(tmp_path, env, "^(5|7|15)$", context=1) == (
        "n.txt-4- 4\nn.txt:5: 5\nn.txt-6- 6\nn.txt:7: 7\nn.txt-8- 8\n--\n"
        "n.txt-14- 14\nn.txt:15: 15\nn.txt-16- 16\n--\no.txt:1: 5"
    )


@engines
def test_a_limit_is_told(env: dict[str, str], tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": "x1\n-\n-\n-\nx2\nx3\n-\n", "b.txt": "x4\n"})

    assert grep(tmp_path, env, "x", limit=1, context=1) == (
        "a.txt:1: x1\na.txt-2- -\n\n"
        "[limit of 1 reached, there are more matches; use limit=2 or a narrower pattern]"
    )
    assert grep(tmp_path, env, "x", limit=2, context=1) == (
        "a.txt:1: x1\na.txt-2- -\n--\na.txt-4- -\na.txt:5: x2\na.txt-6- x3\n\n"
        "[limit of 2 reached, there are more matches; use limit=4 or a narrower pattern]"
    )
    assert grep(tmp_path, env, "x", limit=4) == "a.txt:1: x1\na.txt:5: x2\na.txt:6: x3\nb.txt:1: x4"


@engines
def test_long_lines_are_cut(env: dict[str, str], tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": "é" * 600, "b.txt": "é\n" + "é" * 400_000 + "\nend é"})

    shown = grep(tmp_path, env, "é")

    assert shown == (
        f"a.txt:1: {'é' * 500}…\nb.txt:1: é\nb.txt:2: {'é' * 500}…\nb.txt:3: end é\n\n"
        "[lines are cut at 500 characters]"
    )


@engines
def test_no_match_is_said(env: dict[str, str], tmp_path: Path) -> None:
    assert grep(tmp_path, env, "needle") == "No matches found"
    assert find(tmp_path, env, "*.needle") == "No files found matching pattern"


@engines
def test_case_literal_and_glob_are_heeded(env: dict[str, str], tmp_path: Path) -> None:
    grow(tmp_path, {"a.py": "A.B\n", "b.py": "axb\n", "c.md": "a.b\n", "d/e.py": "a.b\n"})

    assert grep(tmp_path, env, "a.b", glob="*.py") == "b.py:1: axb\nd/e.py:1: a.b"
    assert grep(tmp_path, env, "a.b", ignore_case=True, literal=True) == (
        "a.py:1: A.B\nc.md:1: a.b\nd/e.py:1: a.b"
    )
    assert grep(tmp_path, env, "a.b", glob="d/*") == "d/e.py:1: a.b"
    assert grep(tmp_path, env, "a.b", glob="!*.py") == "c.md:1: a.b"
    assert grep(tmp_path, env, "a.b", glob="*.{md,rst}") == "c.md:1: a.b"


@engines
def test_ignored_binary_and_git_files_are_not_searched(env: dict[str, str], tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            ".gitignore": "*.log\nbuild/\n!keep.log\n",
            "a.log": "needle",
            "keep.log": "needle",
            "build/a.txt": "needle",
            "sub/.gitignore": "/local\n",
            "sub/local": "needle",
            "sub/deep/local": "needle",
            "binary": b"needle\n\0",
            "late": b"needle\n" * 100_000 + b"\0",
            ".git/config": "needle",
        },
    )

    assert grep(tmp_path, env, "needle") == "keep.log:1: needle\nsub/deep/local:1: needle"
    assert grep(tmp_path, env, "needle", path="sub") == "sub/deep/local:1: needle"
    assert grep(tmp_path, env, "needle", glob="*.log") == "keep.log:1: needle"
    assert find(tmp_path, env, "*.log") == "keep.log"
    assert find(tmp_path, env, "local") == "sub/deep/local"


@engines
def test_odd_texts_are_searched(env: dict[str, str], tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            "bom": b"\xef\xbb\xbfneedle\n",
            "crlf": b"needle\r\nneedle x\r\n",
            "latin": b"caf\xe9 needle",
            "wide": "needle é\r\n".encode("utf-16"),
        },
    )

    assert grep(tmp_path, env, "needle$") == "bom:1: needle\ncrlf:1: needle\nlatin:1: caf\ufffd needle"
    assert grep(tmp_path, env, "^needle é") == "wide:1: needle é"


@engines
def test_patterns_of_other_dialects_work_or_are_refused_in_words(env: dict[str, str], tmp_path: Path) -> None:
    grow(tmp_path, {"a.js": "function foo() {\nbar()\n  baz\n"})

    assert grep(tmp_path, env, "foo() {") == "No matches found"
    assert grep(tmp_path, env, r"foo\(\) {") == "a.js:1: function foo() {"
    assert grep(tmp_path, env, r"(?<=b)ar") == "a.js:2: bar()"
    assert grep(tmp_path, env, "^[[:alpha:]]+[(]") == "a.js:2: bar()"
    with pytest.raises(ToolError) as caught:
        grep(tmp_path, env, "x(")
    assert str(caught.value) == "bad pattern 'x(': missing ), unterminated subpattern at position 1"
    with pytest.raises(ToolError, match="one at a time"):
        grep(tmp_path, env, "a\nb")


def test_a_pattern_that_runs_away_is_ended_by_the_timeout(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": "a" * 40 + "b\n"})

    with pytest.raises(ToolError, match=r"timed out after 0.5 seconds"):
        use("grep", tmp_path, WITHOUT, {"pattern": "(a+)+$"}, timeout=0.5)


@engines
def test_globs_find_by_name_or_by_path(env: dict[str, str], tmp_path: Path) -> None:
    grow(
        tmp_path,
        dict.fromkeys(["a.py", "src/b.py", "src/deep/c.py", "src/deep/d.md", "lib/src/e.py", ".x.py"], ""),
    )

    assert find(tmp_path, env, "*.py") == ".x.py\na.py\nlib/src/e.py\nsrc/b.py\nsrc/deep/c.py"
    assert find(tmp_path, env, "src/*.py") == "src/b.py"
    assert find(tmp_path, env, "src/**/*.py") == "src/b.py\nsrc/deep/c.py"
    assert find(tmp_path, env, "**/src/*.py") == "lib/src/e.py\nsrc/b.py"
    assert find(tmp_path, env, "**/deep/**") == "src/deep/c.py\nsrc/deep/d.md"
    assert find(tmp_path, env, "*.{md,py}", path="src/deep") == "src/deep/c.py\nsrc/deep/d.md"
    assert find(tmp_path, env, "s?c") == "lib/src/\nsrc/"
    assert find(tmp_path, env, "[!a-z.]*") == "No files found matching pattern"


@engines
def test_a_limit_of_results_is_told(env: dict[str, str], tmp_path: Path) -> None:
    grow(tmp_path, {f"f{number}": "" for number in range(5)})

    assert find(tmp_path, env, "f*", limit=2) == (
        "f0\nf1\n\n[2 of 5 results shown; use limit=5 or a narrower pattern]"
    )


@engines
def test_links_are_found_but_not_followed(env: dict[str, str], tmp_path: Path) -> None:
    grow(tmp_path, {"real/a.txt": "needle"})
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "file").symlink_to("real/a.txt")

    assert grep(tmp_path, env, "needle") == "real/a.txt:1: needle"
    assert find(tmp_path, env, "*") == "file\nlink\nloop\nreal/\nreal/a.txt"


@engines
@pytest.mark.parametrize("tool", ["grep", "find"])
def test_places_that_are_none_or_outside_are_refused(env: dict[str, str], tool: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no such file or directory"):
        use(tool, tmp_path, env, {"pattern": "x", "path": "gone"})
    with pytest.raises(ToolError, match="is outside"):
        use(tool, tmp_path, env, {"pattern": "x", "path": ".."})


def test_nothing_in_the_searched_folder_is_imported(tmp_path: Path) -> None:
    grow(tmp_path, {"json.py": "open('imported', 'w')", "re.py": "open('imported', 'w')"})

    assert grep(tmp_path, WITHOUT, "nothing") == "No matches found"
    assert not (tmp_path / "imported").exists()


names = st.sampled_from(["a", "b", "c.py", "d.log", "build", "x y", "é.py", ".h"])
trees = st.dictionaries(
    st.lists(names, min_size=1, max_size=3).map("/".join),
    st.lists(st.sampled_from(["needle", "needle é", "hay", "", "NEEDLE", "\0"]), max_size=4).map("\n".join),
    max_size=8,
)
rules = st.lists(
    st.sampled_from(
        [
            "a", "/a", "b/", "*.py", "!c.py", "*.log", "build/", "!build", "a/b", "**/b", "a/**", "!a/b", "*",
            "!*/", "# note", "", "x\\ y", "x y ", "[ab]", ".h", "a/*/b", "/*", "é*", "\\!a", "/b/",
        ]
    ),
    max_size=4,
).map("\n".join)  # fmt: skip


@pytest.mark.parametrize("other", INSTALLED or [WITHOUT], ids=["installed" if INSTALLED else "own"])
@settings(max_examples=25, deadline=None)
@given(
    tree=trees,
    ignores=st.dictionaries(st.sampled_from(["", "a/", "b/", "build/", "a/b/"]), rules, max_size=3),
    kind=st.sampled_from([".gitignore", ".ignore"]),
    repository=st.booleans(),
    pattern=st.sampled_from(["needle", "^needle$", "(?i)needle", "é"]),
    glob=st.sampled_from([None, "*.py", "a/**", "!*.log", "a/*"]),
    name=st.sampled_from(["*", "*.py", "a/*", "**/b", "b"]),
)
def test_both_ways_to_search_give_the_same(
    other: dict[str, str],
    tree: dict[str, str],
    ignores: dict[str, str],
    kind: str,
    repository: bool,
    pattern: str,
    glob: str | None,
    name: str,
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if repository:
            (folder / ".git").mkdir()
        for path, content in tree.items():
            plant(folder / path, content)
        for path, content in ignores.items():
            plant(folder / path / kind, content)
        more = {"glob": glob} if glob else {}

        found = [
            (grep(folder, env, pattern, context=1, **more), find(folder, env, name))
            for env in (WITHOUT, other)
        ]

        assert found[0] == found[1]


def plant(path: Path, content: str) -> None:
    """Make a file where the tree has room for it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    except OSError:
        return
