"""A model server whose answers cost nothing to make. Standard library only, loopback only.

The scenario stands in the URL, http://127.0.0.1:PORT/turns=50,tokens=20/v1/chat/completions: that many tool
turns (`bash` with the command `true`), then a text of that many deltas. The turn is the number of tool
results in the request, so the server keeps no state of a run; each answer is made once and is one write. The
other APIs have the text only.

It prints its port as the first line. A line on standard input is answered by one line of JSON, the requests
since the last such line; the end of standard input ends it.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import sys
import time
from typing import Any, NamedTuple

from answers import ANSWERS, pieces

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"


class Request(NamedTuple):
    """One request as it was seen; times in seconds of this process's clock."""

    began: float
    answered: float
    turn: int


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, as much of it as two known clients need."""

    def __init__(self, seen: list[Request]) -> None:
        self.seen = seen
        self.buffer = bytearray()
        self.began: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.began is None:
            self.began = time.monotonic()
        self.buffer += data
        head, end, _ = self.buffer.partition(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        size = len(head) + len(end) + int(length[1] if length else 0)
        if not end or len(self.buffer) < size:
            return
        body = self.buffer[len(head) + len(end) : size]
        del self.buffer[:size]
        self.answer(head.split(b" ", 2)[1].decode(), bytes(body))

    def answer(self, path: str, body: bytes) -> None:
        began, self.began = self.began, None
        scenario = re.fullmatch(r"/turns=(\d+),tokens=(\d+)(/.*)", path)
        if scenario is None or scenario[3] not in ("/v1/chat/completions", *ANSWERS):
            self.transport.write(NOT_FOUND)
            return
        turns, tokens, method, turn = int(scenario[1]), int(scenario[2]), scenario[3], 0
        if method in ANSWERS:
            self.transport.write(other_answer(method, tokens))
        else:
            turn = sum(message["role"] == "tool" for message in json.loads(body)["messages"])
            self.transport.write(call_answer(turn) if turn < turns else text_answer(turn, tokens))
        assert began is not None
        self.seen.append(Request(began, time.monotonic(), turn))


@functools.cache
def call_answer(turn: int) -> bytes:
    """One tool call, its arguments in pieces as a model streams them."""
    call = {"index": 0, "id": f"call_{turn:06d}", "type": "function"}
    first = {**call, "function": {"name": "bash", "arguments": ""}}
    pieces = ['{"', "command", '":"', "true", '"}']
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [first]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    return stream(turn, deltas, "tool_calls")


@functools.cache
def text_answer(turn: int, tokens: int) -> bytes:
    """A text of `tokens` deltas of four characters."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces(tokens)]
    return stream(turn, deltas, "stop")


@functools.cache
def other_answer(method: str, tokens: int) -> bytes:
    """The same text over another API."""
    return response(
        [
            (f"event: {name}\n" if name else "") + f"data: {json.dumps(data, separators=(',', ':'))}\n\n"
            for name, data in ANSWERS[method](tokens)
        ]
    )


def stream(turn: int, deltas: list[dict[str, Any]], finish_reason: str) -> bytes:
    """The response with these deltas."""
    base = {
        "id": f"chatcmpl-{turn:06d}",
        "object": "chat.completion.chunk",
        "created": 1764547200,
        "model": "mock",
        "system_fingerprint": "fp_50cad350e4",
    }
    spent = 1200 + 60 * turn
    usage = {
        "prompt_tokens": spent,
        "completion_tokens": len(deltas),
        "total_tokens": spent + len(deltas),
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    ends = [*[(delta, None) for delta in deltas], ({}, finish_reason)]
    choices = [{"index": 0, "delta": delta, "finish_reason": reason} for delta, reason in ends]
    chunks: list[dict[str, Any]] = [{**base, "choices": [choice], "usage": None} for choice in choices]
    chunks.append({**base, "choices": [], "usage": usage})
    events = [json.dumps(chunk, separators=(",", ":")) for chunk in chunks] + ["[DONE]"]
    return response([f"data: {event}\n\n" for event in events])


def response(events: list[str]) -> bytes:
    """The whole response, one HTTP chunk per event."""
    sent = [event.encode() for event in events]
    return HEAD + b"".join(b"%x\r\n%b\r\n" % (len(data), data) for data in sent) + b"0\r\n\r\n"


async def serve() -> None:
    seen: list[Request] = []
    loop = asyncio.get_running_loop()
    closed = loop.create_future()

    def asked() -> None:
        if os.read(0, 1024):
            print(json.dumps(seen), flush=True)
            seen.clear()
        elif not closed.done():
            closed.set_result(None)

    server = await loop.create_server(lambda: Connection(seen), "127.0.0.1", 0)
    loop.add_reader(sys.stdin.fileno(), asked)
    print(server.sockets[0].getsockname()[1], flush=True)
    await closed


if __name__ == "__main__":
    asyncio.run(serve())
