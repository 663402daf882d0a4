"""Recorded streams beside what they mean: `wire/openai_responses/NAME.sse` and `NAME.json`."""

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
from agentcore_runner.providers.failures import RequestFailed
from agentcore_runner.providers.openai_responses_stream import ResponsesDecoder
from agentcore_runner.providers.sse import SseParser
from tests.providers.oracle import replay_stream

WIRE = Path(__file__).parent / "wire" / "openai_responses"
STREAMS = sorted(WIRE.glob("*.sse"))
COST = ModelCost(input=1.25, output=10, cache_read=0.125, cache_write=1.5)
MODEL = Model(id="mock", name="mock", api="openai-responses", provider="openai", cost=COST)
COMPLETED = ("empty", "refusal", "text", "thinking_hidden", "thinking_text_parallel_calls")
"""Streams as OpenAI sends them, with an end that the official SDK knows: `response.incomplete` is none."""


def decoder() -> ResponsesDecoder:
    numbers = itertools.count(1)
    return ResponsesDecoder(MODEL, new_id=lambda: f"new_{next(numbers)}")


def decoded(pieces: list[bytes]) -> dict[str, Any]:
    """The events of a stream and its outcome or its failure, as plain data."""
    responses, parser = decoder(), SseParser()
    events: list[Any] = []
    try:
        for server_event in [*[event for piece in pieces for event in parser.feed(piece)], *parser.flush()]:
            events += responses.feed(server_event)
        closing, outcome = responses.finish()
    except RequestFailed as failure:
        return plain(
            {"events": events, "failure": failure.info, "again": failure.again, "wait": failure.wait}
        )
    return plain({"events": [*events, *closing], "outcome": outcome})


def plain(value: dict[str, Any]) -> dict[str, Any]:
    """Without what is not set."""
    data = msgspec.to_builtins(value)
    for event in data["events"]:
        for owner in (event, event.get("tool_call", {})):
            for name in ("signature", "raw_arguments", "thought_signature"):
                if owner.get(name, ...) is None:
                    del owner[name]
    for name in ("outcome", "failure"):
        if name in data:
            data[name] = {key: item for key, item in data[name].items() if item is not None}
    return {name: item for name, item in data.items() if item is not None}


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_means_what_stands_beside_it(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))

    assert decoded([path.read_bytes()]) == expected


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_may_be_cut_at_every_byte(path: Path) -> None:
    body = path.read_bytes()
    whole = decoded([body])

    assert all(decoded([body[:at], body[at:]]) == whole for at in range(0, len(body), 7))
    assert decoded([body[at : at + 1] for at in range(len(body))]) == whole


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_that_breaks_off_is_a_failure_to_be_tried_again(path: Path) -> None:
    body = path.read_bytes()
    last = body.rstrip().rfind(b"\n\n")

    result = decoded([body[:last], b"\n\n"])

    assert "outcome" not in result
    if "failure" not in decoded([body]):
        assert (result["failure"]["kind"], result["again"]) == ("stream", True)


CONSISTENT = [path for path in STREAMS if path.stem != "end_decides"]
"""Without the stream in which the end of an item contradicts its pieces."""


@pytest.mark.parametrize("path", CONSISTENT, ids=lambda path: path.stem)
def test_deltas_add_up_to_their_block(path: Path) -> None:
    events = decoded([path.read_bytes()])["events"]
    for end in [event for event in events if event["type"].endswith("_end")]:
        deltas = [
            event["delta"]
            for event in events
            if event["type"].endswith("_delta") and event["content_index"] == end["content_index"]
        ]
        if "content" in end:
            assert "".join(deltas) == end["content"]
        elif "raw_arguments" in end["tool_call"]:
            assert "".join(deltas) == end["tool_call"]["raw_arguments"]
        else:
            assert json.loads("".join(deltas) or "{}") == end["tool_call"]["arguments"]


@pytest.mark.parametrize("name", COMPLETED)
def test_official_sdk_makes_the_same_of_the_same_bytes(name: str) -> None:
    body = (WIRE / f"{name}.sse").read_bytes()

    ours = decoded([body])
    theirs = replay_stream("openai-responses", body)

    ends = [event for event in ours["events"] if event["type"].endswith("_end")]
    assert [told_by_us(end) for end in sorted(ends, key=lambda end: end["content_index"])] == [
        told_by_sdk(item) for item in theirs.output
    ]
    usage = ours["outcome"]["usage"]
    assert (usage["total_tokens"], usage["output"], usage["reasoning"], usage["cache_read"]) == (
        theirs.usage.total_tokens,
        theirs.usage.output_tokens,
        theirs.usage.output_tokens_details.reasoning_tokens,
        theirs.usage.input_tokens_details.cached_tokens,
    )
    assert (ours["outcome"]["response_id"], ours["outcome"]["response_model"]) == (theirs.id, theirs.model)


def told_by_us(end: dict[str, Any]) -> tuple[Any, ...]:
    if end["type"] == "toolcall_end":
        call = end["tool_call"]
        return (
            call["thought_signature"],
            call["id"],
            call["name"],
            call.get("raw_arguments") or call["arguments"],
        )
    if end["type"] == "thinking_end":
        return json.loads(end["signature"])["id"], end["content"], json.loads(end["signature"])
    return tuple(end["signature"].split("|")), end["content"]


def told_by_sdk(item: Any) -> tuple[Any, ...]:
    if item.type == "function_call":
        try:
            arguments = json.loads(item.arguments)
        except ValueError:
            arguments = item.arguments
        return item.id, item.call_id, item.name, arguments
    if item.type == "reasoning":
        text = "\n\n".join(part.text for part in item.summary)
        return item.id, text, item.model_dump(exclude_unset=True)
    ids = (item.id, item.phase) if item.phase else (item.id,)
    return ids, "".join([getattr(part, "text", "") or getattr(part, "refusal", "") for part in item.content])


def test_attempt_may_be_repeated_until_a_call_is_complete() -> None:
    parser, responses = SseParser(), decoder()
    seen = {}

    for event in parser.feed((WIRE / "thinking_text_parallel_calls.sse").read_bytes()):
        responses.feed(event)
        seen[event.name] = (responses.replayable, responses.answered)

    assert seen["response.function_call_arguments.delta"] == (True, False)
    assert seen["response.output_item.done"] == (False, False)
    assert seen["response.completed"] == (False, True)


def test_answer_that_is_not_streamed_is_taken_whole() -> None:
    output = [
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "hm"}],
        },
        {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "read", "arguments": '{"path":"x"}'},
        {"type": "function_call", "id": "fc_2", "call_id": "b", "name": "ls", "arguments": "{}"},
    ]
    whole = {"id": "1", "object": "response", "model": "mock", "status": "completed", "output": output}
    responses = decoder()

    events = responses.whole(json.dumps(whole).encode())
    closing, outcome = responses.finish()

    ends = [event for event in msgspec.to_builtins([*events, *closing]) if event["type"].endswith("_end")]
    assert [end.get("content") or end["tool_call"]["id"] for end in ends] == ["hm", "Hi", "a", "b"]
    assert (outcome.stop_reason, outcome.response_id, outcome.response_model) == ("done", "1", None)


@pytest.mark.parametrize(
    ("whole", "kind"),
    [
        ({"error": {"message": "busy", "code": "server_error"}}, "server"),
        ({"status": "failed", "error": {"message": "slow", "code": "rate_limit_exceeded"}}, "rate_limit"),
        ({"status": "in_progress", "output": []}, "stream"),
        ({"detail": "Not Found"}, "server"),
        ([1], "server"),
    ],
)
def test_whole_answer_that_is_none_is_a_failure(whole: Any, kind: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        decoder().whole(json.dumps(whole).encode())

    assert caught.value.info.kind == kind


def test_half_an_answer_that_is_not_streamed_is_asked_for_again() -> None:
    with pytest.raises(RequestFailed, match="no whole JSON document") as caught:
        decoder().whole(b'{"status": "completed", "output": [')

    assert (caught.value.info.kind, caught.value.again) == ("stream", True)


def test_keys_in_what_the_server_says_are_hidden() -> None:
    masked = ResponsesDecoder(MODEL, mask=lambda text: text.replace("sk-1", "***"))
    event = SseParser().feed(b'event: error\ndata: {"type":"error","message":"bad key sk-1"}\n\n')[0]

    with pytest.raises(RequestFailed) as caught:
        masked.feed(event)

    assert caught.value.info.message == "The server reported an error in its answer: bad key ***"


def test_huge_arguments_arrive_whole_and_in_time() -> None:
    piece = "x" * 4000
    head = b'data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call",'
    body = [head + b'"id":"fc_1","call_id":"a","name":"write","arguments":""}}\n\n']
    for text in ['{"text":"', *[piece] * 500, '"}']:
        delta = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": text}
        body.append(b"data: " + json.dumps(delta).encode() + b"\n\n")
    body.append(b'data: {"type":"response.completed","response":{"status":"completed"}}\n\n')

    events = decoded(body)["events"]

    assert events[-1]["tool_call"]["arguments"] == {"text": piece * 500}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_can_break_the_decoder(pieces: list[bytes]) -> None:
    decoded([b"data: " + piece + b"\n\n" for piece in pieces])


NAMES = st.sampled_from(
    ["output_text.delta", "output_text.done", "refusal.delta", "reasoning_text.delta",
     "function_call_arguments.delta", "function_call_arguments.done", "output_item.added",
     "output_item.done", "created", "completed", "incomplete", "failed"]
).map("response.{}".format)  # fmt: skip
WORDS = st.sampled_from(["", "a", "\ud83d", "message", "function_call", "reasoning", "completed"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "id", "content", "summary", "text", "arguments", "call_id", "name", "status",
                         "output", "usage", "input_tokens", "error", "code", "message", "item"]),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
FIELDS = st.sampled_from(["output_index", "item_id", "delta", "text", "arguments", "item", "response"])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(NAMES, st.dictionaries(FIELDS, JSON, max_size=4)), max_size=6))
def test_no_json_can_break_the_decoder(events: list[tuple[str, Any]]) -> None:
    decoded([b"data: " + json.dumps({"type": name, **rest}).encode() + b"\n\n" for name, rest in events])


def test_an_incomplete_answer_without_a_reason_was_cut() -> None:
    body = (WIRE / "length.sse").read_bytes().replace(b'{"reason": "max_output_tokens"}', b"null")

    assert b'max_output_tokens"}' not in body
    assert decoded([body])["outcome"]["stop_reason"] == "length"
