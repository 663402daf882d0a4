"""The adapter against a real server: what is sent, what comes back, what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcore_runner.core.messages import (
    AssistantMessage,
    ErrorInfo,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UsageCost,
)
from agentcore_runner.core.model import ModelCost, ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import AssistantMessageEvent, Retry, StreamOptions, TextDelta
from agentcore_runner.providers.catalog import Provider
from tests.providers.doubles import answer, context, opened, stream, told, user
from tests.providers.oracle import check_request
from tests.servers.chat_server import (
    SSE,
    ChatServer,
    Drop,
    Hang,
    Reply,
    Step,
    json_reply,
    text_reply,
    tool_reply,
)

WIRE = Path(__file__).parent / "wire" / "anthropic"
SONNET = "anthropic/claude-sonnet-4-5"
KEY = "sk-ant-secret-1"
SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds5cDhdCbP1iWP8"


def anthropic(server: ChatServer, model: str = SONNET, **wanted: Any) -> Provider:
    return opened(server.url.removesuffix("/v1"), model, env={"ANTHROPIC_API_KEY": KEY}, **wanted)


def recorded(name: str) -> Reply:
    return Reply([(WIRE / f"{name}.sse").read_bytes()])


def event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def text(*pieces: str) -> list[bytes]:
    """The beginning of an answer."""
    return [
        event("message_start", message={"id": "msg_1", "model": "m", "usage": {"input_tokens": 3}}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *[
            event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
            for piece in pieces
        ],
    ]


def call(index: int) -> list[bytes]:
    block = {"type": "tool_use", "id": f"t{index}", "name": "ls", "input": {}}
    return [
        event("content_block_start", index=index, content_block=block),
        event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": "{}"}),
        event("content_block_stop", index=index),
    ]


END = [
    event("content_block_stop", index=0),
    event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}),
    event("message_stop"),
]


def replies(*steps: Iterable[Step]) -> list[Reply]:
    return [Reply(each) for each in steps]


def test_text_is_streamed_and_paid() -> None:
    cost = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)
    with ChatServer([recorded("text")]) as server:
        events = stream(anthropic(server, cost=cost))

    assert told(events) == ["start", "text_start", "Hello", ", world", ".", "text_end", "done"]
    message = answer(events)
    assert (message.text, message.stop_reason, message.raw_stop_reason) == (
        "Hello, world.",
        "done",
        "end_turn",
    )
    paid = UsageCost(input=6e-05, output=6e-05, cache_read=3e-05, cache_write=0.00015)
    assert message.usage == Usage(input=20, output=4, cache_read=100, cache_write=40, cost=paid)
    assert (message.provider, message.api) == ("anthropic", "anthropic-messages")
    assert (message.model, message.response_model, message.response_id) == (
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "msg_01XFDUDYJgAACzvnptvVoYEL",
    )


def test_hour_in_the_cache_costs_twice_the_input() -> None:
    cost = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)
    with ChatServer([recorded("cache_for_an_hour")]) as server:
        message = answer(stream(anthropic(server, cost=cost, compat={"cache_ttl": "1h"})))

    assert message.usage.cost is not None
    assert message.usage.cost.cache_write == pytest.approx((1000 * 3.75 + 2000 * 6) / 1_000_000)
    assert server.bodies[0]["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_key_is_a_header_and_stands_nowhere_else() -> None:
    with ChatServer([recorded("text")]) as server:
        provider = anthropic(server, headers={"X-A": "b"})
        preview = provider.preview(context(), StreamOptions(signal=AbortSignal()))
        stream(provider)

    request = server.requests[0]
    assert request.path == "/v1/messages"
    assert (request.headers["x-api-key"], request.headers["x-a"]) == (KEY, "b")
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.headers["anthropic-beta"] == "interleaved-thinking-2025-05-14"
    assert "authorization" not in request.headers
    assert KEY not in request.path + json.dumps([request.body, preview])
    assert request.body == preview["body"]
    check_request("anthropic", request.body)


def test_address_may_end_in_the_version() -> None:
    with ChatServer([recorded("text")]) as server:
        stream(opened(server.url, SONNET))

    assert server.requests[0].path == "/v1/messages"


def test_calls_and_thinking_go_back_as_they_came() -> None:
    names = ("thinking_and_parallel_calls", "thinking_interleaved_and_redacted", "text")
    with ChatServer([recorded(name) for name in names]) as server:
        first = answer(stream(anthropic(server), thinking_level=ThinkingLevel.LOW))
        results = [
            ToolResultMessage(
                tool_call_id=call.id,
                tool_name=call.name,
                content=(TextContent(text=f"{at}"),),
                timestamp=3,
            )
            for at, call in enumerate(first.tool_calls)
        ]
        second = answer(stream(anthropic(server), context(user(), first, *results)))
        stream(anthropic(server), context(user(), first, *results, second, user("And?")))

    asked = server.bodies[2]["messages"]
    check_request("anthropic", server.bodies[2])
    assert asked[1]["content"] == [
        {"type": "thinking", "thinking": "Let me  look\nat both.", "signature": SIGNATURE},
        {"type": "text", "text": "I'll look at both."},
        {
            "type": "tool_use",
            "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6",
            "name": "read",
            "input": {"path": "a.txt", "lines": [1, 2]},
        },
        {"type": "tool_use", "id": "toolu_02", "name": "ls", "input": {}},
        {"type": "tool_use", "id": "toolu_03", "name": "now", "input": {}},
    ]
    assert [block["tool_use_id"] for block in asked[2]["content"]] == [call.id for call in first.tool_calls]
    assert asked[3]["content"] == [
        {"type": "thinking", "thinking": "First.", "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"},
        {"type": "thinking", "thinking": "Second.", "signature": "EqQBsecond"},
        {"type": "text", "text": "One."},
        {"type": "text", "text": "Two."},
    ]
    assert second.content[1] == ThinkingContent(
        thinking="", thinking_signature="EmwKAhgBEgy3va3pzix/LafPsn4a", redacted=True
    )


def test_conversation_that_began_elsewhere_goes_on_here_and_there() -> None:
    with ChatServer([tool_reply(("ls", {"dir": "a"})), text_reply("Bye")]) as chat:
        first = answer(stream(opened(chat.url, "groq/mock")))
        result = ToolResultMessage(
            tool_call_id=first.tool_calls[0].id, tool_name="ls", content=(), timestamp=3
        )
        with ChatServer([recorded("thinking_omitted")]) as server:
            second = answer(stream(anthropic(server), context(user(), first, result)))
        third = answer(
            stream(opened(chat.url, "groq/mock"), context(user(), first, result, second, user("And?")))
        )

    check_request("anthropic", server.bodies[0])
    assert server.bodies[0]["messages"][1:] == [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "call_0", "name": "ls", "input": {"dir": "a"}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_0",
                    "content": "(no output)",
                    "cache_control": {"type": "ephemeral"},
                }
            ],
        },
    ]
    assert chat.bodies[1]["messages"][-2:] == [
        {"role": "assistant", "content": "42"},
        {"role": "user", "content": "And?"},
    ]
    assert third.text == "Bye"


def test_whole_json_body_is_an_answer_as_well() -> None:
    body = {"type": "message", "id": "msg_1", "content": [{"type": "text", "text": "Hello"}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 2}}  # fmt: skip
    with ChatServer([json_reply(body)]) as server:
        message = answer(stream(anthropic(server)))

    assert (message.text, message.stop_reason, message.usage.input) == ("Hello", "done", 5)


def test_refusal_is_an_outcome_and_is_not_tried_again() -> None:
    with ChatServer([recorded("refusal")]) as server:
        message = answer(stream(anthropic(server)))

    assert (message.stop_reason, message.raw_stop_reason) == ("refused", "refusal (cyber)")
    assert (message.error, len(server.requests)) == (None, 1)


def test_empty_answer_is_done_and_has_nothing() -> None:
    with ChatServer([recorded("empty")]) as server:
        message = answer(stream(anthropic(server)))

    assert (message.content, message.stop_reason, message.usage.output) == ((), "done", 2)


def test_service_that_is_overloaded_is_asked_again() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    delayed = json_reply({"type": "error", "error": {"type": "rate_limit_error", "message": "This request…"}},
                         429, {"retry-after": "0"})  # fmt: skip
    with ChatServer([json_reply(error, 529), recorded("overloaded"), delayed, recorded("text")]) as server:
        events = stream(anthropic(server))

    retries = [event for event in events if isinstance(event, Retry)]
    assert [(each.status, each.kind) for each in retries] == [
        (529, "server"), (529, "server"), (429, "rate_limit")
    ]  # fmt: skip
    assert retries[1].request_id == "req_011CSHoEeqs5C35K2UUqR7Fy"
    assert answer(events).text == "Hello, world."


@pytest.mark.parametrize(
    ("status", "type_", "message", "kind"),
    [
        (400, "invalid_request_error", "prompt is too long: 201000 tokens > 200000 maximum", "overflow"),
        (400, "invalid_request_error",
         "input length and `max_tokens` exceed context limit: 180000 + 64000 > 200000", "overflow"),
        (413, "request_too_large", "Request exceeds the maximum size", "overflow"),
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (404, "not_found_error", "model: claude-9", "bad_request"),
    ],
)  # fmt: skip
def test_request_that_cannot_succeed_is_not_made_again(
    status: int, type_: str, message: str, kind: str
) -> None:
    body = {"type": "error", "error": {"type": type_, "message": message}, "request_id": "req_1"}
    with ChatServer([json_reply(body, status, {"request-id": "req_1"})]) as server:
        error = answer(stream(anthropic(server))).error

    assert error == ErrorInfo(
        kind=kind,  # type: ignore[arg-type]
        message=f"HTTP {status}: {message} ({type_})",
        status=status,
        code="model_not_found" if status == 404 else type_,
        request_id="req_1",
    )


@pytest.mark.parametrize(
    "steps",
    [
        [*text("Hel"), Drop()],
        text("Hel", "lo"),
        [*text("Hel", "lo"), *END[:-1]],
        [*text("Hel", "lo"), *END[:-1], Drop()],
        [*text("Hel", "lo"), *END[:-1], Hang()],
        [],
        [b"data: {\n\n"],
        [*text("Hel"), Hang()],
    ],
)
def test_stream_that_breaks_is_tried_again(steps: list[Step]) -> None:
    with ChatServer([*replies(steps), recorded("text")]) as server:
        events = stream(anthropic(server, idle_timeout=0.3))

    assert [type(event) for event in events].count(Retry) == 1
    assert answer(events).text == "Hello, world."


def test_pings_are_no_answer() -> None:
    def pings() -> Iterator[Step]:
        yield from text("Hel")
        while True:
            yield event("ping")
            yield 0.05

    with ChatServer([Reply(pings()), recorded("text")]) as server:
        events = stream(anthropic(server, idle_timeout=0.3))

    assert [event.kind for event in events if isinstance(event, Retry)] == ["timeout"]


def test_stream_that_breaks_after_a_call_is_not_tried_again() -> None:
    with ChatServer(replies([*call(0), Drop()])) as server:
        message = answer(stream(anthropic(server)))

    assert (message.stop_reason, len(server.requests)) == ("error", 1)
    assert [block.name for block in message.content if isinstance(block, ToolCall)] == ["ls"]
    assert message.error is not None
    assert message.error.retryable


def test_stream_that_breaks_within_a_call_is_tried_again() -> None:
    with ChatServer([*replies([*call(0)[:-1], Drop()]), recorded("text")]) as server:
        message = answer(stream(anthropic(server)))

    assert (message.text, message.tool_calls) == ("Hello, world.", ())


def test_answer_is_not_held_up_by_a_connection_that_stays_open() -> None:
    with ChatServer(replies([*text("Hi"), *END, Hang()])) as server:
        message = answer(stream(anthropic(server, idle_timeout=60)))

    assert (message.text, message.usage.input) == ("Hi", 3)


def test_abort_ends_the_stream_and_keeps_what_had_come() -> None:
    def abort(event: AssistantMessageEvent, signal: AbortSignal) -> None:
        if isinstance(event, TextDelta):
            signal.abort("enough")

    with ChatServer(replies([*text("Hel"), Hang()])) as server:
        message = answer(stream(anthropic(server), on_event=abort))

    assert (message.text, message.stop_reason) == ("Hel", "aborted")


def test_server_that_repeats_the_key_does_not_show_it() -> None:
    body = {"type": "error", "error": {"type": "authentication_error", "message": f"bad key {KEY}"}}
    with ChatServer([json_reply(body, 401)]) as server:
        error = answer(stream(anthropic(server))).error

    assert error == ErrorInfo(
        kind="auth",
        message="HTTP 401: bad key *** (authentication_error)",
        status=401,
        code="authentication_error",
    )


def test_one_answer_may_be_cut_at_any_byte_on_the_wire() -> None:
    body = (WIRE / "half_characters.sse").read_bytes()
    messages: list[AssistantMessage] = []
    for size in (1, 7, len(body)):
        steps = [body[at : at + size] for at in range(0, len(body), size)]
        with ChatServer([Reply(steps, headers=SSE)]) as server:
            messages.append(answer(stream(anthropic(server))))

    assert len({message.text for message in messages}) == 1
    assert messages[0].text == "A\u2028B\x85\U0001f600 \ufffd lone \ufffdnext"
