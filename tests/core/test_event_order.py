"""The order of events, as whole lists."""

from __future__ import annotations

import asyncio
from typing import Any

from agentcore_runner.core import stream as st
from agentcore_runner.core.messages import ErrorInfo
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentToolResult, OnUpdate, ToolExecutionMode, text_result
from tests.core.scripted import Heard, agent, answer, call, label, run, says, tool


def test_text_only() -> None:
    it = agent(says("hello"))
    heard = Heard(it)

    run(it.prompt("hi"))

    assert heard.labels == [
        "agent_start",
        "turn_start",
        "message_start user",
        "message_end user",
        "message_start assistant",
        "message_update text_start",
        "message_update text_delta",
        "message_update text_delta",
        "message_update text_end",
        "message_end assistant done",
        "turn_end 0",
        "agent_end",
    ]


def test_parallel_tools_end_as_they_finish_and_answer_in_source_order() -> None:
    done = asyncio.Event()

    async def slow(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        on_update(text_result("so far"))
        await done.wait()
        return text_result("slow")

    async def fast(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        on_update(text_result("so far"))
        return text_result("fast")

    it = agent(
        says(call("A", "slow"), call("B", "fast"), call("C", "nosuch")),
        says("ok"),
        tools=[tool("slow", slow), tool("fast", fast)],
    )
    heard = Heard(it)
    it.subscribe(lambda event: done.set() if label(event) == "tool_execution_end B" else None)

    run(it.prompt("hi"))

    assert heard.story == [
        "agent_start",
        "turn_start",
        "message_start user",
        "message_end user",
        "message_start assistant",
        "message_end assistant done",
        "tool_execution_start A",
        "tool_execution_start B",
        "tool_execution_start C",
        "tool_execution_end C error",
        "tool_execution_update A",
        "tool_execution_update B",
        "tool_execution_end B",
        "tool_execution_end A",
        "message_start result A",
        "message_end result A",
        "message_start result B",
        "message_end result B",
        "message_start result C",
        "message_end result C",
        "turn_end 3",
        "turn_start",
        "message_start assistant",
        "message_end assistant done",
        "turn_end 0",
        "agent_end",
    ]


def test_sequential_tools_are_answered_one_by_one() -> None:
    it = agent(says(call("A"), call("B")), says("ok"), tool_execution=ToolExecutionMode.SEQUENTIAL)
    heard = Heard(it)

    run(it.prompt("hi"))

    assert heard.story[6:15] == [
        "tool_execution_start A",
        "tool_execution_end A",
        "message_start result A",
        "message_end result A",
        "tool_execution_start B",
        "tool_execution_end B",
        "message_start result B",
        "message_end result B",
        "turn_end 2",
    ]


def test_a_provider_error_ends_the_run_as_a_message() -> None:
    error = ErrorInfo(kind="server", message="overloaded", status=529)
    failed = answer("half", stop="error", error=error)
    it = agent([*says("half")[:-1], st.Failed(reason="error", message=failed)])
    heard = Heard(it)

    new = run(it.prompt("hi"))

    assert heard.story[4:] == [
        "message_start assistant",
        "message_end assistant error",
        "turn_end 0",
        "agent_end",
    ]
    assert new[-1] == failed
    assert it.state.error_message == "overloaded"


def test_an_abort_during_the_stream_keeps_the_partial_answer() -> None:
    it = agent(says("hello world"))
    heard = Heard(it)
    it.subscribe(lambda event: it.abort() if label(event) == "message_update text_delta" else None)
    it.follow_up("later")

    new = run(it.prompt("hi"))

    assert heard.labels[4:] == [
        "message_start assistant",
        "message_update text_start",
        "message_update text_delta",
        "message_end assistant aborted",
        "turn_end 0",
        "agent_end",
    ]
    assert new[-1].content[0].text == "hello"
    assert new[-1].error_message == "Request was aborted"
    assert [item.message.content[0].text for item in it.queued] == ["later"]


def test_an_abort_before_the_request_makes_none() -> None:
    it = agent(says("never"))
    heard = Heard(it)
    it.subscribe(lambda event: it.abort() if label(event) == "message_end user" else None)

    run(it.prompt("hi"))

    assert heard.labels[4:] == [
        "message_start assistant",
        "message_end assistant aborted",
        "turn_end 0",
        "agent_end",
    ]
    assert it.stream_fn.contexts == []


def test_a_stream_that_fails_before_its_start_still_has_a_start() -> None:
    failed = answer(stop="error", error=ErrorInfo(kind="auth", message="no key"))
    it = agent([st.Failed(reason="error", message=failed)])
    heard = Heard(it)

    run(it.prompt("hi"))

    assert heard.labels[4:] == [
        "message_start assistant",
        "message_end assistant error",
        "turn_end 0",
        "agent_end",
    ]


def test_a_retry_voids_what_came_before_it() -> None:
    first = says("wrong start")[:3]
    retry = st.Retry(attempt=1, delay_s=0.5, status=503, reason="overloaded")
    it = agent([*first, retry, *says("right")[:-1]])
    heard = Heard(it)

    new = run(it.prompt("hi"))

    assert heard.labels[4:14] == [
        "message_start assistant",
        "message_update text_start",
        "message_update text_delta",
        "message_update retry",
        "message_update text_start",
        "message_update text_delta",
        "message_update text_delta",
        "message_update text_end",
        "message_end assistant error",
        "turn_end 0",
    ]
    assert new[-1].text == "right"


def test_steering_and_follow_ups_get_a_turn_each() -> None:
    it = agent(says(call("A")), says("1"), says("2"), says("3"), says("4"))

    def queue(event: object) -> None:
        if label(event) == "tool_execution_start A":  # type: ignore[arg-type]
            it.steer("S1")
            it.steer("S2")
            it.follow_up("F1")
            it.follow_up("F2")

    it.subscribe(queue)
    run(it.prompt("hi"))

    users = [m.content[0].text for m in it.state.messages if type(m).__name__ == "UserMessage"]
    assert users == ["hi", "S1", "S2", "F1", "F2"]
    assert [len(context.messages) for context in it.stream_fn.contexts] == [1, 4, 6, 8, 10]
    assert it.queued == ()


def test_a_whole_queue_goes_into_one_request() -> None:
    it = agent(says("0"), says("1"), says("2"), steering_mode="all", follow_up_mode="all")
    for text in ("S1", "S2"):
        it.steer(text)
    for text in ("F1", "F2"):
        it.follow_up(text)

    run(it.prompt("hi"))

    assert [len(context.messages) for context in it.stream_fn.contexts] == [3, 6]
