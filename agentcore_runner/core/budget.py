"""Turns, calls, tokens, money, time, repetition: counted here, decided here, enforced by whoever asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import msgspec

from agentcore_runner.core.compaction import CompactionNote, CompactionStart
from agentcore_runner.core.events import AgentEvent, MessageEndEvent, MessageUpdateEvent, TurnEndEvent
from agentcore_runner.core.messages import AssistantMessage, ToolResultMessage, Usage
from agentcore_runner.core.stream import Retry


class BudgetLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may use; `max_tokens` counts the total tokens of all requests, `timeout` is in seconds; None
    is no limit."""

    max_turns: int | None = None
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_repeated_calls: int | None = None
    timeout: float | None = None


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """A limit, its value, and how much of it is used."""

    name: str
    value: float
    used: float


WARN_AT = 0.8


class Budget:
    """Counts what a run uses, as a listener to its events. `clock` gives the seconds since the run began.

    Ask `allows_call` before a tool runs and `exceeded` before the next request. A nested run gets a budget of
    its own from `nested`: what it uses counts in both. Usage without a price counts as no money.
    """

    def __init__(
        self, limits: BudgetLimits, clock: Callable[[], float], *, parent: Budget | None = None
    ) -> None:
        self.limits = limits
        self.turns = 0
        self.tool_calls = 0
        self.tokens = 0
        self.cost_usd = 0.0
        self.repeated = 0
        self._parent = parent
        self._clock = clock
        self._last_call: str | None = None
        self._warned: set[str] = set()
        self._counted_live: set[str] = set()
        self._batch: dict[str, int] = {}
        self._before_batch: list[tuple[Budget, int]] = []

    def nested(
        self, limits: BudgetLimits, clock: Callable[[], float], *, tool_call_id: str | None = None
    ) -> Budget:
        """The budget of a run inside this one. Where it is the work of a tool call, the usage that the call's
        result reports is not counted again."""
        if tool_call_id is not None:
            self._counted_live.add(tool_call_id)
        return Budget(limits, clock, parent=self)

    def on_event(self, event: AgentEvent) -> None:
        """Count one event of the run."""
        match event:
            case MessageUpdateEvent(assistant_message_event=piece):
                if type(piece) is Retry and piece.usage is not None:
                    self.count_usage(piece.usage)
            case MessageEndEvent(message=AssistantMessage() as answer):
                self.count_usage(answer.usage)
                self._count_calls(answer)
            case MessageEndEvent(message=ToolResultMessage() as result):
                counted = result.tool_call_id in self._counted_live
                self._counted_live.discard(result.tool_call_id)
                if result.usage is not None and not counted:
                    self.count_usage(result.usage)
            case TurnEndEvent():
                for level in self._levels():
                    level.turns += 1
            case _:
                pass

    def on_note(self, note: CompactionNote) -> None:
        """Count what one step of a compaction used, as the `on_note` of a Compactor or a part of it."""
        if not isinstance(note, CompactionStart) and note.usage is not None:
            self.count_usage(note.usage)

    def count_usage(self, usage: Usage) -> None:
        """Count what a request beside the events used, such as one for a summary."""
        for level in self._levels():
            level.tokens += usage.total_tokens
            level.cost_usd += usage.cost.total if usage.cost else 0.0

    def allows_call(self, tool_call_id: str) -> bool:
        """Whether this call of the answer at hand is within `max_tool_calls`."""
        position = self._batch.get(tool_call_id)
        if position is None:
            raise RuntimeError(
                f"the budget has not heard of call {tool_call_id!r}: have the agent tell it its events "
                "(subscribe `budget.on_event`)"
            )
        return all(
            level.limits.max_tool_calls is None or before + position < level.limits.max_tool_calls
            for level, before in self._before_batch
        )

    def exceeded(self) -> Spent | None:
        """The limit that forbids another request, if there is one; a nested run's own before its parents'."""
        for level in self._levels():
            for spent in level._all():
                # Calls at the limit have run: their results deserve an answer.
                past = (
                    spent.used > spent.value if spent.name == "max_tool_calls" else spent.used >= spent.value
                )
                if past:
                    return spent
        return None

    def warnings(self) -> list[Spent]:
        """Limits of which 80 % is used, each reported once."""
        near = [s for s in self._all() if s.used >= WARN_AT * s.value and s.name not in self._warned]
        self._warned.update(s.name for s in near)
        return near

    def timed_out(self) -> Spent:
        """The time limit as spent."""
        return Spent(name="timeout", value=self.limits.timeout or 0.0, used=round(self._clock(), 3))

    def _count_calls(self, answer: AssistantMessage) -> None:
        """Count an answer's calls, those that will not run included, and how often the last one stands in a
        row."""
        calls = answer.tool_calls
        self._batch = {call.id: position for position, call in enumerate(calls)}
        self._before_batch = [(level, level.tool_calls) for level in self._levels()]
        for level in self._levels():
            level.tool_calls += len(calls)
        for call in calls:
            same = f"{call.name} {json.dumps(call.arguments, sort_keys=True)} {call.raw_arguments}"
            self.repeated = self.repeated + 1 if same == self._last_call else 1
            self._last_call = same

    def _levels(self) -> Iterator[Budget]:
        level: Budget | None = self
        while level is not None:
            yield level
            level = level._parent

    def _all(self) -> Iterator[Spent]:
        limits = self.limits
        used: dict[str, tuple[float | None, float]] = {
            "max_turns": (limits.max_turns, self.turns),
            "max_tool_calls": (limits.max_tool_calls, self.tool_calls),
            "max_tokens": (limits.max_tokens, self.tokens),
            "max_cost_usd": (limits.max_cost_usd, self.cost_usd),
            "max_repeated_calls": (limits.max_repeated_calls, self.repeated),
        }
        for name, (value, spent) in used.items():
            if value is not None:
                yield Spent(name=name, value=value, used=spent)
        if limits.timeout is not None:
            yield self.timed_out()
