"""Agent messages → the messages a model is sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, TypeAlias, TypeVar, cast

from agentcore_runner.core.decode import remember_type
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    TextContent,
    ToolResultMessage,
    UserMessage,
)

M = TypeVar("M")
MessageConverter: TypeAlias = Callable[[Any], Message | None]

COMPACTION_INTRODUCTION = "The earlier history of this conversation was compacted into this summary:"
BRANCH_INTRODUCTION = "This summarises a branch that this conversation came back from:"


def convert_to_llm(messages: Sequence[AgentMessage]) -> list[Message]:
    """The messages as a model may see them. Other kinds become user messages; a kind that nobody registered
    is left out, and so is a tool result whose call is not before it."""
    return Converter()(messages)


def register_message_type(cls: type[M], converter: Callable[[M], Message | None] | None = None) -> None:
    """Teach the conversion and the decoding a message type (subclasses included).

    The converter gives the message to send, or None to send nothing; the last one registered for a type is
    used, and without one a `CustomMessage` is sent as its content. A subclass of `CustomMessage` whose
    `custom_type` has a default is read back from a record as itself."""
    if converter is not None:
        _CONVERTERS[cls] = converter
    if issubclass(cls, CustomMessage):
        remember_type(cls)


class Converter:
    """`convert_to_llm` that remembers: a message that was converted before gives the same object again, and
    a history that only grew costs no more than its new part and a look along the old one."""

    def __init__(self) -> None:
        self._sources: list[AgentMessage] = []
        self._converted: list[Message | None] = []
        self._sent: list[Message] = []
        self._calls: set[str] = set()

    def __call__(self, messages: Sequence[AgentMessage]) -> list[Message]:
        known = len(self._sources)
        if len(messages) < known or not all(map(is_, self._sources, messages)):
            self._start_again(messages)
            known = len(self._sources)
        for index in range(known, len(messages)):
            self._add(messages[index], convert_message(messages[index]))
        return self._sent.copy()

    def _start_again(self, messages: Sequence[AgentMessage]) -> None:
        """The history was changed: begin anew, with what is already converted."""
        pairs = zip(self._sources, self._converted, strict=True)
        old = {id(source): (source, converted) for source, converted in pairs}
        self._sources, self._converted, self._sent, self._calls = [], [], [], set()
        for message in messages:
            known = old.get(id(message))
            self._add(message, known[1] if known else convert_message(message))

    def _add(self, source: AgentMessage, message: Message | None) -> None:
        self._sources.append(source)
        self._converted.append(message)
        if isinstance(message, AssistantMessage):
            self._calls.update([call.id for call in message.tool_calls])
        elif isinstance(message, ToolResultMessage) and message.tool_call_id not in self._calls:
            return  # an API refuses a conversation with a result that nobody asked for
        if message is not None:
            self._sent.append(message)


def convert_message(message: AgentMessage) -> Message | None:
    """One message as a model may see it; None when it is not for the model."""
    kind = type(message)
    if kind in _PASSED_ON:
        return cast(Message, message)
    for cls in kind.__mro__:
        if cls in _CONVERTERS:
            return _CONVERTERS[cls](message)
    return None


def _bash(message: BashExecutionMessage) -> UserMessage | None:
    if message.exclude_from_context:
        return None
    return UserMessage(content=(TextContent(text=bash_text(message)),), timestamp=message.timestamp)


def bash_text(message: BashExecutionMessage) -> str:
    """What a model reads of a command that a person ran."""
    parts = [f"Ran `{message.command}`\n{_fenced(message.output) if message.output else '(no output)'}"]
    if message.cancelled:
        parts.append("(command cancelled)")
    elif message.exit_code:
        parts.append(f"Command exited with code {message.exit_code}")
    if message.truncated and message.full_output_path:
        parts.append(f"[Output truncated. Full output: {message.full_output_path}]")
    return "\n\n".join(parts)


def _fenced(output: str) -> str:
    """The output in a fence that it cannot close itself."""
    longest = max([len(run) for run in re.findall("`{3,}", output)], default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{output}{'' if output.endswith(chr(10)) else chr(10)}{fence}"


def _compaction(message: CompactionSummaryMessage) -> UserMessage:
    text = f"{COMPACTION_INTRODUCTION}\n\n<summary>\n{message.summary}\n</summary>"
    return UserMessage(content=(TextContent(text=text),), timestamp=message.timestamp)


def _branch(message: BranchSummaryMessage) -> UserMessage:
    text = f"{BRANCH_INTRODUCTION}\n\n<summary>\n{message.summary}</summary>"
    return UserMessage(content=(TextContent(text=text),), timestamp=message.timestamp)


def _custom(message: CustomMessage) -> UserMessage:
    content = message.content
    blocks = (TextContent(text=content),) if isinstance(content, str) else content
    return UserMessage(content=blocks, timestamp=message.timestamp)


_PASSED_ON: frozenset[type] = frozenset({UserMessage, AssistantMessage, ToolResultMessage})
_CONVERTERS: dict[type, MessageConverter] = {
    BashExecutionMessage: _bash,
    CompactionSummaryMessage: _compaction,
    BranchSummaryMessage: _branch,
    CustomMessage: _custom,
}
