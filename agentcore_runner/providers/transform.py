"""History becomes what this model may see: one transform for all adapters, fed message by message."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeAlias

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

IdRule: TypeAlias = Callable[[str], str]
"""Makes an id of a tool call one that an API takes; one that is right already stays as it is."""
LONGEST_ID = 64
"""Characters of an id that every API takes but Chat Completions."""
NO_RESULT = "No result: the call was interrupted before it gave one."


def plain_id(identity: str) -> str:
    """The `IdRule` of the APIs that take letters, digits, `_` and `-`."""
    return re.sub("[^A-Za-z0-9_-]", "_", identity)[:LONGEST_ID] or "call"


class Replay:
    """Feed it the history in order; each `feed` gives the messages to send now.

    Answers that failed or were aborted are left out together with the results of their calls, a call
    without a result gets one that says so, a result without a call is dropped, and so are thinking and
    signatures that another model wrote. Ids of calls follow `ids`; ids that differ go on to differ, and one
    that stands twice stays as it is (the core gives each call an id of its own).
    """

    def __init__(self, model: Model, ids: IdRule | None = None) -> None:
        self._model = model
        self._rule = ids
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()
        self._open: dict[str, ToolCall] = {}
        self._timestamp = 0

    def feed(self, message: Message) -> list[Message]:
        """The messages that this one stands for, after those that it shows to be missing."""
        self._timestamp = message.timestamp
        match message:
            case ToolResultMessage():
                call = self._open.pop(message.tool_call_id, None)
                return [self._answering(message, call)] if call else []
            case AssistantMessage():
                missing = self._close()
                kept = self._seen(message)
                written = kept.tool_calls if kept else ()
                self._open = (
                    {old.id: new for old, new in zip(message.tool_calls, written, strict=True)}
                    if kept
                    else {}
                )
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
        content = [
            self._written(block, same=same)
            for block in message.content
            if _may_see(block, own=own, same=same)
        ]
        if not any(
            isinstance(block, ToolCall) or (isinstance(block, TextContent) and block.text)
            for block in content
        ):
            return None
        return msgspec.structs.replace(message, content=tuple(content))

    def _written(self, block: AssistantContent, *, same: bool) -> AssistantContent:
        """The block as this model gets it: a signature is for the model that gave it."""
        match block:
            case ToolCall(id=old):
                new, signature = self._id(old), block.thought_signature if same else None
                if (new, signature) == (old, block.thought_signature):
                    return block
                return msgspec.structs.replace(block, id=new, thought_signature=signature)
            case TextContent(text_signature=str()) if not same:
                return msgspec.structs.replace(block, text_signature=None)
        return block

    def _id(self, old: str) -> str:
        """The id that a call has here. Two ids that the rule makes the same are told apart by a hash."""
        if self._rule is None:
            return old
        if old not in self._ids:
            new, number = self._rule(old), 0
            while new in self._taken:
                number += 1
                new = self._rule(
                    hashlib.sha256(f"{number} {old}".encode("utf-8", "surrogatepass")).hexdigest()
                )
            self._taken.add(new)
            self._ids[old] = new
        return self._ids[old]

    @staticmethod
    def _answering(result: ToolResultMessage, call: ToolCall) -> ToolResultMessage:
        return (
            result
            if result.tool_call_id == call.id
            else msgspec.structs.replace(result, tool_call_id=call.id)
        )


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
