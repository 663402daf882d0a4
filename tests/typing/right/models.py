"""A model is a function that gives stream events; an object that can be called will do."""

from collections.abc import AsyncIterator
from typing import assert_never

from agentcore_runner.core import (
    Assembler,
    AssistantMessageEvent,
    Done,
    ErrorInfo,
    Failed,
    LlmContext,
    Model,
    ModelCost,
    ProviderError,
    Retry,
    Start,
    StreamFn,
    StreamOptions,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingLevel,
    ThinkingStart,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)

MODEL = Model(
    id="parrot",
    name="Parrot",
    api="code",
    provider="here",
    input=("text", "image"),
    cost=ModelCost(input=1.0),
    context_window=1000,
    compat={"anything": True},
)


async def parrot(
    model: Model, context: LlmContext, options: StreamOptions
) -> AsyncIterator[AssistantMessageEvent]:
    """Says what it heard last."""
    assembler = Assembler(model.api, model.provider, model.id, timestamp=0)
    text = str(context.messages[-1].content) if options.thinking_level is ThinkingLevel.OFF else "..."
    pieces: list[AssistantMessageEvent] = [
        TextStart(content_index=0),
        TextDelta(content_index=0, delta=text),
        TextEnd(content_index=0, content=text),
        ToolCallStart(content_index=1, id="1", tool_name="look"),
        ToolCallDelta(content_index=1, delta="{}"),
        ToolCallEnd(content_index=1, tool_call=ToolCall(id="1", name="look")),
    ]
    yield Start()
    yield Retry(attempt=1, delay_s=0.5, status=503, reason="busy")
    for piece in pieces:
        assembler.feed(piece)
        yield piece
    if options.signal.aborted:
        yield Failed(reason="aborted", message=assembler.message("aborted"))
    else:
        yield Done(reason="done", message=assembler.message("done", usage=Usage(output=len(text))))


class Broken:
    """Always fails."""

    async def __call__(
        self, model: Model, context: LlmContext, options: StreamOptions
    ) -> AsyncIterator[AssistantMessageEvent]:
        yield Start()
        raise ProviderError(ErrorInfo(kind="server", message="It is down", status=503, retryable=True))


def kind_of(event: AssistantMessageEvent) -> str:
    match event:
        case Start():
            return "start"
        case TextStart() | ThinkingStart() | ToolCallStart():
            return f"{event.content_index} begins"
        case TextDelta(delta=delta) | ThinkingDelta(delta=delta) | ToolCallDelta(delta=delta):
            return delta
        case TextEnd(content=text) | ThinkingEnd(content=text):
            return text
        case ToolCallEnd(tool_call=call):
            return call.name
        case Retry(reason=reason):
            return reason
        case Done() | Failed():
            return event.message.text
        case _:
            assert_never(event)


models: list[StreamFn] = [parrot, Broken()]
