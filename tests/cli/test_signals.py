"""Signals, children and leaving (notes B14, B24, B26, B29, B38, B40, B73)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Project
from tests.runner import PROGRAM, environment, records_of, run, running

SLEEPER = "turns: [{tool_calls: [{name: bash, arguments: {command: '%s'}}]}, {text: done}]\n"
SLOW = "turns: [{text: 'a long answer that comes slowly', chunk: 1, delta_delay: 50ms}]\n"


def wait_for(condition: Callable[[], Any], seconds: float = 10) -> Any:
    """What the condition gives once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"not true within {seconds} s")


def record_types(folder: Path) -> list[str]:
    """The record types in the only transcript so far."""
    paths = list(folder.glob(".agentcore/runs/*.jsonl"))
    whole = paths[0].read_bytes().rpartition(b"\n")[0] if paths else b""
    return [json.loads(line)["type"] for line in whole.splitlines()]


def finished(folder: Path) -> dict[str, Any]:
    """The last record, which must be the right one."""
    (path,) = folder.glob(".agentcore/runs/*.jsonl")
    last = records_of(path)[-1]
    assert last["type"] == "run_finished"
    assert run("show", "--check", path, cwd=folder).stderr == ""
    return last


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_during_the_answer_closes_the_record(project: Project, number: str, code: int) -> None:
    project.script(SLOW)
    with running("agent.yaml", "go", "--format", "json", "--partial", cwd=project.folder) as child:
        wait_for(lambda: "message_update" in record_types(project.folder))
        child.send_signal(getattr(signal, number))
        stdout, _ = child.communicate(timeout=10)

    last = finished(project.folder)
    assert child.returncode == code
    assert (last["status"], last["exit"]) == ("interrupted", {"code": code, "name": "interrupted"})
    assert (last["answer"], last["stop_reason"], last["retryable"]) == (None, "aborted", True)
    assert "a long answer".startswith(last["partial_answer"][:5])
    assert json.loads(stdout).items() <= last.items()


def test_a_signal_during_a_tool_gives_its_call_a_result(project: Project) -> None:
    project.script(SLEEPER % "sleep 60")
    with running("agent.yaml", "go", cwd=project.folder) as child:
        wait_for(lambda: "tool_execution_start" in record_types(project.folder))
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=10)

    (path,) = project.folder.glob(".agentcore/runs/*.jsonl")
    ends = [record for record in records_of(path) if record["type"] == "tool_execution_end"]
    assert child.returncode == 143
    assert [end["is_error"] for end in ends] == [True]
    assert finished(project.folder)["turns"] == 1


def test_a_second_signal_leaves_at_once(project: Project) -> None:
    project.script(SLEEPER % 'trap "" TERM; echo started > started; while true; do sleep 0.1; done')
    with running("agent.yaml", "go", cwd=project.folder) as child:
        wait_for((project.folder / "started").exists)
        child.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        child.send_signal(signal.SIGTERM)
        began = time.monotonic()
        child.communicate(timeout=10)
        took = time.monotonic() - began

    assert child.returncode == 143
    assert took < 1.0
    assert finished(project.folder)["exit"]["code"] == 143


@pytest.mark.parametrize("command", ["sleep 300 & echo $! > pid", "setsid sleep 300 & echo $! > pid"])
@pytest.mark.parametrize("ending", ["success", "SIGHUP"])
def test_nothing_that_a_tool_started_outlives_the_run(project: Project, command: str, ending: str) -> None:
    project.script(
        f"turns: [{{tool_calls: [{{name: bash, arguments: {{command: '{command}'}}}}]}}, "
        f"{{text: done, delay: {'0' if ending == 'success' else '60'}}}]\n"
    )
    with running("agent.yaml", "go", cwd=project.folder) as child:
        if ending == "SIGHUP":
            wait_for(lambda: record_types(project.folder).count("turn_start") == 2)
            pid = int((project.folder / "pid").read_text())
            os.kill(pid, 0)
            child.send_signal(signal.SIGHUP)
        child.communicate(timeout=15)

    pid = int((project.folder / "pid").read_text())
    wait_for(lambda: not alive(pid), 2)
    assert child.returncode == (0 if ending == "success" else 129)


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        os.kill(pid, 0)
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text() if Path("/proc").is_dir() else True
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_deadline_ends_two_running_tools_with_a_status(project: Project) -> None:
    project.script(
        "turns: [{tool_calls: [{name: bash, arguments: {command: sleep 60}}, "
        "{name: bash, arguments: {command: sleep 61}}]}, {text: never}]\n"
    )

    done = run("agent.yaml", "go", "--timeout", "500ms", "--format", "json", cwd=project.folder)

    assert done.code == 3
    assert [record["is_error"] for record in done.of_type("tool_execution_end")] == [True, True]
    assert done.result["limit"]["key"] == "limits.timeout"
    assert done.result["limit"]["value"] == 0.5


def test_a_kill_leaves_whole_lines_up_to_the_last_record(project: Project) -> None:
    project.script(
        "turns: [{tool_calls: [{name: bash, arguments: {command: echo one}}]}, "
        "{tool_calls: [{name: bash, arguments: {command: sleep 60}}]}, {text: never}]\n"
    )
    with running("agent.yaml", "go", cwd=project.folder) as child:
        wait_for(lambda: record_types(project.folder).count("tool_execution_start") == 2)
        child.kill()
        child.communicate()

    (path,) = project.folder.glob(".agentcore/runs/*.jsonl")
    shown, checked = run("show", path, cwd=project.folder), run("show", "--check", path, cwd=project.folder)
    assert path.read_bytes().endswith(b"\n")
    assert records_of(path)[-1]["type"] == "tool_execution_start"
    assert shown.code == 0
    assert "== no end: the run was killed, or still runs; the last whole record is tool_execution_start" in (
        shown.stdout
    )
    assert (checked.code, checked.stderr) == (
        14,
        f"{path}: no run_finished: the run was killed, or still runs\n",
    )


def test_a_closed_reader_ends_the_run_quietly_with_a_whole_record(project: Project) -> None:
    project.script(SLOW)
    with running("agent.yaml", "go", "--format", "jsonl", "--partial", cwd=project.folder) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        code = child.wait(timeout=10)
        stderr = child.stderr.read().decode()

    last = finished(project.folder)
    assert (code, last["exit"]) == (141, {"code": 141, "name": "stdout_closed"})
    assert (last["status"], last["retryable"]) == ("error", True)
    assert "Traceback" not in stderr


def test_a_reader_that_is_gone_before_the_answer_still_leaves_the_answer_in_the_record(
    project: Project,
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with running("agent.yaml", "go", "-o", "result.json", cwd=project.folder, stdout=writer) as child:
        os.close(writer)
        code = child.wait(timeout=10)

    result = json.loads((project.folder / "result.json").read_text())
    assert (code, result["exit"]["code"], result["answer"]) == (141, 141, "The answer.")
    assert finished(project.folder)["exit"]["code"] == 141


def test_a_reader_that_leaves_before_the_last_line_is_told_in_every_other_place(project: Project) -> None:
    """The result file is a full pipe, which holds the run up just before its last line."""
    reader, writer = full_pipe()
    arguments = ["agent.yaml", "go", "--format", "jsonl", "-o", f"/dev/fd/{writer}"]
    with running(*arguments, cwd=project.folder, pass_fds=(writer,)) as child:
        os.close(writer)
        assert child.stdout is not None
        while b'"agent_end"' not in child.stdout.readline():
            pass
        child.stdout.close()
        with os.fdopen(reader, "rb") as pipe:
            results = [json.loads(line) for line in pipe.read().splitlines()]
        code = child.wait(timeout=10)

    assert code == 141
    assert [result["exit"]["code"] for result in results] == [0, 141]
    assert finished(project.folder)["exit"]["code"] == 141


def full_pipe() -> tuple[int, int]:
    """A pipe that takes no more until somebody reads."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b" " * 4096)
    os.set_blocking(writer, True)
    return reader, writer


def test_a_slow_reader_gets_every_byte(project: Project) -> None:
    project.script("turns: [{text: '{{ \"x\" * 3000000 }}', chunk: 1000000}]\n")
    with running("agent.yaml", "go", "--format", "json", cwd=project.folder) as child:
        assert child.stdout is not None
        chunks = []
        while chunk := os.read(child.stdout.fileno(), 10_000):
            chunks.append(chunk)
            time.sleep(0.001)
        child.wait(timeout=10)

    assert len(json.loads(b"".join(chunks))["answer"]) == 3_000_000


def test_a_reader_that_pauses_loses_no_record(project: Project) -> None:
    project.script("turns: [{text: '{{ \"x\" * 200000 }}', chunk: 20}]\n")
    with running("agent.yaml", "go", "--format", "jsonl", "--partial", cwd=project.folder) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(1.5)
        lines = [first, *child.stdout]
        child.wait(timeout=30)

    (path,) = project.folder.glob(".agentcore/runs/*.jsonl")
    assert [json.loads(line)["seq"] for line in lines] == list(range(len(lines)))
    assert b"".join(lines) == path.read_bytes()


def test_a_signal_while_context_is_gathered_ends_with_its_code(project: Project) -> None:
    project.agent(
        "context: [{name: slow, command: [sh, -c, 'echo > started; sleep 60']}]\n"
        "prompt: x{{ context.slow }}\n"
    )
    with running("agent.yaml", cwd=project.folder, stdin=subprocess.DEVNULL) as child:
        wait_for((project.folder / "started").exists)
        child.send_signal(signal.SIGTERM)
        _, stderr = child.communicate(timeout=10)

    assert child.returncode == 143
    assert "SIGTERM" in stderr.decode()


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_a_closed_standard_output_is_a_lost_reader(project: Project, form: str) -> None:
    command = f"exec {PROGRAM} agent.yaml go --format {form} >&-"
    done = subprocess.run(
        ["sh", "-c", command], cwd=project.folder, env=environment(), stderr=subprocess.PIPE, timeout=20
    )

    assert done.returncode == 141
    assert b"Traceback" not in done.stderr
    assert finished(project.folder)["exit"]["code"] == 141


def test_a_reader_of_standard_error_that_stalls_holds_nothing_up(project: Project) -> None:
    project.script(
        "turns: [{tool_calls: [{name: bash, arguments: {command: 'echo {{ turn }}'}}], repeat: 40}, "
        "{text: done}]\n"
    )
    reader, writer = full_pipe()
    with running("agent.yaml", "go", "-v", cwd=project.folder, stderr=writer) as child:
        os.close(writer)
        stdout, _ = child.communicate(timeout=30)
    os.close(reader)

    assert (child.returncode, stdout) == (0, b"done\n")


def test_a_signal_ends_the_wait_for_standard_input(project: Project) -> None:
    project.agent("inputs: {diff: {type: string, source: stdin}}\nprompt: x{{ inputs.diff }}\n")
    with running("agent.yaml", cwd=project.folder, stdin=subprocess.PIPE) as child:
        assert child.stderr is not None
        line = child.stderr.readline()
        child.send_signal(signal.SIGTERM)
        code = child.wait(timeout=5)

    assert line == b"agentcore-run: waiting for standard input (input 'diff')\n"
    assert code == 143


def test_a_signal_does_not_wait_for_a_reader_that_stalls(project: Project) -> None:
    project.script("turns: [{text: '{{ \"x\" * 200000 }}', chunk: 20}]\n")
    with running("agent.yaml", "go", "--format", "jsonl", "--partial", cwd=project.folder) as child:
        wait_for(lambda: len(record_types(project.folder)) > 100)
        child.send_signal(signal.SIGTERM)
        code = child.wait(timeout=8)

    assert code == 143
    assert finished(project.folder)["exit"]["code"] == 143


BUSY = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"


def test_a_template_that_never_ends_can_be_stopped_before_the_run(project: Project) -> None:
    project.agent(f"prompt: '{BUSY}'\n")
    with running("agent.yaml", cwd=project.folder) as child:
        time.sleep(1)
        child.send_signal(signal.SIGTERM)
        _, stderr = child.communicate(timeout=10)

    assert (child.returncode, stderr) == (143, b"agentcore-run: interrupted (143) by SIGTERM while busy\n")


def test_a_template_that_never_ends_can_be_stopped_during_the_run(project: Project) -> None:
    project.agent(
        "", base="schema_version: 1\nname: demo\nmodel: scripted/script.yaml\ntools:\n"
        f"  - {{type: command, name: busy, command: [echo, '{BUSY}'], parameters: {{type: object}}}}\n"
    )  # fmt: skip
    project.script("turns: [{tool_calls: [{name: busy, arguments: {}}]}, {text: never}]\n")
    with running("agent.yaml", "go", cwd=project.folder) as child:
        wait_for(lambda: "tool_execution_start" in record_types(project.folder))
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=10)

    (path,) = project.folder.glob(".agentcore/runs/*.jsonl")
    last = records_of(path)[-1]
    assert (child.returncode, last["type"], last["exit"]["code"]) == (130, "run_finished", 130)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_signal_does_not_wait_for_whoever_should_take_the_answer(project: Project, form: str) -> None:
    project.script("turns: [{text: '{{ \"x\" * 300000 }}', chunk: 100000}]\n")
    with running("agent.yaml", "go", "--format", form, "-o", "r.json", cwd=project.folder) as child:
        wait_for(lambda: "agent_end" in record_types(project.folder))
        child.send_signal(signal.SIGTERM)
        code = child.wait(timeout=8)

    result = json.loads((project.folder / "r.json").read_text())
    assert (code, result["exit"]["code"], finished(project.folder)["exit"]["code"]) == (143, 143, 143)


@pytest.mark.parametrize(
    "arguments",
    [["schema", "agent"], ["agent.yaml", "go", "--dry-run"], ["--help"], ["validate", "--format", "json"]],
)
@pytest.mark.parametrize(("place", "code"), [("/dev/full", 14), ("&-", 141)])
def test_every_command_tells_a_lost_reader_from_a_full_disk(
    project: Project, arguments: list[str], place: str, code: int
) -> None:
    arguments = [*arguments, "agent.yaml"] if arguments[0] == "validate" else arguments
    command = f"exec {PROGRAM} {' '.join(arguments)} >{place}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=project.folder, env=environment(), stderr=subprocess.PIPE, timeout=20
    )

    assert (done.returncode, b"Traceback" in done.stderr) == (code, False)


SLOW_IMPORT = """
import builtins, os, signal, sys
real = builtins.__import__
def slow(name, *args, **kwargs):
    module = real(name, *args, **kwargs)
    if name == {module!r} and not slow.sent:
        slow.sent = True
        os.kill(os.getpid(), signal.SIGTERM)
        if {again!r}:
            os.kill(os.getpid(), signal.SIGTERM)
    return module
slow.sent = False
builtins.__import__ = slow
sys.argv = ["agentcore-run", "agent.yaml", "go", "-o", "result.json"]
from agentcore_runner.cli.main import main
main()
"""


@pytest.mark.parametrize("module", ["asyncio", "msgspec", "yaml", "agentcore_runner.core.agent"])
@pytest.mark.parametrize("again", [False, True], ids=["once", "twice"])
def test_a_signal_while_modules_are_loaded_ends_as_any_other(
    project: Project, module: str, again: bool
) -> None:
    code = SLOW_IMPORT.format(module=module, again=again)

    child = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project.folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )

    assert child.returncode == 143
    assert "Traceback" not in child.stderr
    assert "never awaited" not in child.stderr
    if not again:
        assert json.loads((project.folder / "result.json").read_text())["exit"]["code"] == 143
