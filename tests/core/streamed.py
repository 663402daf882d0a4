"""A planned answer as the events that a model's stream gives."""

from __future__ import annotations

from itertools import zip_longest

from agentcore_runner.core import stream as st
from agentcore_runner.core.messages import ErrorInfo, ThinkingContent, ToolCall
from tests.core.generated import Block, Called, Pieces, Reply
from tests.core.scripted import answer


def streamed(reply: Reply) -> list[st.AssistantMessageEvent]:
    """The events of the answer when nothing goes wrong."""
    blocks = [_events_of(index, block) for index, block in enumerate(reply.blocks)]
    rounds = zip_longest(*blocks) if reply.mixed else blocks
    events = [event for round in rounds for event in round if event is not None]
    error = ErrorInfo(kind="server", message="overloaded") if reply.stop == "error" else None
    message = answer(*map(_whole, reply.blocks), stop=reply.stop, error=error)
    last = st.Failed if reply.stop in ("error", "aborted") else st.Done
    return [st.Start(), *events, last(reason=reply.stop, message=message)]


def _events_of(index: int, block: Block) -> list[st.AssistantMessageEvent]:
    match block:
        case Called(call=call):
            text = call.raw_arguments or block.json
            return [
                st.ToolCallStart(content_index=index, id=call.id, tool_name=call.name),
                *[st.ToolCallDelta(content_index=index, delta=part) for part in (text[:3], text[3:])],
                st.ToolCallEnd(content_index=index, tool_call=call),
            ]
        case Pieces(kind="text", pieces=pieces):
            return [
                st.TextStart(content_index=index),
                *[st.TextDelta(content_index=index, delta=piece) for piece in pieces],
                st.TextEnd(content_index=index, content="".join(pieces)),
            ]
        case Pieces(pieces=pieces):
            return [
                st.ThinkingStart(content_index=index),
                *[st.ThinkingDelta(content_index=index, delta=piece) for piece in pieces],
                st.ThinkingEnd(content_index=index, content="".join(pieces)),
            ]


def _whole(block: Block) -> str | ThinkingContent | ToolCall:
    """The block as it stands in the whole answer."""
    match block:
        case Pieces(kind="text", pieces=pieces):
            return "".join(pieces)
        case Pieces(pieces=pieces):
            return ThinkingContent(thinking="".join(pieces))
        case Called():
            return block.call
