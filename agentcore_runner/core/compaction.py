"""When a conversation is compacted, where it is cut, and what becomes of the part that stays. Nothing here
asks a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from agentcore_runner.core.estimate import message_tokens, text_tokens
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    CompactionDetails,
    CompactionSummaryMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserContent,
    Value,
)
from agentcore_runner.core.results import shortened
from agentcore_runner.core.stream import Retry

Reason: TypeAlias = Literal["threshold", "overflow", "manual"]

FULL = 0.99
"""The part of a window at which an answer that was cut was cut by the window, not by its own cap."""
RESULT_CAPS = (8000, 4000, 2000, 1000, 500, 250)
"""Tokens that a tool result may keep in a tail that is too large; the first that is small enough is used."""
READS, WRITES = frozenset({"read"}), frozenset({"write", "edit"})


class CompactionSettings(Value, frozen=True, kw_only=True):
    """Tokens. A conversation is compacted once less than `reserve_tokens` of the model's window are free;
    about `keep_recent_tokens` of the newest messages stay as they are. Both are scaled down for a window
    that is too small for them."""

    enabled: bool = True
    reserve_tokens: int = 16_384
    keep_recent_tokens: int = 20_000

    def __post_init__(self) -> None:
        if not (self.reserve_tokens >= 0 and self.keep_recent_tokens >= 0):
            raise ValueError(
                f"reserve_tokens and keep_recent_tokens are at least 0, found {self.reserve_tokens} "
                f"and {self.keep_recent_tokens}"
            )


class Room(Value, frozen=True, kw_only=True):
    """The settings applied to a window, in tokens. `base` is what every request has: system prompt, tools."""

    window: int
    base: int
    reserve: int
    keep: int

    @property
    def threshold(self) -> int:
        """The most tokens that a request may have without a compaction before it."""
        return self.window - self.reserve

    @property
    def summary(self) -> int:
        """The most tokens for a summary, so that with what is kept it leaves as much again to grow into."""
        return max(1, min(int(0.8 * self.reserve), (self.threshold - self.base - self.keep) // 2))


class Cut(Value, frozen=True, kw_only=True):
    """`[begin, turn)` is history to summarise, `[turn, end)` the beginning of a turn whose end stays, empty
    unless the cut splits a turn; `[end, …)` stays. `previous` is the summary that the history begins with."""

    begin: int
    turn: int
    end: int
    previous: CompactionSummaryMessage | None


class Compacted(Value, frozen=True, kw_only=True):
    """A compaction that was made. `summary` stands for everything but the last `kept` messages, of which
    those in `replaced`, by their place among the kept, had to be shortened. `usage` sums up the requests."""

    summary: CompactionSummaryMessage
    kept: int
    replaced: dict[int, ToolResultMessage]
    messages: list[AgentMessage]
    tokens_before: int
    tokens_after: int
    usage: Usage


class CompactionStart(Value, frozen=True, kw_only=True):
    """A compaction begins; `model` (`provider/id`) is asked for the summary. `overflow`: the service refused
    a request as too long."""

    reason: Reason
    tokens_before: int
    model: str


class CompactionEnd(Value, frozen=True, kw_only=True):
    """A compaction is over. Without a `result` nothing was changed, and `error_message` says why; `usage` was
    used all the same. `will_retry` says that the request that was
    too long is made again."""

    reason: Reason
    result: Compacted | None = None
    error_message: str | None = None
    aborted: bool = False
    will_retry: bool = False
    model: str
    usage: Usage = Usage()


CompactionNote: TypeAlias = CompactionStart | CompactionEnd | Retry
"""A step of a compaction; `Retry` is a request for a summary that is made again."""


def room_for(settings: CompactionSettings, window: int, base: int = 0) -> Room:
    """The settings in a window of so many tokens: at least half of what the base leaves of it is for the
    conversation, and at most half of that for what is kept."""
    free = max(window - base, 0)
    reserve = min(settings.reserve_tokens, free // 2)
    keep = min(settings.keep_recent_tokens, (free - reserve) // 2)
    return Room(window=window, base=base, reserve=reserve, keep=keep)


def is_overflow(answer: AssistantMessage, window: int, max_tokens: int) -> bool:
    """Whether the request was too long: the service said so, or the answer was cut where the window ends,
    not at its own cap of `max_tokens`."""
    if answer.error is not None and answer.error.kind == "overflow":
        return True
    usage = answer.usage
    cut = answer.stop_reason == "length" and usage.output < max_tokens
    return cut and usage.total_tokens >= FULL * window


def find_cut(messages: Sequence[AgentMessage], sums: Sequence[float], keep: float) -> Cut | None:
    """Where to cut so that the newest messages of about `keep` tokens stay; None when nothing is before them.

    `sums[n]` are the tokens of the first n messages. A result never loses its call: where the newest results
    alone are too large, the cut is before the answer that called them. Where the oldest message alone is too
    large, the cut is after it.
    """
    if not messages:
        return None
    previous = messages[0] if isinstance(messages[0], CompactionSummaryMessage) else None
    begin = 0 if previous is None else 1
    first = len(messages) - 1
    while first > begin and sums[-1] - sums[first] < keep:
        first -= 1
    if first == begin and sums[first + 1] - sums[first] >= keep:
        first += 1
    places = (*range(first, len(messages)), *range(first - 1, begin, -1))
    end = next((at for at in places if _is_cut_point(messages[at])), begin)
    if end <= begin:
        return None
    turn = next((at for at in range(end, begin - 1, -1) if _begins_turn(messages[at])), end)
    return Cut(begin=begin, turn=turn, end=end, previous=previous)


def _is_cut_point(message: AgentMessage) -> bool:
    return not isinstance(message, ToolResultMessage)


def _begins_turn(message: AgentMessage) -> bool:
    return not isinstance(message, ToolResultMessage | AssistantMessage)


def fit_tail(tail: Sequence[AgentMessage], most: float) -> dict[int, ToolResultMessage]:
    """Shortened tool results, by their place in the tail, that bring it to at most so many tokens, or as near
    as they can."""
    sizes = [message_tokens(message) for message in tail]
    replaced: dict[int, ToolResultMessage] = {}
    for cap in RESULT_CAPS:
        if sum(sizes) <= most:
            break
        for place, message in enumerate(tail):
            if isinstance(message, ToolResultMessage) and sizes[place] > cap:
                replaced[place] = shorten(message, cap)
                sizes[place] = message_tokens(replaced[place])
    return replaced


def shorten(result: ToolResultMessage, tokens: int) -> ToolResultMessage:
    """The result with its text cut in the middle to about so many tokens, and without its images."""
    blocks: list[UserContent] = [
        TextContent(text="[an image was left out]") if isinstance(block, ImageContent) else block
        for block in result.content
    ]
    text = "\n".join(block.text for block in blocks if isinstance(block, TextContent))
    characters = int(len(text) * min(1.0, tokens / max(text_tokens(text), 1.0)))
    return msgspec.structs.replace(result, content=(TextContent(text=shortened(text, characters)),))


def files_of(messages: Sequence[AgentMessage], known: CompactionDetails | None) -> CompactionDetails:
    """The files that calls of `read`, `write` and `edit` name, with those already known."""
    read = dict.fromkeys(known.read_files if known else ())
    modified = dict.fromkeys(known.modified_files if known else ())
    for message in messages:
        for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
            path = _path_of(call)
            if path is not None and call.name in READS:
                read[path] = None
            elif path is not None and call.name in WRITES:
                modified[path] = None
    only_read = tuple(path for path in read if path not in modified)
    return CompactionDetails(read_files=only_read, modified_files=tuple(modified))


def _path_of(call: ToolCall) -> str | None:
    path = call.arguments.get("path")
    return path if isinstance(path, str) else None
