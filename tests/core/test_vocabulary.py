"""What holds of every value of the vocabulary."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from agentcore_runner.core import events as ev
from agentcore_runner.core.convert import Converter, convert_to_llm
from agentcore_runner.core.decode import decode_event, decode_message
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    Message,
    ToolCall,
    ToolResultMessage,
    Usage,
    UsageCost,
)
from agentcore_runner.core.model import ModelCost, priced
from agentcore_runner.core.stream import AssistantMessageEvent
from agentcore_runner.transcript.lines import encode_line
from tests.core.generated import values

SOME = settings(max_examples=40, deadline=None)
MANY = settings(SOME, max_examples=100)


@pytest.mark.parametrize("kind", get_args(AgentMessage))
@SOME
@given(hs.data())
def test_a_message_survives_being_stored(kind: type[AgentMessage], data: hs.DataObject) -> None:
    message = data.draw(values(kind))

    back = decode_message(encode_line(message))

    assert back == message
    assert type(back) is kind


@pytest.mark.parametrize("kind", get_args(ev.AgentEvent))
@SOME
@given(hs.data())
def test_an_event_survives_being_stored(kind: type[ev.AgentEvent], data: hs.DataObject) -> None:
    event = data.draw(values(kind))

    back = decode_event(encode_line(event))

    assert back == event
    assert type(back) is kind


@pytest.mark.parametrize("kind", get_args(AssistantMessageEvent))
@SOME
@given(hs.data())
def test_a_piece_of_an_answer_survives_being_stored(kind: Any, data: hs.DataObject) -> None:
    event = ev.MessageUpdateEvent(assistant_message_event=data.draw(values(kind)))

    assert decode_event(encode_line(event)) == event


COUNTS = hs.integers(0, 10**9)
PRICES = hs.floats(0, 1000)
PARTS = ("input", "output", "cache_read", "cache_write")
USAGES = hs.builds(Usage, **dict.fromkeys(PARTS, COUNTS), cost=hs.none() | values(UsageCost))
COSTS = hs.builds(ModelCost, **dict.fromkeys(PARTS, PRICES))


@MANY
@given(USAGES, USAGES, COSTS)
def test_totals_are_the_sums_of_their_parts(usage: Usage, other: Usage, cost: ModelCost) -> None:
    counted = priced(usage, cost)
    changed = msgspec.structs.replace(usage, input=other.input, cost=other.cost)
    misread = msgspec.convert({**msgspec.to_builtins(usage), "total_tokens": 7}, Usage)

    for each in (usage, counted, changed, misread):
        assert each.total_tokens == sum(getattr(each, part) for part in PARTS)
        assert each.cost is None or each.cost.total == sum(getattr(each.cost, part) for part in PARTS)
    assert msgspec.structs.replace(counted, cost=usage.cost) == usage == misread
    for part in PARTS:
        paid = getattr(usage, part) * getattr(cost, part) / 1_000_000
        assert getattr(counted.cost, part) == pytest.approx(paid)


CALLS = hs.sampled_from(["a", "b"])
WITH_CALLS = hs.lists(CALLS.map(lambda id: ToolCall(id=id, name="echo")), max_size=2).map(
    lambda calls: AssistantMessage(
        content=tuple(calls), api="", provider="", model="", stop_reason="done", timestamp=0
    )
)
RESULTS = hs.builds(
    ToolResultMessage,
    tool_call_id=CALLS,
    tool_name=hs.just("echo"),
    content=hs.just(()),
    timestamp=hs.just(0),
)
SOME_MESSAGES = hs.sampled_from([WITH_CALLS, RESULTS, RESULTS, values(AgentMessage)]).flatmap(
    lambda kind: kind
)
POOLS = hs.lists(SOME_MESSAGES, min_size=1, max_size=6)
SLICES = hs.lists(hs.tuples(hs.sampled_from([0, 0, 0, 1, 2]), hs.integers(0, 6)), max_size=6)


@MANY
@given(POOLS, SLICES)
def test_a_history_that_grows_or_is_cut_is_converted_as_a_fresh_one_is(
    pool: list[AgentMessage], slices: list[tuple[int, int]]
) -> None:
    """What is sent of a message is the same object as the time before."""
    convert = Converter()
    sendable = [place for place, message in enumerate(pool) if convert_to_llm([message])]
    before: dict[int, Message] = {}

    for start, end in slices:
        sent = convert(pool[start:end])

        assert sent == convert_to_llm(pool[start:end])
        others = [message for message in sent if not isinstance(message, ToolResultMessage)]
        now = dict(zip([place for place in sendable if start <= place < end], others, strict=True))
        assert all(now[place] is before[place] for place in now.keys() & before.keys())
        before = now
