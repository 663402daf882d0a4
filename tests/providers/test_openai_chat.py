"""The adapter against a real server: what is sent, what comes back, what goes wrong."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
import time
from collections.abc import Iterable
from contextlib import closing

import pytest

from agentcore_runner.core.messages import ErrorInfo, TextContent, ToolCall, Usage
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import AssistantMessageEvent, Retry, StreamOptions, TextDelta
from agentcore_runner.providers.catalog import RetryPolicy
from tests.providers.doubles import NOW_MS, answer, context, opened, plain, stream, told, user
from tests.servers.chat_server import (
    DONE,
    ChatServer,
    Drop,
    Hang,
    Reply,
    Request,
    Step,
    chunk,
    error_reply,
    json_reply,
    pings,
    sse,
    text_reply,
    text_steps,
    tool_reply,
    usage,
)


def test_text_is_streamed_and_counted() -> None:
    with ChatServer([text_reply("Hel", "lo")]) as server:
        events = stream(opened(server.url))

    assert told(events) == ["start", "text_start", "Hel", "lo", "text_end", "done"]
    message = answer(events)
    assert (message.text, message.stop_reason, message.raw_stop_reason) == ("Hello", "done", "stop")
    assert message.usage == Usage(input=10, output=3, cache_read=2)
    assert (message.provider, message.api, message.model) == ("openai", "openai-completions", "mock")
    assert (message.timestamp, message.response_id, message.response_model) == (NOW_MS, "chatcmpl-1", None)


def test_request_holds_what_was_asked_and_no_key() -> None:
    with ChatServer([text_reply("Hi")]) as server:
        provider = opened(
            server.url, max_output_tokens=9, temperature=0.5, extra_body={"seed": 1}, headers={"X-A": "b"}
        )
        stream(provider)

    request = server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "mock",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 9,
        "temperature": 0.5,
        "seed": 1,
    }
    assert "authorization" not in request.headers
    assert request.headers["x-a"] == "b"


def test_key_of_the_environment_is_sent() -> None:
    with ChatServer([text_reply("Hi")]) as server:
        stream(opened(server.url, env={"OPENAI_API_KEY": "sk-secret-1\n"}))

    assert server.requests[0].headers["authorization"] == "Bearer sk-secret-1"


def test_tool_calls_come_whole() -> None:
    with ChatServer([tool_reply(("read", {"path": "a"}), ("ls", {}))]) as server:
        message = answer(stream(opened(server.url)))

    assert message.tool_calls == (
        ToolCall(id="call_0", name="read", arguments={"path": "a"}),
        ToolCall(id="call_1", name="ls"),
    )


def test_one_connection_serves_a_run() -> None:
    with ChatServer([tool_reply(("ls", {})), text_reply("Hi"), text_reply("Ho")]) as server:
        stream(opened(server.url), context(), context(), context())

    assert server.connections == 1


def test_answer_does_not_wait_for_the_server_to_close() -> None:
    with ChatServer([Reply([*text_steps("Hi"), Hang()])]) as server:
        started = time.monotonic()
        events = stream(opened(server.url))

    assert told(events)[-1] == "done"
    assert time.monotonic() - started < 1.5


def test_answer_without_done_waits_only_shortly_for_usage() -> None:
    with ChatServer([Reply([chunk({"content": "Hi"}, "stop"), Hang()])]) as server:
        started = time.monotonic()
        message = answer(stream(opened(server.url)))

    assert (message.text, message.stop_reason, message.usage) == ("Hi", "done", Usage())
    assert time.monotonic() - started < 2


def test_pings_after_the_answer_do_not_hold_it_up() -> None:
    with ChatServer([Reply([chunk({"content": "Hi"}, "stop"), *[b": ping\n\n", 0.1] * 40])]) as server:
        started = time.monotonic()
        message = answer(stream(opened(server.url)))

    assert message.stop_reason == "done"
    assert time.monotonic() - started < 2


def test_answer_as_one_document_is_taken() -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}
    with ChatServer([json_reply(whole)]) as server:
        events = stream(opened(server.url))

    assert told(events) == ["start", "text_start", "Hi", "text_end", "done"]


def test_compressed_answer_is_read() -> None:
    body = gzip.compress(b"".join(text_steps("Hi")))
    with ChatServer([Reply([body], headers={"content-encoding": "gzip"})]) as server:
        assert answer(stream(opened(server.url))).text == "Hi"


# Failures


def test_transient_failure_is_tried_again_and_said_so() -> None:
    with ChatServer([error_reply(429, "slow"), error_reply(503, "busy"), text_reply("Hi")]) as server:
        events = stream(opened(server.url))

    assert told(events) == [
        "start",
        ("retry", 1, 429),
        ("retry", 2, 503),
        "text_start",
        "Hi",
        "text_end",
        "done",
    ]


def test_endless_rate_limit_ends_after_four_tries() -> None:
    with ChatServer([error_reply(429, "slow down", x_request_id="r1")] * 9) as server:
        message = answer(stream(opened(server.url)))

    assert len(server.requests) == 4
    assert message.stop_reason == "error"
    assert message.error == ErrorInfo(
        kind="rate_limit",
        message="HTTP 429: slow down; gave up after 4 tries",
        status=429,
        request_id="r1",
        retryable=True,
        attempts=4,
    )
    assert message.content == ()


def test_retry_count_begins_anew_with_each_request() -> None:
    replies = [reply for _ in range(6) for reply in (error_reply(503, "busy"), text_reply("Hi"))]
    with ChatServer(replies) as server:
        events = stream(
            opened(server.url, retry=RetryPolicy(tries=3, min_delay=0.001, max_backoff=0.001)),
            *[context()] * 6,
        )

    assert [event.attempt for event in events if isinstance(event, Retry)] == [1] * 6
    assert told(events).count("done") == 6


@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [
        (400, "invalid parameter", "bad_request", False),
        (404, "The model `x` does not exist", "bad_request", False),
        (401, "bad key", "auth", False),
        (403, "not for you", "auth", False),
        (400, "This model's maximum context length is 8192 tokens", "overflow", False),
        (413, "", "overflow", False),
        (429, "You exceeded your current quota, please check your plan and billing", "rate_limit", False),
    ],
)
def test_final_failure_is_asked_once(status: int, message: str, kind: str, retryable: bool) -> None:
    with ChatServer([error_reply(status, message)] * 2) as server:
        error = answer(stream(opened(server.url))).error

    assert error is not None
    assert (error.kind, error.status, error.retryable, error.attempts) == (kind, status, retryable, 1)
    assert len(server.requests) == 1


def test_wait_that_the_server_asks_for_is_kept() -> None:
    with ChatServer([error_reply(429, "slow", retry_after_ms="30"), text_reply("Hi")]) as server:
        events = stream(opened(server.url))

    assert [event.delay_s for event in events if isinstance(event, Retry)] == [0.03]


@pytest.mark.parametrize("status", [429, 503])
def test_wait_longer_than_allowed_ends_at_once(status: int) -> None:
    with ChatServer([error_reply(status, "later", retry_after="3600")] * 2) as server:
        error = answer(stream(opened(server.url))).error

    assert error is not None
    assert (error.kind, error.status, error.attempts) == ("rate_limit", status, 1)
    assert error.reset_at == NOW_MS / 1000 + 3600
    assert error.message == (
        f"HTTP {status}: later; the server asks to wait 3600 s, at most 60 s are allowed"
    )


@pytest.mark.parametrize("status", [429, 503])
def test_wait_past_the_deadline_ends_at_once(status: int) -> None:
    with ChatServer([error_reply(status, "later", retry_after="20")] * 2) as server:
        error = answer(stream(opened(server.url), deadline_in=10)).error

    assert error is not None
    assert (error.kind, error.status, error.attempts) == ("rate_limit", status, 1)
    assert error.reset_at == NOW_MS / 1000 + 20


def test_pause_of_ours_past_the_deadline_ends_as_a_rate_limit_too() -> None:
    slow = RetryPolicy(min_delay=20, max_backoff=40)
    with ChatServer([Reply(before=[Drop()])] * 2) as server:
        error = answer(stream(opened(server.url, retry=slow), deadline_in=10)).error

    assert error is not None
    assert (error.kind, error.status, error.attempts) == ("rate_limit", None, 1)
    assert error.reset_at is not None
    assert 20 <= error.reset_at - NOW_MS / 1000 <= 40
    assert "would pass the time limit" in error.message


def test_end_of_a_rate_limit_is_told_when_the_tries_are_used_up() -> None:
    with ChatServer([error_reply(429, "slow", retry_after_ms="20")] * 4) as server:
        error = answer(stream(opened(server.url))).error

    assert error is not None
    assert (error.kind, error.attempts, error.reset_at) == ("rate_limit", 4, NOW_MS / 1000 + 0.02)


def test_server_that_asks_to_come_back_now_is_not_kept_waiting() -> None:
    with ChatServer([error_reply(429, "slow", retry_after="0"), text_reply("Hi")]) as server:
        events = stream(opened(server.url, retry=RetryPolicy()))

    assert [event.delay_s for event in events if isinstance(event, Retry)] == [0.0]


def test_server_decides_whether_to_try_again() -> None:
    replies = [error_reply(400, "odd", x_should_retry="true"), error_reply(503, "no", x_should_retry="false")]
    with ChatServer([*replies, text_reply("Hi")]) as server:
        message = answer(stream(opened(server.url)))

    assert len(server.requests) == 2
    assert message.stop_reason == "error"


def test_broken_stream_is_tried_again_and_its_deltas_are_void() -> None:
    with ChatServer([Reply([chunk({"content": "Hal"}), 0.05, Drop()]), text_reply("Hello")]) as server:
        events = stream(opened(server.url))

    assert told(events) == [
        "start",
        "text_start",
        "Hal",
        ("retry", 1, None),
        "text_start",
        "Hello",
        "text_end",
        "done",
    ]
    assert answer(events).text == "Hello"


def test_broken_stream_keeps_what_arrived_when_tries_are_used_up() -> None:
    with ChatServer([Reply([chunk({"content": "Hal"}), 0.05, Drop()])]) as server:
        message = answer(stream(opened(server.url, retry=RetryPolicy(tries=1))))

    assert message.error is not None
    assert (message.text, message.stop_reason, message.error.kind) == ("Hal", "error", "stream")
    assert message.error.retryable


def test_broken_stream_is_final_once_a_tool_call_is_complete() -> None:
    steps = [*list(tool_reply(("ls", {}), ("ls", {})).steps)[:4], 0.05, Drop()]
    with ChatServer([Reply(steps), text_reply("Hi")]) as server:
        message = answer(stream(opened(server.url)))

    assert len(server.requests) == 1
    assert message.stop_reason == "error"


def test_connection_that_breaks_before_an_answer_is_tried_again() -> None:
    with ChatServer([Reply(before=[Drop()]), text_reply("Hi")]) as server:
        assert told(stream(opened(server.url)))[1:3] == [("retry", 1, None), "text_start"]


def test_kept_connection_that_was_closed_is_a_try_and_another_follows_at_once() -> None:
    with ChatServer([text_reply("Hi"), Reply(before=[Drop()]), text_reply("Ho")]) as server:
        events = stream(opened(server.url, retry=RetryPolicy()), context(), context())

    assert [event for event in events if isinstance(event, Retry)] == [
        Retry(
            attempt=1,
            delay_s=0.0,
            status=None,
            reason="the server had closed the kept connection",
            kind="connection",
            request_id=None,
        )
    ]
    assert (answer(events).text, len(server.requests), server.connections) == ("Ho", 3, 2)


def test_four_tries_are_four_requests_also_where_kept_connections_end() -> None:
    replies = [text_reply("Hi"), Reply(before=[Drop()]), *[error_reply(503, "busy", retry_after_ms="1")] * 9]
    with ChatServer(replies) as server:
        error = answer(stream(opened(server.url), context(), context())).error

    assert error is not None
    assert (error.attempts, len(server.requests)) == (4, 1 + 4)
    assert error.message.endswith("gave up after 4 tries")


def test_silence_before_the_headers_ends_by_the_idle_timeout() -> None:
    with ChatServer([Reply(before=[Hang()]), text_reply("Hi")]) as server:
        events = stream(opened(server.url, idle_timeout=0.2))

    assert told(events)[1] == ("retry", 1, None)
    assert answer(events).text == "Hi"


@pytest.mark.parametrize("endless", [[Hang()], pings(0.05)], ids=["silence", "pings"])
def test_silence_in_the_stream_ends_by_the_idle_timeout(endless: Iterable[Step]) -> None:
    steps = itertools.chain([chunk({"content": "Hal"})], endless)
    with ChatServer([Reply(steps)]) as server:
        message = answer(stream(opened(server.url, idle_timeout=0.3, retry=RetryPolicy(tries=1))))

    assert message.error is not None
    assert (message.text, message.error.kind, message.error.retryable) == ("Hal", "timeout", True)


def test_slow_stream_is_no_silence() -> None:
    steps = [step for piece in text_steps(*"abcdefgh") for step in (piece, 0.1)]
    with ChatServer([Reply(steps)]) as server:
        assert answer(stream(opened(server.url, idle_timeout=0.4))).text == "abcdefgh"


def test_slow_consumer_is_no_silence() -> None:
    def slow(event: AssistantMessageEvent, signal: AbortSignal) -> None:
        time.sleep(0.15 if isinstance(event, TextDelta) else 0)

    with ChatServer(
        [Reply([step for piece in text_steps("a", "b", "c") for step in (piece, 0.02)])]
    ) as server:
        assert answer(stream(opened(server.url, idle_timeout=0.1), on_event=slow)).text == "abc"


def test_error_object_in_a_good_stream_counts() -> None:
    broken = Reply([chunk({"content": "Hal"}), sse({"error": {"message": "overloaded", "code": 503}})])
    with ChatServer([broken, text_reply("Hello")]) as server:
        events = stream(opened(server.url))

    assert ("retry", 1, 503) in told(events)
    assert answer(events).text == "Hello"


def test_error_document_under_status_200_counts() -> None:
    with ChatServer(
        [json_reply({"error": {"message": "no such model", "code": "model_not_found"}})]
    ) as server:
        error = answer(stream(opened(server.url))).error

    assert error is not None
    assert (error.kind, error.status, error.attempts) == ("bad_request", 404, 1)


def test_page_instead_of_an_api_says_to_look_at_base_url() -> None:
    with ChatServer(
        [Reply([b"<!doctype html><title>Hi</title>"], headers={"content-type": "text/html"})]
    ) as server:
        error = answer(stream(opened(server.url))).error

    assert error is not None
    assert error.kind == "bad_request"
    assert "text/html" in error.message and "base_url" in error.message


def test_redirect_is_not_followed() -> None:
    with (
        ChatServer([text_reply("stolen")]) as other,
        ChatServer([Reply(status=307, headers={"location": f"{other.url}/chat/completions"})]) as server,
    ):
        error = answer(stream(opened(server.url, env={"OPENAI_API_KEY": "sk-secret-1"}))).error

    assert error is not None
    assert error.message.startswith(f"HTTP 307: the server redirects to {other.url}")
    assert other.requests == []


def test_key_never_stands_in_a_message() -> None:
    with ChatServer([error_reply(401, "Incorrect API key provided: sk-secret-1")]) as server:
        message = answer(stream(opened(server.url, env={"OPENAI_API_KEY": "sk-secret-1"})))

    assert message.error_message == "HTTP 401: Incorrect API key provided: ***"


def test_refusal_is_an_outcome_and_asked_once() -> None:
    with ChatServer([Reply([chunk({"refusal": "I will not."}, "stop"), usage(), DONE])] * 2) as server:
        message = answer(stream(opened(server.url)))

    assert (message.stop_reason, message.text, message.error) == ("refused", "I will not.", None)
    assert len(server.requests) == 1


def test_refused_connection_names_the_address_and_the_command() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    started = time.monotonic()

    error = answer(stream(opened(f"http://localhost:{port}/v1", "ollama/qwen3:8b"))).error

    assert error is not None
    assert (error.kind, error.attempts, error.retryable) == ("connection", 1, True)
    assert error.message.startswith(
        f"http://localhost:{port}/v1/chat/completions refused the connection: nothing listens there. "
        "Start Ollama with `ollama serve`"
    )
    assert time.monotonic() - started < 2


def test_refused_connection_names_a_server_that_does_answer() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    with ChatServer([], models=["qwen3:8b"]) as server:
        env = {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        error = answer(stream(opened(f"http://127.0.0.1:{port}/v1", "llamacpp/x", env=env))).error

    assert error is not None
    assert "Start llama.cpp with `llama-server -m MODEL.gguf --port 8080`" in error.message
    assert f"Ollama answers at {server.url}: use --model ollama/qwen3:8b" in error.message


def test_unknown_host_is_final() -> None:
    error = answer(stream(opened("http://nowhere.invalid/v1"))).error

    assert error is not None
    assert error.kind == "connection"


@pytest.mark.parametrize("host", ["0.0.0.0", "[::ffff:127.0.0.1]"])
def test_refused_connection_is_final_at_every_spelling_of_this_machine(host: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]

    error = answer(stream(opened(f"http://{host}:{port}/v1"))).error

    assert error is not None
    assert (error.kind, error.attempts) == ("connection", 1)
    assert "nothing listens there" in error.message


def test_redirect_is_told_with_the_base_url_to_write() -> None:
    with ChatServer([Reply(status=308, headers={"location": "/v2/chat/completions"})]) as server:
        error = answer(stream(opened(server.url))).error

    assert error is not None
    assert error.message.endswith(f"write http://127.0.0.1:{server.port}/v2 as base_url")


def test_proxy_is_used_for_others_and_not_for_this_machine() -> None:
    with ChatServer([text_reply("via proxy"), text_reply("direct")]) as server:
        env = {"HTTP_PROXY": f"http://127.0.0.1:{server.port}"}
        stream(opened("http://models.example/v1", env=env))
        stream(opened(server.url, env=env))

    assert [request.path for request in server.requests] == [
        "http://models.example/v1/chat/completions",
        "/v1/chat/completions",
    ]


# Aborts


@pytest.mark.parametrize(
    "replies",
    [
        [Reply([chunk({"content": "Hal"}), Hang()])],
        [Reply([chunk({"content": "Hal"}), *[chunk({"content": "lo"})] * 50, Hang()])],
    ],
    ids=["waiting", "in the middle of a batch"],
)
def test_abort_keeps_what_has_arrived(replies: list[Reply]) -> None:
    def abort(event: AssistantMessageEvent, signal: AbortSignal) -> None:
        if isinstance(event, TextDelta):
            signal.abort("SIGINT")

    with ChatServer(replies) as server:
        events = stream(opened(server.url), on_event=abort)

    assert told(events) == ["start", "text_start", "Hal", "aborted"]
    assert answer(events).content == (TextContent(text="Hal"),)
    assert answer(events).stop_reason == "aborted"


@pytest.mark.parametrize(
    "reply", [Reply(before=[Hang()]), error_reply(503, "busy", retry_after="30")], ids=["headers", "retry"]
)
def test_abort_ends_every_wait(reply: Reply) -> None:
    begun: list[tuple[asyncio.AbstractEventLoop, AbortSignal]] = []

    def note(event: AssistantMessageEvent, signal: AbortSignal) -> None:
        begun.append((asyncio.get_running_loop(), signal))

    def abort_soon(request: Request) -> Reply:
        loop, signal = begun[0]
        loop.call_soon_threadsafe(loop.call_later, 0.05, signal.abort)
        return reply

    with ChatServer([abort_soon] * 4) as server:
        events = stream(opened(server.url), on_event=note)

    assert told(events)[-1] == "aborted"
    assert len(server.requests) == 1


def test_abort_before_the_request_sends_nothing() -> None:
    with ChatServer([text_reply("Hi")]) as server:
        events = stream(opened(server.url), on_event=lambda event, signal: signal.abort())

    assert told(events) == ["start", "aborted"]
    assert server.requests == []


# Without a network


def test_preview_shows_the_request_without_the_key() -> None:
    provider = opened("http://127.0.0.1:1/v1", env={"OPENAI_API_KEY": "sk-secret-1"})

    preview = provider.preview(context(user("Hi")), StreamOptions(signal=AbortSignal()))

    assert (preview["method"], preview["url"]) == ("POST", "http://127.0.0.1:1/v1/chat/completions")
    assert preview["headers"]["authorization"] == "***"
    assert preview["body"]["messages"][1] == {"role": "user", "content": "Hi"}
    assert "sk-secret-1" not in str(plain(preview))


def test_defect_of_ours_is_passed_on_to_be_reported() -> None:
    provider = opened("http://127.0.0.1:1/v1", extra_body={"odd": object()})

    with pytest.raises(TypeError):
        stream(provider)
