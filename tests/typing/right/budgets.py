"""A budget listens to a run, and hooks ask it."""

from collections.abc import Callable

from agentcore_runner.core import (
    Agent,
    BeforeToolCall,
    BeforeToolCallResult,
    Budget,
    BudgetLimits,
    NextTurn,
    Spent,
    TurnContext,
    Usage,
)

LIMITS = BudgetLimits(
    max_turns=10, max_tool_calls=20, max_tokens=100_000, max_cost_usd=0.5, max_repeated_calls=3, timeout=60
)


def limit(agent: Agent, clock: Callable[[], float]) -> Budget:
    budget = Budget(LIMITS, clock)

    def allow(call: BeforeToolCall) -> BeforeToolCallResult | None:
        if budget.allows_call(call.tool_call.id):
            return None
        return BeforeToolCallResult(block=True, reason="No calls are left.")

    def go_on(turn: TurnContext) -> NextTurn | None:
        spent: Spent | None = budget.exceeded()
        return NextTurn(stop=True) if spent is not None else None

    agent.subscribe(budget.on_event)
    agent.before_tool_call = allow
    agent.prepare_next_turn = go_on
    return budget


def report(budget: Budget, clock: Callable[[], float]) -> list[str]:
    inner = budget.nested(BudgetLimits(max_turns=2), clock, tool_call_id="1")
    inner.count_usage(Usage(input=10))
    spent: float = budget.cost_usd
    return [f"{each.name}: {each.used} of {each.value}" for each in budget.warnings()] + [f"{spent} USD"]
