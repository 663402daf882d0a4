"""The command line itself: help, version, and words that are none (note B21)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runner import run


def test_help_fits_a_screen_and_lists_every_exit_code(tmp_path: Path) -> None:
    done = run("--help", cwd=tmp_path)

    assert (done.code, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) <= 32
    assert max(map(len, done.stdout.splitlines())) <= 80
    for code in (*range(15), 70, 129, 130, 141, 143):
        assert f" {code} " in done.stdout or f" {code}, " in done.stdout


def test_without_arguments_the_help_is_the_error(tmp_path: Path) -> None:
    done = run(cwd=tmp_path)

    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: agentcore-run AGENT.yaml")
    assert "config_invalid (2)" not in done.stderr


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    from agentcore_runner import __version__

    assert run("--version", cwd=tmp_path).stdout == f"agentcore-run {__version__}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["vaildate", "x.yaml"], "there is no file or command 'vaildate' (did you mean 'validate'?)"),
        (["x.yaml", "--no-such-flag"], "No such option"),
        (["show"], "Missing argument 'TRANSCRIPT'"),
        (["schema", "nothing"], "'nothing' is not one of 'agent', 'events', 'result'"),
        (["x.yaml"], "there is no file 'x.yaml'"),
        (["show", "missing.jsonl"], "missing.jsonl: no such transcript"),
    ],
)
def test_a_word_that_means_nothing_is_named_at_once(tmp_path: Path, words: list[str], sentence: str) -> None:
    done = run(*words, cwd=tmp_path, timeout=5)

    assert (done.code, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_what_is_no_transcript_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("hello\n")

    done = run("show", "x.jsonl", cwd=tmp_path)

    assert (done.code, done.stdout) == (14, "")
    assert "x.jsonl: not a transcript: no line of it is a record" in done.stderr
