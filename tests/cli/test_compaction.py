"""A run whose conversation outgrows its model: `compaction` in the agent file, and what the record says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Project
from tests.runner import Ended, run

AGENT = """\
schema_version: 1
name: demo
model: {id: scripted/script.yaml, context_window: 4000}
tools: [bash]
follow_ups: [second, LAST]
""".replace("LAST", "last " * 800)
COMPACTION = "compaction: {reserve_tokens: 400, keep_recent_tokens: 500}\n"
BY_ANOTHER = COMPACTION.replace("}", ", model: scripted/writer.yaml}")
PROMPT = "word " * 600
"""750 tokens."""
ANSWER = "{text: '" + "fact " * 800 + "'}"
"""1,000 tokens."""
SUMMARY = "{text: The summary.}"
TOO_LONG = "{error: {kind: overflow, message: prompt is too long}}"


def played(project: Project, *turns: str, more: str = COMPACTION) -> Ended:
    project.agent(more, AGENT)
    project.script(f"turns: [{', '.join(turns)}]\n")
    (project.folder / "writer.yaml").write_text("turns: [{text: By another., repeat: 100}]\n")
    return run("agent.yaml", PROMPT, "--format", "json", cwd=project.folder)


def story(done: Ended) -> list[str]:
    """The records that tell how the conversation went."""
    shown = ("message_end", "compaction_start", "compaction_end", "retry")
    return [
        record["message"]["role"] if record["type"] == "message_end" else record["type"]
        for record in done.records
        if record["type"] in shown
    ]


def checked(done: Ended) -> int:
    return run("show", "--check", str(done.transcript), cwd=done.cwd).code


def test_a_conversation_that_grows_too_long_goes_on_from_a_summary(project: Project) -> None:
    done = played(project, ANSWER, ANSWER, SUMMARY, "{text: The end.}")

    assert (done.code, done.result["answer"]) == (0, "The end.")
    assert story(done) == [
        "user", "assistant", "user", "assistant", "user", "compaction_start", "compaction_end", "assistant",
    ]  # fmt: skip
    (start,) = done.of_type("compaction_start")
    (end,) = done.of_type("compaction_end")
    assert (start["reason"], start["turn"], start["model"]) == ("threshold", 2, "scripted/script.yaml")
    assert end["summary"]["summary"] == "The summary."
    assert end["summary"]["tokens_before"] == start["tokens_before"] > 3600 > end["tokens_after"]
    assert end["first_kept"] == done.of_type("message_end")[4]["seq"]
    assert (end["replaced"], end["aborted"], end["will_retry"], end["error_message"]) == (
        [], False, False, None,
    )  # fmt: skip
    used = [message["message"].get("usage") for message in done.of_type("message_end")] + [end["usage"]]
    assert done.result["usage"]["total_tokens"] == sum(usage["total_tokens"] for usage in used if usage)
    assert f"compacted: about {start['tokens_before']:,} tokens became {end['tokens_after']:,}" in done.stderr
    assert checked(done) == 0


def test_the_record_shows_what_was_compacted(project: Project) -> None:
    done = played(project, ANSWER, ANSWER, SUMMARY, "{text: The end.}")

    shown = run("show", str(done.transcript), cwd=done.cwd).stdout

    (end,) = done.of_type("compaction_end")
    before, after = end["summary"]["tokens_before"], end["tokens_after"]
    head = f"[compacted: about {before:,} tokens became {after:,}, threshold]"
    assert f"{head}\nsummary:\n  The summary.\n" in shown


def test_a_request_that_was_too_long_is_made_again_from_a_summary(project: Project) -> None:
    done = played(project, "{text: a}", TOO_LONG, "{text: b}", "{text: The end.}", more=BY_ANOTHER)

    assert (done.code, done.result["answer"], done.result["turns"]) == (0, "The end.", 3)
    assert story(done)[:7] == [
        "user", "assistant", "user", "compaction_start", "compaction_end", "retry", "assistant",
    ]  # fmt: skip
    end = done.of_type("compaction_end")[0]
    assert (end["reason"], end["will_retry"]) == ("overflow", True)
    (error,) = done.result["errors"]
    assert (error["class"], error["message"]) == ("overflow", "prompt is too long")
    assert checked(done) == 0


def test_a_request_that_is_too_long_again_ends_the_run_with_code_10(project: Project) -> None:
    done = played(project, "{text: a}", TOO_LONG, TOO_LONG, "{text: never}", more=BY_ANOTHER)

    assert (done.code, done.result["exit"]["name"]) == (10, "context_overflow")
    assert len(done.of_type("compaction_start")) == 1
    assert len(done.result["errors"]) == 2
    assert checked(done) == 0


@pytest.mark.parametrize("more", ["compaction: {enabled: false}\n", COMPACTION], ids=["off", "one message"])
def test_where_nothing_can_be_compacted_an_overflow_ends_the_run(project: Project, more: str) -> None:
    done = played(project, TOO_LONG, "{text: never}", more=more)

    assert (done.code, done.result["exit"]["name"]) == (10, "context_overflow")
    ends = done.of_type("compaction_end")
    assert [end["summary"] for end in ends] == ([None] if more == COMPACTION else [])
    assert checked(done) == 0


def test_a_summary_that_fails_is_said_and_the_run_goes_on(project: Project) -> None:
    refused = "{stop_reason: refused}"

    done = played(project, ANSWER, ANSWER, refused, "{text: The end.}")

    assert (done.code, done.result["answer"]) == (0, "The end.")
    (end,) = done.of_type("compaction_end")
    assert (end["summary"], end["first_kept"], end["error_message"]) == (
        None, None, "the model refused to write a summary",
    )  # fmt: skip
    why = "the conversation could not be made shorter: the model refused to write a summary"
    assert f"warning: {why}" in done.stderr
    assert checked(done) == 0


def test_another_model_may_write_the_summaries(project: Project) -> None:
    done = played(project, ANSWER, ANSWER, "{text: The end.}", more=BY_ANOTHER)

    (end,) = done.of_type("compaction_end")
    assert (end["model"], end["summary"]["summary"]) == ("scripted/writer.yaml", "By another.")
    assert done.result["model"] == "scripted/script.yaml"
    assert set(done.result["usage"]["by_model"]) == {"scripted/script.yaml", "scripted/writer.yaml"}
    assert "no LLM was asked" in done.stderr


def test_the_model_flag_replaces_the_one_for_summaries_too(project: Project) -> None:
    more = COMPACTION.replace("}", ", model: {id: openai/gpt-5-nano, api_key_env: NO_SUCH_KEY}}")
    project.agent(more, AGENT.replace("scripted/script.yaml", "openai/gpt-5-mini"))
    project.script(f"turns: [{', '.join(['{text: ok}'] * 3)}]\n")

    with_flag = run("agent.yaml", "go", "--model", "scripted/script.yaml", cwd=project.folder)
    without = run("agent.yaml", "go", cwd=project.folder)

    assert (with_flag.code, without.code) == (0, 2)
    assert "agent.yaml:6:" in without.stderr
    assert "NO_SUCH_KEY" in without.stderr


def test_a_mistake_in_the_model_for_summaries_has_its_place(project: Project) -> None:
    project.agent("compaction: {model: {id: nowhere/x}}\n", AGENT)

    done = run("validate", "agent.yaml", cwd=project.folder)

    assert done.code == 2
    assert "agent.yaml:6:26: error[model]: model 'nowhere/x'" in done.stdout + done.stderr


def test_headers_of_both_models_are_kept_out_of_the_record(project: Project) -> None:
    more = "compaction: {model: {id: scripted/script.yaml, headers: {X-Token: hush}}}\n"

    done = played(project, *["{text: ok}"] * 3, more=more)

    assert done.code == 0
    assert "hush" not in done.transcript.read_text()
    definition: dict[str, Any] = done.records[0]["definition"]
    assert definition["compaction"]["model"]["headers"] == {"X-Token": "***"}
