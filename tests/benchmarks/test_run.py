"""The benchmark measures equal work, and says so when a run did not do it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from benchmarks import measure, plain_loop
from benchmarks.run import SCENARIOS, main

ROOT = Path(__file__).parents[2]
TURNS_2 = measure.Scenario("T", "two tool turns", turns=2, tokens=3, must={})


def test_both_sides_are_given_the_same_system_prompt() -> None:
    agent = yaml.safe_load((measure.HERE / "agent.yaml").read_text(encoding="utf-8"))

    assert agent["system_prompt"] == plain_loop.SYSTEM


def test_plain_loop_runs_the_tool_and_prints_the_answer(tmp_path: Path) -> None:
    record = tmp_path / "record"
    with measure.Server() as server:
        command = [sys.executable, str(measure.HERE / "plain_loop.py"), server.url(TURNS_2), str(record)]

        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        turns = [turn for _, _, turn in server.requests()]

    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert answer == "the run and \n"
    assert turns == [0, 1, 2]
    assert [line["type"] for line in lines] == ["start", *["assistant", "tool"] * 2, "assistant", "end"]
    assert [line["code"] for line in lines if line["type"] == "tool"] == [0, 0]


def test_a_run_that_does_not_do_the_work_is_no_measurement() -> None:
    idle = [sys.executable, "-c", "import sys; sys.exit('no, thanks')"]
    said = r"(?s)T: .* with code 1 after 0 requests.*no, thanks"

    with measure.Server() as server, pytest.raises(measure.Broken, match=said):
        measure.cost_of(server, TURNS_2, idle)


def test_command_prints_a_row_for_each_measure(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--noise", "--pairs", "1", "--only", "S1"])

    where, _, head, _, *rows = capsys.readouterr().out.splitlines()
    assert code == 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\d, agentcore-runner .*, \d+ cores, .*\. Medians of 1 pairs\.", where)
    assert head == "| scenario | measure | plain loop again | plain loop | ratio | must | kept |"
    assert [row.split(" | ")[:2] for row in rows] == [
        ["| S1 start-up and one short answer", measure] for measure in ("wall", "CPU", "memory")
    ]


def test_ours_does_the_same_requests_as_the_plain_loop() -> None:
    with measure.Server() as server:
        cost = measure.agentcore_run(server, TURNS_2)

    assert cost.peak_mib > 0


def test_every_bound_names_a_measure() -> None:
    named = {measure for scenario in SCENARIOS for measure in scenario.must}

    assert named <= {"wall", "CPU", "growth"}
