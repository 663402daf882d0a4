"""Stream events, one by one, become a message at any moment."""

from __future__ import annotations

from agentcore_runner.core.assemble import Assembler
from agentcore_runner.core.messages import (
    AssistantMessage,
    ErrorInfo,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
)
from agentcore_runner.core.stream import (
    AssistantMessageEvent,
    Retry,
    Start,
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


def fed(*events: AssistantMessageEvent) -> Assembler:
    assembler = Assembler("api", "provider", "model", 7)
    for event in events:
        assembler.feed(event)
    return assembler


CALL = ToolCall(id="c", name="ls", arguments={"path": "."})


def test_finished_blocks_are_what_their_ends_say() -> None:
    assembler = fed(
        Start(),
        ThinkingStart(content_index=0),
        ThinkingDelta(content_index=0, delta="h"),
        ThinkingEnd(content_index=0, content="hm", signature="sig"),
        TextStart(content_index=1),
        TextEnd(content_index=1, content="Hi", signature="t"),
        ToolCallStart(content_index=2, id="c", tool_name="ls"),
        ToolCallEnd(content_index=2, tool_call=CALL),
    )

    message = assembler.message("done", usage=Usage(input=1), raw_stop_reason="stop", response_id="r")

    assert message == AssistantMessage(
        content=(
            ThinkingContent(thinking="hm", thinking_signature="sig"),
            TextContent(text="Hi", text_signature="t"),
            CALL,
        ),
        api="api",
        provider="provider",
        model="model",
        usage=Usage(input=1),
        stop_reason="done",
        timestamp=7,
        raw_stop_reason="stop",
        response_id="r",
    )


def test_open_blocks_hold_what_has_arrived() -> None:
    assembler = fed(
        ToolCallStart(content_index=1, id="c", tool_name="ls"),
        TextStart(content_index=0),
        TextDelta(content_index=0, delta="Hel"),
        ToolCallDelta(content_index=1, delta='{"pa'),
        TextDelta(content_index=0, delta="lo"),
        TextDelta(content_index=9, delta="lost"),
    )
    error = ErrorInfo(kind="stream", message="It broke.")

    message = assembler.message("error", error=error)

    assert message.content == (TextContent(text="Hello"), ToolCall(id="c", name="ls", raw_arguments='{"pa'))
    assert (message.error, message.error_message) == (error, "It broke.")


def test_retry_voids_what_came_before() -> None:
    assembler = fed(
        TextStart(content_index=0),
        TextDelta(content_index=0, delta="Hal"),
        Retry(attempt=1, delay_s=0.5, status=None, reason="broken"),
    )

    assert assembler.message("aborted").content == ()
