"""Queues of messages that wait for a run to have room for them."""

from __future__ import annotations

import enum
from collections import deque
from typing import Literal, TypeAlias

from agentcore_runner.core.messages import AgentMessage, Value


class QueueMode(enum.StrEnum):
    """How much of a queue one request gets: everything, or the oldest message."""

    ALL = "all"
    ONE_AT_A_TIME = "one-at-a-time"


Kind: TypeAlias = Literal["prompt", "steer", "follow_up"]
"""How a message is meant: for the next request, or for when the run would end."""


class QueueItem(Value, frozen=True, kw_only=True):
    """A queued message under the id it was given when it was queued."""

    id: str
    message: AgentMessage


class Disposition(Value, frozen=True, kw_only=True):
    """What became of a message. `started`: a run began with it. `queued`: the run in progress delivers it
    before it goes idle, unless it is stopped. `waiting`: nobody is running; the next run delivers it. `id` is
    the queue's; a prompt that started a run was never queued and has none."""

    id: str | None
    status: Literal["started", "queued", "waiting"]


class MessageQueue:
    """Messages in the order they came. `mode` may be changed at any time.

    What `drain()` hands out stays in the queue's books until it is delivered or put back. So no message is
    ever lost: it is in the transcript, still here, or was returned by `clear()`.
    """

    def __init__(self, name: str, mode: QueueMode = QueueMode.ONE_AT_A_TIME) -> None:
        self.mode = mode
        self._name = name
        self._count = 0
        self._waiting: deque[QueueItem] = deque()
        self._handed_out: deque[QueueItem] = deque()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._handed_out)

    @property
    def items(self) -> tuple[QueueItem, ...]:
        """All that is not delivered yet, oldest first."""
        return (*self._handed_out, *self._waiting)

    def add(self, message: AgentMessage) -> QueueItem:
        """Queue a message at the end; the item carries its id."""
        self._count += 1
        item = QueueItem(id=f"{self._name}-{self._count}", message=message)
        self._waiting.append(item)
        return item

    def drain(self) -> Drain:
        """What the next request is to be given, by mode; empty when nothing waits."""
        count = len(self._waiting) if self.mode == QueueMode.ALL else min(1, len(self._waiting))
        self._handed_out.extend([self._waiting.popleft() for _ in range(count)])
        return Drain(self._handed_out)

    def put_back(self) -> None:
        """Everything handed out and not delivered waits again, at the head, in its old order."""
        self._waiting.extendleft(reversed(self._handed_out))
        self._handed_out.clear()

    def clear(self) -> tuple[QueueItem, ...]:
        """Take everything back that is not on its way into a request already."""
        items = tuple(self._waiting)
        self._waiting.clear()
        return items


class Drain:
    """What a queue has handed out and nobody has delivered yet; false when that is nothing."""

    def __init__(self, items: deque[QueueItem]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def deliver(self) -> AgentMessage:
        """The oldest message, to be put into the transcript now; it leaves the queue's books."""
        return self._items.popleft().message
