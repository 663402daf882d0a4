"""The event grammar of a run: what has been said, and what must still be said before the run may end.

A run is `agent_start (turn_start item* turn_end)+ agent_end`. Every start has its end, and every tool call
of an answer has one start, one end and one result message, whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agentcore_runner.core import events as ev
from agentcore_runner.core.messages import AgentMessage, AssistantMessage, ToolCall, ToolResultMessage
from agentcore_runner.core.results import ABORTED, create_tool_result_message, not_run
from agentcore_runner.core.tools import AgentToolResult


class Ledger:
    """Feed it every event but `message_update`; it knows what is open and gives the events that close it.

    The events it gives must be fed back, one by one, while they are taken. `now` gives Unix milliseconds.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.messages: list[AgentMessage] = []
        self.answer: AssistantMessage | None = None
        self.open_message: AgentMessage | None = None
        self.ended: dict[str, ev.ToolExecutionEndEvent] = {}
        self.results: dict[str, ToolResultMessage] = {}
        self._now = now
        self._started: dict[str, int] = {}
        self._any_turn = False
        self._turn_open = False
        self._over = False

    def feed(self, event: ev.AgentEvent) -> None:
        """Take note of an event that is about to be emitted."""
        match event:
            case ev.MessageStartEvent():
                self.open_message = event.message
            case ev.MessageEndEvent():
                self._feed_message(event.message)
            case ev.ToolExecutionStartEvent():
                self._started[event.tool_call_id] = self._now()
            case ev.ToolExecutionEndEvent():
                self.ended[event.tool_call_id] = event
            case ev.TurnStartEvent():
                self._any_turn = self._turn_open = True
                self.answer = None
                self._started, self.ended, self.results = {}, {}, {}
            case ev.TurnEndEvent():
                self._turn_open = False
            case ev.AgentEndEvent():
                self._over = True

    def _feed_message(self, message: AgentMessage) -> None:
        self.open_message = None
        self.messages.append(message)
        if isinstance(message, AssistantMessage):
            self.answer = message
        elif isinstance(message, ToolResultMessage):
            self.results[message.tool_call_id] = message

    def running_ms(self, call: ToolCall) -> int:
        """How long ago the call was started, in milliseconds."""
        return max(0, self._now() - self._started.get(call.id, self._now()))

    def ending(self, call: ToolCall, result: AgentToolResult) -> ev.ToolExecutionEndEvent:
        """The end event of a call that came to this result."""
        return ev.ToolExecutionEndEvent(
            tool_call_id=call.id,
            tool_name=call.name,
            result=result,
            is_error=result.is_error,
            duration_ms=self.running_ms(call),
        )

    def close_calls(self, calls: Sequence[ToolCall], unless: AgentToolResult) -> Iterator[ev.AgentEvent]:
        """What the calls still lack: starts and ends, with `unless` as the result of those that have none,
        then the result messages, in the order of the calls."""
        for call in calls:
            if call.id not in self._started:
                yield start_of(call)
            if call.id not in self.ended:
                yield self.ending(call, unless)
        for call in calls:
            if call.id not in self.results:
                message = create_tool_result_message(self.ended[call.id], self._now())
                yield ev.MessageStartEvent(message=message)
                yield ev.MessageEndEvent(message=message)

    def turn_end(self, answer: AssistantMessage) -> ev.TurnEndEvent:
        """The end of the open turn, with the results of its answer's calls in their order."""
        results = [self.results[call.id] for call in answer.tool_calls if call.id in self.results]
        return ev.TurnEndEvent(message=answer, tool_results=tuple(results))

    def agent_end(self) -> ev.AgentEndEvent:
        """The end of the run."""
        return ev.AgentEndEvent(messages=tuple(self.messages))

    def closing(self, last_word: AssistantMessage, *, needed: bool) -> Iterator[ev.AgentEvent]:
        """What must follow when the run breaks off now. `last_word` stands for an answer that is open or
        missing; where it is `needed` and there is no such place, it gets a turn of its own."""
        if self._over:
            return
        if self.open_message is not None:
            unfinished = isinstance(self.open_message, AssistantMessage)
            needed = needed and not unfinished
            yield ev.MessageEndEvent(message=last_word if unfinished else self.open_message)
        if self._turn_open and self.answer is not None:
            yield from self.close_calls(self.answer.tool_calls, not_run(self.answer.stop_reason) or ABORTED)
            yield self.turn_end(self.answer)
        if not self._turn_open and (needed or not self._any_turn):
            yield ev.TurnStartEvent()
        if self._turn_open:
            yield ev.MessageStartEvent(message=without_content(last_word))
            yield ev.MessageEndEvent(message=last_word)
            yield self.turn_end(last_word)
        yield self.agent_end()


def start_of(call: ToolCall) -> ev.ToolExecutionStartEvent:
    """The start event of a call; `args` as the model wrote them."""
    args = call.arguments if call.raw_arguments is None else call.raw_arguments
    return ev.ToolExecutionStartEvent(tool_call_id=call.id, tool_name=call.name, args=args)


def without_content(message: AssistantMessage) -> AssistantMessage:
    """The message as it begins."""
    return AssistantMessage(
        content=(),
        api=message.api,
        provider=message.provider,
        model=message.model,
        stop_reason=message.stop_reason,
        timestamp=message.timestamp,
    )
