"""Tool-call ids, made unique as they arrive."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantContent,
    AssistantMessage,
    Diagnostic,
    ToolCall,
)
from agentcore_runner.core.stream import ToolCallEnd, ToolCallStart


class CallIds:
    """Gives every call of a conversation an id of its own: some servers count from 0 in each answer, or
    leave the id out. An id that is free stays as it is."""

    def __init__(self, messages: Iterable[AgentMessage] = ()) -> None:
        answers = [message for message in messages if isinstance(message, AssistantMessage)]
        self._taken = {call.id for answer in answers for call in answer.tool_calls}
        self._arrived: dict[int, str] = {}
        self._counts: dict[str, int] = {}

    def begin(self) -> None:
        """An answer begins, or begins anew: what arrived of it so far is void."""
        self._release()

    def on_start(self, event: ToolCallStart) -> ToolCallStart:
        """The event under the id that its call will have."""
        unique = self._arrive(event.content_index, event.id)
        return event if unique == event.id else msgspec.structs.replace(event, id=unique)

    def on_end(self, event: ToolCallEnd) -> ToolCallEnd:
        """The event under the id that its call began with."""
        call = event.tool_call
        unique = self._arrive(event.content_index, call.id)
        return (
            event if unique == call.id else msgspec.structs.replace(event, tool_call=_renamed(call, unique))
        )

    def settle(self, answer: AssistantMessage) -> AssistantMessage:
        """The whole answer under the ids that its calls arrived with, which stay taken."""
        arrived = [self._arrived[index] for index in sorted(self._arrived)]
        if len(arrived) != len(answer.tool_calls):
            self._release()
            arrived = [self._arrive(place, call.id) for place, call in enumerate(answer.tool_calls)]
        self._arrived = {}
        if arrived == [call.id for call in answer.tool_calls]:
            return answer
        changed = [
            {"from": call.id, "to": unique}
            for call, unique in zip(answer.tool_calls, arrived, strict=True)
            if call.id != unique
        ]
        ids = iter(arrived)
        content: list[AssistantContent] = [
            _renamed(block, next(ids)) if isinstance(block, ToolCall) else block for block in answer.content
        ]
        note = Diagnostic(type="tool_call_ids_changed", timestamp=answer.timestamp, details=changed)
        return msgspec.structs.replace(
            answer, content=tuple(content), diagnostics=(*answer.diagnostics, note)
        )

    def _arrive(self, place: int, wanted: str) -> str:
        """The id of the call at this place: `wanted`, or the first free name made from it."""
        if place not in self._arrived:
            name = base = wanted or "call"
            while name in self._taken:
                self._counts[base] = self._counts.get(base, 1) + 1
                name = f"{base}_{self._counts[base]}"
            self._taken.add(name)
            self._arrived[place] = name
        return self._arrived[place]

    def _release(self) -> None:
        self._taken.difference_update(self._arrived.values())
        self._arrived = {}


def _renamed(call: ToolCall, unique: str) -> ToolCall:
    return msgspec.structs.replace(call, id=unique)
