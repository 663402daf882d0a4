"""A conversation as one API writes it, kept from request to request: the next one costs what is new in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from agentcore_runner.core.messages import Message
from agentcore_runner.core.model import Model
from agentcore_runner.providers.transform import IdRule, Replay


class Writer(Protocol):
    """What an API makes of messages, one after the other."""

    def add(self, message: Message) -> None:
        """Write the next message."""


W = TypeVar("W", bound=Writer)


class History(Generic[W]):
    """The messages of the last request and the writer that wrote them. `ids` is the API's rule for ids of
    tool calls."""

    def __init__(self, model: Model, new_writer: Callable[[], W], ids: IdRule | None = None) -> None:
        self._model = model
        self._new_writer = new_writer
        self._ids = ids
        self._restart()

    def write(self, messages: list[Message]) -> tuple[W, list[Message]]:
        """The writer, when everything is written, and the messages that must follow for now: results that
        calls still lack. Another beginning than last time, as after a compaction, is written anew."""
        known = len(self._messages)
        if messages[:known] != self._messages:
            self._restart()
            known = 0
        for message in messages[known:]:
            self._messages.append(message)
            for kept in self._replay.feed(message):
                self._writer.add(kept)
        return self._writer, self._replay.rest()

    def _restart(self) -> None:
        self._messages: list[Message] = []
        self._replay = Replay(self._model, self._ids)
        self._writer = self._new_writer()
