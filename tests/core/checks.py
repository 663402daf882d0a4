"""What must hold of the events and the messages of any run, whoever made them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from agentcore_runner.core import events as ev
from agentcore_runner.core import stream as st
from agentcore_runner.core.assemble import Assembler
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantContent,
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)


class Grammar:
    """Feed it the events in order: an event out of place fails at once, so every prefix is checked too.

    It knows the grammar from the design, not from the core: one stack of what is open (run, turn, message),
    and for the answer of the turn how far each of its calls has come.
    """

    def __init__(self) -> None:
        self.run_open = self.turn_open = False
        self.open_message: AgentMessage | None = None
        self.runs = 0
        self.said: list[AgentMessage] = []
        self._said_in_run: list[AgentMessage] = []
        self.turns = 0
        self._answer: AssistantMessage | None = None
        self._started: list[str] = []
        self._ended: dict[str, ev.ToolExecutionEndEvent] = {}
        self._results: list[ToolResultMessage] = []

    def feed(self, event: ev.AgentEvent) -> None:
        match event:
            case ev.AgentStartEvent():
                assert not self.run_open
                self.run_open, self.turns, self._said_in_run = True, 0, []
                self.runs += 1
            case ev.AgentEndEvent():
                assert self.run_open and not self.turn_open and self.turns > 0
                assert list(event.messages) == self._said_in_run
                self.run_open = False
            case ev.TurnStartEvent():
                assert self.run_open and not self.turn_open
                self.turn_open, self._answer = True, None
                self.turns += 1
                self._started, self._ended, self._results = [], {}, []
            case ev.TurnEndEvent():
                self._end_turn(event)
            case ev.MessageStartEvent() | ev.MessageUpdateEvent() | ev.MessageEndEvent():
                self._feed_message(event)
            case _:
                self._feed_tool(event)

    def check_is_over(self) -> None:
        assert not (self.run_open or self.turn_open or self.open_message)

    @property
    def running_calls(self) -> set[str]:
        return set(self._started) - set(self._ended)

    @property
    def _calls(self) -> list[ToolCall]:
        return list(self._answer.tool_calls) if self._answer else []

    def _feed_message(self, event: ev.MessageStartEvent | ev.MessageUpdateEvent | ev.MessageEndEvent) -> None:
        assert self.turn_open
        match event:
            case ev.MessageStartEvent(message=message):
                assert self.open_message is None
                self._may_begin(message)
                self.open_message = message
            case ev.MessageUpdateEvent():
                assert isinstance(self.open_message, AssistantMessage)
            case ev.MessageEndEvent(message=AssistantMessage() as message):
                assert isinstance(self.open_message, AssistantMessage)
                self._answer = message
            case ev.MessageEndEvent(message=message):
                assert message == self.open_message
                if isinstance(message, ToolResultMessage):
                    self._results.append(message)
        if isinstance(event, ev.MessageEndEvent):
            self.open_message = None
            self.said.append(event.message)
            self._said_in_run.append(event.message)

    def _may_begin(self, message: AgentMessage) -> None:
        """Delivered messages come before the turn's one answer, results after it: in the order of the calls,
        each after the end of its call and while no call runs."""
        if not isinstance(message, ToolResultMessage):
            assert self._answer is None
            assert not isinstance(message, AssistantMessage) or message.content == ()
            return
        assert message.tool_call_id == self._calls[len(self._results)].id
        assert set(self._started) == set(self._ended)
        end = self._ended[message.tool_call_id]
        assert (message.content, message.is_error) == (end.result.content, end.is_error)

    def _feed_tool(self, event: Any) -> None:
        assert self.turn_open and self.open_message is None and self._answer is not None
        id = event.tool_call_id
        if isinstance(event, ev.ToolExecutionStartEvent):
            call = self._calls[len(self._started)]
            assert (id, event.tool_name) == (call.id, call.name)
            assert event.args == (call.arguments if call.raw_arguments is None else call.raw_arguments)
            self._started.append(id)
            return
        assert id in self._started and id not in self._ended
        if isinstance(event, ev.ToolExecutionEndEvent):
            assert event.is_error or self._answer.stop_reason in ("done", "refused")
            call = next(call for call in self._calls if call.id == id)
            assert event.is_error or call.raw_arguments is None
            self._ended[id] = event
        else:
            assert self._answer.stop_reason in ("done", "refused")

    def _end_turn(self, event: ev.TurnEndEvent) -> None:
        ids = [call.id for call in self._calls]
        assert self.turn_open and self.open_message is None and event.message == self._answer
        assert ids == self._started == [result.tool_call_id for result in self._results]
        assert list(event.tool_results) == self._results
        self.turn_open = False


def check_replayable(messages: Sequence[Any]) -> None:
    """Every answer is followed at once by a result for each of its calls, in order; there are no other
    results, and no two calls have the same id."""
    seen: list[str] = []
    owed: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            assert owed[:1] == [message.tool_call_id]
            owed.pop(0)
            continue
        assert owed == []
        if isinstance(message, AssistantMessage):
            owed = [call.id for call in message.tool_calls]
            seen += owed
    assert owed == []
    assert len(seen) == len(set(seen))


def check_request(context: st.LlmContext) -> None:
    """A model can be sent this: only what it knows, calls and results paired, and something to answer."""
    assert {type(message) for message in context.messages} <= {
        UserMessage,
        AssistantMessage,
        ToolResultMessage,
    }
    assert isinstance(context.messages[-1], UserMessage | ToolResultMessage)
    check_replayable(context.messages)


class Rebuilt:
    """The answer as a listener can rebuild it: from the deltas alone, and with the core's assembler."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._assembler = Assembler("", "", "", 0)
        self._pieces: dict[int, list[str]] = {}
        self._calls: dict[int, ToolCall] = {}

    def feed(self, event: ev.AgentEvent) -> None:
        match event:
            case ev.MessageStartEvent(message=AssistantMessage()):
                self._begin()
            case ev.MessageUpdateEvent(assistant_message_event=piece):
                self._assembler.feed(piece)
                self._feed_piece(piece)
            case ev.MessageEndEvent(message=AssistantMessage() as message):
                assert self.content == message.content
                assert self._from_deltas() == [_without_kind(block) for block in message.content]

    @property
    def content(self) -> tuple[AssistantContent, ...]:
        return self._assembler.message("done").content

    def _feed_piece(self, piece: st.AssistantMessageEvent) -> None:
        match piece:
            case st.Retry():
                self._pieces, self._calls = {}, {}
            case st.TextStart(content_index=index) | st.ThinkingStart(content_index=index):
                self._pieces[index] = []
            case st.ToolCallStart(content_index=index):
                self._pieces[index] = []
                self._calls[index] = ToolCall(id=piece.id, name=piece.tool_name)
            case st.TextDelta() | st.ThinkingDelta() | st.ToolCallDelta():
                self._pieces[piece.content_index].append(piece.delta)
            case st.TextEnd(content_index=index) | st.ThinkingEnd(content_index=index):
                assert "".join(self._pieces[index]) == piece.content
            case st.ToolCallEnd(content_index=index, tool_call=call):
                text = "".join(self._pieces.pop(index))
                assert (
                    text == call.raw_arguments if call.raw_arguments else json.loads(text) == call.arguments
                )
                self._calls[index] = call

    def _from_deltas(self) -> list[str | ToolCall]:
        """Each block's deltas, joined; the text of a call that is still open is its raw arguments."""
        blocks: dict[int, str | ToolCall] = {index: "".join(parts) for index, parts in self._pieces.items()}
        for index, call in self._calls.items():
            text = blocks.get(index)
            blocks[index] = call if text is None else msgspec.structs.replace(call, raw_arguments=text)
        return [blocks[index] for index in sorted(blocks)]


def _without_kind(block: AssistantContent) -> str | ToolCall:
    match block:
        case TextContent(text=text) | ThinkingContent(thinking=text):
            return text
    return block
