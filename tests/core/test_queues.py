"""Queues: nothing is lost, nothing is delivered twice, order is kept."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as hs
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentcore_runner.core.messages import TextContent, UserMessage
from agentcore_runner.core.queues import Drain, MessageQueue, QueueMode


def text(message: Any) -> str:
    return str(message.content[0].text)


class Queueing(RuleBasedStateMachine):
    """A queue against a plain list: `expected` is what is neither delivered nor taken back, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = MessageQueue("q")
        self.expected: list[str] = []
        self.delivered: list[str] = []
        self.cleared: list[str] = []
        self.count = 0
        self.drain: Drain | None = None

    @rule()
    def add(self) -> None:
        self.count += 1
        name = f"q-{self.count}"
        message = UserMessage(content=(TextContent(text=name),), timestamp=0)
        assert self.queue.add(message).id == name
        self.expected.append(name)

    @rule(mode=hs.sampled_from(QueueMode))
    def change_mode(self, mode: QueueMode) -> None:
        self.queue.mode = mode

    @precondition(lambda self: not self.drain)
    @rule()
    def drain_it(self) -> None:
        waiting = len(self.queue)
        self.drain = self.queue.drain()
        assert len(self.drain) == (waiting if self.queue.mode == QueueMode.ALL else min(1, waiting))

    @precondition(lambda self: self.drain)
    @rule()
    def deliver(self) -> None:
        assert self.drain is not None
        self.delivered.append(text(self.drain.deliver()))
        assert self.delivered[-1] == self.expected.pop(0)

    @rule()
    def put_back(self) -> None:
        self.queue.put_back()
        assert not self.drain

    @rule()
    def clear(self) -> None:
        handed_out = len(self.drain) if self.drain else 0
        cleared = [item.id for item in self.queue.clear()]
        assert cleared == self.expected[handed_out:]
        del self.expected[handed_out:]
        self.cleared += cleared

    @invariant()
    def nothing_is_lost(self) -> None:
        assert [item.id for item in self.queue.items] == self.expected
        assert len(self.queue) == len(self.expected)
        everything = self.expected + self.delivered + self.cleared
        assert sorted(everything) == sorted(f"q-{n}" for n in range(1, self.count + 1))


Queueing.TestCase.settings = settings(max_examples=60, deadline=None)
TestQueueing = Queueing.TestCase
