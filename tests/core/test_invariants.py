"""What holds of every conversation, over generated ones: models, tools, hooks and listeners that misbehave,
and aborts anywhere."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as hs

from agentcore_runner.characters import mended
from agentcore_runner.core import events as ev
from agentcore_runner.core import stream as st
from agentcore_runner.core.messages import AssistantMessage, UserMessage
from agentcore_runner.core.tools import AgentTool, AgentToolResult, ToolExecutionMode, text_result
from agentcore_runner.transcript.recorder import Recorder
from tests.core.checks import Grammar, check_replayable, check_request
from tests.core.generated import Called, Plan, Reply, plans
from tests.core.scripted import Body, Heard, Turn, agent, call, run, says, texts, tool
from tests.core.stage import Stage, users

T = TypeVar("T")
MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(MANY, max_examples=25)


def played(plan: Plan, play: Callable[[Stage], Awaitable[T]] = Stage.play) -> tuple[Stage, T]:
    """The stage after the play, and what that came to."""

    async def whole() -> tuple[Stage, T]:
        stage = Stage(plan)
        try:
            return stage, await play(stage)
        finally:
            await stage.clean_up()

    return run(whole(), seconds=30)


@MANY
@given(plans())
def test_events_keep_the_grammar_and_answers_are_what_was_streamed(plan: Plan) -> None:
    stage, _ = played(plan)  # every event is checked as it is heard

    stage.grammar.check_is_over()
    assert stage.agent.state.streaming_message is None
    assert not stage.agent.state.is_streaming
    assert stage.agent.state.pending_tool_calls == set()


@MANY
@given(plans())
def test_what_a_run_added_is_what_its_events_say(plan: Plan) -> None:
    stage, added = played(plan)

    ends = [event for event in stage.heard if isinstance(event, ev.AgentEndEvent)]
    told = [message for event in ends for message in event.messages]
    assert stage.agent.state.messages == stage.grammar.said == told
    assert added is None or added == told
    assert (added is None) == (stage.task is not None and stage.task.cancelled())


@FEW
@given(plans(calm=True, most_replies=3))
def test_after_an_abort_at_any_event_the_conversation_goes_on(plan: Plan) -> None:
    whole, _ = played(plan)

    for at in range(len(whole.heard)):
        stage, made = played(dataclasses.replace(plan, deeds=(*plan.deeds, (at, "abort"))), go_on)

        check_replayable(stage.agent.state.messages)
        for request in stage.requests:
            check_request(request)
        assert len(stage.requests) > made
        assert stage.agent.queued == ()
        assert "again" in users(stage.agent.state.messages)


async def go_on(stage: Stage) -> int:
    """Say something more after the plan's end; how many requests there had been."""
    await stage.play()
    check_replayable(stage.agent.state.messages)
    stage.calm_down()
    made = len(stage.requests)
    added = await stage.play("again")
    assert added is not None and is_good(added[-1])
    return made


def is_good(message: Any) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason == "done"


@MANY
@given(plans(calm=True) | plans())
def test_a_conversation_goes_on_without_a_prompt_where_something_is_open(plan: Plan) -> None:
    async def play(stage: Stage) -> None:
        await stage.play()
        stage.calm_down()
        before, heard = list(stage.agent.state.messages), len(stage.heard)
        answered = not before or isinstance(before[-1], AssistantMessage)
        if answered and (not before or not stage.agent.queued):
            with pytest.raises(RuntimeError, match="nothing to continue"):
                await stage.agent.continue_()
            assert (stage.agent.state.messages, len(stage.heard)) == (before, heard)
            return
        expected = [item.message for item in stage.agent.queued]
        added = await stage.see_through(stage.agent.continue_())
        assert added is not None and is_good(added[-1])
        assert [message for message in added if isinstance(message, UserMessage)] == expected
        assert stage.agent.state.messages == before + added
        assert stage.agent.queued == ()

    stage, _ = played(plan, play)

    stage.grammar.check_is_over()
    for request in stage.requests:
        check_request(request)


@FEW
@given(plans(calm=True))
def test_any_answer_of_a_transcript_can_be_asked_for_again(plan: Plan) -> None:
    messages = played(plan)[0].agent.state.messages

    answers = [isinstance(message, AssistantMessage) for message in messages]
    for end in [at for at, is_answer in enumerate(answers) if at and is_answer and not answers[at - 1]]:
        it = agent(says("well", call("call_1"), call("a")), says("done"), messages=messages[:end])
        heard = Heard(it)
        added = run(it.continue_())
        check_events(heard.events)
        check_replayable(messages[:end] + added)
        assert texts(added)[-1] == "assistant done: done"


def check_events(events: list[ev.AgentEvent]) -> None:
    grammar = Grammar()
    for event in events:
        grammar.feed(event)
    grammar.check_is_over()


@MANY
@given(plans(calm=True))
def test_what_breaks_a_run_is_reported_and_is_its_last_answer(plan: Plan) -> None:
    stage, _ = played(plan)

    survived = ("listener", "before_tool_call", "after_tool_call", "tool 'returns nothing'")
    reported = [str(error) for where, error in stage.errors if where not in survived]
    answers = [message for message in stage.agent.state.messages if isinstance(message, AssistantMessage)]
    failures = [message.error for message in answers if message.error and message.error.kind == "internal"]
    assert len(failures) == len(reported)
    for failure, error in zip(failures, reported, strict=True):
        assert failure.message.endswith(error)


@MANY
@given(plans())
def test_no_queued_message_is_lost_or_delivered_twice(plan: Plan) -> None:
    stage, _ = played(plan)

    delivered = [text for text in users(stage.agent.state.messages) if text in stage.queued]
    left = [(item.id, *users([item.message])) for item in (*stage.cleared, *stage.agent.queued)]
    waiting = [text for _, text in left]
    assert Counter(delivered + waiting) == Counter(stage.queued.keys())
    assert all(stage.queued[text] == id for id, text in left)
    assert len(set(stage.queued.values())) == len(stage.queued)
    still_queued = users([item.message for item in stage.agent.queued])
    for kind in ("steer", "follow up"):
        numbers = [int(text.rpartition(" ")[2]) for text in delivered + still_queued if text.startswith(kind)]
        assert numbers == sorted(numbers)


@MANY
@given(plans(calm=True))
def test_a_turn_gets_one_queued_message_where_one_is_asked_for(plan: Plan) -> None:
    assume("change modes" not in [deed for _, deed in plan.deeds])
    stage, _ = played(plan)

    turns: list[list[str]] = []
    for event in stage.heard:
        match event:
            case ev.TurnStartEvent():
                turns.append([])
            case ev.MessageStartEvent(message=UserMessage() as message):
                turns[-1] += [text for text in users([message]) if text in stage.queued]
    for delivered in turns:
        kinds = {text.rpartition(" ")[0] for text in delivered}
        assert len(kinds) <= 1
        everything = plan.all_steering if kinds == {"steer"} else plan.all_follow_ups
        assert everything or len(delivered) <= 1


@MANY
@given(plans(), hs.sampled_from([(), (Reply((Called("deaf", "aborts and is deaf", {}),)),)]))
def test_nothing_outlives_a_run_but_tools_that_ignore_the_abort(plan: Plan, first: tuple[Reply, ...]) -> None:
    async def play(stage: Stage) -> None:
        playing = asyncio.create_task(stage.play())
        await stage.begun.wait()
        await stage.agent.wait_for_idle()
        await playing
        assert await stage.tasks_left() == stage.deaf_tools
        assert stage.open_streams == 0

        stage.calm_down()
        heard, errors = len(stage.heard), len(stage.errors) + stage.deaf_tools
        stage.released.set()
        assert await stage.tasks_left() == 0
        assert (len(stage.heard), len(stage.errors)) == (heard, errors)

    played(dataclasses.replace(plan, replies=(*first, *plan.replies)), play)


@FEW
@given(hs.lists(hs.tuples(hs.booleans(), hs.integers(0, 9)), min_size=1, max_size=7), hs.booleans())
def test_calls_run_together_between_barriers_and_are_answered_in_order(
    calls: list[tuple[bool, int]], sequential: bool
) -> None:
    """Each call waits until its whole group runs, then for its turn to end: one by one they would hang."""
    running, strangers = set[int](), set[int]()
    ended = [asyncio.Event() for _ in calls]
    order: list[int] = []
    tools: dict[int, AgentTool] = {}

    def waiting(number: int, group: list[int], everyone: asyncio.Barrier) -> Body:
        async def execute(*_: object) -> AgentToolResult:
            running.add(number)
            await asyncio.sleep(0)
            strangers.update(running - set(group))
            await everyone.wait()
            if number != group[0]:
                await ended[group[group.index(number) - 1]].wait()
            running.discard(number)
            ended[number].set()
            return text_result(str(number))

        return execute

    for group in grouped([sequential or alone for alone, _ in calls]):
        ending, everyone = sorted(group, key=lambda number: calls[number][1]), asyncio.Barrier(len(group))
        order += ending
        for number in group:
            mode = ToolExecutionMode.SEQUENTIAL if calls[number][0] else None
            tools[number] = tool(f"t{number}", waiting(number, ending, everyone), execution_mode=mode)
    answer = says(*[call(str(number), f"t{number}") for number in tools])
    it = agent(answer, tools=[*tools.values()], tool_execution="sequential" if sequential else "parallel")
    heard = Heard(it)
    run(it.prompt("go"))

    check_events(heard.events)
    assert strangers == set()
    assert [
        event.tool_call_id for event in heard.events if isinstance(event, ev.ToolExecutionEndEvent)
    ] == list(map(str, order))
    assert texts(it.state.messages)[2:-1] == [f"result {number}: {number}" for number in tools]


ID_LISTS = hs.lists(hs.sampled_from(["", "a", "a_2", "call"]), min_size=1, max_size=4)


@FEW
@given(hs.lists(hs.tuples(ID_LISTS, hs.integers(0, 2)), max_size=4))
def test_call_ids_are_unique_and_those_that_are_free_stay(answers: list[tuple[list[str], int]]) -> None:
    """Each answer is broken off and begun anew some times before it is whole."""
    turns: list[Turn] = []
    for wanted, retries in answers:
        whole = says(*[call(id) for id in wanted])
        again = [*whole[:-1], st.Retry(attempt=1, delay_s=0, status=None, reason="lost")]
        turns.append(again * retries + whole)

    added = run(agent(*turns).prompt("go"))

    given = [[block.id for block in message.tool_calls] for message in added if is_good(message)]
    pairs = [
        pair for (ids, _), got in zip(answers, given, strict=False) for pair in zip(ids, got, strict=True)
    ]
    taken: set[str] = set()
    for id, got in pairs:
        assert got not in taken
        assert got == id if id and id not in taken else got.startswith(id or "call")
        taken.add(got)


def grouped(alone: list[bool]) -> list[list[int]]:
    """Numbers of neighbours that run together."""
    groups: list[list[int]] = []
    for number, is_alone in enumerate(alone):
        if number and not is_alone and not alone[number - 1]:
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


@MANY
@given(plans())
def test_the_record_of_any_run_is_one_json_object_a_line(plan: Plan) -> None:
    lines: list[bytes] = []

    def play(stage: Stage) -> Awaitable[object]:
        stage.agent.subscribe(Recorder("run", [lines.append], lambda: 0.0, partial=True).on_event)
        return stage.play()

    stage, _ = played(plan, play)

    records = [json.loads(line) for line in b"".join(lines).decode().splitlines()]
    assert [record["seq"] for record in records] == list(range(len(lines)))
    messages = [record["message"] for record in records if record["type"] == "message_end"]
    assert messages == mended(msgspec.to_builtins(stage.agent.state.messages))
