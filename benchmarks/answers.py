"""One streamed answer of text in the words of each API: (event name, data) pairs, as services send them."""

from __future__ import annotations

from typing import Any

WORDS = ("the ", "run ", "and ", "its ", "one ", "way ", "out ", "now\n")
Events = list[tuple[str, dict[str, Any]]]


def pieces(tokens: int) -> list[str]:
    """The deltas of the answer, four characters each."""
    return [WORDS[i % len(WORDS)] for i in range(tokens)]


def responses(tokens: int) -> Events:
    """OpenAI's Responses."""
    item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant"}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "".join(pieces(tokens)), "annotations": []}
    response = {"id": "resp_1", "object": "response", "model": "mock", "status": "in_progress", "output": []}
    counted = {"input_tokens": 1200, "output_tokens": tokens, "total_tokens": 1200 + tokens}
    whole = {**response, "status": "completed", "output": [{**item, "content": [part]}], "usage": counted}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *[
            {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
            for piece in pieces(tokens)
        ],
        {"type": "response.output_text.done", **place, "text": part["text"]},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": [part]}},
        {"type": "response.completed", "response": whole},
    ]
    return [(event["type"], {**event, "sequence_number": number}) for number, event in enumerate(events)]


def messages(tokens: int) -> Events:
    """Anthropic's Messages."""
    usage = {"input_tokens": 1200, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": []}
    start = {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *[
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in pieces(tokens)
        ],
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": tokens},
        },
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


def gemini(tokens: int) -> Events:
    """Gemini's generateContent."""
    base = {"modelVersion": "mock", "responseId": "r_1"}
    events: list[dict[str, Any]] = []
    for number, piece in enumerate(pieces(tokens), 1):
        candidate: dict[str, Any] = {"content": {"parts": [{"text": piece}], "role": "model"}, "index": 0}
        if number == tokens:
            candidate["finishReason"] = "STOP"
        counted = {"promptTokenCount": 1200, "candidatesTokenCount": number, "totalTokenCount": 1200 + number}
        events.append({"candidates": [candidate], "usageMetadata": counted, **base})
    return [("", event) for event in events]


ANSWERS = {
    "/v1/responses": responses,
    "/v1/messages": messages,
    "/v1beta/models/mock:streamGenerateContent?alt=sse": gemini,
}
