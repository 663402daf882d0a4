"""The items of one answer as they arrive: whose an event is, and what becomes of it; no I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from agentcore_runner.characters import Halves, mend
from agentcore_runner.core.stream import (
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
from agentcore_runner.providers.blocks import Events
from agentcore_runner.providers.failures import failed
from agentcore_runner.providers.openai_responses_wire import Event, Item
from agentcore_runner.providers.tool_json import finished_call

Kind: TypeAlias = Literal["text", "thinking", "call", "other"]
KINDS: dict[str | None, Kind] = {"message": "text", "reasoning": "thinking", "function_call": "call"}
BETWEEN: dict[Kind, str] = {"text": "", "thinking": "\n\n", "call": "", "other": ""}
"""What stands between the parts of an item."""


class Slot:
    """An item that is arriving, and the content block that it is. `index` is that block's."""

    def __init__(self, kind: Kind, index: int, item: Item, new_id: Callable[[], str]) -> None:
        self.kind = kind
        self.index = index
        self.open = True
        self.item_id = item.id
        self._new_id = new_id
        self._call_id = ""
        self._name = ""
        self._started = False
        self._pieces: list[str] = []
        self._finished: dict[object, str] = {}
        self._part: object = None
        self._parts = 0
        self._halves = Halves()

    def start(self, item: Item, out: Events) -> None:
        """Say that the block begins. A call does so when its name is known, with what came before."""
        if self._started or self.kind == "other":
            return
        if self.kind == "call":
            self._call_id = item.call_id or self._call_id
            self._name = item.name or self._name
            if self._name:
                self._start_call(out)
            return
        self._started = True
        new = TextStart if self.kind == "text" else ThinkingStart
        out.append(new(content_index=self.index))

    def may_be(self, item: Item) -> bool:
        """Whether no id says that this is another item."""
        return self.item_id == item.id or not (self.item_id and item.id)

    def add(self, piece: str, part: object, odd: bool, out: Events) -> None:
        """A piece of one of the item's parts; only an `odd` one may hold half a character."""
        if not self.open:
            return
        if self._parts == 0 or part != self._part:
            self._part = part
            self._parts += 1
            if self._pieces:
                piece = BETWEEN[self.kind] + piece
        if odd or self._halves.pending:
            piece = self._halves.feed(piece)
        if piece:
            self._tell(piece, out)

    def settle(self, part: object, text: str) -> None:
        """A part is finished, and this is all of it, whatever its pieces were."""
        self._finished[part] = text

    def close(self, out: Events, *, whole: str = "", signature: str | None = None, cut: bool = False) -> None:
        """End the block. `whole` is what the server says it is, if it does; `cut`: the answer ended in it."""
        if not self.open:
            return
        self.open = False
        if self.kind == "call" and not self._started:
            self._start_call(out)
        told = "".join(self._pieces)
        content = mend(whole or self._settled() or told)
        if len(content) > len(told) and content.startswith(told):
            self._tell(content[len(told) :], out)
        if self.kind == "text":
            out.append(TextEnd(content_index=self.index, content=content, signature=signature))
        elif self.kind == "thinking":
            out.append(ThinkingEnd(content_index=self.index, content=content, signature=signature))
        elif self.kind == "call":
            call = finished_call(self._call_id, self._name, content, cut=cut)
            call = msgspec.structs.replace(call, thought_signature=signature)
            out.append(ToolCallEnd(content_index=self.index, tool_call=call))

    def _start_call(self, out: Events) -> None:
        self._started = True
        self._call_id = self._call_id or self._new_id()
        out.append(ToolCallStart(content_index=self.index, id=self._call_id, tool_name=self._name))
        if self._pieces:
            out.append(ToolCallDelta(content_index=self.index, delta="".join(self._pieces)))

    def _settled(self) -> str:
        """The parts that are finished, if those are all."""
        if len(self._finished) < self._parts:
            return ""
        return BETWEEN[self.kind].join([text for text in self._finished.values() if text])

    def _tell(self, piece: str, out: Events) -> None:
        self._pieces.append(piece)
        if self.kind == "text":
            out.append(TextDelta(content_index=self.index, delta=piece))
        elif self.kind == "thinking":
            out.append(ThinkingDelta(content_index=self.index, delta=piece))
        elif self._started:
            out.append(ToolCallDelta(content_index=self.index, delta=piece))


class Slots:
    """Finds the item that an event belongs to: by its id, else by its output index, else it is the only one
    of its kind that is open. Where that is not certain, the stream fails: to guess would mix two items.

    Some services give an item another id in each event, so that an id decides only where it is known.
    """

    def __init__(self, new_id: Callable[[], str]) -> None:
        self.all: list[Slot] = []
        self._new_id = new_id
        self._blocks = 0
        self._by_index: dict[int, Slot] = {}
        self._by_id: dict[str, Slot] = {}
        self._shared: set[int] = set()
        self._open: dict[Kind, list[Slot]] = {}

    def begin(self, item: Item, output_index: int | None, out: Events) -> Slot:
        """The slot of an item that begins, or of which pieces have come already."""
        slot = self._known(output_index, item.id)
        if slot is not None and slot.open and slot.kind == _kind(item) and slot.may_be(item):
            slot.start(item, out)
            return slot
        return self._new(_kind(item), item, output_index, out)

    def find(self, event: Event, kind: Kind, out: Events) -> Slot:
        """The slot that a piece of this kind belongs to; a new one where nothing has begun. Raises
        `RequestFailed` where several may be meant."""
        slot = self._known(event.output_index, event.item_id)
        if slot is not None and slot.kind == kind:
            return slot
        return self._only(kind) or self._new(kind, Item(id=event.item_id), event.output_index, out)

    def end(self, item: Item, output_index: int | None, out: Events) -> Slot:
        """The slot of an item that is whole; a new one where nothing of it has come. Raises `RequestFailed`
        where several may be meant."""
        kind = _kind(item)
        slot = self._known(output_index, item.id)
        if slot is None or slot.kind != kind or (not slot.open and slot.item_id != item.id):
            slot = self._only(kind) if slot is None else None
            slot = slot or self._new(kind, item, output_index, out)
        slot.start(item, out)
        return slot

    def _only(self, kind: Kind) -> Slot | None:
        """The one slot of this kind that is open, if there is one."""
        candidates = self._open[kind] = [slot for slot in self._open.get(kind, ()) if slot.open]
        if len(candidates) > 1:
            which = f"which of {len(candidates)} open items it goes on with"
            raise failed("stream", f"the server does not say {which} (no usable output_index or item_id)")
        return candidates[0] if candidates else None

    def _known(self, output_index: int | None, item_id: str | None) -> Slot | None:
        by_id = self._by_id.get(item_id) if item_id else None
        if by_id is not None or output_index is None or output_index in self._shared:
            return by_id
        return self._by_index.get(output_index)

    def _new(self, kind: Kind, item: Item, output_index: int | None, out: Events) -> Slot:
        slot = Slot(kind, self._blocks, item, self._new_id)
        self._blocks += kind != "other"
        self.all.append(slot)
        self._open.setdefault(kind, []).append(slot)
        if output_index is not None:
            before = self._by_index.get(output_index)
            if before is not None and before.open:
                self._shared.add(output_index)
            self._by_index[output_index] = slot
        if item.id:
            self._by_id[item.id] = slot
        slot.start(item, out)
        return slot


def _kind(item: Item) -> Kind:
    return KINDS.get(item.type, "other")
