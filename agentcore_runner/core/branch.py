"""The summary of a branch that a conversation comes back from, for a host that keeps a tree of messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentcore_runner.core import summary as say
from agentcore_runner.core.compaction import CompactionSettings, files_of, room_for
from agentcore_runner.core.estimate import message_tokens
from agentcore_runner.core.messages import (
    AgentMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    ToolResultMessage,
    Usage,
    Value,
)
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import Retry, StreamFn
from agentcore_runner.core.summarise import Summariser, Task

LONGEST_SUMMARY = 2048
NEARLY_FULL = 0.9
"""A summary on the path may exceed the room for it while no more than this part of it is taken."""


class BranchSummary(Value, frozen=True, kw_only=True):
    """The message to go on with, and what was used to write it."""

    message: BranchSummaryMessage
    usage: Usage


async def summarise_branch(
    path: Sequence[AgentMessage],
    *,
    from_id: str,
    model: Model,
    stream_fn: StreamFn,
    now: Callable[[], int],
    settings: CompactionSettings = CompactionSettings(),  # noqa: B008 - a frozen value
    thinking_level: ThinkingLevel = ThinkingLevel.OFF,
    signal: AbortSignal | None = None,
    deadline: float | None = None,
    instructions: str | None = None,
) -> BranchSummary:
    """The summary of the messages on a path, oldest first, from where the branch began to its end, which the
    host calls `from_id`. The newest of them that fit into the window less the reserve are looked at.

    `now` gives Unix milliseconds, `deadline` is in the event loop's clock. Raises CompactionError when there
    is nothing to summarise, or no summary could be had.
    """
    room = room_for(settings, model.context_window)
    writer = Summariser(
        model,
        stream_fn,
        room=room,
        ratio=1.0,
        thinking_level=thinking_level,
        signal=signal or AbortSignal(),
        deadline=deadline,
        now=now,
        on_retry=_let_it,
    )
    task = Task(
        messages=newest(path, room.threshold),
        first=say.BRANCH,
        update=say.BRANCH_UPDATE,
        most=LONGEST_SUMMARY,
    )
    text = await writer.summarise(task, instructions)
    message = BranchSummaryMessage(
        summary=say.with_files(text, files_of(path, None)), from_id=from_id, timestamp=now()
    )
    return BranchSummary(message=message, usage=writer.usage)


def newest(path: Sequence[AgentMessage], most: float) -> list[AgentMessage]:
    """The newest messages of at most so many tokens, and the newest one in any case; oldest first and without
    tool results."""
    kept: list[AgentMessage] = []
    taken = 0.0
    for message in reversed(path):
        if isinstance(message, ToolResultMessage):
            continue
        size = message_tokens(message)
        if kept and taken + size > most:
            if isinstance(message, CompactionSummaryMessage | BranchSummaryMessage) and (
                taken < NEARLY_FULL * most
            ):
                kept.append(message)
            break
        kept.append(message)
        taken += size
    return kept[::-1]


async def _let_it(again: Retry) -> None:
    """A request that is made again is no news here."""
