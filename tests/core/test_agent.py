"""The agent: state, listeners, hooks, and the calls a host makes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from agentcore_runner.core import events as ev
from agentcore_runner.core import stream as st
from agentcore_runner.core.config import (
    AfterToolCall,
    AfterToolCallResult,
    AgentLoopConfig,
    BeforeToolCall,
    BeforeToolCallResult,
    NextTurn,
    OtherModel,
    TurnContext,
)
from agentcore_runner.core.loop import agent_loop_continue
from agentcore_runner.core.messages import (
    AssistantMessage,
    ErrorInfo,
    ImageContent,
    TextContent,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.prompt import normalize_prompt_input
from agentcore_runner.core.queues import Disposition
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentContext, AgentToolResult, OnUpdate, text_result
from agentcore_runner.errors import ToolError
from tests.core.scripted import MODEL, Heard, Script, agent, answer, call, label, now, run, says, texts, tool

IMAGE = ImageContent(data="aGk=", mime_type="image/png")


def user(text: str) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), timestamp=1000)


def test_a_prompt_is_a_text_with_images_or_messages() -> None:
    with_image = UserMessage(content=(TextContent(text="see"), IMAGE), timestamp=5)

    assert normalize_prompt_input("see", [IMAGE], timestamp=5) == [with_image]
    assert normalize_prompt_input("", [IMAGE], timestamp=5) == [UserMessage(content=(IMAGE,), timestamp=5)]
    assert normalize_prompt_input(with_image, timestamp=9) == [with_image]
    assert normalize_prompt_input([with_image, user("x")], timestamp=9) == [with_image, user("x")]
    for wrong, images in (("", []), ([], []), (user("x"), [IMAGE])):
        with pytest.raises(ValueError, match=r"prompt is empty|images can only"):
            normalize_prompt_input(wrong, images, timestamp=0)


def test_the_state_follows_the_run() -> None:
    it = agent(says("so", call("A")), says("done"), system_prompt="Be brief.")
    seen: list[Any] = []

    def look(event: ev.AgentEvent) -> None:
        partial = it.state.streaming_message
        state = (partial.text if partial else None, sorted(it.state.pending_tool_calls))
        if it.state.is_streaming and (not seen or seen[-1] != state):
            seen.append(state)

    it.subscribe(look)
    assert it.state.streaming_message is None
    new = it.prompt_sync("hi")

    assert seen == [
        (None, []),
        ("", []),
        ("s", []),
        ("so", []),
        (None, []),
        (None, ["A"]),
        (None, []),
        ("", []),
        ("do", []),
        ("done", []),
        (None, []),
    ]
    assert it.state.messages == new
    assert not it.state.is_streaming
    assert [context.system_prompt for context in it.stream_fn.contexts] == ["Be brief."] * 2


def test_assigned_lists_are_copied() -> None:
    it = agent()
    messages = [user("old")]
    it.state.messages = messages
    messages.append(user("not mine"))

    assert it.state.messages == [user("old")]


def test_what_was_sent_before_is_sent_as_the_same_objects() -> None:
    it = agent(says(call("A")), says("one"), says("two"))

    async def scenario() -> None:
        await it.prompt("hi")
        await it.prompt("more")

    run(scenario())

    first, second, third = [context.messages for context in it.stream_fn.contexts]
    assert [id(m) for m in second[:1]] == [id(m) for m in first]
    assert [id(m) for m in third[: len(second)]] == [id(m) for m in second]


def test_one_run_at_a_time() -> None:
    it = agent(says("one"))
    refused = []

    async def listen(event: ev.AgentEvent) -> None:
        if label(event) == "turn_start":
            for attempt in (it.prompt("two"), it.continue_()):
                with pytest.raises(RuntimeError, match=r"in progress: use steer\(\)"):
                    await attempt
                refused.append(True)
            with pytest.raises(RuntimeError, match="cannot reset"):
                it.reset()

    it.subscribe(listen)
    run(it.prompt("one"))

    assert refused == [True, True]
    assert Heard(it).errors == []


def test_continue_answers_what_is_open() -> None:
    it = agent(says("sorry"), messages=[user("hi")])

    assert texts(run(it.continue_())) == ["assistant done: sorry"]


def test_continue_after_an_answer_delivers_what_is_queued_one_at_a_time() -> None:
    it = agent(says("1"), says("2"), says("3"), messages=[user("hi"), answer("hello")])
    it.steer("S1")
    it.steer("S2")
    it.follow_up("F1")

    new = run(it.continue_())

    assert texts(new) == [
        "user: S1",
        "assistant done: 1",
        "user: S2",
        "assistant done: 2",
        "user: F1",
        "assistant done: 3",
    ]


@pytest.mark.parametrize("messages", [[], [user("hi"), answer("hello")]])
def test_continue_needs_something_to_go_on_with(messages: list[Any]) -> None:
    it = agent(messages=messages)

    with pytest.raises(RuntimeError, match="nothing to continue"):
        run(it.continue_())


def test_the_low_level_continue_needs_something_to_answer() -> None:
    config = AgentLoopConfig(model=MODEL, stream_fn=Script(), now=now)
    context = AgentContext(messages=[user("hi"), answer("hello")])

    with pytest.raises(ValueError, match="nothing to answer"):
        run(agent_loop_continue(context, config, lambda event: None, AbortSignal()))


def test_waiting_for_idle() -> None:
    it = agent(says("one"))
    it.subscribe(lambda event: asyncio.sleep(0))

    async def scenario() -> None:
        await it.wait_for_idle()
        running = asyncio.create_task(it.prompt("hi"))
        await asyncio.sleep(0)
        assert it.state.is_streaming
        await asyncio.gather(it.wait_for_idle(), it.wait_for_idle())
        assert not it.state.is_streaming
        await running

    run(scenario())


def test_reset_forgets_conversation_and_queues() -> None:
    it = agent(says("one"))
    run(it.prompt("hi"))
    it.steer("x")

    it.reset()

    assert (it.state.messages, it.queued) == ([], ())


def test_cleared_queues_are_handed_back() -> None:
    it = agent()
    it.follow_up("later")
    it.steer("now")

    cleared = it.clear_queues()

    assert [item.message for item in cleared] == [user("now"), user("later")]
    assert it.queued == ()


def test_listeners_are_called_in_order_and_can_leave() -> None:
    it = agent(says("one"), says("two"))
    order: list[str] = []

    async def slow(event: ev.AgentEvent) -> None:
        await asyncio.sleep(0)
        order.append("slow")

    leave = it.subscribe(slow)
    it.subscribe(lambda event: order.append("quick"))
    run(it.prompt("hi"))
    assert order == ["slow", "quick"] * (len(order) // 2)

    order.clear()
    leave()
    leave()
    run(it.prompt("hi"))
    assert set(order) == {"quick"}


def test_errors_without_a_channel_reach_the_event_loop(caplog: pytest.LogCaptureFixture) -> None:
    it = agent(says("one"))

    def broken(event: ev.AgentEvent) -> None:
        if label(event) == "agent_start":
            raise RuntimeError("lost?")

    it.subscribe(broken)
    run(it.prompt("hi"))

    assert "listener raised during an agent's run" in caplog.text


def test_the_events_of_a_run_can_be_iterated() -> None:
    it = agent(says("x" * 2000), says("two"))
    heard = Heard(it)

    async def scenario() -> list[str]:
        return [label(event) async for event in it.events("hi")]

    assert run(scenario()) == heard.labels


def test_a_slow_reader_slows_the_run_and_loses_nothing() -> None:
    pieces = [st.TextDelta(content_index=0, delta=str(n)) for n in range(1000)]
    turn = [st.Start(), st.TextStart(content_index=0), *pieces, st.Done(reason="done", message=answer("x"))]
    it = agent(turn)
    heard = Heard(it)
    ahead = []

    async def scenario() -> list[str]:
        labels = []
        async for event in it.events("hi"):
            labels.append(label(event))
            for _ in range(3):
                await asyncio.sleep(0)
            ahead.append(len(heard.events) - len(labels))
        return labels

    assert run(scenario()) == heard.labels
    assert max(ahead) < 300


def test_leaving_the_iteration_aborts_the_run_and_waits() -> None:
    pieces = [st.TextDelta(content_index=0, delta=str(n)) for n in range(1000)]
    it = agent([st.Start(), st.TextStart(content_index=0), *pieces, *says("never")])
    heard = Heard(it)

    async def scenario() -> None:
        async with contextlib.aclosing(it.events("hi")) as events:
            async for event in events:
                if label(event) == "message_update text_delta":
                    break
        assert not it.state.is_streaming
        await it.wait_for_idle()

    run(scenario())

    assert heard.story[-3:] == ["message_end assistant aborted", "turn_end 0", "agent_end"]


def test_iterating_while_a_run_is_in_progress_raises() -> None:
    it = agent(says("one"))
    it.subscribe(lambda event: asyncio.sleep(0))

    async def scenario() -> None:
        running = asyncio.create_task(it.prompt("hi"))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="in progress"):
            async for _ in it.events("too"):
                pass
        await running

    run(scenario())


def test_a_blocked_call_tells_the_reason_and_can_end_the_run() -> None:
    def before(question: BeforeToolCall) -> BeforeToolCallResult:
        reason = "Not on a Sunday." if question.tool_call.id == "A" else None
        return BeforeToolCallResult(block=True, reason=reason, terminate=True)

    it = agent(says(call("A"), call("B")), says("never"), before_tool_call=before)

    run(it.prompt("hi"))

    assert texts(it.state.messages)[2:] == [
        "result A: Not on a Sunday.",
        "result B: Tool execution was blocked",
    ]


def test_a_failing_hook_blocks_before_and_withholds_after() -> None:
    def before(question: BeforeToolCall) -> None:
        if question.tool_call.id == "A":
            raise ValueError("no rules")

    async def after(question: AfterToolCall) -> None:
        raise ValueError("no opinion")

    it = agent(says(call("A"), call("B")), says("ok"), before_tool_call=before, after_tool_call=after)
    heard = Heard(it)
    run(it.prompt("hi"))

    assert texts(it.state.messages)[2:4] == [
        "result A: before_tool_call raised ValueError: no rules",
        "result B: after_tool_call raised ValueError: no opinion",
    ]
    assert heard.errors == [("before_tool_call", "no rules"), ("after_tool_call", "no opinion")]


def test_the_after_hook_replaces_field_by_field() -> None:
    async def body(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        return AgentToolResult(
            content=(TextContent(text="secret"),),
            details={"size": 6},
            usage=Usage(input=3),
            added_tool_names=("more",),
        )

    def after(question: AfterToolCall) -> AfterToolCallResult:
        return AfterToolCallResult(content=(TextContent(text="***"),), is_error=not question.is_error)

    it = agent(says(call("A")), says("ok"), tools=[tool("echo", body)], after_tool_call=after)
    run(it.prompt("hi"))

    assert it.state.messages[2] == ToolResultMessage(
        tool_call_id="A",
        tool_name="echo",
        content=(TextContent(text="***"),),
        is_error=True,
        timestamp=1000,
        details={"size": 6},
        usage=Usage(input=3),
        added_tool_names=("more",),
    )


@pytest.mark.parametrize(
    ("error", "text", "details"),
    [
        (ToolError("No such file", {"path": "x"}), "No such file", {"path": "x"}),
        (KeyError("x"), "KeyError: 'x'", None),
        (ValueError(), "ValueError", None),
        (asyncio.CancelledError(), "CancelledError", None),
    ],
)
def test_tool_failure_is_told_to_the_model(error: BaseException, text: str, details: Any) -> None:
    async def body(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        raise error

    it = agent(says(call("A")), says("ok"), tools=[tool("echo", body)])
    run(it.prompt("hi"))

    result = it.state.messages[2]
    assert texts([result]) == [f"result A: {text}"]
    assert (result.is_error, result.details) == (True, details)
    assert texts(it.state.messages)[-1] == "assistant done: ok"


def test_an_unknown_tool_is_answered_with_those_that_exist() -> None:
    it = agent(says(call("A", "eko")), says("ok"), tools=[tool("echo"), tool("read")])
    run(it.prompt("hi"))

    assert texts(it.state.messages)[2] == "result A: Tool 'eko' not found. The tools are: echo, read."


def test_a_tool_that_returns_something_else_is_an_error() -> None:
    async def body(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> Any:
        return "text"

    it = agent(says(call("A")), says("ok"), tools=[tool("echo", body)])
    heard = Heard(it)
    run(it.prompt("hi"))

    wrong = "tool 'echo' returned str, not an AgentToolResult"
    assert texts(it.state.messages)[2] == f"result A: TypeError: {wrong}"
    assert heard.errors == [("tool 'echo'", wrong)]


def test_updates_after_the_result_are_ignored() -> None:
    late: list[OnUpdate] = []

    async def body(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        late.append(on_update)
        return text_result("done")

    it = agent(says(call("A"), call("B", "slow")), says("ok"), tools=[tool("echo", body), tool("slow")])
    heard = Heard(it)
    it.subscribe(lambda event: [u(text_result("late")) for u in late] and None)
    run(it.prompt("hi"))

    assert "tool_execution_update A" not in heard.labels


def test_a_batch_ends_the_run_only_if_every_call_asks_for_it() -> None:
    async def ends(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        return AgentToolResult(terminate=True)

    tools = [tool("echo"), tool("ends", ends)]
    split = agent(says(call("A", "ends"), call("B")), says("on"), tools=tools)
    agreed = agent(says(call("A", "ends"), call("B", "ends")), says("never"), tools=tools)
    queued = agent(says(call("A", "ends")), says("on"), tools=tools)
    queued.follow_up("more")

    for it in (split, agreed, queued):
        run(it.prompt("hi"))

    assert [len(it.stream_fn.contexts) for it in (split, agreed, queued)] == [2, 1, 2]


def test_the_next_turn_can_be_another() -> None:
    other = Model(id="big", name="Big", api="scripted", provider="test")

    async def prepare(turn: TurnContext) -> NextTurn:
        context = AgentContext(system_prompt="New.", messages=[user("summary")])
        return NextTurn(
            model=other, thinking_level=ThinkingLevel.HIGH, tools=(tool("only"),), context=context
        )

    it = agent(says(call("A")), says("ok"), prepare_next_turn=prepare, deadline=99.0)
    run(it.prompt("hi"))

    second = it.stream_fn.contexts[1]
    assert it.stream_fn.models == [MODEL, other]
    assert [o.thinking_level for o in it.stream_fn.options] == [ThinkingLevel.OFF, ThinkingLevel.HIGH]
    assert [o.deadline for o in it.stream_fn.options] == [99.0, 99.0]
    assert (second.system_prompt, second.messages) == ("New.", [user("summary")])
    assert [t.name for t in second.tools] == ["only"]
    assert len(it.state.messages) == 4


def test_what_is_queued_while_the_next_turn_is_prepared_goes_into_it() -> None:
    it = agent(says(call("A")), says("ok"), prepare_next_turn=lambda _: it.steer("wait") and None)

    run(it.prompt("hi"))

    assert texts(it.stream_fn.contexts[1].messages)[-1] == "user: wait"


def test_stopping_after_a_turn_leaves_the_queues_alone() -> None:
    async def enough(turn: TurnContext) -> bool:
        return len(turn.tool_results) == 1

    it = agent(says(call("A")), says("never"), should_stop_after_turn=enough)
    it.follow_up("later")
    run(it.prompt("hi"))

    assert len(it.stream_fn.contexts) == 1
    assert len(it.queued) == 1


def test_a_transform_changes_one_request_only() -> None:
    async def last_only(messages: list[Any], signal: AbortSignal) -> list[Any]:
        return messages[-1:]

    it = agent(says("one"), says("two"), transform_context=last_only)

    async def scenario() -> None:
        await it.prompt("a")
        await it.prompt("b")

    run(scenario())

    assert [texts(c.messages) for c in it.stream_fn.contexts] == [["user: a"], ["user: b"]]
    assert len(it.state.messages) == 4


def test_prepared_arguments_are_validated() -> None:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    mended = tool("echo", parameters=parameters, prepare_arguments=lambda raw: {"path": raw["file"]})
    it = agent(says(call("A", file="x")), says("ok"), tools=[mended])
    run(it.prompt("hi"))

    assert texts(it.state.messages)[2] == "result A: echo {'path': 'x'}"


def test_a_hook_that_ignores_an_abort_is_interrupted() -> None:
    stuck = asyncio.Event()

    async def prepare(turn: TurnContext) -> None:
        stuck.set()
        await asyncio.Event().wait()

    it = agent(says(call("A")), says("never"), prepare_next_turn=prepare, abort_grace_s=0.01)
    heard = Heard(it)

    async def scenario() -> None:
        running = asyncio.create_task(it.prompt("hi"))
        await stuck.wait()
        it.abort()
        await running

    run(scenario())

    assert heard.story[-2:] == ["turn_end 1", "agent_end"]
    assert heard.errors == []


def test_what_is_submitted_starts_a_run_or_joins_the_one_in_progress() -> None:
    gate = asyncio.Event()

    async def slow(*_: object) -> AsyncIterator[st.AssistantMessageEvent]:
        await gate.wait()
        for event in says("one"):
            yield event

    it = agent(slow, says("two"), says("three"))

    async def talk() -> list[Disposition]:
        first = [it.submit("a"), it.submit("b"), it.submit("c", kind="steer")]
        gate.set()
        await it.wait_for_idle()
        later = it.submit("d", kind="follow_up")
        await it.wait_for_idle()
        return [*first, later]

    said = run(talk())

    assert said == [
        Disposition(id=None, status="started"),
        Disposition(id="follow-up-1", status="queued"),
        Disposition(id="steer-1", status="queued"),
        Disposition(id="follow-up-2", status="started"),
    ]
    assert texts(it.state.messages) == [
        "user: a", "user: c", "assistant done: one",
        "user: b", "assistant done: two",
        "user: d", "assistant done: three",
    ]  # fmt: skip


def test_submitting_where_no_event_loop_runs_changes_nothing() -> None:
    it = agent(says("hi"))

    for kind in ("prompt", "steer"):
        with pytest.raises(RuntimeError, match="no running event loop"):
            it.submit("a", kind=kind)  # type: ignore[arg-type]

    assert (it.state.is_streaming, it.queued) == (False, ())
    assert texts(run(it.prompt("b"))) == ["user: b", "assistant done: hi"]


def test_what_waited_since_an_abort_goes_before_what_is_submitted_later() -> None:
    it = agent(says("one"), says("two"))

    async def talk() -> None:
        it.submit("a")
        it.abort()
        assert it.submit("b") == Disposition(id="follow-up-1", status="waiting")
        await it.wait_for_idle()
        it.submit("c", kind="follow_up")
        await it.wait_for_idle()

    run(talk())

    assert [line for line in texts(it.state.messages) if line.startswith("user")] == [
        "user: a",
        "user: b",
        "user: c",
    ]


def test_another_model_goes_on_from_the_same_conversation() -> None:
    second = msgspec.structs.replace(MODEL, id="second")
    asked: list[str | None] = []

    def fall_back(failed: AssistantMessage) -> OtherModel | None:
        asked.append(failed.error_message)
        return OtherModel(model=second, thinking_level=ThinkingLevel.LOW) if len(asked) == 1 else None

    error = ErrorInfo(kind="server", message="down", attempts=4)
    failure = [st.Start(), st.Failed(reason="error", message=answer("half", stop="error", error=error))]
    script = Script(failure, says("whole"), failure)
    it = agent(stream_fn=script, fall_back=fall_back)
    heard = Heard(it)

    added = run(it.prompt("go"))
    failed = run(it.prompt("again"))

    assert texts(added) == ["user: go", "assistant done: whole"]
    assert [model.id for model in script.models] == ["tiny", "second", "second"]
    assert [options.thinking_level for options in script.options] == ["off", "low", "low"]
    (again,) = [
        event.assistant_message_event
        for event in heard.events
        if isinstance(event, ev.MessageUpdateEvent) and isinstance(event.assistant_message_event, st.Retry)
    ]
    assert (again.attempt, again.reason, again.model) == (4, "down; test/second goes on", "test/tiny")
    assert (it.state.model, it.state.thinking_level) == (second, ThinkingLevel.LOW)
    assert texts(failed)[-1] == "assistant error: half"
    assert asked == ["down", "down"]
