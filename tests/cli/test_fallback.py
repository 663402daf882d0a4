"""When a model fails for good, the next of `fallback` goes on (note B55)."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Project
from tests.runner import Ended, run

LIMITED = "{error: {status: 429, message: quota is used up, retry_after: 999s}}"
OVERLOADED = "{text: half an ans, error: {status: 529, message: overloaded, after: 8, times: 4}}"
FALLBACK = "fallback: [scripted/second.yaml, {id: scripted/third.yaml, on: [auth, context_overflow]}]\n"


def played(project: Project, *turns: str, more: str = FALLBACK, args: tuple[str, ...] = ()) -> Ended:
    project.agent(more)
    project.script(f"turns: [{', '.join(turns)}]\n")
    for name in ("second", "third"):
        text = f"turns: [{{text: The answer of the {name}., repeat: 9}}]\n"
        path = project.folder / f"{name}.yaml"
        if not path.exists():
            path.write_text(text)
    return run("agent.yaml", "go", "--format", "json", *args, cwd=project.folder)


def test_another_model_goes_on_where_the_first_fails_for_good(project: Project) -> None:
    done = played(project, LIMITED)

    assert (done.code, done.result["answer"]) == (0, "The answer of the second.")
    assert done.result["model"] == "scripted/second.yaml"
    (record,) = done.of_type("model_fallback")
    assert {key: record[key] for key in ("from", "to", "thinking_level", "reason", "turn")} == {
        "from": "scripted/script.yaml",
        "to": "scripted/second.yaml",
        "thinking_level": "off",
        "reason": "rate_limit",
        "turn": 0,
    }
    assert "quota is used up" in record["message"]
    assert [error["class"] for error in done.result["errors"]] == ["rate_limit"]
    assert "warning: scripted/script.yaml failed (" in done.stderr
    assert "scripted/second.yaml goes on\n" in done.stderr
    assert run("show", "--check", str(done.transcript), cwd=done.cwd).code == 0
    shown = run("show", str(done.transcript), cwd=done.cwd).stdout
    assert "scripted/second.yaml goes on]" in shown


def test_what_the_failed_model_said_is_void_and_its_message_is_not_kept(project: Project) -> None:
    done = played(project, OVERLOADED, args=("--partial",))

    assert done.result["answer"] == "The answer of the second."
    types = [record["type"] for record in done.records if record.get("turn") == 0]
    assert types.count("message_end") == 2
    assert [r["message"]["model"] for r in done.of_type("message_end")[1:]] == ["second.yaml"]
    assert types.index("model_fallback") > types.index("retry")


def test_a_model_that_failed_is_not_asked_again(project: Project) -> None:
    call = "{tool_calls: [{name: bash, arguments: {command: 'true'}}]}"
    (project.folder / "second.yaml").write_text(f"turns: [{call}, {{text: Twice the second.}}]\n")

    done = played(project, LIMITED, "{text: never}")

    assert (done.result["answer"], done.result["turns"]) == ("Twice the second.", 2)
    assert len(done.of_type("model_fallback")) == 1


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        ("{status: 401, message: no}", "The answer of the third."),
        ("{kind: overflow, message: too long}", "The answer of the third."),
        ("{status: 404, message: no such model}", "The answer of the second."),
        ("{kind: connection, message: reset, times: 4}", "The answer of the second."),
    ],
)
def test_each_fallback_goes_on_after_failures_of_its_own(project: Project, error: str, answer: str) -> None:
    assert played(project, f"{{error: {error}}}").result["answer"] == answer


def test_a_failure_that_no_fallback_is_there_for_ends_the_run(project: Project) -> None:
    done = played(project, "{error: {status: 400, message: bad}}")

    assert (done.code, done.result["exit"]["name"]) == (4, "provider_error")
    assert done.of_type("model_fallback") == []


def test_when_all_fail_the_last_failure_is_the_result(project: Project) -> None:
    (project.folder / "second.yaml").write_text(f"turns: [{LIMITED}]\n")

    done = played(project, "{error: {status: 404, message: no such model}}")

    assert (done.code, done.result["exit"]["name"]) == (5, "rate_limited")
    assert [error["class"] for error in done.result["errors"]] == ["bad_request", "rate_limit"]


def test_a_refusal_may_be_a_reason_to_ask_another(project: Project) -> None:
    more = "fallback: [{id: scripted/second.yaml, on: [refused]}]\n"

    done = played(project, "{text: I cannot., stop_reason: refused}", more=more)

    assert (done.code, done.result["answer"]) == (0, "The answer of the second.")


def test_the_model_flag_asks_that_model_alone(project: Project) -> None:
    done = played(project, LIMITED, args=("--model", "scripted/script.yaml"))

    assert (done.code, done.of_type("model_fallback")) == (5, [])


def test_a_mistake_in_a_fallback_has_its_place(project: Project) -> None:
    project.agent("fallback: [nowhere/x]\n")

    done = run("validate", "agent.yaml", cwd=project.folder)

    assert done.code == 2
    assert "agent.yaml:5:12: error[model]: model 'nowhere/x'" in done.stderr


def test_a_level_that_a_model_does_not_have_may_be_an_error(project: Project) -> None:
    base = "schema_version: 1\nname: demo\nmodel: {id: ollama/x, base_url: 'http://127.0.0.1:9/v1'}\n"
    project.agent("thinking_level: high\n", base)
    warned = run("agent.yaml", "go", "--dry-run", cwd=project.folder)
    project.agent("thinking_level: high\nthinking_unsupported: error\n", base)

    refused = run("agent.yaml", "go", "--dry-run", cwd=project.folder)

    assert (warned.code, refused.code) == (0, 2)
    assert "thinking_level 'high' is not sent" in refused.stderr
    assert "thinking_unsupported is 'error'" in refused.stderr


def test_the_model_that_goes_on_gets_what_fits_its_window(project: Project) -> None:
    small = "{id: scripted/second.yaml, context_window: 4000}"
    more = (
        f"fallback: [{small}]\nfollow_ups: [two, three]\n"
        "compaction: {reserve_tokens: 400, keep_recent_tokens: 500, model: scripted/third.yaml}\n"
    )
    long = "{text: '" + "fact " * 1600 + "'}"

    done = played(project, long, long, LIMITED, more=more)

    assert (done.code, done.result["answer"]) == (0, "The answer of the second.")
    end = done.of_type("compaction_end")[0]
    assert end["reason"] == "threshold"
    assert end["tokens_after"] < 3600
    kinds = [r["type"] for r in done.records if r["type"] in ("model_fallback", "compaction_start", "retry")]
    assert kinds == ["model_fallback", "retry", "compaction_start"]
    assert run("show", "--check", str(done.transcript), cwd=done.cwd).code == 0


def test_a_wait_that_is_too_long_is_judged_by_what_it_was_for(project: Project) -> None:
    more = "fallback: [{id: scripted/second.yaml, on: [overloaded]}]\n"

    done = played(project, "{error: {status: 503, message: busy, retry_after: 999s}}", more=more)

    assert (done.code, done.result["answer"]) == (0, "The answer of the second.")


def test_usage_of_a_refusal_counts_for_the_model_that_refused(project: Project) -> None:
    more = "fallback: [{id: scripted/second.yaml, on: [refused]}]\n"
    refused = "{text: I cannot., stop_reason: refused, usage: {input: 100, output: 7}}"

    done = played(project, refused, more=more)

    by_model = done.result["usage"]["by_model"]
    assert by_model["scripted/script.yaml"]["total_tokens"] == 107
