"""The same from Python: sync, async, and events as they happen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import agentcore_runner
from agentcore_runner import ConfigError, RunResult, load_agent, run, run_async, stream
from agentcore_runner.core.events import AgentEndEvent, AgentEvent, ToolExecutionEndEvent
from tests.runner import records_of


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.yaml").write_text(
        "schema_version: 1\nname: demo\nmodel: scripted/script.yaml\ntools: [bash]\n"
        "inputs: {who: {type: string, default: you}}\nprompt: Hello {{ inputs.who }}\n"
    )
    (tmp_path / "script.yaml").write_text(
        "turns: [{tool_calls: [{name: bash, arguments: {command: echo hi}}]}, {text: 'To: {{ prompt }}'}]\n"
    )
    return "agent.yaml"


def test_a_run_gives_its_result_and_leaves_its_record(agent: str, tmp_path: Path) -> None:
    result = run(agent, inputs={"who": "them"})

    assert (result.status, result.answer, result.turns) == ("completed", "To: Hello them", 2)
    assert result.transcript is not None
    assert records_of(tmp_path / result.transcript)[-1]["type"] == "run_finished"


def test_a_loaded_definition_runs_as_often_as_one_likes(agent: str) -> None:
    definition = load_agent(agent)

    answers = [run(definition, f"go {n}", transcript="none").answer for n in range(2)]

    assert answers == ["To: go 0", "To: go 1"]


def test_events_arrive_while_the_run_goes_on(agent: str) -> None:
    seen: list[AgentEvent] = []

    async def listen(event: AgentEvent) -> None:
        seen.append(event)

    result = asyncio.run(run_async(agent, on_event=listen))

    assert result.status == "completed"
    assert [type(event) for event in seen].count(ToolExecutionEndEvent) == 1
    assert isinstance(seen[-1], AgentEndEvent)


def test_a_stream_ends_with_the_result(agent: str) -> None:
    async def collect() -> list[AgentEvent | RunResult]:
        return [item async for item in stream(agent)]

    items = asyncio.run(collect())

    assert isinstance(items[-1], RunResult)
    assert isinstance(items[-2], AgentEndEvent)


def test_leaving_a_stream_early_ends_the_run_and_closes_its_record(agent: str, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("turns: [{text: never, delay: 60}]\n")

    async def leave() -> None:
        events = stream(agent)
        async for _ in events:
            break
        await events.aclose()

    asyncio.run(asyncio.wait_for(leave(), 10))

    (path,) = tmp_path.glob(".agentcore/runs/*.jsonl")
    last = records_of(path)[-1]
    assert (last["type"], last["status"]) == ("run_finished", "interrupted")


def test_a_listener_that_raises_is_a_warning_and_changes_nothing(agent: str, tmp_path: Path) -> None:
    def fail(event: AgentEvent) -> None:
        if isinstance(event, AgentEndEvent):
            raise ValueError("not my day")

    result = run(agent, on_event=fail)

    assert (result.status, result.transcript is not None) == ("completed", True)
    (path,) = tmp_path.glob(".agentcore/runs/*.jsonl")
    warnings = [record["message"] for record in records_of(path) if record["type"] == "warning"]
    assert warnings == ["listener failed: ValueError('not my day')"]


def test_a_mistake_is_raised_with_its_places(agent: str, tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(
        "schema_version: 1\nname: demo\nmodel: vllm/b\nlimits: {max_trns: 2}\n"
    )

    with pytest.raises(ConfigError) as caught:
        run(agent, "go")

    assert [(p.line, p.column, p.rule) for p in caught.value.problems] == [(4, 10, "unknown-key")]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"limits": {"max_turn": 1}}, "there is no limit 'max_turn' (did you mean 'max_turns'?)"),
        ({"limits": {"timeout": "5m"}}, "limits.timeout: expected a number of at least 0, found '5m'"),
        ({"thinking_level": "hgih"}, "there is no thinking level 'hgih'"),
        ({"cwd": "nowhere"}, "working directory nowhere is not a directory"),
        ({"inputs": {"whom": 1}}, "the agent has no input 'whom' (did you mean 'who'?)"),
    ],
)
def test_a_wrong_argument_is_a_config_error(agent: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run(agent, **options)

    assert sentence in str(caught.value)


def test_a_cancelled_run_closes_its_record(agent: str, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("turns: [{text: never, delay: 60}]\n")

    async def give_up() -> None:
        await asyncio.wait_for(run_async(agent), 0.5)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())

    (path,) = tmp_path.glob(".agentcore/runs/*.jsonl")
    last = records_of(path)[-1]
    assert (last["type"], last["status"], last["reason"]) == (
        "run_finished",
        "interrupted",
        "Aborted: cancelled.",
    )


def test_every_public_name_is_there() -> None:
    assert all(getattr(agentcore_runner, name) is not None for name in agentcore_runner.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = agentcore_runner.nothing  # type: ignore[attr-defined]
