"""What the model service does wrong, seen from the shell (notes B08–B17, B22, B37, B43–B62)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.cli.conftest import Project
from tests.runner import Ended, run
from tests.servers.chat_server import (
    DONE,
    Answer,
    ChatServer,
    Drop,
    Hang,
    Reply,
    chunk,
    error_reply,
    json_reply,
    pings,
    sse,
    text_reply,
    text_steps,
    tool_reply,
    usage,
)

TRUE = ("bash", {"command": "true"})


def ask(
    project: Project, replies: Sequence[Answer], *flags: str, limits: str = ""
) -> tuple[Ended, ChatServer]:
    """A run against a server that gives these replies."""
    project.agent(limits, base="schema_version: 1\nname: demo\nmodel: openai/mock\ntools: [bash]\n")
    with ChatServer(replies) as server:
        done = run(
            "agent.yaml",
            "go",
            "--format",
            "json",
            *flags,
            cwd=project.folder,
            env={"OPENAI_BASE_URL": server.url},
        )
    return done, server


def outcome(done: Ended) -> tuple[int, str, Any]:
    """Exit code, status and answer, which must agree with the last record."""
    assert done.records[-1]["exit"] == done.result["exit"] == {**done.result["exit"], "code": done.code}
    return done.code, done.result["status"], done.result["answer"]


def test_a_good_answer_has_usage_and_the_model_that_gave_it(project: Project) -> None:
    done, server = ask(project, [text_reply("Hel", "lo")])

    assert outcome(done) == (0, "completed", "Hello")
    assert done.result["model"] == "openai/mock"
    assert done.result["usage"] == {
        "input": 10,
        "output": 3,
        "cache_read": 2,
        "cache_write": 0,
        "total_tokens": 15,
        "by_model": {
            "openai/mock": {"input": 10, "output": 3, "cache_read": 2, "cache_write": 0, "total_tokens": 15}
        },
    }
    assert (done.result["cost_usd"], done.result["cost_known"]) == (None, False)
    assert [m["role"] for m in server.bodies[0]["messages"]] == ["user"]


def test_turns_have_numbers_and_usage_of_their_own_that_sums_up(project: Project) -> None:
    done, server = ask(project, [tool_reply(TRUE), text_reply("done")])

    messages = [r for r in done.of_type("message_end") if r["message"]["role"] == "assistant"]
    assert [r["turn"] for r in messages] == [0, 1]
    assert (
        sum(r["message"]["usage"]["total_tokens"] for r in messages) == done.result["usage"]["total_tokens"]
    )
    assert [m["role"] for m in server.bodies[1]["messages"]] == ["user", "assistant", "tool"]
    assert server.connections == 1


@pytest.mark.parametrize(
    ("reply", "code", "requests", "retryable", "kind"),
    [
        (error_reply(500, "broken", retry_after_ms="1"), 4, 4, True, "server"),
        (error_reply(429, "slow down", retry_after_ms="1"), 5, 4, True, "rate_limit"),
        (error_reply(400, "no such parameter"), 4, 1, False, "bad_request"),
        (error_reply(404, "no such model"), 4, 1, False, "bad_request"),
        (error_reply(401, "bad key"), 6, 1, False, "auth"),
        (error_reply(403, "not yours"), 6, 1, False, "auth"),
    ],
)
def test_each_class_of_failure_has_its_code(
    project: Project, reply: Reply, code: int, requests: int, retryable: bool, kind: str
) -> None:
    done, server = ask(project, [reply] * 9)

    assert outcome(done) == (code, "error", None)
    assert len(server.requests) == requests
    assert done.result["retryable"] is retryable
    assert [error["class"] for error in done.result["errors"]] == [kind] * requests
    assert [error["attempt"] for error in done.result["errors"]] == list(range(1, requests + 1))
    assert [record["attempt"] for record in done.of_type("retry")] == list(range(1, requests))


def test_failures_that_pass_are_retries_and_nothing_more(project: Project) -> None:
    done, _ = ask(project, [error_reply(429, "wait", retry_after_ms="1")] * 2 + [text_reply("ok")], "-q")

    assert outcome(done) == (0, "completed", "ok")
    assert [(r["attempt"], r["status"]) for r in done.of_type("retry")] == [(1, 429), (2, 429)]
    assert len(done.stderr.splitlines()) == 1
    assert [r["message"]["role"] for r in done.of_type("message_end")] == ["user", "assistant"]


def test_the_count_of_tries_begins_anew_after_a_good_response(project: Project) -> None:
    busy = error_reply(503, "busy", retry_after_ms="1")
    replies = [part for n in range(6) for part in (busy, tool_reply(("bash", {"command": f"echo {n}"})))]

    done, _ = ask(project, [*replies, busy, text_reply("done")])

    assert outcome(done) == (0, "completed", "done")
    assert [r["attempt"] for r in done.of_type("retry")] == [1] * 7


def test_a_wait_that_is_too_long_ends_at_once(project: Project) -> None:
    done, server = ask(project, [error_reply(429, "come back tomorrow", retry_after="3600")] * 3)

    assert (outcome(done), len(server.requests)) == ((5, "error", None), 1)
    assert done.result["duration_ms"] < 5000


def test_a_failure_after_a_good_turn_is_a_failure(project: Project) -> None:
    done, _ = ask(project, [tool_reply(TRUE), error_reply(400, "no")])

    assert outcome(done) == (4, "error", None)


def test_a_kept_connection_that_was_closed_meanwhile_is_a_try_and_the_next_follows_at_once(
    project: Project,
) -> None:
    """llama.cpp closes each connection after a streamed answer without saying so."""
    gone = Reply(before=[Drop()])

    done, server = ask(project, [tool_reply(TRUE), gone, text_reply("ok")])
    fresh, _ = ask(project, [gone, text_reply("ok")], "--transcript", "fresh.jsonl")

    assert (outcome(done), len(server.requests), server.connections) == ((0, "completed", "ok"), 3, 2)
    (retry,) = done.of_type("retry")
    assert (retry["attempt"], retry["delay_s"]) == (1, 0.0)
    assert retry["reason"] == "the server had closed the kept connection"
    assert [error["class"] for error in fresh.result["errors"]] == ["connection"]


def test_a_stream_that_drops_keeps_the_partial_text_apart(project: Project) -> None:
    done, server = ask(
        project, [Reply([chunk({"content": "Hal"}), chunk({"content": "lo"}), 0.1, Drop()])] * 4
    )

    assert outcome(done) == (4, "error", None)
    assert (done.result["partial_answer"], done.result["retryable"]) == ("Hallo", True)
    assert len(server.requests) == 4


def test_a_dead_stream_ends_after_the_idle_limit(project: Project) -> None:
    replies = [Reply([chunk({"content": "Hal"}), Hang()]), text_reply("Hallo")]

    done, _ = ask(project, replies, limits="limits: {idle_timeout: 1s}\n")

    assert outcome(done) == (0, "completed", "Hallo")
    assert len(done.of_type("retry")) == 1


def test_pings_are_no_events(project: Project) -> None:
    replies = [Reply(pings(0.05)), text_reply("ok")]

    done, _ = ask(project, replies, limits="limits: {idle_timeout: 400ms}\n")

    assert outcome(done) == (0, "completed", "ok")
    assert len(done.of_type("retry")) == 1


def test_a_connection_that_stays_open_does_not_keep_the_process(project: Project) -> None:
    done, _ = ask(project, [Reply([*text_steps("ok"), Hang()])])

    assert outcome(done) == (0, "completed", "ok")
    assert done.result["duration_ms"] < 2000


def test_a_malformed_call_never_runs_and_the_model_is_told(project: Project) -> None:
    project_flags = (
        "tools:\n  - {type: command, name: mark, command: [touch, ran], parameters: {type: object}}\n"
    )
    bad = ['{"path": }', "[1]", '"text"']
    base = "schema_version: 1\nname: demo\nmodel: openai/mock\n"
    project.agent(project_flags, base=base)
    with ChatServer(
        [tool_reply(*[("mark", text) for text in bad], ("mark", "")), text_reply("ok")]
    ) as server:
        done = run(
            "agent.yaml", "go", "--format", "json", cwd=project.folder, env={"OPENAI_BASE_URL": server.url}
        )

    ends = {r["tool_call_id"]: r["is_error"] for r in done.of_type("tool_execution_end")}
    assert outcome(done) == (0, "completed", "ok")
    assert sorted(ends.values()) == [False, True, True, True]
    results = [m for m in server.bodies[1]["messages"] if m["role"] == "tool"]
    assert all(text in result["content"] for text, result in zip(bad, results, strict=False))
    assert [
        json.loads(c["function"]["arguments"]) for c in server.bodies[1]["messages"][1]["tool_calls"]
    ] == [{}] * 4


def test_a_call_cut_by_the_output_cap_is_explained_once_then_ends_as_truncated(project: Project) -> None:
    cut = tool_reply(("bash", '{"command": "touch ran'), finish="length")

    done, server = ask(project, [cut, cut, text_reply("never")])

    assert outcome(done) == (8, "error", None)
    assert len(server.requests) == 2
    assert not (project.folder / "ran").exists()
    assert "output" in server.bodies[1]["messages"][-1]["content"]


def test_an_id_that_changes_in_mid_stream_is_one_call(project: Project) -> None:
    def part(call_id: str, text: str) -> bytes:
        call = {
            "index": 0,
            "id": call_id,
            "function": {"name": "bash" if call_id == "a" else None, "arguments": text},
        }
        return chunk({"tool_calls": [call]})

    steps = [part("a", '{"comm'), part("b", 'and": "tr'), part("c", 'ue"}'), chunk({}, "tool_calls"), DONE]

    done, _ = ask(project, [Reply(steps), text_reply("ok")])

    assert outcome(done) == (0, "completed", "ok")
    (start,) = done.of_type("tool_execution_start")
    assert start["args"] == {"command": "true"}


def test_odd_framing_changes_nothing(project: Project) -> None:
    raw = "﻿: hello\r\n\r\nevent: done\r\ndata: {}\r\n\r\n".encode() + b"".join(
        text_steps("Grü", "ße 🎉")
    ).replace(b"\n", b"\r\n")
    pieces: list[Any] = [raw[at : at + 3] for at in range(0, len(raw), 3)]

    done, _ = ask(project, [Reply(pieces)])

    assert outcome(done) == (0, "completed", "Grüße 🎉")


@pytest.mark.parametrize(
    ("error", "code", "requests"),
    [
        ({"message": "The server is overloaded", "type": "server_error", "code": 503}, 0, 2),
        ({"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}, 10, 1),
    ],
)
def test_an_error_inside_a_good_response_is_an_error(
    project: Project, error: dict[str, Any], code: int, requests: int
) -> None:
    done, server = ask(project, [Reply([sse({"error": error})]), text_reply("ok")])

    assert (done.code, len(server.requests)) == (code, requests)
    assert (done.result["answer"] == "ok") is (code == 0)


def test_a_refusal_is_an_outcome_of_its_own(project: Project) -> None:
    steps = [chunk({"refusal": "I will not."}), chunk({}, "stop"), usage(), DONE]

    done, server = ask(project, [Reply(steps)])

    assert (outcome(done), len(server.requests)) == ((9, "error", None), 1)
    assert "I will not." in done.result["reason"]


def test_a_length_stop_is_logged_and_ends_as_truncated(project: Project) -> None:
    done, _ = ask(project, [text_reply("half an ans", finish="length")])

    assert outcome(done) == (8, "error", None)
    (message,) = [r["message"] for r in done.of_type("message_end") if r["message"]["role"] == "assistant"]
    assert (message["stop_reason"], message["raw_stop_reason"]) == ("length", "length")
    assert done.result["partial_answer"] == "half an ans"


def test_an_answer_that_does_not_come_as_a_stream_is_an_answer(project: Project) -> None:
    whole = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]
    }

    done, _ = ask(project, [json_reply(whole)])

    assert outcome(done) == (0, "completed", "ok")


def test_a_name_that_does_not_exist_is_found_before_any_request(project: Project) -> None:
    project.agent("", base="schema_version: 1\nname: demo\nmodel: openai/mock\ntools: [bsh]\n")
    with ChatServer([text_reply("never")]) as server:
        done = run("agent.yaml", "go", cwd=project.folder, env={"OPENAI_BASE_URL": server.url})

    assert (done.code, server.requests) == (2, [])
    assert "agent.yaml:4:9: error" in done.stderr
    assert "did you mean 'bash'?" in done.stderr


def test_the_key_goes_to_the_service_and_nowhere_else(project: Project) -> None:
    project.agent("", base="schema_version: 1\nname: demo\nmodel: openai/mock\ntools: [bash]\n")
    replies = [tool_reply(("bash", {"command": "env"})), text_reply("ok")]
    with ChatServer(replies) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-very-secret", "OTHER": "x"}
        done = run("agent.yaml", "go", "--format", "json", cwd=project.folder, env=env)

    assert server.requests[0].headers["authorization"] == "Bearer sk-very-secret"
    assert b"sk-very-secret" not in done.transcript.read_bytes()
    (result,) = [m for m in server.bodies[1]["messages"] if m["role"] == "tool"]
    names = {line.partition("=")[0] for line in result["content"].splitlines()}
    assert names <= {
        "PATH",
        "HOME",
        "LANG",
        "TMPDIR",
        "PWD",
        "SHLVL",
        "_",
        "OLDPWD",
        "AGENTCORE_RUN",
        *marks(names),
    }
    assert "sk-very-secret" not in done.stdout + done.stderr


def marks(names: set[str]) -> set[str]:
    """Our own marks by which a run's processes are found again."""
    return {name for name in names if name.startswith("AGENTCORE_")}


def test_header_values_are_sent_and_not_recorded(project: Project) -> None:
    model = "{id: openai/mock, headers: {x-token: tok-123}, temperature: 0.5, extra_body: {seed: 7}}"
    project.agent("", base=f"schema_version: 1\nname: demo\nmodel: {model}\n")
    with ChatServer([text_reply("ok")]) as server:
        done = run("agent.yaml", "go", cwd=project.folder, env={"OPENAI_BASE_URL": server.url})

    assert server.requests[0].headers["x-token"] == "tok-123"
    assert (server.bodies[0]["temperature"], server.bodies[0]["seed"]) == (0.5, 7)
    assert done.records[0]["definition"]["model"]["headers"] == {"x-token": "***"}
    assert b"tok-123" not in done.transcript.read_bytes()


def test_a_dry_run_sends_nothing_and_masks_the_key(project: Project) -> None:
    project.agent("", base="schema_version: 1\nname: demo\nmodel: openai/mock\ntools: [bash]\n")
    with ChatServer([]) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-very-secret"}
        done = run("agent.yaml", "go", "--dry-run", cwd=project.folder, env=env)

    request = done.result
    assert (done.code, server.requests) == (0, [])
    assert (request["method"], request["url"]) == ("POST", f"{server.url}/chat/completions")
    assert request["body"]["messages"][-1]["content"] == "go"
    assert "sk-very-secret" not in done.stdout
    assert not (project.folder / ".agentcore").exists()
