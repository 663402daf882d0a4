"""One answer in the words of each API: a conversation that is said once can be played over all of them.

with playing(dialect, Says(content=(TextContent(text="Hello"),))) as stage:
    stream(stage.provider)
stage.bodies  # what was asked; nothing for a script
"""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from agentcore_runner.core.messages import (
    AssistantContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
)
from agentcore_runner.providers.catalog import Provider
from tests.providers.doubles import opened
from tests.providers.oracle import check_request
from tests.servers.chat_server import (
    DONE,
    ChatServer,
    Drop,
    Hang,
    Reply,
    Step,
    chunk,
    json_reply,
    sse,
    usage,
)

Word: TypeAlias = Literal["overloaded", "rate_limited", "too_long", "bad_key", "bad_request"]
Fault: TypeAlias = Word | Literal["dropped", "broken", "silent", "cut"]
"""What a server may report, and what may happen to its connection: dropped before it says anything, or broken
in the middle of a body."""
FAILURES: dict[Fault, tuple[str, bool]] = {
    "overloaded": ("server", True),
    "rate_limited": ("rate_limit", True),
    "too_long": ("overflow", False),
    "bad_key": ("auth", False),
    "bad_request": ("bad_request", False),
    "dropped": ("connection", True),
    "broken": ("stream", True),
    "silent": ("timeout", True),
    "cut": ("stream", True),
}
"""What a fault must come to: the kind of failure, and whether trying again makes sense."""
ANSWERED_BY = "mock-2026-12-01"
"""The model that answers, whatever alias was asked for."""
ALWAYS = 9
"""More often than any request is made again."""
FEW = Usage(input=12, output=3)


@dataclass(frozen=True)
class Says:
    """One answer, in pieces of so many characters; signatures are the dialect's own. Before it, and `times`
    over, comes the fault: as a response of its own, or in the middle, behind the content."""

    content: tuple[AssistantContent, ...] = ()
    stop: Literal["done", "length", "refused"] = "done"
    usage: Usage = FEW
    size: int = 5
    fault: Fault | None = None
    times: int = ALWAYS
    in_the_middle: bool = False


@dataclass(frozen=True)
class Stage:
    """Where answers are played: by a server, or by a script."""

    open: Callable[[], Provider]
    server: ChatServer | None = None

    @property
    def provider(self) -> Provider:
        """A provider whose model gives the answers that are left; over HTTP a new one each time."""
        return self.open()

    @property
    def bodies(self) -> list[Any]:
        """What was asked, of a server."""
        return self.server.bodies if self.server else []


def arguments_of(call: ToolCall) -> str:
    """The JSON that the model wrote."""
    return msgspec.json.encode(call.arguments).decode() if call.raw_arguments is None else call.raw_arguments


def cut(text: str, size: int) -> list[str]:
    """The text in pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


class Dialect:
    """How one API's server would say it, and what a request to it looks like.

    `kind` is the oracle's name for the API. `marks` sign an answer of thinking, text and two calls, and must
    go back with it to this model, not to its `sibling`. `takes_id` is what the ids of calls may be.
    """

    name: str
    kind: str
    model: str
    sibling: str = ""
    marks: tuple[str, ...]
    settings: dict[str, Any] = {}
    path = "/v1"
    takes_id = re.compile("[A-Za-z0-9_-]{1,64}")
    streams_arguments = True
    counts_cache_writes = True
    errors: dict[Word, tuple[int, dict[str, Any]]]

    def __repr__(self) -> str:
        return self.name

    def content(self, said: Says) -> list[bytes]:
        """The events that bring the content."""
        raise NotImplementedError

    def end(self, said: Says) -> list[bytes]:
        """The events that say that the answer is whole."""
        raise NotImplementedError

    def ids(self, body: Any) -> tuple[list[str], list[str]]:
        """The ids of the calls and of the results in a request, in their order."""
        raise NotImplementedError

    def checked(self, body: Any) -> Any:
        """The request, which the official types allow."""
        check_request(self.kind, body)
        return body

    def whole(self, said: Says) -> list[bytes]:
        """All events of the answer."""
        return [*self.content(said), *self.end(said)]

    def event(self, payload: dict[str, Any]) -> bytes:
        """One event."""
        return sse(payload)

    def failed(self, word: Word) -> bytes:
        """The event that reports an error in the middle of an answer."""
        return self.event(self.errors[word][1])

    def replies(self, said: Says) -> Iterator[Reply]:
        """The responses that a request for this answer gets, one for each attempt."""
        for _ in range(said.times if said.fault else 0):
            yield self._broken(said)
        yield Reply(self.whole(said))

    def open(self, server: ChatServer, model: str = "", **settings: Any) -> Provider:
        """The provider that speaks to this server."""
        base_url = server.url.removesuffix("/v1") + self.path
        return opened(base_url, model or self.model, **self.settings | settings)

    def _broken(self, said: Says) -> Reply:
        begun: list[Step] = [*self.content(said)] if said.in_the_middle else []
        match said.fault:
            case "dropped":
                return Reply(before=[Drop()])
            case "broken":
                return Reply([*begun, 0.02, Drop()])
            case "silent":
                return Reply([*begun, Hang()])
            case "cut":
                return Reply(begun)
            case None:
                raise AssertionError("there is no fault to be had")
            case word if said.in_the_middle:
                return Reply([*begun, self.failed(word)])
            case word:
                status, payload = self.errors[word]
                return json_reply(payload, status, {"retry-after-ms": "1"})


@contextmanager
def playing(dialect: Dialect, *answers: Says, **settings: Any) -> Iterator[Stage]:
    """A model that gives these answers, one for each request."""
    if isinstance(dialect, Scripted):
        script = dialect.play(answers, **settings)
        yield Stage(lambda: script)
        return
    replies = itertools.chain.from_iterable([dialect.replies(said) for said in answers])
    with ChatServer(replies) as server:
        yield Stage(lambda: dialect.open(server, **settings), server)


# The four APIs


class Chat(Dialect):
    name, kind, model, sibling = "chat", "openai-chat", "openai/mock", "openai/mock-2"
    marks = ("reasoning_content",)
    settings = {"compat": {"supports_reasoning_effort": True, "supports_images": True}}
    takes_id = re.compile("[^|]{1,40}")
    errors = {
        "overloaded": (503, {"error": {"message": "Overloaded", "type": "server_error", "code": 503}}),
        "rate_limited": (429, {"error": {"message": "Slow down", "code": "rate_limit_exceeded"}}),
        "too_long": (
            400,
            {"error": {"message": "maximum context length is 8", "code": "context_length_exceeded"}},
        ),
        "bad_key": (401, {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}),
        "bad_request": (400, {"error": {"message": "Unknown field", "type": "invalid_request_error"}}),
    }

    def content(self, said: Says) -> list[bytes]:
        steps, calls = [chunk({"role": "assistant", "content": ""}, model=ANSWERED_BY)], 0
        for block in said.content:
            match block:
                case ThinkingContent(thinking=text):
                    steps += [chunk({"reasoning_content": piece}) for piece in cut(text, said.size)]
                case TextContent(text=text):
                    steps += [chunk({"content": piece}) for piece in cut(text, said.size)]
                case ToolCall():
                    head = {"id": block.id, "type": "function", "function": {"name": block.name}}
                    pieces = [{"function": {"arguments": p}} for p in cut(arguments_of(block), said.size)]
                    steps += [chunk({"tool_calls": [{"index": calls, **each}]}) for each in [head, *pieces]]
                    calls += 1
        return steps

    def end(self, said: Says) -> list[bytes]:
        reasons = {"done": "tool_calls" if _calls(said) else "stop", "refused": "content_filter"}
        used = said.usage
        numbers = {
            "prompt_tokens": used.input + used.cache_read + used.cache_write,
            "completion_tokens": used.output,
            "prompt_tokens_details": {
                "cached_tokens": used.cache_read,
                "cache_write_tokens": used.cache_write,
            },
            "completion_tokens_details": {"reasoning_tokens": used.reasoning},
        }
        return [chunk({}, reasons.get(said.stop, said.stop)), usage(numbers), DONE]

    def ids(self, body: Any) -> tuple[list[str], list[str]]:
        calls = [call["id"] for item in body["messages"] for call in item.get("tool_calls", ())]
        return calls, [item["tool_call_id"] for item in body["messages"] if item["role"] == "tool"]

    def checked(self, body: Any) -> Any:
        """The official types do not know the field in which other services take thinking back."""
        plain = [
            {name: value for name, value in item.items() if name not in self.marks}
            for item in body["messages"]
        ]
        check_request(self.kind, body | {"messages": plain})
        return body


class Responses(Dialect):
    name, kind, model, sibling = "responses", "openai-responses", "openai/mock", "openai/mock-2"
    marks = ("gAAAAABpLbQ0c3VtbWFyeQ==", "rs_0", "msg_1", "fc_2", "fc_3")
    settings = {"api": "openai-responses"}
    errors = {
        "overloaded": (503, {"error": {"message": "Overloaded", "code": "server_is_overloaded"}}),
        "rate_limited": (429, {"error": {"message": "Slow down", "code": "rate_limit_exceeded"}}),
        "too_long": (
            400,
            {"error": {"message": "exceeds the context window", "code": "context_length_exceeded"}},
        ),
        "bad_key": (401, {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}),
        "bad_request": (400, {"error": {"message": "Unknown field", "code": "bad_request"}}),
    }

    def event(self, payload: dict[str, Any]) -> bytes:
        return b"event: " + payload["type"].encode() + b"\n" + sse(payload)

    def failed(self, word: Word) -> bytes:
        return self._last("failed", error=self.errors[word][1]["error"])

    def content(self, said: Says) -> list[bytes]:
        steps = [self._response("created", "in_progress")]
        for at, block in enumerate(said.content):
            steps += [self.event({"output_index": at} | payload) for payload in self._item(at, block, said)]
        return steps

    def end(self, said: Says) -> list[bytes]:
        used = said.usage
        numbers = {
            "input_tokens": used.input + used.cache_read + used.cache_write,
            "input_tokens_details": {
                "cached_tokens": used.cache_read,
                "cache_write_tokens": used.cache_write,
            },
            "output_tokens": used.output,
            "output_tokens_details": {"reasoning_tokens": used.reasoning},
        }
        why = {"length": "max_output_tokens", "refused": "content_filter"}.get(said.stop)
        if why is None:
            return [self._last("completed", usage=numbers)]
        return [self._last("incomplete", usage=numbers, incomplete_details={"reason": why})]

    def ids(self, body: Any) -> tuple[list[str], list[str]]:
        by_type = {
            kind: [item["call_id"] for item in body["input"] if item.get("type") == kind]
            for kind in ("function_call", "function_call_output")
        }
        return by_type["function_call"], by_type["function_call_output"]

    def _last(self, status: str, **more: Any) -> bytes:
        return self._response(status, status, **more)

    def _response(self, event: str, status: str, **more: Any) -> bytes:
        response = {"id": "resp_1", "model": ANSWERED_BY, "status": status, "output": [], **more}
        return self.event({"type": f"response.{event}", "response": response})

    def _item(self, at: int, block: AssistantContent, said: Says) -> Iterator[dict[str, Any]]:
        """The events of an item, from its beginning to its end."""
        match block:
            case ThinkingContent(thinking=text):
                name, begun = "reasoning_summary_text", {"id": f"rs_{at}", "type": "reasoning", "summary": []}
                place = {"summary_index": 0}
                parts = [{"type": "summary_text", "text": text}]
                last = begun | {"summary": parts, "encrypted_content": self.marks[0]}
            case TextContent(text=text):
                name, begun = "output_text", {"id": f"msg_{at}", "type": "message", "role": "assistant"}
                place = {"content_index": 0}
                last = begun | {"content": [{"type": "output_text", "text": text, "annotations": []}]}
            case ToolCall():
                text, name, place = arguments_of(block), "function_call_arguments", {}
                head = {"type": "function_call", "call_id": block.id, "name": block.name}
                begun = {"id": f"fc_{at}", "arguments": "", **head}
                last = begun | {"arguments": text}
        yield {"type": "response.output_item.added", "item": begun | {"status": "in_progress"}}
        place |= {"item_id": begun["id"]}
        for piece in cut(text, said.size):
            yield {"type": f"response.{name}.delta", "delta": piece, **place}
        status = "incomplete" if said.stop == "length" and block is said.content[-1] else "completed"
        yield {"type": "response.output_item.done", "item": last | {"status": status}}


class Anthropic(Dialect):
    name, kind, model = "anthropic", "anthropic", "anthropic/claude-sonnet-4-5"
    sibling = "anthropic/claude-opus-4-5"
    marks = ("EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds",)
    path = ""
    errors = {
        word: (status, {"type": "error", "error": {"type": kind, "message": message}})
        for word, status, kind, message in (
            ("overloaded", 529, "overloaded_error", "Overloaded"),
            ("rate_limited", 429, "rate_limit_error", "Slow down"),
            ("too_long", 400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            ("bad_key", 401, "authentication_error", "invalid x-api-key"),
            ("bad_request", 400, "invalid_request_error", "Unknown field"),
        )
    }

    def event(self, payload: dict[str, Any]) -> bytes:
        return b"event: " + payload["type"].encode() + b"\n" + sse(payload)

    def content(self, said: Says) -> list[bytes]:
        used = said.usage
        counted = {
            "input_tokens": used.input,
            "cache_read_input_tokens": used.cache_read,
            "cache_creation_input_tokens": used.cache_write,
            "output_tokens": 1,
        }
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": ANSWERED_BY, "content": []}
        steps = [self.event({"type": "message_start", "message": message | {"usage": counted}})]
        for index, block in enumerate(said.content):
            begun, deltas = self._block(block, said.size)
            steps.append(self.event({"type": "content_block_start", "index": index, "content_block": begun}))
            steps += [
                self.event({"type": "content_block_delta", "index": index, "delta": delta})
                for delta in deltas
            ]
            steps.append(self.event({"type": "content_block_stop", "index": index}))
        return steps

    def end(self, said: Says) -> list[bytes]:
        reasons = {"done": "tool_use" if _calls(said) else "end_turn", "length": "max_tokens"}
        counted = {
            "output_tokens": said.usage.output,
            "output_tokens_details": {"thinking_tokens": said.usage.reasoning},
        }
        stopped = {"stop_reason": reasons.get(said.stop, "refusal"), "stop_sequence": None}
        return [
            self.event({"type": "message_delta", "delta": stopped, "usage": counted}),
            self.event({"type": "message_stop"}),
        ]

    def ids(self, body: Any) -> tuple[list[str], list[str]]:
        blocks = [block for turn in body["messages"] for block in turn["content"]]
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        return calls, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]

    def _block(self, block: AssistantContent, size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """A block as it begins, and its deltas."""
        match block:
            case ThinkingContent(thinking=text):
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in cut(text, size)]
                signed = {"type": "signature_delta", "signature": self.marks[0]}
                return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
            case TextContent(text=text):
                deltas = [{"type": "text_delta", "text": piece} for piece in cut(text, size)]
                return {"type": "text", "text": ""}, deltas
            case ToolCall():
                pieces = ["", *cut(arguments_of(block), size)]
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
                return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}, deltas


class Google(Dialect):
    name, kind, model = "google", "gemini", "google/gemini-3-flash-preview"
    sibling = "google/gemini-3-pro-preview"
    marks = ("CiQB0e2Kb3Rlc3Qgc2lnbmF0dXJlIG9mIGEgdGhvdWdodA==",)
    path = ""
    streams_arguments = False
    counts_cache_writes = False
    errors = {
        word: (code, {"error": {"code": code, "status": status, "message": message, **more}})
        for word, code, status, message, more in (
            ("overloaded", 503, "UNAVAILABLE", "The model is overloaded.", {}),
            ("rate_limited", 429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.", {}),
            ("too_long", 400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum (8).", {}),
            ("bad_key", 400, "INVALID_ARGUMENT", "API key not valid.", {
                "details": [
                    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
                ],
            }),
            ("bad_request", 400, "INVALID_ARGUMENT", "Unknown field", {}),
        )
    }  # fmt: skip

    def content(self, said: Says) -> list[bytes]:
        parts: list[dict[str, Any]] = []
        unsigned = True
        for block in said.content:
            match block:
                case ThinkingContent(thinking=text):
                    parts += [{"text": piece, "thought": True} for piece in cut(text, said.size)]
                case TextContent(text=text):
                    parts += [{"text": piece} for piece in cut(text, said.size)]
                case ToolCall():
                    arguments = json.loads(arguments_of(block))
                    part = {"functionCall": {"id": block.id, "name": block.name, "args": arguments}}
                    parts.append(part | ({"thoughtSignature": self.marks[0]} if unsigned else {}))
                    unsigned = False
        return [self._chunk([part]) for part in parts]

    def end(self, said: Says) -> list[bytes]:
        used = said.usage
        numbers = {
            "promptTokenCount": used.input + used.cache_read,
            "cachedContentTokenCount": used.cache_read,
            "candidatesTokenCount": used.output - used.reasoning,
            "thoughtsTokenCount": used.reasoning,
        }
        reason = {"done": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"}[said.stop]
        signed = [{"text": "", "thoughtSignature": self.marks[0]}] if _ends_in_text(said) else []
        return [self._chunk(signed, reason, usageMetadata=numbers)]

    def ids(self, body: Any) -> tuple[list[str], list[str]]:
        parts = [part for turn in body["contents"] for part in turn["parts"]]
        calls = [part["functionCall"]["id"] for part in parts if "functionCall" in part]
        return calls, [part["functionResponse"]["id"] for part in parts if "functionResponse" in part]

    def _chunk(self, parts: Iterable[Any], finish: str | None = None, **more: Any) -> bytes:
        candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish, "index": 0}
        whole = {"candidates": [candidate], "modelVersion": ANSWERED_BY, **more}
        return sse(json.dumps(whole, separators=(",", ":")).encode())


# A script


class Scripted(Dialect):
    name, kind, model = "scripted", "", "scripted/s.yaml"
    marks = ()
    statuses: dict[Word, tuple[int, str]] = {
        "overloaded": (503, "Overloaded"),
        "rate_limited": (429, "Slow down"),
        "too_long": (400, "prompt is too long"),
        "bad_key": (401, "Incorrect API key"),
        "bad_request": (400, "Unknown field"),
    }

    def play(self, answers: Iterable[Says], **settings: Any) -> Provider:
        """The model whose script is these answers."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            script = {"turns": [self._turn(said) for said in answers]}
            (folder / "s.yaml").write_text(_as_yaml(script), encoding="utf-8")
            return opened(None, self.model, folder=folder, **settings)

    def _turn(self, said: Says) -> dict[str, Any]:
        counted = {
            name: getattr(said.usage, name)
            for name in ("input", "output", "cache_read", "cache_write", "reasoning")
        }
        turn = {
            "content": [_scripted(block) for block in said.content],
            "stop_reason": said.stop,
            "chunk": said.size,
            "usage": counted,
        }
        return turn | ({"error": self._error(said, said.fault)} if said.fault else {})

    def _error(self, said: Says, fault: Fault) -> dict[str, Any]:
        """An error of the script; a fault of a connection has a kind, and so has whatever comes in the
        middle."""
        if said.in_the_middle or fault not in self.statuses:
            deltas = [len(cut(_streamed(block), said.size)) for block in said.content]
            after = sum(deltas) + len(_calls(said)) if said.in_the_middle else 0
            return {"kind": FAILURES[fault][0], "message": fault, "after": after, "times": said.times}
        status, message = self.statuses[fault]
        return {"status": status, "message": message, "times": said.times, "retry_after": "1ms"}


def _as_yaml(value: Any) -> str:
    """JSON with the escapes of YAML, which knows no halves of characters and breaks lines where JSON does
    not."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub(r"[^\x20-\x7e]", lambda found: rf"\U{ord(found[0]):08x}", text)


def _scripted(block: AssistantContent) -> dict[str, Any]:
    match block:
        case ThinkingContent(thinking=text):
            return {"thinking": text}
        case TextContent(text=text):
            return {"text": text}
        case ToolCall():
            call = {"id": block.id, "name": block.name}
            told = (
                {"arguments": block.arguments}
                if block.raw_arguments is None
                else {"raw_arguments": block.raw_arguments}
            )
            return {"tool_call": call | told}


def _streamed(block: AssistantContent) -> str:
    match block:
        case ThinkingContent(thinking=text) | TextContent(text=text):
            return text
        case ToolCall():
            return arguments_of(block)


def _calls(said: Says) -> list[ToolCall]:
    return [block for block in said.content if isinstance(block, ToolCall)]


def _ends_in_text(said: Says) -> bool:
    thought = any(isinstance(block, ThinkingContent) for block in said.content)
    return thought and isinstance(said.content[-1], TextContent)


CHAT, RESPONSES, ANTHROPIC, GOOGLE, SCRIPTED = Chat(), Responses(), Anthropic(), Google(), Scripted()
APIS: tuple[Dialect, ...] = (CHAT, RESPONSES, ANTHROPIC, GOOGLE)
EVERY: tuple[Dialect, ...] = (*APIS, SCRIPTED)
