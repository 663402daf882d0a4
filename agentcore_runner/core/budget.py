"""Turns, tool calls, time and repetition: counted here, decided here, enforced by whoever asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import msgspec

from agentcore_runner.core.messages import AssistantMessage


class BudgetLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may use; `timeout` in seconds; None is no limit."""

    max_turns: int | None = None
    max_tool_calls: int | None = None
    max_repeated_calls: int | None = None
    timeout: float | None = None


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """A limit, its value, and how much of it is used."""

    name: str
    value: float
    used: float


WARN_AT = 0.8


class Budget:
    """Counts what a run uses. `clock` gives the seconds since the run began."""

    def __init__(self, limits: BudgetLimits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self.turns = 0
        self.tool_calls = 0
        self.repeated = 0
        self._last_call: str | None = None
        self._clock = clock
        self._warned: set[str] = set()

    def allows_call(self, position: int) -> bool:
        """Whether the call at this position, from 0, of the answer at hand is within `max_tool_calls`."""
        most = self.limits.max_tool_calls
        return most is None or self.tool_calls + position < most

    def count_turn(self, message: AssistantMessage) -> None:
        """Count a turn that has ended, its calls, those that did not run included, and how often the last one
        stands in a row."""
        self.turns += 1
        self.tool_calls += len(message.tool_calls)
        for call in message.tool_calls:
            same = f"{call.name} {json.dumps(call.arguments, sort_keys=True)} {call.raw_arguments}"
            self.repeated = self.repeated + 1 if same == self._last_call else 1
            self._last_call = same

    def exceeded(self) -> Spent | None:
        """The limit that forbids another request, if there is one."""
        for spent in self._all():
            past = spent.used > spent.value if spent.name == "max_tool_calls" else spent.used >= spent.value
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

    def _all(self) -> Iterator[Spent]:
        limits = self.limits
        if limits.max_turns is not None:
            yield Spent(name="max_turns", value=limits.max_turns, used=self.turns)
        if limits.max_tool_calls is not None:
            yield Spent(name="max_tool_calls", value=limits.max_tool_calls, used=self.tool_calls)
        if limits.max_repeated_calls is not None:
            yield Spent(name="max_repeated_calls", value=limits.max_repeated_calls, used=self.repeated)
        if limits.timeout is not None:
            yield self.timed_out()
