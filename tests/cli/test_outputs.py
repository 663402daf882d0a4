"""What a run prints and writes, and that it all agrees (notes B19, B23, B27, B28, B32, B34, B66, B67)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Project
from tests.runner import Ended, run


def test_text_mode_prints_the_answer_and_nothing_else(project: Project) -> None:
    done = run("agent.yaml", "go", cwd=project.folder, env={"CLICOLOR_FORCE": "1"})

    assert (done.code, done.stdout) == (0, "The answer.\n")
    turn, last = done.stderr.splitlines()
    assert turn.startswith("turn 1: ended with 'done'; ")
    assert last.startswith("completed (scripted model: no LLM was asked) [1 turn, 0 tool calls, ")
    assert last.endswith(f"transcript: {done.transcript.relative_to(project.folder)}")


def test_quiet_keeps_the_last_line_only(project: Project) -> None:
    done = run("agent.yaml", "go", "-q", cwd=project.folder)

    assert len(done.stderr.splitlines()) == 1


def test_verbose_names_tools_as_people_do_and_retries(project: Project) -> None:
    project.agent("", base="schema_version: 1\nname: demo\nmodel: scripted/script.yaml\n"
                  "tools: [{type: builtin, name: bash, label: The shell}]\n")  # fmt: skip
    project.script(
        "turns: [{tool_calls: [{name: bash, arguments: {command: 'true'}}]}, "
        "{text: ok, error: {status: 503, times: 1}}]\n"
    )

    done = run("agent.yaml", "go", "-v", cwd=project.folder)

    lines = done.stderr.splitlines()
    assert lines[0].startswith("  The shell done in ")
    assert lines[2].startswith("  retry in ")


def test_result_record_and_file_are_one_object(project: Project) -> None:
    done = run("agent.yaml", "go", "--format", "json", "-o", "r.json", cwd=project.folder)

    last = done.records[-1]
    envelope = {"type", "v", "seq", "ts"}
    assert done.result == json.loads((project.folder / "r.json").read_text())
    assert done.result == {key: value for key, value in last.items() if key not in envelope}
    assert "\x1b" not in done.stdout


def test_jsonl_prints_the_lines_of_the_transcript(project: Project) -> None:
    done = run("agent.yaml", "go", "--format", "jsonl", cwd=project.folder)

    assert done.stdout_bytes == done.transcript.read_bytes()


def test_the_answer_goes_to_a_file_too(project: Project) -> None:
    done = run("agent.yaml", "go", "--answer-file", "out/answer.md", cwd=project.folder)

    assert (done.code, (project.folder / "out/answer.md").read_text()) == (0, "The answer.\n")


def test_the_answer_is_all_text_of_the_last_message(project: Project) -> None:
    project.script(
        "turns: [{content: [{text: \"\\n\\nOne \"}, {thinking: hm}, {text: 'two '}, {text: three}]}]\n"
    )

    done = run("agent.yaml", "go", "--format", "json", cwd=project.folder)

    assert done.result["answer"] == "\n\nOne two three"


def test_line_separators_in_tool_output_break_no_line(project: Project) -> None:
    project.script(
        "turns: [{tool_calls: [{name: bash, arguments: {command: "
        "\"printf 'a\\\\342\\\\200\\\\250b\\\\342\\\\200\\\\251c\\\\302\\\\205d\\\\re'\"}}]}, "
        "{text: ok}]\n"
    )

    done = run("agent.yaml", "go", cwd=project.folder)

    data = done.transcript.read_bytes()
    (result,) = [r["message"] for r in done.of_type("message_end") if r["message"]["role"] == "toolResult"]
    assert result["content"][0]["text"] == "a\u2028b\u2029c\x85d\re"
    assert len(data.decode().splitlines()) == data.count(b"\n")


def test_bytes_that_are_no_utf8_are_replaced_and_counted(project: Project) -> None:
    project.script(
        "turns: [{tool_calls: [{name: bash, arguments: {command: \"printf 'a\\\\377\\\\376b'\"}}]}, "
        "{text: ok}]\n"
    )

    done = run("agent.yaml", "go", cwd=project.folder)

    (end,) = done.of_type("tool_execution_end")
    assert end["details"]["invalid_utf8_bytes"] == 2


def test_a_huge_output_is_cut_for_the_model_and_whole_beside_the_record(project: Project) -> None:
    project.script(
        "turns: [{tool_calls: [{name: bash, arguments: "
        "{command: 'head -c 50000000 /dev/zero | tr \"\\\\0\" x'}}]}, {text: ok}]\n"
    )

    done = run("agent.yaml", "go", cwd=project.folder)

    (end,) = done.of_type("tool_execution_end")
    (result,) = [r["message"] for r in done.of_type("message_end") if r["message"]["role"] == "toolResult"]
    path = Path(end["details"]["full_output_path"])
    assert path.parent == done.transcript.with_suffix(".files")
    assert path.stat().st_size == 50_000_000
    assert len(result["content"][0]["text"]) < 60_000


FAILURES: dict[str, tuple[int, list[str]]] = {
    "unknown flag": (2, ["agent.yaml", "go", "--no-such-flag"]),
    "no file": (2, ["missing.yaml", "go"]),
    "no prompt": (2, ["agent.yaml"]),
    "unknown provider": (2, ["agent.yaml", "go", "--model", "nobody/x"]),
    "no key": (2, ["agent.yaml", "go", "--model", "openai/gpt-5"]),
    "no server": (4, ["agent.yaml", "go", "--model", "llamacpp/x"]),
    "read-only transcript": (14, ["agent.yaml", "go", "--transcript", "/proc/none/run.jsonl"]),
    "transcript exists": (14, ["agent.yaml", "go", "--transcript", "agent.yaml"]),
}


@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_is_one_whole_document_with_a_cause(project: Project, name: str) -> None:
    code, arguments = FAILURES[name]

    done = run(*arguments, "--format", "json", "-o", "r.json", cwd=project.folder)

    assert done.code == code
    assert done.result["exit"]["code"] == code
    assert (done.result["status"], done.result["answer"]) == ("error", None)
    assert done.result["reason"]
    assert json.loads((project.folder / "r.json").read_text()) == done.result
    assert done.stderr.strip()


@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_leaves_standard_output_empty_in_text_mode(project: Project, name: str) -> None:
    code, arguments = FAILURES[name]

    done = run(*arguments, cwd=project.folder)

    assert (done.code, done.stdout) == (code, "")


def test_an_output_that_cannot_be_written_is_in_the_record(project: Project) -> None:
    done = run("agent.yaml", "go", "-o", "/proc/none/r.json", cwd=project.folder)

    assert (done.code, done.stdout) == (14, "")
    assert done.records[-1]["exit"] == {"code": 14, "name": "transcript_error"}
    assert "/proc/none/r.json: cannot write" in done.records[-1]["reason"]


@pytest.mark.parametrize("limit", [3000, 6000, 20_000])
def test_a_full_disk_is_told_everywhere_it_still_can(project: Project, limit: int) -> None:
    """The limit hits at the head of the record, in its middle, and not at all."""
    project.script(
        "turns: [{tool_calls: [{name: bash, arguments: {command: 'echo {1..300}'}}], repeat: 3}, "
        "{text: ok}]\n"
    )

    done = limited_run(project.folder, limit)

    result, records = done.result, done.records
    assert done.code == result["exit"]["code"] == (0 if limit == 20_000 else 14)
    assert [record["seq"] for record in records] == list(range(len(records)))
    if done.code == 14:
        assert "File too large" in result["reason"]
        assert records[-1]["type"] != "run_finished"


def limited_run(folder: Path, limit: int) -> Ended:
    """A run that may write files of `limit` bytes only."""
    import resource
    import subprocess

    from tests.runner import PROGRAM, environment

    def tighten() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [PROGRAM, "agent.yaml", "go", "--format", "json"],
        cwd=folder,
        # Python 3.11 would leave compiled modules that are cut short behind.
        env=environment({"PYTHONDONTWRITEBYTECODE": "1"}),
        capture_output=True,
        stdin=subprocess.DEVNULL,
        preexec_fn=tighten,
    )
    return Ended(done.returncode, done.stdout, done.stderr, folder)


@pytest.mark.parametrize(
    "place",
    [
        "core.agent.Agent.prompt",
        "runtime.guard.Guard.before_request",
        "providers.scripted.Scripted._turn",
        "cli.deliver.Delivery.write_files",
        "report.tally.Tally.result",
    ],
)
def test_a_fault_of_ours_is_a_traceback_in_the_record(project: Project, tmp_path: Path, place: str) -> None:
    """Our own code is made to fail from outside: the nearest thing to a defect."""
    module, owner, method = place.rsplit(".", 2)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        f"from agentcore_runner.{module} import {owner}\n"
        "def fail(*args, **more): raise RuntimeError('a defect')\n"
        f"{owner}.{method} = fail\n"
    )

    done = run("agent.yaml", "go", cwd=project.folder, env={"PYTHONPATH": str(broken)})

    last: dict[str, Any] = done.records[-1]
    assert (done.code, done.stdout, last["type"]) == (70, "", "run_finished")
    assert last["exit"] == {"code": 70, "name": "internal_error"}
    assert "RuntimeError: a defect" in last["traceback"]
    assert "RuntimeError: a defect" in done.stderr


def test_no_transcript_means_no_folder(project: Project) -> None:
    done = run("agent.yaml", "go", "--transcript", "none", "--format", "json", cwd=project.folder)

    assert (done.code, done.result["transcript"]) == (0, None)
    assert not (project.folder / ".agentcore").exists()


def test_our_folder_keeps_itself_out_of_git(project: Project) -> None:
    run("agent.yaml", "go", cwd=project.folder)

    assert (project.folder / ".agentcore/.gitignore").read_text() == "*\n"


def test_a_dry_run_shows_the_budget_and_warns_like_a_run(project: Project) -> None:
    base = "schema_version: 1\nname: demo\nmodel: {id: MODEL, api_key_env: SOME_KEY}\nprompt: Hi\n"
    key = {"SOME_KEY": "sk-secret-123"}
    project.agent(
        "thinking_level: {budget_tokens: 5000}\n", base.replace("MODEL", "anthropic/claude-haiku-4-5")
    )
    budget = run("agent.yaml", "--dry-run", cwd=project.folder, env=key)
    project.agent("thinking_level: max\n", base.replace("MODEL", "openai/gpt-4.1"))

    warned = run("agent.yaml", "--dry-run", cwd=project.folder, env=key)

    assert budget.result["body"]["thinking"]["budget_tokens"] == 5000
    assert (warned.code, warned.stderr.count("warning: thinking_level 'max' is not sent")) == (0, 1)
    assert "sk-secret" not in budget.stdout + warned.stdout


def test_cached_tokens_without_a_price_cost_as_much_as_others(project: Project) -> None:
    cost = "cost: {input: 1, output: 2}"
    base = f"schema_version: 1\nname: demo\nmodel: {{id: scripted/script.yaml, {cost}}}\n"
    project.agent("", base)
    project.script("turns: [{text: x, usage: {input: 100000, cache_read: 900000, output: 0}}]\n")

    assert run("agent.yaml", "go", "--format", "json", cwd=project.folder).result["cost_usd"] == 1.0
