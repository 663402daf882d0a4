"""The adapter against a real server: what is sent, what comes back, what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable
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
    pings,
    sse,
    text_reply,
    tool_reply,
)

WIRE = Path(__file__).parent / "wire" / "google"
FLASH = "google/gemini-3-flash-preview"
KEY = "AIza-secret-1"
DELAYED = [
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"}],
        }
    }
]


def google(server: ChatServer, model: str = FLASH, **wanted: Any) -> Provider:
    base_url = server.url.removesuffix("/v1")
    return opened(base_url, model, env={"GEMINI_API_KEY": KEY}, **wanted)


def recorded(name: str) -> Reply:
    return Reply([(WIRE / f"{name}.sse").read_bytes()])


def chunk(*parts: Any, finish: str | None = None, **more: Any) -> bytes:
    return sse({"candidates": [{"content": {"parts": list(parts)}, "finishReason": finish}], **more})


def text(*pieces: str) -> list[bytes]:
    return [chunk({"text": piece}) for piece in pieces]


END = chunk(finish="STOP", usageMetadata={"promptTokenCount": 3, "candidatesTokenCount": 1})


def replies(*steps: Iterable[Step]) -> list[Reply]:
    return [Reply(each) for each in steps]


def test_text_is_streamed_and_paid() -> None:
    cost = ModelCost(input=0.3, output=2.5, cache_read=0.03)
    with ChatServer([recorded("text")]) as server:
        events = stream(google(server, "google/gemini-2.5-flash", cost=cost))

    assert told(events) == ["start", "text_start", "Hello", ", world", ".", "text_end", "done"]
    message = answer(events)
    assert (message.text, message.stop_reason, message.raw_stop_reason) == ("Hello, world.", "done", "STOP")
    paid = UsageCost(input=6e-06, output=1e-05, cache_read=3e-06)
    assert message.usage == Usage(input=20, output=4, cache_read=100, cost=paid)
    assert (message.provider, message.api) == ("google", "google-generative-ai")
    assert (message.model, message.response_model, message.response_id) == (
        "gemini-2.5-flash",
        None,
        "zQ4vabc123",
    )


def test_key_is_a_header_and_stands_nowhere_else() -> None:
    with ChatServer([recorded("text")]) as server:
        provider = google(server, headers={"X-A": "b"})
        preview = provider.preview(context(), StreamOptions(signal=AbortSignal()))
        stream(provider)

    request = server.requests[0]
    assert request.path == "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
    assert (request.headers["x-goog-api-key"], request.headers["x-a"]) == (KEY, "b")
    assert "authorization" not in request.headers
    assert KEY not in request.path + json.dumps([request.body, preview])
    assert request.body == preview["body"]
    check_request("gemini", request.body)


def test_version_of_the_base_url_is_kept() -> None:
    with ChatServer([recorded("text")]) as server:
        stream(opened(server.url, "google/models/gemini-3-flash-preview"))

    assert server.requests[0].path.startswith("/v1/models/gemini-3-flash-preview:stream")


def test_parallel_calls_are_answered_in_one_turn_with_their_signature() -> None:
    with ChatServer([recorded("parallel_calls"), recorded("thinking")]) as server:
        first = answer(stream(google(server), thinking_level=ThinkingLevel.LOW))
        results = [
            ToolResultMessage(
                tool_call_id=call.id,
                tool_name=call.name,
                content=(TextContent(text=f"{at}"),),
                timestamp=3,
            )
            for at, call in enumerate(first.tool_calls)
        ]
        second = answer(stream(google(server), context(user(), first, *results)))

    assert [(call.name, call.arguments) for call in first.tool_calls] == [
        ("read", {"path": "a.txt", "lines": [1, 2.5], "deep": {"é": '\u2028"q"'}}),
        ("ls", {}),
        ("ls", {"dir": "b"}),
        ("now", {}),
    ]
    ids = [call.id for call in first.tool_calls]
    assert (ids[:2], len(set(ids))) == (["8f3kq1zd", "9a7c"], 4)
    asked = server.requests[1].body["contents"]
    check_request("gemini", server.requests[1].body)
    assert [list(part) for part in asked[1]["parts"]] == [
        ["text", "thought"],
        ["functionCall", "thoughtSignature"],
        ["functionCall"],
        ["functionCall"],
        ["functionCall"],
    ]
    assert [
        (part["functionResponse"]["id"], part["functionResponse"]["response"]) for part in asked[2]["parts"]
    ] == [(call_id, {"output": str(at)}) for at, call_id in enumerate(ids)]
    assert second.content == (
        ThinkingContent(thinking="**Weighing it**\n\nThe user asks for a sum.\n"),
        TextContent(text="It is 42.", text_signature="CiQB0e2Kb3Rlc3Qgc2lnbmF0dXJlIG9mIGEgdGhvdWdodA=="),
    )


def test_conversation_that_began_elsewhere_goes_on_here_and_there() -> None:
    with ChatServer([tool_reply(("ls", {"dir": "a"})), text_reply("Bye")]) as chat:
        other = opened(chat.url, "groq/mock")
        first = answer(stream(other))
        result = ToolResultMessage(
            tool_call_id=first.tool_calls[0].id, tool_name="ls", content=(), timestamp=3
        )
        with ChatServer([recorded("thinking")]) as server:
            second = answer(stream(google(server), context(user(), first, result)))
        third = answer(
            stream(opened(chat.url, "groq/mock"), context(user(), first, result, second, user("And?")))
        )

    asked = server.requests[0].body
    check_request("gemini", asked)
    call = {"id": "call_0", "name": "ls", "args": {"dir": "a"}}
    assert asked["contents"][1:] == [
        {
            "role": "model",
            "parts": [{"functionCall": call, "thoughtSignature": "skip_thought_signature_validator"}],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "call_0",
                        "name": "ls",
                        "response": {"output": "(no output)"},
                    }
                }
            ],
        },
    ]
    assert chat.bodies[1]["messages"][-2:] == [
        {"role": "assistant", "content": "It is 42."},
        {"role": "user", "content": "And?"},
    ]
    assert third.text == "Bye"


def test_list_of_chunks_is_an_answer_as_well() -> None:
    chunks = [
        {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}]},
    ]
    with ChatServer([json_reply(chunks)]) as server:
        message = answer(stream(google(server)))

    assert (message.text, message.stop_reason) == ("Hello", "done")


@pytest.mark.parametrize("name", ["safety", "recitation", "prompt_blocked"])
def test_refusal_is_an_outcome_and_is_not_tried_again(name: str) -> None:
    with ChatServer([recorded(name)]) as server:
        message = answer(stream(google(server)))

    assert (message.stop_reason, message.error, len(server.requests)) == ("refused", None, 1)


def test_empty_answer_is_done_and_has_nothing() -> None:
    with ChatServer([recorded("empty")]) as server:
        message = answer(stream(google(server)))

    assert (message.content, message.stop_reason, message.usage.input) == ((), "done", 9)


def test_delay_that_the_error_asks_for_is_kept() -> None:
    with ChatServer([json_reply(DELAYED, 429), recorded("error_inside"), recorded("text")]) as server:
        events = stream(google(server))

    retries = [event for event in events if isinstance(event, Retry)]
    assert (retries[0].delay_s, retries[0].status, retries[0].kind) == (0.01, 429, "rate_limit")
    assert (retries[1].status, retries[1].kind) == (503, "server")
    assert answer(events).text == "Hello, world."


def test_delay_that_is_too_long_ends_the_request() -> None:
    reply = json.loads(json.dumps(DELAYED).replace("0.01s", "3600s"))
    with ChatServer([json_reply(reply, 429)]) as server:
        error = answer(stream(google(server))).error

    assert isinstance(error, ErrorInfo)
    assert (error.kind, error.attempts) == ("rate_limit", 1)
    assert "the server asks to wait 3600 s" in error.message


@pytest.mark.parametrize(
    "steps", [[*text("Hel"), Drop()], text("Hel", "lo"), [], [b"data: {\n\n"], [*text("Hel"), Hang()]]
)
def test_stream_that_breaks_is_tried_again(steps: list[Step]) -> None:
    with ChatServer([*replies(steps), recorded("text")]) as server:
        events = stream(google(server, idle_timeout=0.3))

    assert [type(event) for event in events].count(Retry) == 1
    assert answer(events).text == "Hello, world."


def test_pings_are_no_answer() -> None:
    with ChatServer([Reply(pings(0.05)), recorded("text")]) as server:
        events = stream(google(server, idle_timeout=0.3))

    assert [event.kind for event in events if isinstance(event, Retry)] == ["timeout"]


def test_stream_that_breaks_after_a_call_is_not_tried_again() -> None:
    call = chunk({"functionCall": {"name": "ls", "args": {}}})
    with ChatServer(replies([call, Drop()])) as server:
        message = answer(stream(google(server)))

    assert (message.stop_reason, len(server.requests)) == ("error", 1)
    assert [block.name for block in message.content if isinstance(block, ToolCall)] == ["ls"]
    assert message.error is not None
    assert message.error.retryable


def test_answer_is_not_held_up_by_a_connection_that_stays_open() -> None:
    with ChatServer(replies([*text("Hi"), END, Hang()])) as server:
        message = answer(stream(google(server, idle_timeout=60)))

    assert (message.text, message.usage.input) == ("Hi", 3)


def test_abort_ends_the_stream_and_keeps_what_had_come() -> None:
    def abort(event: AssistantMessageEvent, signal: AbortSignal) -> None:
        if isinstance(event, TextDelta):
            signal.abort("enough")

    with ChatServer(replies([*text("Hel"), Hang()])) as server:
        message = answer(stream(google(server), on_event=abort))

    assert (message.text, message.stop_reason) == ("Hel", "aborted")


def test_server_that_repeats_the_key_does_not_show_it() -> None:
    body = {"error": {"code": 400, "message": f"API key not valid: {KEY}", "status": "INVALID_ARGUMENT",
                      "details": [{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}]}}  # fmt: skip
    with ChatServer([json_reply(body, 400)]) as server:
        error = answer(stream(google(server))).error

    assert error == ErrorInfo(
        kind="auth",
        message="HTTP 400: API key not valid: *** (api_key_invalid)",
        status=400,
        code="api_key_invalid",
    )


def test_one_conversation_may_be_cut_at_any_byte_on_the_wire() -> None:
    body = (WIRE / "odd.sse").read_bytes()
    messages: list[AssistantMessage] = []
    for size in (1, 7, len(body)):
        steps = [body[at : at + size] for at in range(0, len(body), size)]
        with ChatServer([Reply(steps, headers=SSE)]) as server:
            messages.append(answer(stream(google(server))))

    assert len({message.text for message in messages}) == 1
    assert messages[0].text == "A\u2028B\x85\U0001f600 \ufffd lone"
