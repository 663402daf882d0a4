"""LLMock, a server of others that breaks on demand and judges its client: what it finds wrong with us.

Its fixture `llmock` comes with the package. A finding that would be no fault of ours stands where it is made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import (
    Behavior,
    Delay,
    Fail,
    Match,
    Reply,
    SlowFirstToken,
    StreamFault,
    ToolCall,
    ToolFault,
)

from agentcore_runner.core.messages import AssistantMessage, TextContent
from agentcore_runner.core.messages import ToolCall as Call
from agentcore_runner.core.stream import Retry
from tests.providers.doubles import answer, opened, stream
from tests.runner import Ended
from tests.servers.four_apis import MODELS, for_each, outcomes, run_each

PATHS = {
    "openai-completions": ("openai", "/v1/chat/completions"),
    "openai-responses": ("openai", "/v1/responses"),
    "anthropic-messages": ("anthropic", "/anthropic/v1/messages"),
    "google-generative-ai": ("gemini", "/gemini/v1beta/models/*"),
}
"""What LLMock calls the provider, and where it takes requests, by API."""
ANSWER = "All is well; nothing was lost on the way."
SAYS = Reply(text=ANSWER, times=None)
PACE_MS = 40
"""Between two events, where the server is to notice that its client has left before all is sent."""
IMPATIENT = "limits: {idle_timeout: 2s}\n"


def ask(
    llmock: LLMock, folder: Path, *behaviors: Behavior, agent: str = "", **files: str
) -> dict[str, Ended]:
    """A run over each API while the server behaves so, over each."""
    for api in MODELS:
        llmock.add(*[replace(one, match=Match(path=PATHS[api][1])) for one in behaviors])
    return run_each(folder, lambda api: llmock.base_url(PATHS[api][0]), "How are you?", agent=agent, **files)


def found(llmock: LLMock) -> list[tuple[str, str]]:
    """The findings: what, and where."""
    return sorted((finding.code, finding.path) for finding in llmock.verdict().findings)


def at_each(code: str, llmock: LLMock) -> list[tuple[str, str]]:
    """This finding for each API."""
    return sorted({(code, f"{one.method} {one.path}") for one in llmock.requests})


def delays(done: dict[str, Ended]) -> dict[str, list[float]]:
    return {api: [record["delay_s"] for record in one.of_type("retry")] for api, one in done.items()}


def bodies(llmock: LLMock, api: str) -> list[dict[str, Any]]:
    """What was asked over this API."""
    start = PATHS[api][1].removesuffix("*")
    return [request.body for request in llmock.requests if request.path.startswith(start)]


def test_a_rate_limit_is_waited_for_as_long_as_it_says(llmock: LLMock, tmp_path: Path) -> None:
    done = ask(llmock, tmp_path, Fail(429, retry_after=0.3, times=2), SAYS)

    assert outcomes(done) == for_each((0, [429, 429], ANSWER))
    assert delays(done) == for_each([0.3, 0.3])
    assert found(llmock) == []


def test_a_server_in_trouble_is_asked_again(llmock: LLMock, tmp_path: Path) -> None:
    troubles = [Fail(500), Fail(503, retry_after=0.1), Fail(529, retry_after=0.2)]

    done = ask(llmock, tmp_path, *troubles, SAYS)

    assert outcomes(done) == for_each((0, [500, 503, 529], ANSWER))
    assert {api: waits[1:] for api, waits in delays(done).items()} == for_each([0.1, 0.2])
    assert found(llmock) == []


@pytest.mark.parametrize(("status", "code"), [(503, 4), (429, 5)])
def test_trouble_that_stays_ends_the_run_after_four_tries(
    llmock: LLMock, tmp_path: Path, status: int, code: int
) -> None:
    done = ask(llmock, tmp_path, Fail(status, retry_after=0.05, times=None))

    assert outcomes(done) == for_each((code, [status] * 3, None))
    assert {api: one.result["retryable"] for api, one in done.items()} == for_each(True)
    assert len(llmock.requests) == 4 * len(MODELS)
    assert found(llmock) == []


def test_a_refused_request_is_not_made_again(llmock: LLMock, tmp_path: Path) -> None:
    done = ask(llmock, tmp_path, Fail(422, times=None))

    assert outcomes(done) == for_each((4, [], None))
    assert {api: one.result["retryable"] for api, one in done.items()} == for_each(False)
    assert found(llmock) == []


def test_a_prompt_that_is_too_long_is_an_overflow(llmock: LLMock, tmp_path: Path) -> None:
    llmock.limits(context_window=1)

    done = ask(llmock, tmp_path)

    assert outcomes(done) == for_each((10, [], None))
    assert found(llmock) == []


def test_a_wait_that_is_too_long_ends_the_run(llmock: LLMock, tmp_path: Path) -> None:
    done = ask(llmock, tmp_path, Fail(429, retry_after=120))

    assert outcomes(done) == for_each((5, [], None))
    assert {api: one.result["retryable"] for api, one in done.items()} == for_each(True)
    # It gave up on purpose: a job may not sleep for two minutes, and the result says when to come back.
    assert found(llmock) == at_each("gave_up", llmock)


@pytest.mark.parametrize(("kind", "after"), [("disconnect", 3), ("truncate", 0), ("malformed", 3)])
def test_a_stream_that_breaks_is_asked_for_again(
    llmock: LLMock, tmp_path: Path, kind: Any, after: int
) -> None:
    llmock.pace(PACE_MS)

    done = ask(llmock, tmp_path, StreamFault(kind, after_chunks=after), SAYS)

    assert outcomes(done) == for_each((0, [None], ANSWER))
    assert found(llmock) == []


@pytest.mark.parametrize(
    "late",
    [Delay(3), SlowFirstToken(3), StreamFault("stall", after_chunks=3)],
    ids=["no headers", "no event", "no other event"],
)
def test_a_server_that_is_silent_is_asked_again(llmock: LLMock, tmp_path: Path, late: Behavior) -> None:
    done = ask(llmock, tmp_path, late, SAYS, agent=IMPATIENT)

    assert outcomes(done) == for_each((0, [None], ANSWER))
    assert found(llmock) == []


def test_streams_that_keep_breaking_end_the_run(llmock: LLMock, tmp_path: Path) -> None:
    done = ask(llmock, tmp_path, StreamFault("truncate", after_chunks=3, times=None), SAYS)

    assert outcomes(done) == for_each((4, [None] * 3, None))
    assert {api: one.result["retryable"] for api, one in done.items()} == for_each(True)
    # The last piece of an answer was not taken for one either, which the server cannot see: the run failed.
    # The waits are random below a bound that doubles, so that a later one may be shorter (`no_backoff`).
    assert [one for one in found(llmock) if one[0] != "no_backoff"] == at_each(
        "truncated_stream_accepted", llmock
    )


def test_a_tool_is_called_and_its_result_answered(llmock: LLMock, tmp_path: Path) -> None:
    calls = (ToolCall("read", {"path": "one"}), ToolCall("read", {"path": "two"}))

    done = ask(llmock, tmp_path, Reply("Both.", calls), SAYS, agent="tools: [read]\n", one="1st", two="2nd")

    assert outcomes(done) == for_each((0, [], ANSWER))
    results = {
        api: [message["content"][0]["text"] for message in results_of(one)] for api, one in done.items()
    }
    assert results == for_each(["1st", "2nd"])
    assert {
        api: all(word in str(bodies(llmock, api)[1]) for word in ("1st", "2nd")) for api in MODELS
    } == for_each(True)
    assert found(llmock) == []


def results_of(done: Ended) -> list[dict[str, Any]]:
    messages = [record["message"] for record in done.of_type("message_end")]
    return [message for message in messages if message["role"] == "toolResult"]


@pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
def test_a_call_that_is_none_is_not_run_and_the_model_told(llmock: LLMock, tmp_path: Path, kind: Any) -> None:
    agent = "tools: [read]\n"

    done = ask(llmock, tmp_path, ToolFault(kind), Reply(times=1), SAYS, agent=agent)

    assert outcomes(done) == for_each((0, [], ANSWER))
    assert {
        api: [message["is_error"] for message in results_of(one)] for api, one in done.items()
    } == for_each([True])
    assert found(llmock) == []


def test_a_call_that_breaks_off_is_made_once(llmock: LLMock, tmp_path: Path) -> None:
    call = Reply(tool_calls=(ToolCall("bash", {"command": "echo ran >> log"}),), times=2)
    for api in MODELS:
        # Gemini sends a call whole; elsewhere this is between two pieces of the arguments.
        after = 0 if api == "google-generative-ai" else 4
        llmock.add(StreamFault("truncate", after_chunks=after, match=Match(path=PATHS[api][1])))

    done = ask(llmock, tmp_path, call, SAYS, agent="tools: [bash]\n")

    assert outcomes(done) == for_each((0, [None], ANSWER))
    assert {api: (one.cwd / "log").read_text() for api, one in done.items()} == for_each("ran\n")
    assert found(llmock) == []


EXPENDABLE = {
    "openai-completions": {"disconnect": [11, 12], "truncate": [11, 12], "malformed": [11, 12]},
    "anthropic-messages": {"malformed": [2]},
}
"""Events that an answer is whole without: over Chat Completions what follows the finish reason, which are the
usage and `[DONE]`; Anthropic's ping."""


@pytest.mark.parametrize("api", MODELS)
def test_a_break_at_any_event_costs_no_word(llmock: LLMock, api: str) -> None:
    not_asked_again: dict[str, list[int]] = {}
    for kind in ("disconnect", "truncate", "malformed"):
        for after, tries, message in broken_at_each_event(llmock, api, kind, SAYS):
            assert [block.text for block in message.content if isinstance(block, TextContent)] == [ANSWER]
            if tries == 1:
                not_asked_again.setdefault(kind, []).append(after)

    assert not_asked_again == EXPENDABLE.get(api, {})


@pytest.mark.parametrize("kind", ["disconnect", "truncate"])
@pytest.mark.parametrize("api", MODELS)
def test_nothing_is_asked_again_once_a_call_is_complete(llmock: LLMock, api: str, kind: Any) -> None:
    calls = (ToolCall("one", {"text": "long enough for two pieces"}), ToolCall("two"))
    says = Reply(text="Both.", tool_calls=calls, times=None)

    ends = [
        (tries, message.stop_reason, sum(isinstance(block, Call) for block in message.content))
        for _, tries, message in broken_at_each_event(llmock, api, kind, says)
    ]

    again, broken, whole = (2, "done", 2), [(1, "error", 1), (1, "error", 2)], (1, "done", 2)
    told = [end for end, _ in itertools.groupby(ends)]
    # Gemini sends both calls in its last event.
    wanted = [again] if api == "google-generative-ai" else [again, *broken]
    assert told == wanted + ([whole] if api == "openai-completions" else [])


def broken_at_each_event(
    llmock: LLMock, api: str, kind: Any, says: Reply
) -> Iterator[tuple[int, int, AssistantMessage]]:
    """What becomes of an answer that breaks at its first event, at its second, and so on: the number of whole
    events, of requests, and the message."""
    for after in itertools.count():
        llmock.reset().add(StreamFault(kind, after_chunks=after), says)
        events = stream(opened(llmock.base_url(PATHS[api][0]), MODELS[api], api=api))
        if llmock.requests[0].fault is None:
            return
        yield after, 1 + sum(isinstance(event, Retry) for event in events), answer(events)
