"""What the design says of queues and aborts: where a run stops, what was said, what is still queued."""

from __future__ import annotations

from collections.abc import Generator
from typing import Literal, TypeAlias

from agentcore_runner.core.queues import QueueMode

Queue: TypeAlias = Literal["steer", "follow-up"]
QUEUES: tuple[Queue, ...] = ("steer", "follow-up")
Move: TypeAlias = Literal["text", "done", "last", "call", "last call", "error"]
"""What the model does next. After its `last` word the host stops the run; a `last call` ends it by itself."""

PLACES = ("agent_start", "turn_start", "said", "turn_end", "prepare", "agent_end")
"""Where a run stops if it is told to; at `model` and `tool` it always does."""

Stops: TypeAlias = Generator[str, None, None]


class Expected:
    """Told the same as an agent, it gives the stops of its runs one by one; the rest is true at each stop."""

    def __init__(self) -> None:
        self.places: set[str] = set()
        self.queues: dict[Queue, list[str]] = {name: [] for name in QUEUES}
        self.modes = dict.fromkeys(QUEUES, QueueMode.ONE_AT_A_TIME)
        self.said: list[str] = []
        self.requests: list[list[str]] = []
        self.move: Move = "text"
        self.running = False
        self.aborted = False
        self.no_next_turn = False
        self._source: Queue = "steer"
        self._handed_out = 0

    @property
    def queued(self) -> list[str]:
        return self.queues["steer"] + self.queues["follow-up"]

    def clear(self) -> list[str]:
        """Take back what is not handed out."""
        cleared = []
        for name, queue in self.queues.items():
            kept = self._handed_out if name == self._source else 0
            cleared += queue[kept:]
            del queue[kept:]
        return cleared

    def drain(self, *names: Queue) -> bool:
        """Hand out from the first queue that has something; whether there is one."""
        for name in names:
            if self.queues[name]:
                everything = self.modes[name] == QueueMode.ALL
                self._source, self._handed_out = name, len(self.queues[name]) if everything else 1
                return True
        return False

    def runs(self, prompts: list[str]) -> Stops:
        """A run, and those that follow it because something was queued while it ended."""
        self.running, self.aborted = True, False
        again = True
        while again:
            yield from self._at("agent_start")
            yield from self._at("turn_start")
            for prompt in prompts:
                yield from self._say(prompt)
            if not self._handed_out:
                self.drain("steer")
            idle = yield from self._turns()
            yield from self._at("agent_end")
            self._handed_out = 0
            prompts = []
            again = idle and not self.aborted and self.drain("steer", "follow-up")
        self.running = False

    def _turns(self) -> Generator[str, None, bool]:
        """True when the last turn left nothing to do."""
        while True:
            while self._handed_out and not self.aborted:
                self._handed_out -= 1
                yield from self._say(self.queues[self._source].pop(0))
            if not self.aborted:
                self.requests.append(list(self.said))
                yield from self._answer()
            yield from self._at("turn_end")
            if self.aborted or self.move in ("error", "last"):
                return False
            if not self.drain("steer") and self.move != "call" and not self.drain("follow-up"):
                return True
            yield from self._at("prepare")
            if self.aborted or self.no_next_turn:
                return False
            if not self._handed_out:
                self.drain("steer")
            yield from self._at("turn_start")

    def _answer(self) -> Stops:
        yield "model"
        while self.move == "text" and not self.aborted:
            yield "model"
        if self.move in ("call", "last call") and not self.aborted:
            yield "tool"

    def _say(self, text: str) -> Stops:
        self.said.append(text)
        yield from self._at("said")

    def _at(self, place: str) -> Stops:
        if place in self.places:
            yield place
