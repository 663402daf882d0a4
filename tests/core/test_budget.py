from typing import Any

import pytest

from agentcore_runner.core.budget import Budget, BudgetLimits, Spent
from agentcore_runner.core.compaction import CompactionEnd, CompactionStart
from agentcore_runner.core.events import MessageEndEvent, MessageUpdateEvent, TurnEndEvent
from agentcore_runner.core.messages import (
    AssistantMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UsageCost,
)
from agentcore_runner.core.stream import Retry


def turn(*commands: str, usage: Usage = Usage()) -> AssistantMessage:  # noqa: B008 - a frozen value
    """An answer that calls `bash` with these commands, whose ids are their places."""
    calls = tuple(
        ToolCall(id=str(place), name="bash", arguments={"command": each})
        for place, each in enumerate(commands)
    )
    return AssistantMessage(
        content=calls, api="a", provider="p", model="m", stop_reason="done", timestamp=0, usage=usage
    )


def play(budget: Budget, message: AssistantMessage) -> None:
    """What a run says of one turn."""
    budget.on_event(MessageEndEvent(message=message))
    budget.on_event(TurnEndEvent(message=message, tool_results=()))


def used(tokens: int, usd: float) -> Usage:
    return Usage(input=tokens, cost=UsageCost(input=usd))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def budget(**limits: Any) -> Budget:
    return Budget(BudgetLimits(**limits), Clock())


def test_a_turn_limit_allows_so_many_turns_and_no_more() -> None:
    it = budget(max_turns=2)

    play(it, turn("a"))
    after_one = it.exceeded()
    play(it, turn("b"))

    assert after_one is None
    assert it.exceeded() == Spent(name="max_turns", value=2, used=2)


def test_calls_at_the_limit_run_and_leave_room_for_an_answer() -> None:
    it = budget(max_tool_calls=3)
    play(it, turn("a"))

    it.on_event(MessageEndEvent(message=turn("b", "c", "d")))
    allowed = [it.allows_call(place) for place in "012"]
    past_it = it.exceeded()
    at_it = budget(max_tool_calls=3)
    play(at_it, turn("a", "b", "c"))

    assert (allowed, past_it) == ([True, True, False], Spent(name="max_tool_calls", value=3, used=4))
    assert at_it.exceeded() is None


def test_only_equal_calls_in_a_row_count_as_repetition() -> None:
    it = budget(max_repeated_calls=3)

    play(it, turn("a", "a"))
    play(it, turn("b", "a", "a"))
    before = it.exceeded()
    play(it, turn("a"))

    assert before is None
    assert it.exceeded() == Spent(name="max_repeated_calls", value=3, used=3)


def test_time_counts_from_the_beginning() -> None:
    clock = Clock()
    it = Budget(BudgetLimits(timeout=10.0), clock)

    clock.now = 9.9
    before = it.exceeded()
    clock.now = 10.0

    assert before is None
    assert it.exceeded() == Spent(name="timeout", value=10.0, used=10.0)


def test_tokens_of_answers_failed_attempts_tools_and_summaries_all_count() -> None:
    it = budget(max_tokens=100)
    again = Retry(attempt=1, delay_s=0.0, status=None, reason="too long", usage=used(20, 0.0))
    result = ToolResultMessage(
        tool_call_id="0",
        tool_name="ask",
        content=(TextContent(text="ok"),),
        timestamp=0,
        usage=used(30, 0.0),
    )

    it.on_event(MessageUpdateEvent(assistant_message_event=again))
    play(it, turn("a", usage=used(9, 0.0)))
    it.on_event(MessageEndEvent(message=result))
    it.count_usage(used(40, 0.0))
    before = it.exceeded()
    play(it, turn(usage=used(1, 0.0)))

    assert before is None
    assert it.exceeded() == Spent(name="max_tokens", value=100, used=100)


def test_money_is_what_the_priced_requests_cost() -> None:
    it = budget(max_cost_usd=0.5)

    play(it, turn(usage=Usage(input=10**6)))
    play(it, turn(usage=used(1, 0.25)))
    before = it.exceeded()
    play(it, turn(usage=used(1, 0.25)))

    assert before is None
    assert it.exceeded() == Spent(name="max_cost_usd", value=0.5, used=0.5)


def test_a_nested_run_spends_its_own_limits_and_those_of_the_run_it_is_in() -> None:
    outer = budget(max_tokens=100, max_turns=50)
    inner = outer.nested(BudgetLimits(max_tokens=60), Clock())
    sibling = outer.nested(BudgetLimits(max_tokens=60), Clock())

    play(inner, turn(usage=used(60, 0.0)))
    play(sibling, turn(usage=used(50, 0.0)))

    assert inner.exceeded() == Spent(name="max_tokens", value=60, used=60)
    assert sibling.exceeded() == Spent(name="max_tokens", value=100, used=110)
    assert outer.exceeded() == Spent(name="max_tokens", value=100, used=110)
    assert (outer.turns, inner.turns, sibling.turns) == (2, 1, 1)


def test_calls_of_parallel_nested_runs_never_add_up_to_more_than_the_shared_limit() -> None:
    outer = budget(max_tool_calls=4)
    outer.on_event(MessageEndEvent(message=turn("agent", "agent")))
    one = outer.nested(BudgetLimits(), Clock(), tool_call_id="0")
    two = outer.nested(BudgetLimits(max_tool_calls=1), Clock(), tool_call_id="1")

    one.on_event(MessageEndEvent(message=turn("a")))
    two.on_event(MessageEndEvent(message=turn("a", "b")))

    assert [one.allows_call("0"), two.allows_call("0"), two.allows_call("1")] == [True, True, False]
    assert outer.tool_calls == 5


def test_the_usage_of_a_nested_run_is_not_counted_again_with_its_result() -> None:
    outer = budget()
    outer.on_event(MessageEndEvent(message=turn("agent")))
    inner = outer.nested(BudgetLimits(), Clock(), tool_call_id="0")

    play(inner, turn(usage=used(60, 0.1)))
    result = ToolResultMessage(
        tool_call_id="0", tool_name="agent", content=(), timestamp=0, usage=used(60, 0.1)
    )
    outer.on_event(MessageEndEvent(message=result))

    assert (outer.tokens, outer.cost_usd) == (60, 0.1)


def test_each_limit_warns_once_at_eighty_percent() -> None:
    clock = Clock()
    it = Budget(BudgetLimits(max_turns=5, timeout=10.0), clock)

    for _ in range(3):
        play(it, turn("a"))
    nothing = it.warnings()
    play(it, turn("b"))
    clock.now = 8.0

    assert nothing == []
    assert [spent.name for spent in it.warnings()] == ["max_turns", "timeout"]
    assert it.warnings() == []


def test_a_call_that_has_its_own_budget_is_counted_live_once() -> None:
    it = budget(max_tokens=1000)
    result = ToolResultMessage(tool_call_id="0", tool_name="ask", content=(), timestamp=0, usage=used(500, 0))

    it.nested(BudgetLimits(), Clock(), tool_call_id="0")
    it.on_event(MessageEndEvent(message=result))
    first = it.tokens
    it.on_event(MessageEndEvent(message=result))

    assert (first, it.tokens) == (0, 500)


def test_what_a_compaction_used_counts() -> None:
    it = budget(max_tokens=1000)

    it.on_note(CompactionStart(reason="manual", tokens_before=9, model="p/m"))
    it.on_note(Retry(attempt=1, delay_s=0, status=None, reason="lost", usage=used(7, 0)))
    it.on_note(CompactionEnd(reason="manual", model="p/m", usage=used(20, 0.5)))

    assert (it.tokens, it.cost_usd) == (27, 0.5)


def test_a_budget_that_hears_nothing_says_so() -> None:
    with pytest.raises(RuntimeError, match=r"subscribe `budget.on_event`"):
        budget().allows_call("1")
