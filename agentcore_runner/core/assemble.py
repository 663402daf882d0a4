"""Stream events, fed one by one, become the assistant message they describe."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from agentcore_runner.core.messages import (
    AssistantContent,
    AssistantMessage,
    ErrorInfo,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
)
from agentcore_runner.core.model import Model
from agentcore_runner.core.stream import (
    AssistantMessageEvent,
    Retry,
    Start,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)


class Assembler:
    """Feed it every event of a stream; `message()` gives what has arrived, at any moment.

    The cost is linear: deltas are kept in lists and joined when a message is asked for. A `Retry` clears
    what came before it. `done` and `error` carry their own message and are ignored.
    """

    def __init__(self, api: str, provider: str, model: str, timestamp: int) -> None:
        self._api = api
        self._provider = provider
        self._model = model
        self._timestamp = timestamp
        self._blocks: dict[int, _Open | AssistantContent] = {}

    def feed(self, event: AssistantMessageEvent) -> None:
        """Take in one event. A delta for a block that is not open is ignored."""
        kind = type(event)
        if kind is TextDelta or kind is ThinkingDelta or kind is ToolCallDelta:
            block = self._blocks.get(event.content_index)  # type: ignore[union-attr]
            if isinstance(block, _Open):
                block.parts.append(event.delta)  # type: ignore[union-attr]
        else:
            self._feed_edge(event)

    def message(
        self,
        stop_reason: StopReason,
        *,
        usage: Usage | None = None,
        error: ErrorInfo | None = None,
        raw_stop_reason: str | None = None,
        response_model: str | None = None,
        response_id: str | None = None,
    ) -> AssistantMessage:
        """The message so far. A tool call that is still open keeps its text in `raw_arguments`; where
        `error` is given, its sentence is the `error_message` too."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        return AssistantMessage(
            content=tuple([block.content() if isinstance(block, _Open) else block for block in blocks]),
            api=self._api,
            provider=self._provider,
            model=self._model,
            usage=usage or Usage(),
            stop_reason=stop_reason,
            timestamp=self._timestamp,
            raw_stop_reason=raw_stop_reason,
            error_message=error.message if error else None,
            error=error,
            response_model=response_model,
            response_id=response_id,
        )

    def _feed_edge(self, event: AssistantMessageEvent) -> None:
        """Take in an event that opens or closes a block, or voids all of them."""
        blocks = self._blocks
        match event:
            case TextStart(content_index=index):
                blocks[index] = _Open(TextContent(text=""))
            case ThinkingStart(content_index=index):
                blocks[index] = _Open(ThinkingContent(thinking=""))
            case ToolCallStart(content_index=index):
                blocks[index] = _Open(ToolCall(id=event.id, name=event.tool_name))
            case TextEnd(content_index=index):
                blocks[index] = TextContent(text=event.content, text_signature=event.signature)
            case ThinkingEnd(content_index=index):
                blocks[index] = ThinkingContent(
                    thinking=event.content, thinking_signature=event.signature, redacted=event.redacted
                )
            case ToolCallEnd(content_index=index):
                blocks[index] = event.tool_call
            case Start() | Retry():
                blocks.clear()


class Partial:
    """The answer that is arriving: it keeps the stream's events, and makes a message of them only when
    somebody looks, as few ever do."""

    def __init__(self, model: Model, timestamp: int) -> None:
        self._assembler = Assembler(model.api, model.provider, model.id, timestamp)
        self._events: list[AssistantMessageEvent] = []
        self.keep = self._events.append

    def message(self, stop_reason: StopReason = "done", error: ErrorInfo | None = None) -> AssistantMessage:
        """What has arrived so far."""
        for event in self._events:
            self._assembler.feed(event)
        self._events.clear()
        return self._assembler.message(stop_reason, error=error)


_Seed: TypeAlias = TextContent | ThinkingContent | ToolCall


class _Open:
    """A block whose deltas are still arriving."""

    __slots__ = ("parts", "seed")

    def __init__(self, seed: _Seed) -> None:
        self.seed = seed
        self.parts: list[str] = []

    def content(self) -> AssistantContent:
        text = "".join(self.parts)
        match self.seed:
            case TextContent():
                return TextContent(text=text)
            case ThinkingContent():
                return ThinkingContent(thinking=text)
            case ToolCall():
                return msgspec.structs.replace(self.seed, raw_arguments=text)
