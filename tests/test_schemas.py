"""The published schemas are those of the code, and what a run writes satisfies them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.runner import run

ROOT = Path(__file__).parents[1]


def schema(which: str) -> dict[str, object]:
    return json.loads((ROOT / f"schemas/{which}.v1.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("which", ["agent", "events", "result"])
def test_the_published_schema_is_the_one_the_command_prints(which: str, tmp_path: Path) -> None:
    done = run("schema", which, cwd=tmp_path)

    assert (done.code, done.result) == (0, schema(which))
    Draft202012Validator.check_schema(done.result)


def test_every_record_and_result_of_a_run_satisfies_its_schema(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(
        "schema_version: 1\nname: demo\nmodel: scripted/script.yaml\ntools: [bash]\n"
        "system_prompt: Hello\nlimits: {max_turns: 2}\n"
    )
    (tmp_path / "script.yaml").write_text(
        "turns:\n"
        "  - text: one\n    thinking: hm\n    error: {status: 503, times: 1}\n"
        "    tool_calls: [{name: bash, arguments: {command: 'false'}}]\n"
        "  - {text: two, tool_calls: [{name: bash, raw_arguments: '{'}]}\n"
    )

    done = run("agent.yaml", "go", "--format", "json", "--partial", cwd=tmp_path)

    records = Draft202012Validator(schema("events"))
    assert {record["type"] for record in done.records} >= {"retry", "limit_warning", "message_update"}
    for record in done.records:
        records.validate(record)
    Draft202012Validator(schema("result")).validate(done.result)
