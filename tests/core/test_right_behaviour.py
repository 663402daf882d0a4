"""What goes wrong in agent loops elsewhere, and must not here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from agentcore_runner.core import events as ev
from agentcore_runner.core import stream as st
from agentcore_runner.core.agent import Agent
from agentcore_runner.core.config import (
    AgentLoopConfig,
    BeforeToolCall,
    BeforeToolCallResult,
    NextTurn,
    TurnContext,
)
from agentcore_runner.core.convert import convert_to_llm
from agentcore_runner.core.loop import agent_loop
from agentcore_runner.core.messages import ErrorInfo, TextContent, ToolCall, ToolResultMessage, UserMessage
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import (
    AgentContext,
    AgentToolResult,
    OnUpdate,
    ToolExecutionMode,
    text_result,
)
from tests.core.scripted import MODEL, Heard, Script, agent, answer, call, label, now, run, says, texts, tool

ABORTED_TURN = [
    "tool_execution_end A error",
    "tool_execution_start B",
    "tool_execution_end B error",
    "message_start result A",
    "message_end result A",
    "message_start result B",
    "message_end result B",
    "turn_end 2",
    "agent_end",
]


class Waiting:
    """A tool's body that runs until the abort; `started` says that it does. A deaf one ignores the abort,
    and answers a cancellation with an error of its own."""

    def __init__(self, *, deaf: bool = False) -> None:
        self.started = asyncio.Event()
        self._deaf = deaf

    async def __call__(
        self, params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
    ) -> AgentToolResult:
        self.started.set()
        try:
            await (asyncio.Event().wait() if self._deaf else signal.wait())
        except asyncio.CancelledError:
            raise RuntimeError("late") from None
        return text_result("stopped", is_error=True)


async def abort_after(event: asyncio.Event, it: Agent) -> None:
    """Run a prompt and abort it once the event is set."""
    running = asyncio.create_task(it.prompt("hi"))
    await event.wait()
    it.abort()
    await running


def test_an_abort_during_tools_ends_the_run_without_another_request() -> None:
    waiting = Waiting()
    it = agent(says(call("A", "wait")), says("never"), tools=[tool("wait", waiting)])
    heard = Heard(it)

    run(abort_after(waiting.started, it))

    assert heard.story[6:] == [
        "tool_execution_start A",
        "tool_execution_end A error",
        "message_start result A",
        "message_end result A",
        "turn_end 1",
        "agent_end",
    ]
    assert len(it.stream_fn.contexts) == 1


@pytest.mark.parametrize("hook", ["transform_context", "convert_to_llm"])
def test_an_abort_while_the_request_is_prepared_keeps_it_from_being_made(hook: str) -> None:
    async def abort(messages: list[Any], *_: object) -> list[Any]:
        await asyncio.sleep(0)
        it.abort()
        return messages

    it = agent(says("hello"), **{hook: abort})

    assert texts(run(it.prompt("hi"))) == ["user: hi", "assistant aborted: "]
    assert it.stream_fn.contexts == []


def test_nobody_is_asked_about_a_call_that_an_abort_stopped_at_its_start() -> None:
    asked = []
    it = agent(says(call("A")), before_tool_call=asked.append)
    it.subscribe(lambda event: it.abort() if label(event) == "tool_execution_start A" else None)

    assert texts(run(it.prompt("hi")))[-1] == "result A: Operation aborted"
    assert asked == []


@pytest.mark.parametrize("mode", [None, ToolExecutionMode.SEQUENTIAL])
def test_calls_that_an_abort_kept_from_starting_get_results(mode: ToolExecutionMode | None) -> None:
    waiting = Waiting()
    wait = tool("wait", waiting, execution_mode=ToolExecutionMode.SEQUENTIAL)
    it = agent(says(call("A", "wait"), call("B")), tools=[wait, tool("echo", execution_mode=mode)])
    heard = Heard(it)

    run(abort_after(waiting.started, it))

    assert heard.story[7:] == [
        "tool_execution_end A error",
        "message_start result A",
        "message_end result A",
        "tool_execution_start B",
        "tool_execution_end B error",
        "message_start result B",
        "message_end result B",
        "turn_end 2",
        "agent_end",
    ]
    assert texts(it.state.messages)[-1] == "result B: Operation aborted"


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_calls_in_an_answer_that_failed_are_answered(stop: Any) -> None:
    failed = answer("so", call("A"), call("B"), stop=stop, error=ErrorInfo(kind="stream", message="cut"))
    it = agent([*says("so", call("A"), call("B"))[:-1], st.Failed(reason=stop, message=failed)])
    heard = Heard(it)

    run(it.prompt("hi"))

    assert heard.story[5:] == [
        f"message_end assistant {stop}",
        "tool_execution_start A",
        *ABORTED_TURN,
    ]
    assert [type(m) for m in it.state.messages[-2:]] == [ToolResultMessage, ToolResultMessage]


def test_a_call_that_was_prepared_does_not_run_after_an_abort_in_a_later_hook() -> None:
    ran = []

    async def body(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        ran.append(params)
        return text_result("ran")

    def objects(question: BeforeToolCall) -> None:
        if question.tool_call.id == "B":
            it.abort()

    it = agent(says(call("A"), call("B"), call("C")), tools=[tool("echo", body)], before_tool_call=objects)
    run(it.prompt("hi"))

    assert ran == []
    assert texts(it.state.messages)[2:] == [
        "result A: Operation aborted",
        "result B: Operation aborted",
        "result C: Operation aborted",
    ]


def test_a_tool_that_ignores_the_abort_is_left_behind() -> None:
    deaf = Waiting(deaf=True)
    it = agent(says(call("A", "deaf")), says("never"), tools=[tool("deaf", deaf)], abort_grace_s=0.02)
    heard = Heard(it)

    run(abort_after(deaf.started, it))

    assert heard.story[-3:] == ["message_end result A", "turn_end 1", "agent_end"]
    assert texts(it.state.messages)[-1] == (
        "result A: Operation aborted; 'deaf' did not stop within 0.02 s and was left behind."
    )


def test_what_a_tool_left_behind_comes_to_goes_to_the_error_channel() -> None:
    deaf = Waiting(deaf=True)
    it = agent(says(call("A", "deaf")), tools=[tool("deaf", deaf)], abort_grace_s=0.02)
    heard = Heard(it)
    reported = asyncio.Event()
    it.on_error = lambda error, where: (heard.on_error(error, where), reported.set())

    async def scenario() -> None:
        await abort_after(deaf.started, it)
        await reported.wait()

    run(scenario())

    (where, error), *_ = heard.errors
    assert where == "tool 'deaf'"
    assert error.startswith("ended after it was left behind: AgentToolResult(")
    assert "RuntimeError: late" in error


def test_an_exception_in_the_loop_ends_as_an_error_message() -> None:
    def broken(messages: object) -> list[Any]:
        raise ValueError("no such shape")

    it = agent(says("never"), convert_to_llm=broken)
    heard = Heard(it)

    new = run(it.prompt("hi"))

    assert heard.labels[4:] == [
        "message_start assistant",
        "message_end assistant error",
        "turn_end 0",
        "agent_end",
    ]
    assert new[-1].error == ErrorInfo(
        kind="internal", message="convert_to_llm raised ValueError: no such shape"
    )
    assert heard.errors == [("convert_to_llm", "no such shape")]


@pytest.mark.parametrize("hook", ["should_stop_after_turn", "prepare_next_turn", "transform_context"])
def test_a_hook_that_raises_closes_the_run(hook: str) -> None:
    def broken(*_: object) -> Any:
        raise ValueError("no")

    it = agent(says(call("A")), says("ok"), **{hook: broken})
    heard = Heard(it)

    run(it.prompt("hi"))

    assert heard.story[-4:] == [
        "message_start assistant",
        "message_end assistant error",
        "turn_end 0",
        "agent_end",
    ]
    assert heard.story.count("turn_start") == heard.story.count("turn_end 0") + heard.story.count(
        "turn_end 1"
    )
    assert heard.errors == [(hook, "no")]


def test_a_listener_that_raises_changes_nothing() -> None:
    quiet, loud = agent(says(call("A")), says("ok")), agent(says(call("A")), says("ok"))
    heard_quiet = Heard(quiet)

    def raises(event: ev.AgentEvent) -> None:
        raise RuntimeError(label(event))

    async def raises_later(event: ev.AgentEvent) -> None:
        await asyncio.sleep(0)
        raise RuntimeError("later " + label(event))

    loud.subscribe(raises)
    loud.subscribe(raises_later)
    heard_loud = Heard(loud)

    assert run(loud.prompt("hi")) == run(quiet.prompt("hi"))
    assert heard_loud.labels == heard_quiet.labels
    assert heard_loud.errors[-2:] == [("listener", "agent_end"), ("listener", "later agent_end")]
    assert len(heard_loud.errors) == 2 * len(heard_loud.events)


@pytest.mark.parametrize("slow", ["sink", "listener"])
def test_an_event_whose_hearing_is_cancelled_is_heard_by_the_other_listeners(slow: str) -> None:
    reached = asyncio.Event()

    async def hear(event: ev.AgentEvent) -> None:
        if label(event) == "message_end user":
            reached.set()
            await asyncio.Event().wait()

    it = agent(says("hello"), sink=hear if slow == "sink" else None)
    if slow == "listener":
        it.subscribe(hear)
    heard = Heard(it)

    async def scenario() -> None:
        running = asyncio.create_task(it.prompt("hi"))
        await reached.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(scenario())

    assert heard.labels[2:] == [
        "message_start user",
        "message_end user",
        "message_start assistant",
        "message_end assistant aborted",
        "turn_end 0",
        "agent_end",
    ]


def test_the_record_comes_before_the_listeners_and_its_failure_aborts_the_run() -> None:
    order = []

    def record(event: ev.AgentEvent) -> None:
        order.append(f"record {label(event)}")
        if label(event) == "message_update text_start":
            raise OSError("disk full")

    it = agent(says("hello"), sink=record)
    heard = Heard(it)
    it.subscribe(lambda event: order.append(f"listener {label(event)}"))

    run(it.prompt("hi"))

    assert heard.labels[-4:] == [
        "message_update text_start",
        "message_end assistant aborted",
        "turn_end 0",
        "agent_end",
    ]
    assert order == [f"{who} {name}" for name in heard.labels for who in ("record", "listener")]
    assert heard.errors == [("sink", "disk full")]


def test_a_stream_without_a_last_event_is_a_retryable_error() -> None:
    it = agent(says("hello")[:-1])

    new = run(it.prompt("hi"))

    assert new[-1].text == "hello"
    assert new[-1].stop_reason == "error"
    assert new[-1].error is not None
    assert (new[-1].error.kind, new[-1].error.retryable) == ("stream", True)


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_stalled_stream_is_ended_by_an_abort(stubborn: bool) -> None:
    closed = []
    stalled = asyncio.Event()

    async def stalls(*_: object) -> AsyncIterator[st.AssistantMessageEvent]:
        yield st.Start()
        yield st.TextStart(content_index=0)
        yield st.TextDelta(content_index=0, delta="so far")
        stalled.set()
        try:
            if stubborn:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    await asyncio.Event().wait()
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    it = agent(stalls, abort_grace_s=0.02)
    heard = Heard(it)

    run(abort_after(stalled, it))

    assert heard.story[-3:] == ["message_end assistant aborted", "turn_end 0", "agent_end"]
    assert texts(it.state.messages)[-1] == "assistant aborted: so far"
    assert closed == [True]


def test_a_stream_that_reports_its_own_abort_keeps_its_usage() -> None:
    from agentcore_runner.core.messages import Usage

    async def polite(_: object, __: object, options: st.StreamOptions) -> AsyncIterator[Any]:
        yield st.Start()
        await options.signal.wait()
        message = msgspec.structs.replace(answer("so far", stop="aborted"), usage=Usage(input=7))
        yield st.Failed(reason="aborted", message=message)

    it = agent(polite)
    it.subscribe(lambda event: it.abort() if label(event) == "message_start assistant" else None)

    new = run(it.prompt("hi"))

    assert (new[-1].stop_reason, new[-1].usage.input) == ("aborted", 7)


def test_a_stream_function_that_raises_is_an_error_message() -> None:
    async def breaks(*_: object) -> AsyncIterator[st.AssistantMessageEvent]:
        yield st.Start()
        raise KeyError("choices")

    it = agent(breaks)
    heard = Heard(it)

    new = run(it.prompt("hi"))

    assert heard.labels[-4:] == [
        "message_start assistant",
        "message_end assistant error",
        "turn_end 0",
        "agent_end",
    ]
    assert new[-1].error_message == "The model's stream function raised KeyError: 'choices'"
    assert heard.errors == [("stream_fn", "'choices'")]


def test_endless_identical_calls_are_ended_by_the_host_before_the_next_request() -> None:
    turns = []

    def at_most_three(turn: TurnContext) -> NextTurn | None:
        turns.append(turn.message)
        return NextTurn(stop=True) if len(turns) == 3 else None

    it = agent(*[says(call("A")) for _ in range(9)], prepare_next_turn=at_most_three)
    it.follow_up("still here")
    heard = Heard(it)

    run(it.prompt("hi"))

    assert len(it.stream_fn.contexts) == 3
    assert heard.story[-2:] == ["turn_end 1", "agent_end"]
    assert len(it.queued) == 1


def test_malformed_arguments_never_run_and_are_shown_to_the_model() -> None:
    broken = ToolCall(id="A", name="echo", raw_arguments='{"path": }')
    it = agent(says(broken), says("ok"))
    heard = Heard(it)

    run(it.prompt("hi"))

    assert heard.events[8].args == '{"path": }'
    assert texts(it.state.messages)[2:] == [
        "result A: The arguments of 'echo' are not a JSON object, so it was not run. "
        'Issue the call again with one complete JSON object. Received:\n{"path": }',
        "assistant done: ok",
    ]


def test_calls_cut_by_the_output_limit_do_not_run_and_the_model_is_told() -> None:
    it = agent(says(call("A"), call("B"), stop="length"), says("ok"))
    heard = Heard(it)

    run(it.prompt("hi"))

    assert heard.story[6:15] == ["tool_execution_start A", *ABORTED_TURN[:-1]]
    assert "output limit" in texts(it.state.messages)[2]
    assert texts(it.state.messages)[-1] == "assistant done: ok"


def test_a_stop_for_tools_without_calls_is_a_retryable_error() -> None:
    message = msgspec.structs.replace(answer("thinking"), raw_stop_reason="tool_calls")
    it = agent([st.Start(), st.Done(reason="done", message=message)])

    new = run(it.prompt("hi"))

    assert new[-1].stop_reason == "error"
    assert new[-1].error is not None
    assert new[-1].error.retryable


def test_a_result_without_its_call_is_not_sent() -> None:
    user = UserMessage(content=(TextContent(text="hi"),), timestamp=0)
    orphan = ToolResultMessage(tool_call_id="X", tool_name="echo", content=(), timestamp=0)

    assert convert_to_llm([orphan, user]) == [user]


def test_duplicate_call_ids_are_made_unique_on_arrival() -> None:
    it = agent(says(call("A", x=1), call("A", x=2)), says(call("A", x=3)), says("ok"))
    heard = Heard(it)

    run(it.prompt("hi"))

    pieces = [e.assistant_message_event for e in heard.events if isinstance(e, ev.MessageUpdateEvent)]
    assert [p.id for p in pieces if isinstance(p, st.ToolCallStart)] == ["A", "A_2", "A_3"]
    assert [p.tool_call.id for p in pieces if isinstance(p, st.ToolCallEnd)] == ["A", "A_2", "A_3"]
    assert texts(it.state.messages)[1:] == [
        "assistant done: ",
        "result A: echo {'x': 1}",
        "result A_2: echo {'x': 2}",
        "assistant done: ",
        "result A_3: echo {'x': 3}",
        "assistant done: ok",
    ]


def test_a_sequential_tool_is_a_barrier_between_parallel_ones() -> None:
    running: set[str] = set()
    together: list[list[str]] = []

    def body(name: str, others: int) -> Any:
        async def execute(
            params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
        ) -> AgentToolResult:
            running.add(params["id"])
            for _ in range(20):
                await asyncio.sleep(0)
            together.append(sorted(running))
            await asyncio.sleep(0)
            running.discard(params["id"])
            return text_result(name)

        return execute

    tools = [tool("par", body("par", 2)), tool("seq", body("seq", 1), execution_mode="sequential")]
    calls = [call(id, "seq" if id == "C" else "par", id=id) for id in "ABCDE"]
    it = agent(says(*calls), says("ok"), tools=tools)

    run(it.prompt("hi"))

    assert together == [["A", "B"], ["A", "B"], ["C"], ["D", "E"], ["D", "E"]]
    assert [m.tool_call_id for m in it.state.messages if isinstance(m, ToolResultMessage)] == list("ABCDE")


def test_steering_that_an_abort_kept_from_delivery_is_put_back() -> None:
    it = agent(says(call("A")), says("never"), says("later"))

    def prepare(turn: TurnContext) -> None:
        it.steer("second")
        it.abort()

    it.prepare_next_turn = prepare
    it.subscribe(lambda event: it.steer("first") and None if label(event) == "turn_end 1" else None)

    async def scenario() -> None:
        await it.prompt("hi")
        assert [item.message.content[0].text for item in it.queued] == ["first", "second"]
        it.prepare_next_turn = None
        await it.continue_()

    run(scenario())

    assert len(it.stream_fn.contexts) == 3
    assert texts(it.state.messages)[2:] == [
        "result A: echo {}",
        "user: first",
        "assistant done: never",
        "user: second",
        "assistant done: later",
    ]


def test_a_message_queued_while_the_run_ends_is_delivered() -> None:
    it = agent(says("one"), says("two"), says("three"))
    late = ["steer me", "follow me"]

    def queue(event: ev.AgentEvent) -> None:
        if label(event) == "agent_end" and late:
            (it.steer if late[0].startswith("steer") else it.follow_up)(late.pop(0))

    it.subscribe(queue)
    new = run(it.prompt("hi"))

    assert texts(new) == [
        "user: hi",
        "assistant done: one",
        "user: steer me",
        "assistant done: two",
        "user: follow me",
        "assistant done: three",
    ]
    assert it.queued == ()


def test_queued_messages_carry_ids_of_their_own() -> None:
    it = agent(says("one"))

    same = [it.steer("again"), it.steer("again"), it.follow_up("again")]

    assert len({disposition.id for disposition in same}) == 3
    assert [item.id for item in it.queued] == [disposition.id for disposition in same]


def test_a_caller_learns_what_becomes_of_a_queued_message() -> None:
    it = agent(says("one"), says("two"), says("three"))
    statuses = [it.steer("while idle").status]
    it.subscribe(
        lambda event: statuses.append(it.follow_up("x").status) if label(event) == "turn_start" else None
    )

    async def scenario() -> None:
        await it.prompt("hi")

    it.should_stop_after_turn = lambda turn: True
    run(scenario())

    assert statuses == ["waiting", "queued"]
    assert texts(it.state.messages)[:2] == ["user: hi", "user: while idle"]


@pytest.mark.parametrize(
    "where", ["agent_start", "message_update text_delta", "tool_execution_start A", "turn_end 1", "agent_end"]
)
@pytest.mark.parametrize("how", ["KeyboardInterrupt", "cancel"])
def test_an_interrupt_closes_the_run_and_is_raised_again(where: str, how: str) -> None:
    heard = Heard()

    async def emit(event: ev.AgentEvent) -> None:
        heard(event)
        if label(event) == where and heard.labels.count(where) == 1:
            if how == "KeyboardInterrupt":
                raise KeyboardInterrupt
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        await asyncio.sleep(0)

    config = AgentLoopConfig(model=MODEL, stream_fn=Script(says("so", call("A")), says("ok")), now=now)
    context = AgentContext(messages=[], tools=(tool("echo"),))
    with pytest.raises(KeyboardInterrupt if how == "KeyboardInterrupt" else asyncio.CancelledError):
        asyncio.run(agent_loop([], context, config, emit, AbortSignal()))

    assert heard.story[-1] == "agent_end"
    assert heard.story[-2].startswith("turn_end")


def test_a_cancelled_run_lets_its_tools_clean_up() -> None:
    cleaned = []
    started = asyncio.Event()

    async def body(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(signal.aborted)
        return text_result("never")

    it = agent(says(call("A", "long")), tools=[tool("long", body)])
    heard = Heard(it)

    async def scenario() -> None:
        running = asyncio.create_task(it.prompt("hi"))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not it.state.is_streaming

    run(scenario())

    assert cleaned == [True]
    assert heard.story[7:] == [
        "tool_execution_end A error",
        "message_start result A",
        "message_end result A",
        "turn_end 1",
        "agent_end",
    ]


def test_a_tool_that_raises_keyboard_interrupt_ends_the_run_well() -> None:
    async def body(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        raise KeyboardInterrupt

    it = agent(says(call("A", "ctrl_c")), tools=[tool("ctrl_c", body)])
    heard = Heard(it)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(it.prompt("hi"))

    assert heard.story[-2:] == ["turn_end 1", "agent_end"]


def test_what_a_hook_makes_of_the_arguments_is_validated() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    def before(question: BeforeToolCall) -> BeforeToolCallResult:
        return BeforeToolCallResult(args={"n": "7" if question.args["n"] == 1 else "many"})

    it = agent(
        says(call("A", n=1), call("B", n=2)),
        says("ok"),
        tools=[tool("echo", parameters=schema)],
        before_tool_call=before,
    )
    run(it.prompt("hi"))

    first, second = texts(it.state.messages)[2:4]
    assert first == "result A: echo {'n': 7}"
    assert second.startswith("result B: Invalid arguments for tool 'echo'")
