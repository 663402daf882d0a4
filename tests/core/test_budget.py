from agentcore_runner.core.budget import Budget, BudgetLimits, Spent
from agentcore_runner.core.messages import AssistantMessage, ToolCall


def turn(*commands: str) -> AssistantMessage:
    """An answer that calls `bash` with these commands."""
    calls = tuple(ToolCall(id=c, name="bash", arguments={"command": c}) for c in commands)
    return AssistantMessage(content=calls, api="a", provider="p", model="m", stop_reason="done", timestamp=0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_turn_limit_allows_so_many_turns_and_no_more() -> None:
    budget = Budget(BudgetLimits(max_turns=2), Clock())

    budget.count_turn(turn("a"))
    after_one = budget.exceeded()
    budget.count_turn(turn("b"))

    assert after_one is None
    assert budget.exceeded() == Spent(name="max_turns", value=2, used=2)


def test_calls_at_the_limit_run_and_leave_room_for_an_answer() -> None:
    budget = Budget(BudgetLimits(max_tool_calls=3), Clock())
    budget.count_turn(turn("a"))

    allowed = [budget.allows_call(position) for position in range(3)]
    budget.count_turn(turn("b", "c"))
    at_the_limit = budget.exceeded()
    budget.count_turn(turn("d"))

    assert (allowed, at_the_limit) == ([True, True, False], None)
    assert budget.exceeded() == Spent(name="max_tool_calls", value=3, used=4)


def test_only_equal_calls_in_a_row_count_as_repetition() -> None:
    budget = Budget(BudgetLimits(max_repeated_calls=3), Clock())

    budget.count_turn(turn("a", "a"))
    budget.count_turn(turn("b", "a", "a"))
    before = budget.exceeded()
    budget.count_turn(turn("a"))

    assert before is None
    assert budget.exceeded() == Spent(name="max_repeated_calls", value=3, used=3)


def test_time_counts_from_the_beginning() -> None:
    clock = Clock()
    budget = Budget(BudgetLimits(timeout=10.0), clock)

    clock.now = 9.9
    before = budget.exceeded()
    clock.now = 10.0

    assert before is None
    assert budget.exceeded() == Spent(name="timeout", value=10.0, used=10.0)


def test_each_limit_warns_once_at_eighty_percent() -> None:
    clock = Clock()
    budget = Budget(BudgetLimits(max_turns=5, timeout=10.0), clock)

    for _ in range(3):
        budget.count_turn(turn("a"))
    nothing = budget.warnings()
    budget.count_turn(turn("b"))
    clock.now = 8.0

    assert nothing == []
    assert [spent.name for spent in budget.warnings()] == ["max_turns", "timeout"]
    assert budget.warnings() == []
