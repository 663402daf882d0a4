"""Limits end a run with code 3 and name themselves (note B20)."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Project
from tests.runner import run

CALLER = "turns: [{tool_calls: [{name: bash, arguments: {command: 'echo {{ turn }}'}}], repeat: 100}]\n"
SAME = "turns: [{tool_calls: [{name: bash, arguments: {command: 'true'}}], repeat: 100}]\n"


def test_the_turn_limit_is_named_with_its_value(project: Project) -> None:
    project.agent("limits: {max_turns: 2}\n")
    project.script(CALLER)

    done = run("agent.yaml", "go", "--format", "json", cwd=project.folder)

    assert done.code == 3
    assert done.result["limit"] == {"name": "max_turns", "value": 2, "used": 2, "key": "limits.max_turns"}
    assert done.result["reason"] == (
        "Stopped by limits.max_turns: 2 of 2 used; raise limits.max_turns (or --max-turns) to go on."
    )
    assert done.result["reason"] in done.stderr
    assert (done.result["turns"], done.result["tool_calls"]) == (2, 2)
    assert [r["key"] for r in done.of_type("limit_warning")] == ["limits.max_turns"]


def test_calls_past_the_limit_do_not_run_and_have_results(project: Project) -> None:
    project.agent("limits: {max_tool_calls: 1}\n")
    project.script(
        "turns: [{tool_calls: [{name: bash, arguments: {command: touch one}}, "
        "{name: bash, arguments: {command: touch two}}]}, {text: never}]\n"
    )

    done = run("agent.yaml", "go", "--format", "json", cwd=project.folder)

    assert (done.code, done.result["limit"]["key"]) == (3, "limits.max_tool_calls")
    assert ((project.folder / "one").exists(), (project.folder / "two").exists()) == (True, False)
    assert [r["is_error"] for r in done.of_type("tool_execution_end")] in ([True, False], [False, True])


def test_all_tool_calls_used_up_still_leaves_an_answer(project: Project) -> None:
    project.agent("limits: {max_tool_calls: 1}\n")
    project.script("turns: [{tool_calls: [{name: bash, arguments: {command: 'true'}}]}, {text: done}]\n")

    done = run("agent.yaml", "go", cwd=project.folder)

    assert (done.code, done.stdout) == (0, "done\n")


def test_the_same_call_over_and_over_ends_the_run(project: Project) -> None:
    project.script(SAME)

    done = run("agent.yaml", "go", "--format", "json", cwd=project.folder)

    assert done.result["limit"] == {
        "name": "max_repeated_calls",
        "value": 5,
        "used": 5,
        "key": "limits.max_repeated_calls",
    }
    assert (done.code, done.result["turns"]) == (3, 5)


@pytest.mark.parametrize(
    ("written", "flags", "code", "turns"),
    [
        ("limits: {max_turns: 4}\n", ["--max-turns", "2"], 3, 2),
        ("limits: {max_turns: 4}\n", ["--max-turns", "6"], 2, 0),
        ("limits: {max_turns: 4}\n", ["--max-turns", "6", "--raise-limits"], 3, 6),
        ("", ["--max-turns", "60"], 3, 60),
    ],
)
def test_a_flag_tightens_and_loosens_only_on_demand(
    project: Project, written: str, flags: list[str], code: int, turns: int
) -> None:
    project.agent(written)
    project.script(CALLER)

    done = run("agent.yaml", "go", "--format", "json", *flags, cwd=project.folder)

    assert (done.code, done.result["turns"]) == (code, turns)
    if code == 2:
        assert "--max-turns 6 loosens limits.max_turns, which agent.yaml sets to 4" in done.stderr


def test_the_time_of_context_commands_counts(project: Project) -> None:
    project.agent("context: [{name: slow, command: [sleep, '30']}]\nprompt: x{{ context.slow }}\n")

    done = run("agent.yaml", "--timeout", "500ms", cwd=project.folder, timeout=10)

    assert done.code == 3
    assert "limit_reached (3): Stopped by limits.timeout while context 'slow' was gathered" in done.stderr


def test_silence_is_marked_every_fifteen_seconds(project: Project) -> None:
    project.script("turns: [{text: at last, delay: 16}]\n")

    done = run("agent.yaml", "go", cwd=project.folder)

    assert (done.code, len(done.of_type("heartbeat"))) == (0, 1)


def test_a_tool_call_that_was_cut_twice_ends_as_truncated(project: Project) -> None:
    cut = '{tool_calls: [{name: bash, raw_arguments: \'{"command": "touch ran\'}], stop_reason: length}'
    project.script(f"turns: [{cut}, {cut}, {{text: never}}]\n")

    done = run("agent.yaml", "go", "--format", "json", cwd=project.folder)

    assert (done.code, done.result["exit"]["name"], done.result["turns"]) == (8, "truncated", 2)
    assert not (project.folder / "ran").exists()
