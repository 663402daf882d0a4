"""One HTTP request with a streamed answer: the short pump between the client and an API's decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from agentcore_runner.core.messages import Usage
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import AssistantMessageEvent
from agentcore_runner.providers.failures import (
    MAX_BODY,
    RequestFailed,
    failed,
    from_response,
    from_stream,
)
from agentcore_runner.providers.http import HttpClient, Reply, shown
from agentcore_runner.providers.retry import Attempt, Outcome
from agentcore_runner.providers.sse import ServerEvent, SseParser
from agentcore_runner.providers.watch import Silent, Watch

USAGE_GRACE = 1.0
"""Seconds that an answer which is whole waits for its usage, or for the end of the stream."""
END_GRACE = 0.05
"""Seconds that are given to the end of the body, so that the connection can be used again."""
ERROR_GRACE = 5.0
MAX_ERROR_BYTES = 16 * MAX_BODY


class Decoder(Protocol):
    """What an API makes of its server-sent events; pure. Any method may raise `RequestFailed`."""

    @property
    def replayable(self) -> bool:
        """Nothing has been given out that a second attempt could contradict: no tool call is complete."""

    @property
    def answered(self) -> bool:
        """The reason for stopping is known; only figures may follow."""

    @property
    def complete(self) -> bool:
        """Nothing may follow."""

    @property
    def usage(self) -> Usage | None:
        """What has been used so far, with its cost; None while the server has not said."""

    def feed(self, event: ServerEvent) -> list[AssistantMessageEvent]:
        """The events that one server event stands for; none when it says nothing."""

    def whole(self, body: bytes) -> list[AssistantMessageEvent]:
        """The events of an answer that came as one JSON document."""

    def finish(self) -> tuple[list[AssistantMessageEvent], Outcome]:
        """The closing events and the outcome; a failure when the answer is not whole."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is ready to be sent, as often as need be. `mask` hides keys in what is shown;
    `idle_timeout` in seconds; `now_s` is the Unix time."""

    client: HttpClient
    url: str
    headers: dict[str, str]
    body: bytes
    decoder: Callable[[], Decoder]
    signal: AbortSignal
    idle_timeout: float
    mask: Callable[[str], str]
    now_s: Callable[[], float]


async def attempt(call: Call) -> Attempt:
    """Send the request once and give what comes back."""
    watch = Watch(call.signal, call.idle_timeout)
    decoder = call.decoder()
    reply: Reply | None = None
    try:
        reply = await call.client.post(call.url, call.headers, call.body, watch)
        if not 200 <= reply.status < 300:
            raise await _refusal(reply, watch, call)
        body = _Body(reply, decoder, watch, call.mask)
        while (batch := await body.next()) is not None:
            if batch:
                yield batch
        closing, outcome = decoder.finish()
        yield closing
        yield outcome
    except Silent as exc:
        message = f"the server said nothing for {call.idle_timeout:g} s (idle_timeout)"
        failure = failed("timeout", message, again=decoder.replayable, retryable=True)
        failure.usage = decoder.usage
        raise failure from exc
    except RequestFailed as exc:
        exc.again = exc.again and decoder.replayable
        exc.usage = decoder.usage
        raise
    finally:
        watch.close()
        if reply is not None:
            await reply.aclose()


class _Body:
    """The body of a good response, read as far as the decoder needs it."""

    def __init__(self, reply: Reply, decoder: Decoder, watch: Watch, mask: Callable[[str], str]) -> None:
        self._reply = reply
        self._mask = mask
        self._decoder = decoder
        self._watch = watch
        self._parser = SseParser()
        self._begun = False
        self._events = False
        self._head = bytearray()
        self._heard = False
        self._waning = False
        self._over = False

    async def next(self) -> list[AssistantMessageEvent] | None:
        """What the next piece of the body brings, often nothing; None after its end."""
        if self._heard:
            self._watch.heard()
            self._heard = False
        if self._over:
            return None
        chunk = await self._read()
        if not self._begun and chunk and not chunk.isspace():
            self._begun = True
            sign = chunk.lstrip()[:1]
            if sign in (b"{", b"["):
                self._over = True
                return self._decoder.whole(await self._rest(chunk))
            if sign == b"<":
                raise _markup(self._reply, chunk)
        if not self._events and chunk is not None and len(self._head) < MAX_BODY:
            self._head += chunk
        batch = self._decoded(self._parser.feed(chunk) if chunk is not None else self._parser.flush())
        self._over = chunk is None
        if self._over and not self._events and (words := _words(bytes(self._head))):
            raise from_stream(words, mask=self._mask)
        if self._decoder.complete and not self._over:
            self._over = True
            await self._drain()
        elif self._decoder.answered and not self._waning:
            self._waning = True
            self._watch.finish_within(USAGE_GRACE)
        return batch

    async def _read(self) -> bytes | None:
        """The next piece; once the answer is there, silence or a broken connection is its end as well."""
        try:
            return await self._reply.read()
        except (Silent, RequestFailed):
            if not self._waning:
                raise
            return None

    def _decoded(self, server_events: list[ServerEvent]) -> list[AssistantMessageEvent]:
        batch: list[AssistantMessageEvent] = []
        self._events = self._events or bool(server_events)
        for event in server_events:
            if event.name != "ping":
                self._heard = True
                batch += self._decoder.feed(event)
        return batch

    async def _rest(self, chunk: bytes) -> bytes:
        """The whole body, of which this is the beginning."""
        pieces = [chunk]
        while (piece := await self._reply.read()) is not None:
            pieces.append(piece)
        return b"".join(pieces)

    async def _drain(self) -> None:
        """Read the end of the body if it is there already: the connection can then be used again."""
        self._watch.finish_within(END_GRACE)
        try:
            while await self._reply.read() is not None:
                pass
        except (Silent, RequestFailed):
            pass


async def _refusal(reply: Reply, watch: Watch, call: Call) -> RequestFailed:
    """The failure that a status other than 2xx stands for, with as much of the body as comes soon."""
    pieces: list[bytes] = []
    size = 0
    watch.finish_within(ERROR_GRACE)
    try:
        while size < MAX_ERROR_BYTES and (piece := await reply.read()) is not None:
            pieces.append(piece)
            size += len(piece)
    except (Silent, RequestFailed):
        pass
    body = b"".join(pieces)[:MAX_ERROR_BYTES]
    return from_response(
        reply.status, reply.headers, body, now_s=call.now_s(), mask=call.mask, url=shown(call.url)
    )


FIELDS = ("data", "event", "id", "retry", "")
"""What lines of an event stream begin with; nothing before the colon is a comment."""


def _words(body: bytes) -> str:
    """What a body says that is no stream of events: a text, or a JSON string; "" for one that is a stream, of
    comments for instance."""
    lines = body.decode("utf-8", "replace").strip("\ufeff \r\n\t").splitlines()
    text = "\n".join([line for line in lines if not _is_field(line)]).strip()
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return value if isinstance(value, str) else text


def _is_field(line: str) -> bool:
    """Whether a line belongs to an event stream; the last one may be cut."""
    name = line.partition(":")[0]
    return any(field.startswith(name) for field in FIELDS)


def _markup(reply: Reply, chunk: bytes) -> RequestFailed:
    kind = reply.headers.get("content-type", "markup")
    start = chunk.decode("utf-8", "replace").strip()[:200]
    message = f"the server answered with {kind} where an event stream belongs; is base_url right? {start}"
    return failed("bad_request", message, again=False)
