"""Pieces of text, thinking and tool calls become the events of content blocks, for any API's decoder."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from agentcore_runner.characters import REPLACEMENT
from agentcore_runner.core.stream import (
    AssistantMessageEvent,
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
from agentcore_runner.providers.tool_json import finished_call

Events: TypeAlias = list[AssistantMessageEvent]


class Blocks:
    """Opens and closes the blocks of one answer. A piece of text goes to the open text block, or begins one;
    so does thinking, and each closes the other. A tool call stays open until `end` or `close`."""

    def __init__(self) -> None:
        self._count = 0
        self._prose: _Prose | None = None
        self._calls: list[OpenCall] = []

    def text(self, piece: str, out: Events) -> None:
        block = self._prose
        if block is None or block.thinking:
            block = self._begin(_Prose(False), out)
            out.append(TextStart(content_index=block.index))
        block.parts.append(piece)
        out.append(TextDelta(content_index=block.index, delta=piece))

    def thinking(self, piece: str, out: Events, signature: str | None = None) -> None:
        """`signature` of the first piece becomes the block's."""
        block = self._prose
        if block is None or not block.thinking:
            block = self._begin(_Prose(True, signature), out)
            out.append(ThinkingStart(content_index=block.index))
        block.parts.append(piece)
        out.append(ThinkingDelta(content_index=block.index, delta=piece))

    def signed(self, piece: str, signature: str, out: Events, *, thinking: bool) -> None:
        """A piece, perhaps an empty one, that signs its block. A block that is signed otherwise is closed
        before it, so that no signature is lost."""
        block = self._prose
        if block is not None and block.thinking == thinking and block.signature not in (None, signature):
            self.end_prose(out)
        if self._prose is None or self._prose.thinking != thinking:
            start = ThinkingStart if thinking else TextStart
            out.append(start(content_index=self._begin(_Prose(thinking), out).index))
        if piece:
            (self.thinking if thinking else self.text)(piece, out)
        if self._prose is not None:
            self._prose.signature = signature

    def redacted(self, data: str, out: Events) -> None:
        """Thinking that is not shown: `data` stands for it."""
        self.end_prose(out)
        index = self._count
        self._count += 1
        out.append(ThinkingStart(content_index=index))
        out.append(ThinkingEnd(content_index=index, content="", signature=data, redacted=True))

    def lost_half(self, out: Events) -> None:
        """The other half of a character did not come: what is there stands for itself at the block's end."""
        if self._prose is not None:
            (self.thinking if self._prose.thinking else self.text)(REPLACEMENT, out)

    def end_prose(self, out: Events) -> None:
        """Close the text or thinking block that is open, if there is one: what follows is another."""
        block, self._prose = self._prose, None
        if block is None:
            return
        text = "".join(block.parts)
        if block.thinking:
            out.append(ThinkingEnd(content_index=block.index, content=text, signature=block.signature))
        else:
            out.append(TextEnd(content_index=block.index, content=text, signature=block.signature))

    def call(self, call_id: str, out: Events) -> OpenCall:
        """Begin a tool call; its name and arguments follow."""
        self.end_prose(out)
        call = OpenCall(self._count, call_id)
        self._count += 1
        self._calls.append(call)
        return call

    @property
    def call_count(self) -> int:
        """Calls that have begun. When the second has, the first is complete at the latest."""
        return len(self._calls)

    def start(self, call: OpenCall, out: Events) -> None:
        """Say that the call has begun: its name is known."""
        call.started = True
        out.append(ToolCallStart(content_index=call.index, id=call.id, tool_name=call.name))

    def arguments(self, call: OpenCall, piece: str, out: Events) -> None:
        """A piece of the arguments' JSON."""
        call.parts.append(piece)
        out.append(ToolCallDelta(content_index=call.index, delta=piece))

    def end(self, call: OpenCall, out: Events, *, signature: str | None = None, cut: bool = False) -> None:
        """Close a call; `signature` becomes its `thought_signature`."""
        if not call.started:
            self.start(call, out)
        done = finished_call(call.id, call.name, "".join(call.parts), cut=cut)
        if signature is not None:
            done = msgspec.structs.replace(done, thought_signature=signature)
        call.ended = True
        out.append(ToolCallEnd(content_index=call.index, tool_call=done))

    def close(self, out: Events, *, cut: bool = False) -> None:
        """Close every block; `cut` says that the answer ended at the output cap."""
        self.end_prose(out)
        for call in self._calls:
            if not call.ended:
                self.end(call, out, cut=cut)

    def _begin(self, block: _Prose, out: Events) -> _Prose:
        self.end_prose(out)
        block.index = self._count
        self._count += 1
        self._prose = block
        return block


class OpenCall:
    """A tool call whose pieces are arriving."""

    __slots__ = ("ended", "id", "index", "name", "parts", "started")

    def __init__(self, index: int, call_id: str) -> None:
        self.index = index
        self.id = call_id
        self.name = ""
        self.parts: list[str] = []
        self.started = False
        self.ended = False


class _Prose:
    """The text or thinking block that is open."""

    __slots__ = ("index", "parts", "signature", "thinking")

    def __init__(self, thinking: bool, signature: str | None = None) -> None:
        self.index = 0
        self.thinking = thinking
        self.signature = signature
        self.parts: list[str] = []
