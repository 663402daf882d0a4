"""Recorded streams beside what they mean: `wire/openai_chat/NAME.sse` and `NAME.json`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.core.model import Model
from agentcore_runner.providers.failures import RequestFailed
from agentcore_runner.providers.openai_chat_stream import ChatDecoder
from agentcore_runner.providers.sse import SseParser

WIRE = Path(__file__).parent / "wire" / "openai_chat"
STREAMS = sorted(WIRE.glob("*.sse"))
MODEL = Model(id="mock", name="mock", api="openai-completions", provider="openai")


def decoded(pieces: list[bytes], **options: Any) -> dict[str, Any]:
    """The events of a stream and its outcome or its failure, as plain data."""
    numbers = itertools.count(1)
    decoder = ChatDecoder(MODEL, new_id=lambda: f"new_{next(numbers)}", **options)
    parser = SseParser()
    events: list[Any] = []
    try:
        for server_event in [*[event for piece in pieces for event in parser.feed(piece)], *parser.flush()]:
            events += decoder.feed(server_event)
        closing, outcome = decoder.finish()
    except RequestFailed as failure:
        return plain({"events": events, "failure": failure.info, "again": failure.again})
    return plain({"events": [*events, *closing], "outcome": outcome})


def plain(value: dict[str, Any]) -> dict[str, Any]:
    """Without the fields that are not set: what the JSON files hold."""
    data = msgspec.to_builtins(value)
    for event in data["events"]:
        call = event.get("tool_call", {})
        for owner, name in ((event, "signature"), (call, "raw_arguments"), (call, "thought_signature")):
            if owner.get(name, ...) is None:
                del owner[name]
    for name in ("outcome", "failure"):
        if name in data:
            data[name] = {key: item for key, item in data[name].items() if item is not None}
    usage = data.get("outcome", {}).get("usage", {})
    data.get("outcome", {})["usage"] = {key: item for key, item in usage.items() if item}
    return data


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_means_what_stands_beside_it(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))

    assert decoded([path.read_bytes()]) == expected


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_may_be_cut_at_every_byte(path: Path) -> None:
    body = path.read_bytes()
    whole = decoded([body])

    assert all(decoded([body[:at], body[at:]]) == whole for at in range(len(body)))
    assert decoded([body[at : at + 1] for at in range(len(body))]) == whole


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_deltas_add_up_to_what_the_end_says(path: Path) -> None:
    result = decoded([path.read_bytes()])

    for end in result["events"]:
        if end["type"] in ("text_end", "thinking_end"):
            deltas = [
                event["delta"]
                for event in result["events"]
                if event["type"].endswith("_delta") and event["content_index"] == end["content_index"]
            ]
            assert "".join(deltas) == end["content"]


def test_server_that_never_gives_a_finish_reason_can_be_told_of() -> None:
    body = (WIRE / "finish_missing.sse").read_bytes()

    assert decoded([body], needs_finish_reason=False)["outcome"]["stop_reason"] == "done"


def test_answer_that_is_not_streamed_is_taken_whole() -> None:
    calls = [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path":"x"}'}},
        {"id": "b", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
    ]
    message = {"role": "assistant", "content": "Hi", "tool_calls": calls}
    whole = {"id": "1", "model": "mock", "choices": [{"message": message, "finish_reason": "tool_calls"}]}
    decoder = ChatDecoder(MODEL)

    events = decoder.whole(json.dumps(whole).encode())
    closing, outcome = decoder.finish()

    ends = [event for event in msgspec.to_builtins([*events, *closing]) if event["type"].endswith("_end")]
    assert [end.get("content") or end["tool_call"]["id"] for end in ends] == ["Hi", "a", "b"]
    assert outcome.stop_reason == "done"


def test_half_an_answer_that_is_not_streamed_is_asked_for_again() -> None:
    with pytest.raises(RequestFailed, match="no whole JSON document") as caught:
        ChatDecoder(MODEL).whole(b'{"choices": [{"message": {"content": "Hel')

    assert (caught.value.info.kind, caught.value.again) == ("stream", True)


def test_first_call_is_complete_when_the_second_begins() -> None:
    parser = SseParser()
    decoder = ChatDecoder(MODEL)
    seen = []

    for event in parser.feed((WIRE / "tool_calls_interleaved.sse").read_bytes()):
        decoder.feed(event)
        seen.append(decoder.replayable)

    assert seen == [True] * 3 + [False] * 6


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_can_break_the_decoder(pieces: list[bytes]) -> None:
    decoded([b"data: " + piece + b"\n\n" for piece in pieces])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["choices", "delta", "content", "tool_calls", "index", "id", "function", "name",
                         "arguments", "usage", "prompt_tokens", "finish_reason", "message", "model"]),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["choices", "usage", "id", "model"]), JSON, max_size=4), max_size=5
    )
)
def test_no_json_can_break_the_decoder(chunks: list[Any]) -> None:
    decoded([b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks])
