"""The blocks of an answer over the Messages API, as they begin, grow and end."""

from __future__ import annotations

from collections.abc import Callable

from agentcore_runner.characters import REPLACEMENT, Halves
from agentcore_runner.providers.anthropic_wire import Block, Delta
from agentcore_runner.providers.blocks import Blocks, Events, OpenCall


class BlockReader:
    """Makes stream events of them. `any_call`: something has been called, be it a tool of the service's own;
    `any_call_ended`: a call to one of our tools is complete; `empty`: there has been no block."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self.any_call = False
        self.any_call_ended = False
        self.empty = True
        self._blocks = Blocks()
        self._new_id = new_id
        self._ids: set[str] = set()
        self._calls: dict[int | None, OpenCall] = {}
        self._unsure: OpenCall | None = None
        self._thinks = False
        self._signature: str | None = None
        self._halves = Halves()
        self._halves_of_arguments = Halves()

    def start(self, index: int | None, block: Block, odd: bool, out: Events) -> None:
        """A block begins; it may hold its first piece already, or all of it."""
        self._end(out)
        self.empty = False
        match block.type:
            case "text":
                self._piece(block.text, odd, out)
            case "thinking":
                self._signature = block.signature or None
                self._piece(block.thinking, odd, out, thinking=True)
            case "redacted_thinking":
                self._blocks.redacted(block.data or "", out)
            case "tool_use":
                self._calls[index] = self._begin_call(block, out)
            case _:
                # Tools of the service's own are among these, and `tool_use` may be the stop reason.
                self.any_call = True

    def delta(self, index: int | None, delta: Delta, odd: bool, out: Events) -> None:
        """The next piece of a block."""
        self.empty = False
        match delta.type:
            case "text_delta":
                self._piece(delta.text, odd, out)
            case "thinking_delta":
                self._piece(delta.thinking, odd, out, thinking=True)
            case "input_json_delta":
                call = self._calls.get(index)
                if call is not None and delta.partial_json:
                    self._arguments(call, delta.partial_json, odd, out)
            case "signature_delta":
                self._signature = delta.signature or self._signature
                self._thinks = True

    def stop(self, index: int | None, out: Events) -> None:
        """A block is whole. A call without arguments may have been cut before they began: the next event
        tells."""
        call = self._calls.pop(index, None)
        if call is not None and not call.parts:
            self._unsure = call
        elif call is not None:
            self._end_call(call, out)
        else:
            self._end_prose(out)

    def close(self, out: Events, *, cut: bool) -> None:
        """The answer is over; `cut` says that it ended at the output cap."""
        self._end_prose(out)
        self._blocks.close(out, cut=cut)

    def _begin_call(self, block: Block, out: Events) -> OpenCall:
        call_id = block.id if block.id and block.id not in self._ids else self._new_id()
        self._ids.add(call_id)
        self.any_call = True
        call = self._blocks.call(call_id, out)
        call.name = block.name or ""
        self._blocks.start(call, out)
        self._halves_of_arguments = Halves()
        arguments = bytes(block.input).decode("utf-8", "replace").strip()
        if arguments not in ("", "{}", "null"):
            self._blocks.arguments(call, arguments, out)
        return call

    def _piece(self, text: str | None, odd: bool, out: Events, *, thinking: bool = False) -> None:
        if thinking:
            self._thinks = True
        if not text:
            return
        if text := _whole(self._halves, text, odd):
            (self._blocks.thinking if thinking else self._blocks.text)(text, out)

    def _arguments(self, call: OpenCall, text: str, odd: bool, out: Events) -> None:
        if text := _whole(self._halves_of_arguments, text, odd):
            self._blocks.arguments(call, text, out)

    def _end(self, out: Events) -> None:
        """Something else begins."""
        call, self._unsure = self._unsure, None
        if call is not None:
            self._end_call(call, out)
        self._end_prose(out)

    def _end_call(self, call: OpenCall, out: Events) -> None:
        self._blocks.end(call, out)
        self.any_call_ended = True

    def _end_prose(self, out: Events) -> None:
        """Close the text or the thinking that is open; a signature may be all that there is of it."""
        if self._halves.pending:
            self._halves = Halves()
            (self._blocks.thinking if self._thinks else self._blocks.text)(REPLACEMENT, out)
        if self._thinks and self._signature:
            self._blocks.signed("", self._signature, out, thinking=True)
        self._blocks.end_prose(out)
        self._thinks, self._signature = False, None


def _whole(halves: Halves, text: str, odd: bool) -> str:
    """The text without half characters: one at its end waits for the next piece."""
    return halves.feed(text) if odd or halves.pending else text
