"""History becomes what this model may see: one transform for all adapters, fed message by message."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.characters import mended
from agentcore_runner.core.messages import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
)
from agentcore_runner.core.model import Model

NO_RESULT = "No result: the call was interrupted before it gave one."


class Replay:
    """Feed it the history in order; each `feed` gives the messages to send now.

    Answers that failed or were aborted are left out together with the results of their calls, a call
    without a result gets one that says so, a result without a call is dropped, and so is thinking that
    another provider's model wrote.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._open: dict[str, ToolCall] = {}
        self._timestamp = 0

    def feed(self, message: Message) -> list[Message]:
        """The messages that this one stands for, after those that it shows to be missing."""
        self._timestamp = message.timestamp
        match message:
            case ToolResultMessage():
                return [message] if self._open.pop(message.tool_call_id, None) else []
            case AssistantMessage():
                missing = self._close()
                kept = self._seen(message)
                self._open = {call.id: call for call in kept.tool_calls} if kept else {}
                return [*missing, kept] if kept else missing
            case _:
                return [*self._close(), message]

    def rest(self) -> list[Message]:
        """Results for the calls that are still open; feeding may go on as if this had not been asked."""
        return [self._no_result(call) for call in self._open.values()]

    def _close(self) -> list[Message]:
        missing = self.rest()
        self._open = {}
        return missing

    def _no_result(self, call: ToolCall) -> ToolResultMessage:
        return ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=(TextContent(text=NO_RESULT),),
            is_error=True,
            timestamp=self._timestamp,
        )

    def _seen(self, message: AssistantMessage) -> AssistantMessage | None:
        """The answer as the model may see it again; None when nothing of it is left."""
        if message.stop_reason in ("error", "aborted"):
            return None
        own = (message.provider, message.api) == (self._model.provider, self._model.api)
        same = own and message.model == self._model.id
        content = [block for block in message.content if _may_see(block, own=own, same=same)]
        if not any(
            isinstance(block, ToolCall) or (isinstance(block, TextContent) and block.text)
            for block in content
        ):
            return None
        return msgspec.structs.replace(message, content=tuple(content))


def _may_see(block: AssistantContent, *, own: bool, same: bool) -> bool:
    """Thinking goes back to the model that wrote it. Where its signature is but the name of a field, it may
    go to any model of that provider: some refuse a history without it."""
    if not isinstance(block, ThinkingContent):
        return True
    return same or (own and block.thinking_signature in REASONING_FIELDS)


REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""Fields in which servers of the Chat Completions family send thinking, the usual one first."""


def without_images(content: tuple[UserContent, ...], model: Model) -> tuple[UserContent, ...]:
    """The content with a line of text for each image, for a model that takes none."""
    if "image" in model.input:
        return content
    return tuple(
        [
            TextContent(text=f"[{block.mime_type} left out: {model.id} takes no images]")
            if isinstance(block, ImageContent)
            else block
            for block in content
        ]
    )


def encode(value: Any) -> bytes:
    """JSON; half a character, which a string of Python may hold and UTF-8 may not, becomes U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(mended(value))
