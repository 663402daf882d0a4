"""Standard input is read where something asks for it, and never waited for without a word (notes B01–B05)."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.cli.conftest import Project
from tests.runner import run, running

ECHO = 'turns: [{text: "I was told: {{ prompt }}"}]\n'
NO_PROMPT = (
    "agentcore-run: config_invalid (2): no prompt was given: "
    "pass it as an argument, with --prompt, or pipe it to standard input"
)


@pytest.fixture(autouse=True)
def echo(project: Project) -> None:
    project.script(ECHO)


def test_a_prompt_argument_never_needs_standard_input(project: Project) -> None:
    with running("agent.yaml", "hello", "there", cwd=project.folder, stdin=subprocess.PIPE) as child:
        code = child.wait(timeout=5)

        assert child.stdout is not None
        assert (code, child.stdout.read()) == (0, b"I was told: hello there\n")


def test_a_silent_pipe_is_waited_for_so_long_and_named(project: Project) -> None:
    arguments = ["agent.yaml", "--stdin-timeout", "200ms"]
    with running(*arguments, cwd=project.folder, stdin=subprocess.PIPE) as child:
        code = child.wait(timeout=5)

        assert child.stderr is not None
        waited = " (waited 0.2 s for a first byte there; see --stdin-timeout)\n"
        assert (code, child.stderr.read().decode()) == (2, NO_PROMPT + waited)


def test_the_null_device_is_no_prompt_at_once(project: Project) -> None:
    done = run("agent.yaml", cwd=project.folder)

    assert (done.code, done.stdout, done.stderr) == (2, "", f"{NO_PROMPT}\n")


def test_a_terminal_is_no_prompt_at_once(project: Project) -> None:
    master, slave = os.openpty()
    try:
        with running("agent.yaml", cwd=project.folder, stdin=slave) as child:
            assert child.wait(timeout=5) == 2
    finally:
        os.close(master)
        os.close(slave)


def test_a_pipe_or_a_file_is_the_prompt_where_there_is_no_other(project: Project) -> None:
    piped = run("agent.yaml", cwd=project.folder, stdin=b"from the pipe")
    (project.folder / "prompt.txt").write_text("from the file")
    with (
        (project.folder / "prompt.txt").open("rb") as file,
        running("agent.yaml", cwd=project.folder, stdin=file) as child,
    ):
        stdout, _ = child.communicate(timeout=10)

    assert (piped.code, piped.stdout) == (0, "I was told: from the pipe\n")
    assert (child.returncode, stdout) == (0, b"I was told: from the file\n")


def test_an_input_takes_standard_input_beside_a_prompt(project: Project) -> None:
    project.agent("inputs: {diff: {type: string}}\nprompt: Review {{ inputs.diff }}\n")

    done = run("agent.yaml", "-i", "diff=-", cwd=project.folder, stdin=b"the diff")

    assert (done.code, done.stdout) == (0, "I was told: Review the diff\n")


def test_an_input_whose_source_is_stdin_reads_it_without_a_flag(project: Project) -> None:
    project.agent("inputs: {diff: {type: string, source: stdin}}\nprompt: Review {{ inputs.diff }}\n")

    done = run("agent.yaml", cwd=project.folder, stdin=b"the diff")

    assert (done.code, done.stdout) == (0, "I was told: Review the diff\n")


def test_data_that_nothing_asked_for_is_mentioned_once(project: Project) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"unread")
    try:
        with running("agent.yaml", "-q", "hello", cwd=project.folder, stdin=reader) as child:
            stdout, stderr = child.communicate(timeout=10)
    finally:
        os.close(reader)
        os.close(writer)

    assert (child.returncode, stdout) == (0, b"I was told: hello\n")
    assert stderr.decode().splitlines()[0] == (
        "warning: standard input has data that nothing asked for; read it with --prompt - or -i NAME=-"
    )


def test_two_readers_of_standard_input_are_refused(project: Project) -> None:
    project.agent("inputs: {diff: {type: string}}\nprompt: Review {{ inputs.diff }}\n")

    done = run("agent.yaml", "--prompt", "-", "-i", "diff=-", cwd=project.folder, stdin=b"x")

    assert done.code == 2
    assert "standard input can be read once: --prompt - and -i diff=- both ask for it" in done.stderr


def test_bytes_that_are_no_utf8_are_named_with_their_offset(project: Project) -> None:
    done = run("agent.yaml", cwd=project.folder, stdin=b"ab\xffcd")

    assert done.code == 2
    assert "standard input is not UTF-8: byte 0xFF at offset 2" in done.stderr


def test_the_format_depends_on_the_flag_only(project: Project) -> None:
    quiet = run("agent.yaml", "--format", "jsonl", "hello", cwd=project.folder)
    piped = run("agent.yaml", "--format", "jsonl", "hello", cwd=project.folder, stdin=b"")

    kinds = [[json.loads(line)["type"] for line in done.stdout.splitlines()] for done in (quiet, piped)]
    assert kinds[0] == kinds[1]
    assert (kinds[0][0], kinds[0][-1]) == ("run_started", "run_finished")
