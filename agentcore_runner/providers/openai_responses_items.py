"""The messages of a conversation as items of the Responses API, each made and encoded once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from agentcore_runner.core.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from agentcore_runner.core.model import Model
from agentcore_runner.providers.transform import encode, without_images

NO_OUTPUT = "(no output)"
LONGEST_ID = 64
PHASES = ("commentary", "final_answer")


class ItemWriter:
    """The messages in this API's words, each encoded once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._pieces: list[msgspec.Raw] = []

    def add(self, message: Message) -> None:
        """Write the next message."""
        match message:
            case UserMessage():
                self._pieces.append(_raw(_user(without_images(message.content, self._model))))
            case ToolResultMessage():
                self._pieces.append(_raw(self._result(message)))
            case _:
                self._pieces += [_raw(item) for item in _answer(message)]

    def pieces(self, missing: list[Message]) -> list[msgspec.Raw]:
        """Everything so far, and the results that are missing for now."""
        results = [_raw(self._result(each)) for each in missing if isinstance(each, ToolResultMessage)]
        return [*self._pieces, *results]

    def _result(self, message: ToolResultMessage) -> dict[str, Any]:
        content = without_images(message.content, self._model)
        output: Any = _joined(content) or NO_OUTPUT
        if _has_images(content):
            output = [_part(block) for block in content if not _is_empty(block)]
        return {"type": "function_call_output", "call_id": message.tool_call_id, "output": output}


def text_signature(item_id: str | None, phase: str | None) -> str | None:
    """What a text must keep of the message it came in."""
    if not item_id:
        return None
    return f"{short(item_id, 'msg_')}|{phase}" if phase in PHASES else short(item_id, "msg_")


def _user(content: tuple[UserContent, ...]) -> dict[str, Any]:
    """One string where there is only text: every server takes that."""
    if not _has_images(content):
        return {"role": "user", "content": _joined(content)}
    return {"role": "user", "content": [_part(block) for block in content if not _is_empty(block)]}


def _part(block: UserContent) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "input_text", "text": block.text}
    url = f"data:{block.mime_type};base64,{block.data}"
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _answer(message: AssistantMessage) -> list[dict[str, Any]]:
    """The items of an answer. Reasoning goes back just before what came of it, or not at all: the API refuses
    it without. Items that have lost theirs are sent without their ids, by which it would be missed."""
    thoughts = {
        at: _thought(block) for at, block in enumerate(message.content) if isinstance(block, ThinkingContent)
    }
    whole = None not in thoughts.values()
    items: list[dict[str, Any]] = []
    waiting: list[Any] = []
    for at, block in enumerate(message.content):
        if isinstance(block, ThinkingContent):
            waiting += [thoughts[at]] if thoughts[at] is not None else []
        elif isinstance(block, ToolCall) or block.text:
            written = _call(block, whole) if isinstance(block, ToolCall) else _text(block, whole)
            items += [*waiting, written]
            waiting = []
    return items


class _Summary(msgspec.Struct, frozen=True, kw_only=True, tag="summary_text", tag_field="type"):
    text: str


class _Thought(msgspec.Struct, frozen=True, kw_only=True, tag="reasoning_text", tag_field="type"):
    text: str


class _Reasoning(msgspec.Struct, frozen=True, kw_only=True, tag="reasoning", tag_field="type"):
    """A reasoning item as it goes back; what else it came with is the server's own."""

    id: str
    summary: list[_Summary]
    content: list[_Thought] | None = None
    encrypted_content: str | None = None


_reasoning = msgspec.json.Decoder(_Reasoning).decode


def _thought(block: ThinkingContent) -> dict[str, Any] | None:
    """The reasoning item that the signature is; None for one that says nothing to a server that has not kept
    it."""
    try:
        item = _reasoning((block.thinking_signature or "").encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    if not (item.encrypted_content or item.content):
        return None
    kept: dict[str, Any] = msgspec.to_builtins(item)
    return {name: value for name, value in kept.items() if value or name == "summary"}


def _text(block: TextContent, with_id: bool) -> dict[str, Any]:
    """A message of the model, as it came, or as anyone's where it came from elsewhere."""
    item_id, _, phase = (block.text_signature or "").partition("|")
    told = {"phase": phase} if phase in PHASES else {}
    if not (item_id and with_id):
        return {"role": "assistant", "content": block.text, **told}
    content = [{"type": "output_text", "text": block.text, "annotations": []}]
    head = {"type": "message", "id": short(item_id, "msg_"), "role": "assistant", "status": "completed"}
    return {**head, "content": content, **told}


def _call(block: ToolCall, with_id: bool) -> dict[str, Any]:
    """The arguments of a malformed call become an empty object: its result says what was wrong."""
    item_id = block.thought_signature or ""
    known = with_id and item_id.startswith("fc_") and len(item_id) <= LONGEST_ID
    call = {"call_id": block.id, "name": block.name, "arguments": encode(block.arguments).decode()}
    return {"type": "function_call", **({"id": item_id} if known else {}), **call}


def short(identity: str, prefix: str = "") -> str:
    """The id, or a hash in place of one that is too long."""
    if len(identity) <= LONGEST_ID:
        return identity
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    return prefix + digest[: LONGEST_ID - len(prefix)]


def _joined(content: Iterable[UserContent]) -> str:
    return "\n".join([block.text for block in content if isinstance(block, TextContent)])


def _has_images(content: Iterable[UserContent]) -> bool:
    return any(isinstance(block, ImageContent) for block in content)


def _is_empty(block: UserContent) -> bool:
    return isinstance(block, TextContent) and not block.text


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(value))
