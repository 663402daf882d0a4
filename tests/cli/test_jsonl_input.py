"""`--input-format jsonl`: lines on standard input talk to the agent while it runs and between its runs."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Project
from tests.runner import Ended, records_of, run, running

ECHO = "{text: 'I was told: {{ prompt }}'}"
GATE = "{tool_calls: [{name: bash, arguments: {command: 'until [ -e go ]; do sleep 0.01; done'}}]}"
SLEEP = "{tool_calls: [{name: bash, arguments: {command: sleep 60}}]}"
DENIED = "{error: {status: 401, message: no key}}"
INVALID = "agentcore-run: config_invalid (2): "
JSONL = ("agent.yaml", "--input-format", "jsonl")


def line(kind: str, text: str | None = None) -> bytes:
    return json.dumps({"type": kind} | ({"text": text} if text is not None else {})).encode() + b"\n"


def turns(*each: str) -> str:
    return f"turns: [{', '.join(each)}]\n"


def users(records: list[dict[str, Any]]) -> list[str]:
    """What was said to the agent, in order."""
    ends = [record["message"] for record in records if record["type"] == "message_end"]
    return [message["content"][0]["text"] for message in ends if message["role"] == "user"]


def counts(records: list[dict[str, Any]], *types: str) -> list[int]:
    """How many records there are of each type."""
    return [[record["type"] for record in records].count(kind) for kind in types]


def is_whole(path: Path) -> bool:
    """Whether `show --check` has nothing to say about the transcript."""
    checked = run("show", "--check", path, cwd=path.parent)
    return (checked.code, checked.stdout, checked.stderr) == (0, f"{path}: whole\n", "")


class Talk:
    """A started command, to be talked to. `records` are those it has printed and somebody has waited for."""

    def __init__(self, child: subprocess.Popen[bytes], folder: Path) -> None:
        self.child = child
        self.records: list[dict[str, Any]] = []
        self._folder = folder
        self._printed: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def say(self, kind: str, text: str | None = None) -> None:
        self.write(line(kind, text))

    def write(self, data: bytes) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def until(self, kind: str) -> dict[str, Any]:
        """The next record of this type."""
        while True:
            printed = self._printed.get(timeout=10)
            assert printed, f"the command ended before the next {kind}"
            self.records.append(json.loads(printed))
            if self.records[-1]["type"] == kind:
                return self.records[-1]

    def end(self, *, close: bool = True) -> Ended:
        """End the input, unless the run is to end by itself, and see how the run has ended."""
        if close:
            assert self.child.stdin is not None
            self.child.stdin.close()
            self.child.stdin = None
        self.until("run_finished")
        code = self.child.wait(timeout=10)
        self._reader.join(timeout=10)
        assert self.child.stderr is not None
        ended = Ended(code, b"", self.child.stderr.read(), self._folder)
        assert ended.records == self.records
        assert is_whole(ended.transcript)
        return ended

    def _read(self) -> None:
        assert self.child.stdout is not None
        for printed in self.child.stdout:
            self._printed.put(printed)
        self._printed.put(b"")


@contextmanager
def talking(project: Project, *args: str) -> Iterator[Talk]:
    arguments = [*JSONL, "--format", "jsonl", *args]
    with running(*arguments, cwd=project.folder, stdin=subprocess.PIPE) as child:
        yield Talk(child, project.folder)


@pytest.fixture(autouse=True)
def echo(project: Project) -> None:
    project.script(turns(*[ECHO] * 9))


def test_one_run_of_the_agent_after_another_goes_into_one_transcript(project: Project) -> None:
    with talking(project) as talk:
        for kind in ("prompt", "steer", "follow_up"):
            talk.say(kind, f"a {kind}")
            talk.until("agent_end")
        talk.say("abort")
        done = talk.end()

    last = done.records[-1]
    assert (done.code, last["answer"], last["turns"]) == (0, "I was told: a follow_up", 3)
    assert users(done.records) == ["a prompt", "a steer", "a follow_up"]
    assert [record["turn"] for record in done.of_type("turn_start")] == [0, 1, 2]
    assert counts(done.records, "run_started", "agent_start", "agent_end", "run_finished") == [1, 3, 3, 1]


def test_show_tells_the_runs_of_the_agent_as_one_story(project: Project) -> None:
    with talking(project) as talk:
        for text in ("one", "two"):
            talk.say("prompt", text)
            talk.until("agent_end")
        done = talk.end()

    told = run("show", done.transcript, cwd=project.folder).stdout.splitlines()
    assert [text.partition(" at ")[0] for text in told if text.startswith("==")] == [
        "== turn 1",
        "== turn 2",
        "== completed (0): The model finished its answer.",
    ]


def test_lines_that_wait_already_are_said_in_their_order_after_the_prompts_of_the_flags(
    project: Project,
) -> None:
    lines = b"\n" + line("prompt", "c") + b"\r\n" + line("follow_up", "d").rstrip(b"\n")

    done = run(*JSONL, "--prompt", "a", "--prompt", "b", cwd=project.folder, stdin=lines)

    assert (done.code, done.stdout) == (0, "I was told: d\n")
    assert users(done.records) == ["a", "b", "c", "d"]
    assert is_whole(done.transcript)


def test_the_prompt_of_the_agent_file_comes_first(project: Project) -> None:
    project.agent("prompt: a\nfollow_ups: [b]\n")

    done = run(*JSONL, cwd=project.folder, stdin=line("prompt", "c"))

    assert users(done.records) == ["a", "b", "c"]


def test_the_first_line_that_says_something_is_the_prompt_where_there_is_no_other(project: Project) -> None:
    done = run(*JSONL, cwd=project.folder, stdin=b"\n" + line("abort") + line("steer", "a")[:-1])

    assert (done.code, done.stdout, users(done.records)) == (0, "I was told: a\n", ["a"])


@pytest.mark.parametrize(
    ("mode", "steered"),
    [("one-at-a-time", [["go"], ["a"], ["b"], ["c"]]), ("all", [["go"], ["a", "b"], ["c"]])],
)
def test_what_is_said_during_a_run_goes_through_the_queues(
    project: Project, mode: str, steered: list[list[str]]
) -> None:
    project.agent(f"queue_mode: {mode}\n")
    project.script(turns(GATE, *[ECHO] * 3))
    with talking(project, "go") as talk:
        talk.until("tool_execution_start")
        waiting = []
        for kind, text in (("prompt", "c"), ("steer", "a"), ("steer", "b")):
            talk.say(kind, text)
            update = talk.until("queue_update")
            waiting.append((update["steering"], update["follow_up"]))
        (project.folder / "go").touch()
        done = talk.end()

    by_turn = [users([each for each in done.records if each.get("turn") == turn]) for turn in range(4)]
    assert waiting == [(0, 1), (1, 1), (2, 1)]
    assert [texts for texts in by_turn if texts] == steered
    assert (done.code, counts(done.records, "agent_start")) == (0, [1])
    assert [done.of_type("queue_update")[-1][name] for name in ("steering", "follow_up")] == [0, 0]


def test_an_abort_ends_the_run_in_progress_and_the_next_line_begins_another(project: Project) -> None:
    project.script(turns(SLEEP, *[ECHO] * 3))
    with talking(project, "go") as talk:
        talk.until("tool_execution_start")
        talk.write(line("follow_up", "later") + line("abort") + line("prompt", "now"))
        done = talk.end()

    ends = [record["message"] for record in done.of_type("message_end")]
    assert [each["stop_reason"] for each in ends if each["role"] == "assistant"][-2:] == ["done", "done"]
    assert users(done.records) == ["go", "now", "later"]
    assert (done.code, done.records[-1]["reason"]) == (0, "The model finished its answer.")


def test_an_abort_as_the_last_word_is_an_interruption(project: Project) -> None:
    project.script(turns(SLEEP))
    with talking(project, "go") as talk:
        talk.until("tool_execution_start")
        talk.say("steer", "unsaid")
        talk.say("abort")
        talk.until("agent_end")
        done = talk.end()

    last = done.records[-1]
    assert (done.code, last["exit"]) == (130, {"code": 130, "name": "interrupted"})
    assert (last["status"], last["reason"]) == ("interrupted", "Aborted: an abort line asked for it.")
    assert (last["retryable"], last["answer"]) == (True, None)
    assert "interrupted (130)" in done.stderr.splitlines()[-1]
    assert [(each["steering"], each["follow_up"]) for each in done.of_type("queue_update")] == [(1, 0)]


@pytest.mark.parametrize(("script", "code"), [(turns(DENIED, ECHO), 0), (turns(ECHO, DENIED), 6)])
def test_a_model_that_fails_ends_nothing_and_the_last_run_decides(
    project: Project, script: str, code: int
) -> None:
    project.script(script)
    with talking(project, "a") as talk:
        talk.until("agent_end")
        talk.say("prompt", "b")
        talk.until("agent_end")
        done = talk.end()

    assert (done.code, users(done.records)) == (code, ["a", "b"])
    assert [error["status"] for error in done.records[-1]["errors"]] == [401]


def test_an_answer_cut_in_each_of_two_runs_is_not_cut_twice(project: Project) -> None:
    cut = '{tool_calls: [{name: bash, raw_arguments: "{"}], stop_reason: length}'
    project.script(turns(cut, ECHO, cut, ECHO))
    with talking(project, "a") as talk:
        talk.until("agent_end")
        talk.say("prompt", "b")
        done = talk.end()

    assert (done.code, done.records[-1]["turns"]) == (0, 4)


@pytest.mark.parametrize("prompts", [(), ("go",)])
@pytest.mark.parametrize("ahead", [b"", line("prompt", "a") + b"\n"])
def test_a_bad_line_that_is_there_before_the_first_request_is_a_mistake_of_the_caller(
    project: Project, ahead: bytes, prompts: tuple[str, ...]
) -> None:
    bad = b'{"type": "promt", "text": "b"}\n{}\n'
    number = 1 + ahead.count(b"\n")

    done = run(*JSONL, *prompts, cwd=project.folder, stdin=ahead + bad)

    assert (done.code, done.stdout, (project.folder / ".agentcore").exists()) == (2, "", False)
    assert done.stderr == (
        f"{INVALID}standard input, line {number}: type: expected one of prompt, steer, follow_up, abort, "
        "found 'promt' (did you mean 'prompt'?) (and 1 more)\n"
    )


def test_a_bad_line_later_on_is_a_warning_and_the_run_goes_on(project: Project) -> None:
    with talking(project, "a") as talk:
        talk.until("agent_end")
        talk.write(b'\nhello\n{"type": "prompt", "txet": "b"}\n' + line("prompt", "c") + b'{"type"')
        done = talk.end()

    messages = [record["message"] for record in done.of_type("warning")]
    assert [message.partition(":")[0] for message in messages] == [
        f"standard input, line {number}" for number in (2, 3, 5)
    ]
    assert "a command has no key 'txet' (did you mean 'text'?)" in messages[1]
    assert [text for text in done.stderr.splitlines() if text.startswith("warning")] == [
        f"warning: {message}" for message in messages
    ]
    assert (done.code, users(done.records)) == (0, ["a", "c"])


def test_lines_without_a_prompt_are_a_mistake(project: Project) -> None:
    for data in (b"", b"\n \n", line("abort")):
        done = run(*JSONL, cwd=project.folder, stdin=data)

        assert (done.code, done.stderr) == (
            2,
            f"{INVALID}no prompt was given: --input-format jsonl found no line with a prompt on standard "
            "input, and there is none in a flag or the agent file\n",
        )
    assert run(*JSONL, "go", cwd=project.folder, stdin=b"").code == 0


def test_a_terminal_and_the_null_device_say_nothing(project: Project) -> None:
    master, slave = os.openpty()
    try:
        with running(*JSONL, "go", cwd=project.folder, stdin=slave) as child:
            code = child.wait(timeout=10)
    finally:
        os.close(master)
        os.close(slave)
    done = run(*JSONL, "go", cwd=project.folder)

    assert (code, done.code) == (2, 2)
    assert done.stderr == (
        f"{INVALID}--input-format jsonl reads standard input, which is a terminal or the null device: "
        "pipe something in\n"
    )


@pytest.mark.parametrize(
    ("agent", "flags", "reader"),
    [
        ("", ["--prompt", "-"], "--prompt -"),
        ("inputs: {diff: {type: string}}\n", ["-i", "diff=-", "go"], "-i diff=-"),
        ("inputs: {diff: {type: string, source: stdin}}\n", ["go"], "input 'diff'"),
    ],
)
def test_nothing_else_can_read_standard_input_beside_the_lines(
    project: Project, agent: str, flags: list[str], reader: str
) -> None:
    project.agent(agent)

    done = run(*JSONL, *flags, cwd=project.folder, stdin=line("prompt", "a"))

    assert (done.code, done.stderr) == (
        2,
        f"{INVALID}standard input can be read once: --input-format jsonl and {reader} both ask for it\n",
    )


def test_a_limit_ends_the_run_though_lines_may_still_come(project: Project) -> None:
    project.agent("limits: {max_turns: 1}\n")
    with talking(project, "a") as talk:
        talk.until("agent_end")
        talk.say("prompt", "b")
        done = talk.end(close=False)

    assert (done.code, done.records[-1]["limit"]["key"]) == (3, "limits.max_turns")
    assert users(done.records) == ["a"]


def test_the_time_limit_ends_the_wait_for_another_line(project: Project) -> None:
    with talking(project, "--timeout", "1s", "a") as talk:
        talk.until("agent_end")
        done = talk.end(close=False)

    assert (done.code, done.records[-1]["limit"]["key"]) == (3, "limits.timeout")


def test_a_signal_ends_the_wait_for_another_line(project: Project) -> None:
    with talking(project, "a") as talk:
        talk.until("agent_end")
        talk.child.send_signal(signal.SIGTERM)
        done = talk.end(close=False)

    assert (done.code, done.records[-1]["reason"]) == (143, "Interrupted by SIGTERM.")


def test_the_wait_for_the_first_line_is_mentioned_and_ends_with_a_signal(project: Project) -> None:
    with running(*JSONL, cwd=project.folder, stdin=subprocess.PIPE) as child:
        assert child.stderr is not None
        note = child.stderr.readline()
        child.send_signal(signal.SIGTERM)
        code = child.wait(timeout=10)

    assert note == b"agentcore-run: waiting for standard input (--input-format jsonl)\n"
    assert code == 143


def test_a_pipe_whose_reads_do_not_wait_is_waited_for(project: Project) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with running(*JSONL, "--format", "jsonl", "a", cwd=project.folder, stdin=reader) as child:
        os.close(reader)
        talk = Talk(child, project.folder)
        talk.until("agent_end")
        os.write(writer, line("prompt", "b"))
        talk.until("agent_end")
        os.close(writer)
        talk.until("run_finished")
        code = child.wait(timeout=10)

    assert (code, users(talk.records), counts(talk.records, "warning")) == (0, ["a", "b"], [0])


def test_more_lines_than_a_pipe_holds_are_all_said(project: Project) -> None:
    project.agent("queue_mode: all\nlimits: {max_turns: 1000}\n")
    project.script(turns("{text: ok, repeat: 1000}"))
    texts = [f"{number} {'x' * 1000}" for number in range(2000)]

    done = run(*JSONL, cwd=project.folder, stdin=b"".join(line("follow_up", text) for text in texts))

    assert (done.code, users(done.records) == texts) == (0, True)
    assert is_whole(done.transcript)


def test_a_dry_run_shows_the_request_of_the_first_line(project: Project) -> None:
    arguments = [*JSONL, "--dry-run", "--model", "openai/gpt-x"]

    done = run(
        *arguments,
        cwd=project.folder,
        env={"OPENAI_API_KEY": "key"},
        stdin=line("prompt", "a") + line("prompt", "b"),
    )

    assert (done.code, (project.folder / ".agentcore").exists()) == (0, False)
    assert done.result["body"]["input"] == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize("form", ["text", "json"])
def test_standard_output_has_the_last_answer(project: Project, form: str) -> None:
    done = run(*JSONL, "--format", form, cwd=project.folder, stdin=line("prompt", "a") + line("prompt", "b"))

    answer = done.result["answer"] if form == "json" else done.stdout.rstrip("\n")
    assert (done.code, answer) == (0, "I was told: b")
    assert records_of(done.transcript)[-1]["answer"] == answer
