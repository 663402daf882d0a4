"""Recorded streams beside what they mean: `wire/google/NAME.sse` and `NAME.json`."""

from __future__ import annotations

import base64
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
from agentcore_runner.providers.google_stream import FAULTS, STOP_REASONS, GoogleDecoder
from agentcore_runner.providers.sse import SseParser
from tests.providers.oracle import replay_stream

WIRE = Path(__file__).parent / "wire" / "google"
STREAMS = sorted(WIRE.glob("*.sse"))
COST = ModelCost(input=2, output=12, cache_read=0.2)
MODEL = Model(id="gemini-2.5-flash", name="mock", api="google-generative-ai", provider="google", cost=COST)
TYPED = (
    "candidates_empty", "empty", "max_tokens", "parallel_calls", "prompt_blocked", "recitation", "safety",
    "signed_thrice", "text", "thinking", "thoughts_only",
)  # fmt: skip
"""Streams of whole answers as the service sends them, which the official SDK takes."""


def decoder(**options: Any) -> GoogleDecoder:
    numbers = itertools.count(1)
    return GoogleDecoder(MODEL, new_id=lambda: f"new_{next(numbers)}", **options)


def decoded(pieces: list[bytes]) -> dict[str, Any]:
    """The events of a stream and its outcome or its failure, as plain data."""
    google, parser = decoder(), SseParser()
    events: list[Any] = []
    try:
        for server_event in [*[event for piece in pieces for event in parser.feed(piece)], *parser.flush()]:
            events += google.feed(server_event)
        closing, outcome = google.finish()
    except RequestFailed as failure:
        again = failure.again and google.replayable
        return plain({"events": events, "failure": failure.info, "again": again, "wait": failure.wait})
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


def whole(*chunks: Any, **options: Any) -> dict[str, Any]:
    """The same of an answer that is one JSON document."""
    google = decoder(**options)
    events = google.whole(json.dumps(chunks[0] if len(chunks) == 1 else chunks).encode())
    closing, outcome = google.finish()
    return plain({"events": [*events, *closing], "outcome": outcome})


def chunk(*parts: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": finish}], **more}


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_means_what_stands_beside_it(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))

    assert decoded([path.read_bytes()]) == expected


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_may_be_cut_at_every_byte(path: Path) -> None:
    body = path.read_bytes()
    expected = decoded([body])

    assert all(decoded([body[:at], body[at:]]) == expected for at in range(len(body)))
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
        else:
            assert json.loads(deltas or "{}") == end["tool_call"]["arguments"]


@pytest.mark.parametrize("name", [*TYPED, "code_and_files"])
def test_stream_that_breaks_off_is_a_failure_to_be_tried_again(name: str) -> None:
    body = (WIRE / f"{name}.sse").read_bytes()
    events = SseParser().feed(body)

    result = decoded([b"data: " + event.data + b"\n\n" for event in events[:-1]])

    calls = [event for event in result["events"] if event["type"] == "toolcall_end"]
    assert (result["failure"]["kind"], result["failure"]["retryable"]) == ("stream", True)
    assert result["again"] == (not calls)


@pytest.mark.parametrize("name", TYPED)
def test_official_sdk_makes_the_same_of_the_same_bytes(name: str) -> None:
    body = (WIRE / f"{name}.sse").read_bytes()

    ours = decoded([body])
    theirs = replay_stream("gemini", body)

    blocks = [told_by_us(event) for event in ours["events"] if event["type"].endswith("_end")]
    assert blocks == told_by_sdk(theirs)
    outcome, last = ours["outcome"], theirs[-1]
    finish = last.candidates[0].finish_reason if last.candidates else last.prompt_feedback.block_reason
    assert outcome["raw_stop_reason"] == finish.value
    assert outcome["response_id"] == last.response_id
    assert outcome.get("response_model", MODEL.id) == last.model_version
    counts = last.usage_metadata
    if counts is not None:
        assert outcome["usage"]["total_tokens"] == counts.total_token_count
        assert outcome["usage"]["reasoning"] == (counts.thoughts_token_count or 0)
        assert outcome["usage"]["cache_read"] == (counts.cached_content_token_count or 0)


def told_by_us(end: dict[str, Any]) -> list[Any]:
    if end["type"] == "toolcall_end":
        call = end["tool_call"]
        made = call["id"].startswith("new_")
        return ["call", None if made else call["id"], call["name"], call["arguments"],
                call.get("thought_signature")]  # fmt: skip
    return [end["type"].removesuffix("_end"), end["content"], end.get("signature")]


def told_by_sdk(chunks: list[Any]) -> list[Any]:
    """The parts, those of a kind that follow each other joined until the next signature."""
    told: list[Any] = []
    seen: set[str] = set()
    contents = [one.content for each in chunks for one in each.candidates or () if one.content is not None]
    for part in [part for content in contents for part in content.parts or ()]:
        signature = base64.b64encode(part.thought_signature).decode() if part.thought_signature else None
        if part.function_call is not None:
            call = part.function_call
            call_id = None if call.id in seen else call.id
            seen.add(call.id)
            told.append(["call", call_id, call.name, call.args or {}, signature])
            continue
        kind = "thinking" if part.thought else "text"
        last = told[-1] if told and told[-1][0] == kind else None
        if last is None or (signature and last[2] not in (None, signature)):
            if not part.text and not signature:
                continue
            told.append([kind, "", None])
        told[-1][1] += part.text or ""
        told[-1][2] = signature or told[-1][2]
    return told


@pytest.mark.parametrize(
    "name", ["parallel_calls", "thinking", "signed_thrice", "max_tokens", "prompt_blocked"]
)
def test_list_of_chunks_is_the_same_answer(name: str) -> None:
    body = (WIRE / f"{name}.sse").read_bytes()
    google = decoder()

    events = google.whole(b"\n[" + b",\r\n".join([event.data for event in SseParser().feed(body)]) + b"]\n")
    closing, outcome = google.finish()

    assert plain({"events": [*events, *closing], "outcome": outcome}) == decoded([body])


def test_answer_that_is_not_streamed_is_taken_whole() -> None:
    call = {"functionCall": {"name": "ls", "args": {"dir": "b"}}, "thoughtSignature": "AAAA"}
    result = whole(chunk({"text": "Hm", "thought": True}, {"text": "Hi"}, call, finish="STOP"))

    ends = [event for event in result["events"] if event["type"].endswith("_end")]
    assert [told_by_us(end) for end in ends] == [
        ["thinking", "Hm", None],
        ["text", "Hi", None],
        ["call", None, "ls", {"dir": "b"}, "AAAA"],
    ]
    assert result["outcome"]["stop_reason"] == "done"


@pytest.mark.parametrize(
    ("body", "kind", "again"),
    [
        (b'[{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]', "server", True),
        (b'{"error": {"code": 400, "message": "no such field"}}', "bad_request", False),
        (b'[{"candidates": []}, {"error": {"code": 500, "message": "boom"}}]', "server", True),
        (b'[{"candidates": [{"content"', "stream", True),
        (b"[1]", "stream", True),
        (b'{"detail": "Not Found"}', "server", False),
    ],
)
def test_whole_answer_that_is_none_is_a_failure(body: bytes, kind: str, again: bool) -> None:
    with pytest.raises(RequestFailed) as caught:
        decoder().whole(body)

    assert (caught.value.info.kind, caught.value.again) == (kind, again)


@pytest.mark.parametrize("end", [{}, {"usageMetadata": {}}, {"promptFeedback": {}}, {"candidates": [{}]}])
def test_whole_answer_without_an_end_is_a_failure_to_be_tried_again(end: Any) -> None:
    with pytest.raises(RequestFailed) as caught:
        whole(chunk({"text": "Hel"}), end)

    assert (caught.value.info.kind, caught.value.again) == ("stream", True)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", "done"), ("MAX_TOKENS", "length"), ("CONTINUATION", "length"), ("SAFETY", "refused"),
        ("RECITATION", "refused"), ("BLOCKLIST", "refused"), ("PROHIBITED_CONTENT", "refused"),
        ("SPII", "refused"), ("LANGUAGE", "refused"), ("MODEL_ARMOR", "refused"), ("ESCALATION", "refused"),
        ("IMAGE_SAFETY", "refused"), ("IMAGE_PROHIBITED_CONTENT", "refused"), ("IMAGE_RECITATION", "refused"),
    ],
)  # fmt: skip
def test_reason_for_finishing_is_told_in_our_words(reason: str, stop: str) -> None:
    outcome = whole(chunk({"text": "a"}, finish=reason))["outcome"]

    assert (outcome["stop_reason"], outcome["raw_stop_reason"]) == (stop, reason)


@pytest.mark.parametrize(
    ("reason", "kind", "again"),
    [
        ("MALFORMED_FUNCTION_CALL", "stream", True), ("MALFORMED_RESPONSE", "stream", True),
        ("UNEXPECTED_TOOL_CALL", "stream", True), ("OTHER", "stream", True),
        ("TOO_MANY_TOOL_CALLS", "server", False), ("MISSING_THOUGHT_SIGNATURE", "bad_request", False),
        ("PUP_LIMITED_DISABLED", "auth", False), ("IMAGE_OTHER", "server", False),
        ("NO_IMAGE", "server", False),
    ],
)  # fmt: skip
def test_reason_that_means_no_answer_is_a_failure(reason: str, kind: str, again: bool) -> None:
    with pytest.raises(RequestFailed) as caught:
        whole(chunk({"text": "a"}, finish=reason))

    assert (caught.value.info.kind, caught.value.again) == (kind, again)


def test_every_reason_that_the_sdk_knows_has_a_meaning() -> None:
    from google.genai.types import FinishReason

    meant = {*STOP_REASONS, *FAULTS, "FINISH_REASON_UNSPECIFIED", "IMAGE_OTHER", "NO_IMAGE"}

    assert {reason.value for reason in FinishReason} == meant


def test_attempt_may_be_repeated_until_a_call_comes() -> None:
    google = decoder()
    seen = []

    for event in SseParser().feed((WIRE / "parallel_calls.sse").read_bytes()):
        google.feed(event)
        seen.append((google.replayable, google.answered))

    assert seen == [(True, False), (False, False), (False, False), (False, True)]


def test_keys_in_what_the_server_says_are_hidden() -> None:
    def hidden(body: dict[str, Any]) -> str:
        with pytest.raises(RequestFailed) as caught:
            whole(body, mask=lambda text: text.replace("AIza-1", "***"))
        return caught.value.info.message

    cut = chunk(finish="OTHER")
    cut["candidates"][0]["finishMessage"] = "no AIza-1"
    assert hidden(cut) == "the answer broke off with finishReason 'OTHER': no ***"
    reported = "The server reported an error in its answer: "
    assert hidden({"error": {"code": 400, "message": "bad AIza-1"}}) == f"{reported}bad ***"


def test_model_of_a_collection_answers_as_itself() -> None:
    google = GoogleDecoder(msgspec.structs.replace(MODEL, id="models/gemini-2.5-flash"))

    google.whole(json.dumps(chunk(finish="STOP", modelVersion="gemini-2.5-flash")).encode())

    assert google.finish()[1].response_model is None


def test_huge_arguments_arrive_whole_and_once() -> None:
    text = "x\u2028" * 1_000_000
    body = chunk({"functionCall": {"name": "write", "args": {"text": text}}}, finish="STOP")

    start, delta, end = decoded([b"data: " + json.dumps(body).encode() + b"\n\n"])["events"]

    assert end["tool_call"]["arguments"] == json.loads(delta["delta"]) == {"text": text}
    assert start["tool_name"] == "write"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_can_break_the_decoder(pieces: list[bytes]) -> None:
    decoded([b"data: " + piece + b"\n\n" for piece in pieces])


KEYS = ["candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall", "id", "name",
        "args", "inlineData", "mimeType", "executableCode", "code", "finishReason", "index", "usageMetadata",
        "promptTokenCount", "promptFeedback", "blockReason", "error", "message"]  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.floats()
    | st.sampled_from(["", "a", "\ud83d", "STOP"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
PARTS = st.dictionaries(st.sampled_from(KEYS[3:13]), JSON, max_size=3)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4), max_size=4), st.lists(PARTS))
def test_no_json_can_break_the_decoder(chunks: list[Any], parts: list[Any]) -> None:
    decoded([b"data: " + json.dumps(each).encode() + b"\n\n" for each in [*chunks, chunk(*parts)]])


def test_a_finish_reason_that_is_not_known_yet_takes_nothing_from_whole_calls() -> None:
    call = {"functionCall": {"name": "read", "args": {"path": "a"}}}

    called = json.dumps(chunk(call, finish="FUNCTION_CALL"))
    said = json.dumps(chunk({"text": "half"}, finish="SOMETHING_NEW"))

    assert decoded([f"data: {called}\n\n".encode()])["outcome"]["stop_reason"] == "done"
    assert "finishReason 'SOMETHING_NEW'" in decoded([f"data: {said}\n\n".encode()])["failure"]["message"]
