"""The event grammar, over random scripts, tools, failures, aborts and interrupts."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as hs

from agentcore_runner.core import events as ev
from agentcore_runner.core import stream as st
from agentcore_runner.core.agent import Agent
from agentcore_runner.core.config import BeforeToolCall, BeforeToolCallResult, NextTurn
from agentcore_runner.core.convert import convert_to_llm
from agentcore_runner.core.messages import (
    AssistantMessage,
    ErrorInfo,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentTool, AgentToolResult, OnUpdate, text_result
from agentcore_runner.errors import ToolError
from tests.core.scripted import Heard, agent, answer, label, says, tool

IDS = hs.sampled_from(["", "a", "b", "call_1"])
NAMES = hs.sampled_from(["good", "fails", "raises", "waits", "deaf", "alone", "ends", "nosuch", "strict"])
CALLS = hs.builds(
    ToolCall,
    id=IDS,
    name=NAMES,
    arguments=hs.just({}),
    raw_arguments=hs.sampled_from([None, None, None, '{"cut']),
)
BLOCKS = hs.one_of(
    hs.text("xy ", min_size=1, max_size=6),
    hs.builds(ThinkingContent, thinking=hs.text("t", min_size=1)),
    CALLS,
)
STOPS = hs.sampled_from(["done", "done", "done", "length", "refused", "error", "aborted"])
FLAWS = hs.sampled_from(["", "", "", "", "early end", "raises", "hangs", "no start", "retry", "deaf hang"])
TURNS = hs.lists(hs.tuples(hs.lists(BLOCKS, max_size=4), STOPS, FLAWS), min_size=1, max_size=4)
HOOKS = ["blocks", "raises", "after raises", "stop", "next raises", "stop next"]
PLANS = hs.fixed_dictionaries(
    {
        "turns": TURNS,
        "mode": hs.sampled_from(["parallel", "sequential"]),
        "steering": hs.sampled_from(["all", "one-at-a-time"]),
        "abort_at": hs.none() | hs.integers(0, 30),
        "cancel_at": hs.none() | hs.none() | hs.integers(0, 30),
        "queue_at": hs.dictionaries(hs.integers(0, 30), hs.sampled_from(["steer", "follow"]), max_size=4),
        "raise_at": hs.sets(hs.integers(0, 30), max_size=4),
        "slow_at": hs.sets(hs.integers(0, 30), max_size=4),
        "sink_fails_at": hs.none() | hs.none() | hs.integers(0, 30),
        "hooks": hs.sets(hs.sampled_from(HOOKS)),
    }
)  # fmt: skip


def turn(blocks: list[Any], stop: Any, flaw: str) -> Any:
    """A stream of these blocks that ends, or breaks, as it says."""
    if stop in ("error", "aborted"):
        error = ErrorInfo(kind="server", message="overloaded")
        events = [
            *says(*blocks)[:-1],
            st.Failed(reason=stop, message=answer(*blocks, stop=stop, error=error)),
        ]
    else:
        events = says(*blocks, stop=stop)

    async def play(*_: object) -> AsyncIterator[st.AssistantMessageEvent]:
        for event in events[1:] if flaw == "no start" else events[:-1] if flaw else events:
            yield event
        if flaw == "raises":
            raise OSError("connection lost")
        if flaw == "retry":
            yield st.Retry(attempt=1, delay_s=0, status=None, reason="lost")
            for event in events:
                yield event
        if flaw == "deaf hang":
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                await asyncio.sleep(0.01)
        if flaw == "hangs":
            await asyncio.sleep(0.01)

    return play


def tools() -> list[AgentTool]:
    def body(name: str) -> Any:
        async def execute(
            params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
        ) -> AgentToolResult:
            on_update(text_result("so far"))
            match name:
                case "fails":
                    raise ToolError("no such file", {"path": "x"})
                case "raises":
                    await asyncio.sleep(0)
                    raise ValueError("broken")
                case "waits":
                    await asyncio.wait([asyncio.ensure_future(signal.wait())], timeout=0.002)
                case "deaf":
                    await asyncio.sleep(0.02)
                case "ends":
                    return AgentToolResult(terminate=True)
            return text_result(name)

        return execute

    strict = {"type": "object", "required": ["x"]}
    made = [tool(name, body(name)) for name in ("good", "fails", "raises", "waits", "deaf", "ends")]
    return [
        *made,
        tool("alone", body("alone"), execution_mode="sequential"),
        tool("strict", body("strict"), parameters=strict),
    ]


def build(plan: dict[str, Any]) -> tuple[Agent, Heard]:
    hooks = plan["hooks"]

    def before(question: BeforeToolCall) -> BeforeToolCallResult | None:
        if "raises" in hooks and question.tool_call.name == "good":
            raise RuntimeError("hook")
        return BeforeToolCallResult(block="blocks" in hooks and question.tool_call.name == "alone")

    async def after(question: object) -> None:
        if "after raises" in hooks:
            raise RuntimeError("hook")

    def prepare(turn: object) -> NextTurn:
        if "next raises" in hooks:
            raise RuntimeError("hook")
        return NextTurn(stop="stop next" in hooks)

    heard = Heard()
    count = 0

    def sink(event: ev.AgentEvent) -> None:
        heard(event)
        if len(heard.events) - 1 == plan["sink_fails_at"]:
            raise OSError("disk full")

    def listen(event: ev.AgentEvent) -> Any:
        nonlocal count
        at, count = count, count + 1
        if at == plan["abort_at"]:
            it.abort()
        if at == plan["cancel_at"]:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        if plan["queue_at"].get(at) == "steer":
            it.steer(f"S{at}")
        if plan["queue_at"].get(at) == "follow":
            it.follow_up(f"F{at}")
        if at in plan["raise_at"]:
            raise RuntimeError("listener")
        return asyncio.sleep(0) if at in plan["slow_at"] else None

    it = agent(
        *[turn(*each) for each in plan["turns"]],
        tools=tools(),
        tool_execution=plan["mode"],
        steering_mode=plan["steering"],
        before_tool_call=before,
        after_tool_call=after,
        prepare_next_turn=prepare,
        should_stop_after_turn=(lambda _: True) if "stop" in hooks else None,
        sink=sink,
        on_error=heard.on_error,
        abort_grace_s=0.005,
    )
    it.subscribe(listen)
    return it, heard


async def play(it: Agent) -> list[Any] | None:
    """The new messages, or None when the run was cancelled."""
    running = asyncio.create_task(it.prompt("go"))
    await asyncio.wait([running], timeout=5)
    assert running.done()
    return None if running.cancelled() else running.result()


@settings(max_examples=100, deadline=None)
@given(PLANS)
def test_the_grammar_holds_whatever_happens(plan: dict[str, Any]) -> None:
    it, heard = build(plan)

    new = asyncio.run(play(it))

    check_grammar(heard.events)
    assert not it.state.is_streaming
    assert it.state.pending_tool_calls == set()
    ends = [event for event in heard.events if isinstance(event, ev.AgentEndEvent)]
    assert [message for end in ends for message in end.messages] == it.state.messages
    assert new is None or new == it.state.messages
    check_pairing(it.state.messages)
    check_queues(it, plan)


def check_grammar(events: list[ev.AgentEvent]) -> None:
    """Section by section: runs, turns, messages, calls."""
    story = " ".join(kind(event) for event in events)
    message = "message_start (?:message_update )*message_end "
    turn = f"turn_start (?:{message}|tool_execution_(?:start|update|end) )*turn_end "
    assert re.fullmatch(f"(?:agent_start (?:{turn})+agent_end )+", story + " "), story
    open_message = None
    for event in events:
        match event:
            case ev.MessageStartEvent(message=message):
                open_message = type(message)
            case ev.MessageEndEvent(message=message):
                assert type(message) is open_message
            case ev.MessageUpdateEvent():
                assert open_message is AssistantMessage
    check_calls(events)


def kind(event: ev.AgentEvent) -> str:
    return str(event.__struct_config__.tag)


def check_calls(events: list[ev.AgentEvent]) -> None:
    """Every call of an answer has one start, one end and one result, in that order and in its turn."""
    calls: list[str] = []
    seen: list[str] = []
    for event in events:
        match event:
            case ev.TurnStartEvent():
                calls, seen = [], []
            case ev.MessageEndEvent(message=AssistantMessage() as message):
                calls = [call.id for call in message.tool_calls]
            case ev.ToolExecutionStartEvent() | ev.ToolExecutionEndEvent() | ev.ToolExecutionUpdateEvent():
                seen.append(label(event).removesuffix(" error"))
            case ev.MessageEndEvent(message=ToolResultMessage() as message):
                seen.append(f"result {message.tool_call_id}")
            case ev.TurnEndEvent():
                assert [result.tool_call_id for result in event.tool_results] == calls
                for id in calls:
                    own = [name for name in seen if name.endswith(f" {id}")]
                    own = [name for name in own if not name.startswith("tool_execution_update")]
                    assert own == [f"tool_execution_start {id}", f"tool_execution_end {id}", f"result {id}"]
                assert [name for name in seen if name.startswith("result")] == [
                    f"result {id}" for id in calls
                ]


def check_pairing(messages: list[Any]) -> None:
    """What is in the transcript can be sent: unique ids, a result for each call, and none without."""
    calls = [call.id for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls]
    results = [m.tool_call_id for m in messages if isinstance(m, ToolResultMessage)]
    assert calls == results
    assert len(set(calls)) == len(calls)
    assert convert_to_llm(messages) == messages


def check_queues(it: Agent, plan: dict[str, Any]) -> None:
    """Each queued message is in the transcript or still queued, once; one at a time is one a request."""
    delivered = [m.content[0].text for m in it.state.messages if isinstance(m, UserMessage)]
    queued = [item.message.content[0].text for item in it.queued]  # type: ignore[union-attr]
    names = Counter(delivered + queued)
    assert all(count == 1 for count in names.values())
    assert len(it.steering._handed_out) == len(it.follow_ups._handed_out) == 0


def test_the_grammar_check_notices_faults() -> None:
    good = [ev.AgentStartEvent(), ev.TurnStartEvent(), ev.TurnEndEvent(message=answer("x"))]

    for events in (good, [*good, ev.TurnStartEvent(), ev.AgentEndEvent(messages=())]):
        try:
            check_grammar(events)
        except AssertionError:
            continue
        raise RuntimeError("a broken run passed")


@settings(max_examples=60, deadline=None)
@given(PLANS)
def test_what_is_streamed_is_what_is_said(plan: dict[str, Any]) -> None:
    """The deltas of an answer, joined, are its text, unless the run was broken from outside."""
    plan = {**plan, "cancel_at": None, "sink_fails_at": None}
    it, heard = build(plan)
    asyncio.run(play(it))

    streamed: list[str] = []
    for event in heard.events:
        match event:
            case ev.MessageStartEvent():
                streamed = []
            case ev.MessageUpdateEvent(assistant_message_event=st.Retry()):
                streamed = []
            case ev.MessageUpdateEvent(assistant_message_event=st.TextDelta(delta=delta)):
                streamed.append(delta)
            case ev.MessageEndEvent(message=AssistantMessage() as message):
                assert "".join(streamed) == message.text
