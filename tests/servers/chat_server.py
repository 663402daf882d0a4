"""A Chat Completions server that answers as it is told, reply by reply.

with ChatServer([text_reply("Hello"), error_reply(429, "slow down")]) as server:
    …  # OPENAI_BASE_URL=server.url
server.requests[0].body["messages"]
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
DONE = b"data: [DONE]\n\n"


class Hang:
    """A step: say nothing more and keep the connection open until the server is closed."""


class Drop:
    """A step: break the connection off."""


Step = bytes | float | Hang | Drop


@dataclass(frozen=True)
class Reply:
    """One answer. `steps` are pieces of the body, each sent at once as one chunk, and between them pauses in
    seconds, `Hang()` and `Drop()`; an iterable may be endless. With a `length` the body is not chunked."""

    steps: Iterable[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: SSE)
    before: Sequence[Step] = ()
    """Steps before the status line: pauses, `Hang()`, `Drop()`."""


@dataclass(frozen=True)
class Request:
    """What a client asked; `connection` counts connections from 1."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    connection: int


Answer = Reply | Callable[[Request], Reply]


class ChatServer:
    """Serves `replies` to POST requests in order, then 599; `models` to GET …/models. Its thread and its
    connections end with the `with` block."""

    def __init__(self, replies: Iterable[Answer], models: Sequence[str] = ("mock",)) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self._replies = iter(replies)
        self._models = models
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._server = _Server(("127.0.0.1", 0), _Handler, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the requests."""
        return [request.body for request in self.requests]

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def opened(self, connection: socket.socket) -> int:
        with self._lock:
            self.connections += 1
            self._open.add(connection)
            self._threads.append(threading.current_thread())
            return self.connections

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)

    def answer(self, request: Request) -> Reply:
        if request.method == "GET":
            return json_reply({"object": "list", "data": [{"id": name} for name in self._models]})
        with self._lock:
            self.requests.append(request)
            reply = next(self._replies, None)
        if reply is None:
            return error_reply(599, "the test has no reply for this request")
        return reply if isinstance(reply, Reply) else reply(request)

    def pause(self, seconds: float | None) -> None:
        """Wait, at most until the server is closed."""
        self._closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[_Handler], owner: ChatServer) -> None:
        super().__init__(address, handler)
        self.owner = owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no matter."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.number = self.server.owner.opened(self.connection)

    def finish(self) -> None:
        self.server.owner.closed(self.connection)
        super().finish()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, json.loads(raw) if raw else None, self.number)
        reply = self.server.owner.answer(request)
        if not self._play(reply.before):
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if self._play(reply.steps):
            self.wfile.write(b"0\r\n\r\n")

    def _play(self, steps: Iterable[Step]) -> bool:
        """Play the steps; False when the connection is not to be used any more."""
        for step in steps:
            match step:
                case bytes():
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(step), step))
                case Hang():
                    self.server.owner.pause(None)
                    self.close_connection = True
                    return False
                case Drop():
                    reset = struct.pack("ii", 1, 0)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                    self.close_connection = True
                    return False
                case _:
                    self.server.owner.pause(step)
                    if self.server.owner._closing.is_set():
                        self.close_connection = True
                        return False
        return True

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""


def sse(payload: Any) -> bytes:
    """One event."""
    return b"data: " + (payload if isinstance(payload, bytes) else json.dumps(payload).encode()) + b"\n\n"


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> bytes:
    """One `chat.completion.chunk` event."""
    choice = {"index": 0, "delta": delta if delta is not None else {}, "finish_reason": finish}
    return sse({"id": "chatcmpl-1", "model": "mock", "choices": [choice], **more})


USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}


def usage(numbers: Mapping[str, Any] = USAGE) -> bytes:
    """The event that follows the last delta."""
    return sse({"id": "chatcmpl-1", "model": "mock", "choices": [], "usage": numbers})


def text_steps(*pieces: str, finish: str = "stop") -> list[bytes]:
    """The events of a text answer."""
    return [*[chunk({"content": piece}) for piece in pieces], chunk({}, finish), usage(), DONE]


def text_reply(*pieces: str, finish: str = "stop") -> Reply:
    return Reply(text_steps(*pieces, finish=finish))


def tool_reply(*calls: tuple[str, Any], finish: str = "tool_calls", prefix: str = "call") -> Reply:
    """Calls of (name, arguments); arguments that are a string are sent as they stand."""
    steps = []
    for index, (name, arguments) in enumerate(calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": name, "arguments": ""}
        steps.append(
            chunk({"tool_calls": [{"index": index, "id": f"{prefix}_{index}", "function": function}]})
        )
        steps += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": text[at : at + 8]}}]})
            for at in range(0, len(text), 8)
        ]
    return Reply([*steps, chunk({}, finish), usage(), DONE])


def error_reply(status: int, message: str, **headers: str) -> Reply:
    """An error as OpenAI words it; header names with underscores for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return json_reply({"error": {"message": message}}, status, named)


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply([json.dumps(value).encode()], status, {**JSON, **(headers or {})})


def pings(every: float) -> Iterator[Step]:
    """Comments for ever, and no event."""
    while True:
        yield b": ping\n\n"
        yield every
