"""Asks a model for the summary of messages, in as many requests as their length takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from agentcore_runner.core import summary as say
from agentcore_runner.core.ask import ask
from agentcore_runner.core.compaction import Room
from agentcore_runner.core.estimate import text_tokens
from agentcore_runner.core.messages import AgentMessage, AssistantMessage, Usage, UsageCost, Value
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import Retry, StreamFn, StreamOptions
from agentcore_runner.errors import CompactionError

SMALLEST_PIECE = 200
"""Tokens of the conversation that a request must have room for; below that no summary can be made."""
MARGIN = 64
ABORTED = "the summary was aborted"


class Task(Value, frozen=True, kw_only=True):
    """Messages to summarise: with `first` as the instructions, `update` where there is a summary to go on
    from. The summary may have `most` tokens."""

    messages: Sequence[AgentMessage]
    first: str
    update: str
    most: int
    previous: str | None = None


class Summariser:
    """One model that writes summaries. `usage` sums up what its requests used."""

    def __init__(
        self,
        model: Model,
        stream_fn: StreamFn,
        *,
        room: Room,
        ratio: float,
        thinking_level: ThinkingLevel,
        signal: AbortSignal,
        deadline: float | None,
        now: Callable[[], int],
        on_retry: Callable[[Retry], Awaitable[None]],
    ) -> None:
        """`ratio` is how many tokens the model counts for one of our estimates."""
        self.model = model
        self.usage = Usage()
        self._stream_fn = stream_fn
        self._room = room
        self._ratio = ratio
        # A summary is no puzzle: it gets little thought, and none where the conversation has none.
        self._level = ThinkingLevel.OFF if thinking_level is ThinkingLevel.OFF else ThinkingLevel.LOW
        self._signal = signal
        self._deadline = deadline
        self._now = now
        self._on_retry = on_retry

    async def summarise(self, task: Task, focus: str | None = None) -> str:
        """The summary; each request after the first goes on from the one before. A piece that is too long
        after all is halved. Raises CompactionError when a request fails or its answer cannot be used."""
        room = self._room
        cap = max(1, min(task.most, self.model.max_tokens, room.window // 4))
        most = self._most(task, cap, focus)
        waiting = deque(say.pieces(say.as_text(task.messages), most))
        summary = task.previous
        while waiting:
            piece, *rest = say.pieces([waiting.popleft()], most)
            waiting.extendleft(reversed(rest))
            instructions = task.first if summary is None else task.update
            answer = await self._ask(say.question(piece, instructions, summary, focus), cap)
            size = text_tokens(piece)
            if answer.error is not None and answer.error.kind == "overflow" and size > SMALLEST_PIECE:
                most = size / 2  # for all that are still to come, too
                waiting.appendleft(piece)
                continue
            summary = self._text_of(answer, cap)
        if summary is None:
            raise CompactionError("there is nothing to compact: no message is for the model")
        return summary

    def _most(self, task: Task, cap: int, focus: str | None) -> float:
        """Tokens, by our estimate, of the conversation that fit into one request."""
        summary = max(cap, text_tokens(task.previous or "") * self._ratio)
        around = text_tokens(say.SYSTEM_PROMPT + max(task.first, task.update, key=len) + (focus or ""))
        room = (self._room.window - cap - summary) / self._ratio - around - MARGIN
        return max(room, SMALLEST_PIECE)

    async def _ask(self, text: str, cap: int) -> AssistantMessage:
        options = StreamOptions(
            thinking_level=self._level,
            signal=self._signal,
            deadline=self._deadline,
            max_output_tokens=cap,
        )
        answer = await ask(
            self.model,
            self._stream_fn,
            say.SYSTEM_PROMPT,
            text,
            options,
            now=self._now,
            on_retry=self._on_retry,
        )
        self.usage = add_usage(self.usage, answer.usage)
        return answer

    def _text_of(self, answer: AssistantMessage, cap: int) -> str:
        """The answer's text, if it is a whole summary."""
        match answer.stop_reason:
            case "aborted":
                raise CompactionError(ABORTED)
            case "error":
                raise CompactionError(f"the request for a summary failed: {answer.error_message}")
            case "refused":
                raise CompactionError("the model refused to write a summary")
            case "length":
                raise CompactionError(f"the summary was cut at its limit of {cap:,} tokens")
            case "done" if answer.tool_calls:
                raise CompactionError("the model called a tool instead of writing a summary")
            case "done" if not answer.text.strip():
                raise CompactionError("the summary is empty")
            case "done":
                return answer.text.strip()


def add_usage(one: Usage, other: Usage) -> Usage:
    """The sum; its cost is known where both are, or one used nothing."""
    counts = {
        name: getattr(one, name) + getattr(other, name)
        for name in ("input", "output", "cache_read", "cache_write", "reasoning")
    }
    known = [usage.cost for usage in (one, other) if usage.total_tokens or usage.cost is not None]
    if not known or None in known:
        return Usage(**counts)
    parts = ("input", "output", "cache_read", "cache_write")
    cost = UsageCost(**{name: sum(getattr(each, name) for each in known) for name in parts})
    return Usage(**counts, cost=cost)
