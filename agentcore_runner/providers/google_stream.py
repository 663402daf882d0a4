"""The chunks of generateContent become stream events; no I/O."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from agentcore_runner.characters import Halves
from agentcore_runner.core.messages import ErrorKind, StopReason, Usage
from agentcore_runner.core.model import Model, priced
from agentcore_runner.providers.blocks import Blocks, Events
from agentcore_runner.providers.failures import RequestFailed, failed, from_stream
from agentcore_runner.providers.google_wire import Chunk, FunctionCall, Part, WireUsage, read_chunks
from agentcore_runner.providers.lenient import count
from agentcore_runner.providers.reports import error_value
from agentcore_runner.providers.retry import Outcome
from agentcore_runner.providers.sse import ServerEvent

STOP_REASONS: dict[str, StopReason] = {
    "STOP": "done", "MAX_TOKENS": "length", "CONTINUATION": "length",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
         "ESCALATION", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
        "refused",
    ),
}  # fmt: skip
FAULTS: dict[str, tuple[ErrorKind, bool]] = {
    "MALFORMED_FUNCTION_CALL": ("stream", True),
    "MALFORMED_RESPONSE": ("stream", True),
    "UNEXPECTED_TOOL_CALL": ("stream", True),
    "OTHER": ("stream", True),
    "TOO_MANY_TOOL_CALLS": ("server", False),
    "MISSING_THOUGHT_SIGNATURE": ("bad_request", False),
    "PUP_LIMITED_DISABLED": ("auth", False),
}
"""Finish reasons of answers that are none: the kind of failure, and whether another try may do better."""
LONGEST_REASON = 500
"""Characters of the server's own account that a message may quote."""


class GoogleDecoder:
    """Feed it the events of one answer; `finish` closes the blocks and says how the answer ended. A call
    comes whole; a missing or repeated id is replaced by `new_id()`."""

    def __init__(
        self,
        model: Model,
        *,
        mask: Callable[[str], str] = str,
        new_id: Callable[[], str] = lambda: f"call_{secrets.token_hex(12)}",
    ) -> None:
        self.answered = False
        self.complete = False
        self._model = model
        self._mask = mask
        self._new_id = new_id
        self._blocks = Blocks()
        self._halves = Halves()
        self._ids: set[str] = set()
        self._usage: WireUsage | None = None
        self._finish_reason: str | None = None
        self._finish_message: str | None = None
        self._blocked: str | None = None
        self._response_id: str | None = None
        self._response_model: str | None = None

    @property
    def replayable(self) -> bool:
        """No tool call has come yet: each comes complete."""
        return self._blocks.call_count == 0

    @property
    def usage(self) -> Usage | None:
        """What has been used so far; None while the server has not said."""
        wire = self._usage
        if wire is None or (wire.prompt_token_count is None and wire.candidates_token_count is None):
            return None
        return priced(_counted(wire), self._model.cost)

    def feed(self, event: ServerEvent) -> Events:
        """The events that one server event stands for, none for one that says nothing. Raises
        `RequestFailed` on an error object."""
        out: Events = []
        if event.data.startswith(b"[DONE]"):
            self.complete = True
            return out
        chunks = None if event.name == "error" else read_chunks(event.data)
        if self.answered and (chunks is None or any(chunk.error for chunk in chunks)):
            return out  # it takes nothing from an answer that is whole
        if event.name == "error":
            raise self._error(event.data)
        if chunks is not None:
            self._take_all(chunks, out)
        elif event.name in ("", "message"):
            shown = self._mask(event.data.decode("utf-8", "replace"))[:200]
            raise failed("stream", f"the server sent an event that is no JSON object: {shown}")
        return out

    def whole(self, body: bytes) -> Events:
        """The events of an answer that came as one JSON document: one object, or the list of chunks that the
        API sends where it is not asked for events."""
        chunks = read_chunks(body)
        if chunks is None:
            shown = self._mask(body.decode("utf-8", "replace"))[:200]
            raise failed("stream", f"the server sent an answer that is no whole JSON document: {shown}")
        if not any(chunk.candidates or chunk.prompt_feedback or chunk.error for chunk in chunks):
            raise self._error(body)
        out: Events = []
        self._take_all(chunks, out)
        return out

    def finish(self) -> tuple[Events, Outcome]:
        """The events that close what is open, and the outcome. Raises `RequestFailed` where the stream
        ended before the answer did, or the answer is none."""
        stop_reason = self._stop_reason()
        out: Events = []
        if self._halves.pending:
            self._blocks.lost_half(out)
        self._blocks.close(out)
        asked = self._model.id.removeprefix("models/")
        other = (self._response_model or asked).removeprefix("models/") != asked
        return out, Outcome(
            stop_reason=stop_reason,
            usage=self.usage or Usage(),
            raw_stop_reason=self._finish_reason or self._blocked,
            response_model=self._response_model if other else None,
            response_id=self._response_id,
        )

    def _take_all(self, chunks: list[Chunk], out: Events) -> None:
        for chunk in chunks:
            if chunk.error:
                raise from_stream(chunk.error, mask=self._mask)
            self._take(chunk, out)

    def _take(self, chunk: Chunk, out: Events) -> None:
        """Take in a chunk. Of several candidates only the first is the answer."""
        if self._response_id is None:
            self._response_id, self._response_model = chunk.response_id or None, chunk.model_version or None
        if chunk.usage_metadata is not None:
            self._usage = chunk.usage_metadata
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._blocked = chunk.prompt_feedback.block_reason
            self.answered = True
        for candidate in chunk.candidates or ():
            if candidate.index:
                continue
            for part in (candidate.content and candidate.content.parts) or ():
                self._take_part(part, chunk.odd, out)
            if candidate.finish_reason and candidate.finish_reason != "FINISH_REASON_UNSPECIFIED":
                self._finish_reason = candidate.finish_reason
                self._finish_message = candidate.finish_message
                self.answered = True

    def _take_part(self, part: Part, odd: bool, out: Events) -> None:
        if part.function_call is not None:
            self._take_call(part.function_call, part.thought_signature or None, out)
            return
        text = part.text
        if text is None:
            text = _shown(part)
        elif odd or self._halves.pending:
            text = self._halves.feed(text)
        if part.thought_signature:
            self._blocks.signed(text, part.thought_signature, out, thinking=part.thought is True)
        elif text and part.thought:
            self._blocks.thinking(text, out)
        elif text:
            self._blocks.text(text, out)

    def _take_call(self, wire: FunctionCall, signature: str | None, out: Events) -> None:
        call_id = wire.id if wire.id and wire.id not in self._ids else self._new_id()
        self._ids.add(call_id)
        call = self._blocks.call(call_id, out)
        call.name = wire.name or ""
        self._blocks.start(call, out)
        arguments = bytes(wire.args).decode("utf-8", "replace")
        if arguments and arguments != "null":
            self._blocks.arguments(call, arguments, out)
        self._blocks.end(call, out, signature=signature)

    def _stop_reason(self) -> StopReason:
        """How the answer ended, in our words. Raises where it did not."""
        raw = self._finish_reason
        if raw is None and self._blocked is not None:
            return "refused"
        if raw is None:
            raise failed("stream", "the stream ended without a finishReason")
        if raw in STOP_REASONS:
            return STOP_REASONS[raw]
        if raw not in FAULTS and self._blocks.call_count:
            return "done"  # a reason that we do not know yet takes nothing from calls that are whole
        kind, again = FAULTS.get(raw, ("server", False))
        account = self._mask(self._finish_message or "")[:LONGEST_REASON]
        message = f"the answer broke off with finishReason {raw!r}"
        raise failed(kind, f"{message}: {account}" if account else message, again=again)

    def _error(self, data: bytes) -> RequestFailed:
        """The failure that an error object stands for; what is none of ours is told as it came."""
        return from_stream(error_value(data), mask=self._mask)


def _shown(part: Part) -> str:
    """What is shown for a part that is neither text nor a call: code that the service ran, a file."""
    if part.executable_code is not None:
        return f"\n```\n{part.executable_code.code or ''}\n```\n"
    if part.code_execution_result is not None:
        return f"\n```\n{part.code_execution_result.output or ''}\n```\n"
    return f"[{part.inline_data.mime_type or 'a file'} left out]" if part.inline_data is not None else ""


def _counted(wire: WireUsage) -> Usage:
    """Tokens. Cached ones are counted in the prompt, those of thoughts beside the answer's."""
    cached = count(wire.cached_content_token_count)
    thoughts = count(wire.thoughts_token_count)
    prompt = max(0, count(wire.prompt_token_count) - cached)
    return Usage(
        input=prompt + count(wire.tool_use_prompt_token_count),
        output=count(wire.candidates_token_count) + thoughts,
        cache_read=cached,
        reasoning=thoughts,
    )
