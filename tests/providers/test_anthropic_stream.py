"""Recorded streams beside what they mean: `wire/anthropic/NAME.sse` and `NAME.json`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.core.model import Model, ModelCost
from agentcore_runner.providers.anthropic_stream import STOP_REASONS, MessagesDecoder
from agentcore_runner.providers.failures import RequestFailed
from agentcore_runner.providers.sse import SseParser
from tests.providers.oracle import replay_stream

WIRE = Path(__file__).parent / "wire" / "anthropic"
STREAMS = sorted(WIRE.glob("*.sse"))
COST = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)
MODEL = Model(
    id="claude-sonnet-4-5-20250929", name="mock", api="anthropic-messages", provider="anthropic", cost=COST
)
TYPED = (
    "text", "thinking_and_parallel_calls", "thinking_omitted", "thinking_interleaved_and_redacted",
    "thinking_unsigned", "empty", "empty_text", "stop_sequence", "max_tokens", "context_window_exceeded",
    "refusal", "refusal_without_details", "pause_turn_and_server_tools", "cache_for_an_hour",
)  # fmt: skip
"""Streams of whole answers as the service sends them, which the official SDK takes."""


def decoder(**options: Any) -> MessagesDecoder:
    numbers = itertools.count(1)
    return MessagesDecoder(MODEL, new_id=lambda: f"new_{next(numbers)}", **options)


def decoded(pieces: list[bytes], **options: Any) -> dict[str, Any]:
    """The events of a stream and its outcome or its failure, as plain data."""
    messages, parser = decoder(**options), SseParser()
    events: list[Any] = []
    try:
        for server_event in [*[event for piece in pieces for event in parser.feed(piece)], *parser.flush()]:
            events += messages.feed(server_event)
        closing, outcome = messages.finish()
    except RequestFailed as failure:
        again = failure.again and messages.replayable
        return plain({"events": events, "failure": failure.info, "again": again})
    return plain({"events": [*events, *closing], "outcome": outcome})


def plain(value: dict[str, Any]) -> dict[str, Any]:
    """Without what is not set."""
    data: dict[str, Any] = msgspec.to_builtins(value)
    for event in data["events"]:
        for owner in (event, event.get("tool_call", {})):
            for name in ("signature", "raw_arguments", "thought_signature"):
                if owner.get(name, ...) is None:
                    del owner[name]
    for name in ("outcome", "failure"):
        if name in data:
            data[name] = {key: item for key, item in data[name].items() if item is not None}
    return data


def whole(body: Any, **options: Any) -> dict[str, Any]:
    """The same of an answer that is one JSON document."""
    messages = decoder(**options)
    events = messages.whole(json.dumps(body).encode())
    closing, outcome = messages.finish()
    return plain({"events": [*events, *closing], "outcome": outcome})


def event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_means_what_stands_beside_it(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))

    assert decoded([path.read_bytes()]) == expected


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_may_be_cut_at_every_byte(path: Path) -> None:
    body = path.read_bytes()
    expected = decoded([body])

    assert all(decoded([body[:at], body[at:]]) == expected for at in range(0, len(body), 3))
    assert decoded([body[at : at + 1] for at in range(len(body))]) == expected


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_deltas_add_up_to_their_block(path: Path) -> None:
    events = decoded([path.read_bytes()])["events"]

    for end in [event for event in events if event["type"].endswith("_end")]:
        deltas = "".join(
            event["delta"]
            for event in events
            if event["type"].endswith("_delta") and event["content_index"] == end["content_index"]
        )
        if "content" in end:
            assert deltas == end["content"]
        elif "raw_arguments" in end["tool_call"]:
            assert deltas == end["tool_call"]["raw_arguments"]


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_blocks_are_counted_and_each_has_one_end(path: Path) -> None:
    result = decoded([path.read_bytes()])

    started = [event["content_index"] for event in result["events"] if event["type"].endswith("_start")]
    ended = [event["content_index"] for event in result["events"] if event["type"].endswith("_end")]
    assert started == list(range(len(started)))
    assert sorted(ended) == (started if "outcome" in result else started[: len(ended)])


@pytest.mark.parametrize("name", TYPED)
def test_stream_that_breaks_off_is_a_failure_to_be_tried_again(name: str) -> None:
    events = SseParser().feed((WIRE / f"{name}.sse").read_bytes())
    for count in range(len(events)):
        result = decoded([b"data: " + event.data + b"\n\n" for event in events[:count]])

        calls = [event for event in result["events"] if event["type"] == "toolcall_end"]
        assert (result["failure"]["kind"], result["failure"]["retryable"]) == ("stream", True)
        assert result["again"] == (not calls)


@pytest.mark.parametrize("name", TYPED)
def test_official_sdk_makes_the_same_of_the_same_bytes(name: str) -> None:
    body = (WIRE / f"{name}.sse").read_bytes()

    ours = decoded([body])
    theirs = replay_stream("anthropic", body)

    blocks = [told_by_us(event) for event in ours["events"] if event["type"].endswith("_end")]
    assert blocks == [told for block in theirs.content if (told := told_by_sdk(block)) is not None]
    outcome, counts = ours["outcome"], theirs.usage
    assert outcome["raw_stop_reason"].split(" ")[0] == theirs.stop_reason
    assert outcome["response_id"] == theirs.id
    assert outcome.get("response_model", MODEL.id) == theirs.model
    usage = outcome["usage"]
    assert (usage["input"], usage["output"]) == (counts.input_tokens, counts.output_tokens)
    assert usage["cache_read"] == counts.cache_read_input_tokens
    assert usage["cache_write"] == counts.cache_creation_input_tokens
    details = counts.output_tokens_details
    assert usage["reasoning"] == (details.thinking_tokens if details else 0)


def told_by_us(end: dict[str, Any]) -> list[Any]:
    if end["type"] == "toolcall_end":
        call = end["tool_call"]
        return ["tool_use", call["id"], call["name"], call["arguments"]]
    if end.get("redacted"):
        return ["redacted_thinking", end["signature"]]
    if end["type"] == "thinking_end":
        return ["thinking", end["content"], end.get("signature", "")]
    return ["text", end["content"]]


def told_by_sdk(block: Any) -> list[Any] | None:
    """The same of its blocks; None for those that we leave out."""
    match block.type:
        case "tool_use":
            return ["tool_use", block.id, block.name, block.input]
        case "redacted_thinking":
            return ["redacted_thinking", block.data]
        case "thinking":
            return ["thinking", block.thinking, getattr(block, "signature", None) or ""]
        case "text" if block.text:
            return ["text", block.text]
    return None


@pytest.mark.parametrize(("raw", "ours"), STOP_REASONS.items())
def test_stop_reasons_are_told_in_our_words(raw: str, ours: str) -> None:
    call = {"type": "tool_use", "id": "a", "name": "ls", "input": {"b": 1}}
    message = {"type": "message", "id": "msg_1", "model": "m", "content": [call], "stop_reason": raw}

    result = whole(message)

    assert (result["outcome"]["stop_reason"], result["outcome"]["raw_stop_reason"]) == (ours, raw)


def test_whole_answer_is_one_as_well() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm", "signature": "S1"},
        {"type": "redacted_thinking", "data": "D1"},
        {"type": "text", "text": "One."},
        {"type": "text", "text": "Two."},
        {"type": "tool_use", "id": "t1", "name": "ls", "input": {"a": 1}},
        {"type": "tool_use", "id": "t2", "name": "now", "input": {}},
    ]
    usage = {"input_tokens": 7, "output_tokens": 9, "cache_creation_input_tokens": None}

    result = whole(
        {"type": "message", "id": "msg_1", "model": MODEL.id, "content": content, "usage": usage,
         "stop_reason": "tool_use", "stop_sequence": None}
    )  # fmt: skip

    ends = [told_by_us(event) for event in result["events"] if event["type"].endswith("_end")]
    assert ends == [
        ["thinking", "Hm", "S1"],
        ["redacted_thinking", "D1"],
        ["text", "One."],
        ["text", "Two."],
        ["tool_use", "t1", "ls", {"a": 1}],
        ["tool_use", "t2", "now", {}],
    ]
    assert (result["outcome"]["usage"]["input"], result["outcome"]["usage"]["output"]) == (7, 9)
    assert result["outcome"]["response_id"] == "msg_1"


@pytest.mark.parametrize(
    ("body", "kind", "retryable"),
    [
        (b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "server", True),
        (b'{"type":"error","error":{"type":"invalid_request_error","message":"no"}}', "bad_request", False),
        (b'{"type":"message","content":[{"type":"te', "stream", True),
        (b"{}", "server", False),
        (b"[]", "server", False),
    ],
)
def test_whole_body_that_is_no_answer_is_a_failure(body: bytes, kind: str, retryable: bool) -> None:
    with pytest.raises(RequestFailed) as caught:
        decoder().whole(body)

    assert (caught.value.info.kind, caught.value.info.retryable) == (kind, retryable)


def test_failure_names_the_request_and_hides_the_key() -> None:
    error = {"type": "authentication_error", "message": "invalid x-api-key sk-ant-1"}

    result = decoded(
        [event("error", error=error, request_id="req_1")], mask=lambda text: text.replace("sk-ant-1", "***")
    )

    assert result["failure"] == {
        "kind": "auth",
        "message": "The server reported an error in its answer: invalid x-api-key *** (authentication_error)",
        "status": 401,
        "code": "authentication_error",
        "request_id": "req_1",
        "retryable": False,
        "attempts": 1,
    }


def test_huge_arguments_arrive_whole_and_once() -> None:
    text = "x\u2028" * 500_000
    arguments = json.dumps({"text": text})
    pieces = [arguments[at : at + 1000] for at in range(0, len(arguments), 1000)]
    call = {"type": "tool_use", "id": "t1", "name": "write", "input": {}}
    body = [
        event("content_block_start", index=0, content_block=call),
        *[
            event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": piece})
            for piece in pieces
        ],
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 1}),
        event("message_stop"),
    ]

    start, *deltas, end = decoded(body)["events"]

    assert start["tool_name"] == "write"
    assert "".join(delta["delta"] for delta in deltas) == arguments
    assert end["tool_call"]["arguments"] == {"text": text}


def test_answer_is_over_at_its_last_event_only() -> None:
    messages = decoder()
    parser = SseParser()

    states = []
    for server_event in parser.feed((WIRE / "text.sse").read_bytes()):
        messages.feed(server_event)
        states.append((messages.answered, messages.complete))

    assert states == [(False, False)] * (len(states) - 1) + [(True, True)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_can_break_the_decoder(pieces: list[bytes]) -> None:
    decoded([b"data: " + piece + b"\n\n" for piece in pieces])


KEYS = ["index", "delta", "content_block", "message", "usage", "text", "thinking", "signature", "data", "id",
        "name", "input", "partial_json", "stop_reason", "stop_details", "category", "content", "input_tokens",
        "cache_creation", "model"]  # fmt: skip
TYPES = ["message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta",
         "content_block_stop", "text", "thinking", "redacted_thinking", "tool_use", "text_delta",
         "thinking_delta", "input_json_delta", "signature_delta", "other"]  # fmt: skip


def objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    more = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
    return st.builds(lambda kind, rest: {"type": kind, **rest}, st.sampled_from(TYPES), more)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "\ud83d", "{}", "end_turn"]),
    lambda inner: st.lists(inner, max_size=3) | objects(inner),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(objects(JSON), max_size=8))
def test_no_json_can_break_the_decoder(payloads: list[Any]) -> None:
    decoded([b"data: " + json.dumps(each).encode() + b"\n\n" for each in payloads])
    for payload in payloads:
        try:
            whole({**payload, "type": "message"})
        except RequestFailed:
            continue
