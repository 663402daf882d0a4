"""Content blocks, messages and usage: the words of a conversation.

Values are frozen, compare by content and decode from JSON by tag; unknown fields are ignored, so that an
older reader can read a newer transcript.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

StopReason: TypeAlias = Literal["done", "length", "refused", "error", "aborted"]
ErrorKind: TypeAlias = Literal[
    "connection", "timeout", "rate_limit", "auth", "bad_request", "server", "stream", "overflow", "refused",
    "internal",
]  # fmt: skip


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen value of the vocabulary."""


# Content blocks


class TextContent(Value, frozen=True, kw_only=True, omit_defaults=True, tag="text", tag_field="type"):
    """Plain text; `text_signature` is a provider's opaque token for it."""

    text: str
    text_signature: str | None = None


class ThinkingContent(Value, frozen=True, kw_only=True, omit_defaults=True, tag="thinking", tag_field="type"):
    """A model's reasoning. `thinking_signature` proves it to the API that wrote it, or names the field it
    came in; a `redacted` block has no text, only the signature."""

    thinking: str
    thinking_signature: str | None = None
    redacted: bool = False


class ImageContent(Value, frozen=True, kw_only=True, tag="image", tag_field="type"):
    """An image: `data` in base64, `mime_type` such as `image/png`."""

    data: str
    mime_type: str


class ToolCall(Value, frozen=True, kw_only=True, tag="tool", tag_field="type"):
    """A call the model asks for. Where its JSON was malformed or cut, `arguments` is empty and
    `raw_arguments` holds the text as it came; such a call never runs."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    raw_arguments: str | None = None
    thought_signature: str | None = None


UserContent: TypeAlias = TextContent | ImageContent
AssistantContent: TypeAlias = TextContent | ThinkingContent | ToolCall

# Usage


class UsageCost(Value, frozen=True, kw_only=True):
    """USD. `total` is the sum of the parts; it is filled in when left out."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(
            self, "total", self.input + self.output + self.cache_read + self.cache_write
        )


class Usage(Value, frozen=True, kw_only=True):
    """Tokens of one request. `input` excludes cached tokens; `total_tokens` is the sum of the four counts.
    `reasoning` is a part of `output`. `cost` is None when no price is known."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    total_tokens: int = 0
    cost: UsageCost | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(
            self, "total_tokens", self.input + self.output + self.cache_read + self.cache_write
        )

    @property
    def prompt_tokens(self) -> int:
        """Tokens that the request itself had, cached ones included."""
        return self.input + self.cache_read + self.cache_write


class ErrorInfo(Value, frozen=True, kw_only=True):
    """Why a request finally failed. `reset_at` is the Unix time in seconds at which a rate limit ends;
    `attempts` counts the requests that were made. `code` is the service's own word for it, in small letters;
    `model_not_found` stands for all that say so. Where a wait that would have been too long ended the
    request, it is the kind of failure that the wait was for."""

    kind: ErrorKind
    message: str
    status: int | None = None
    code: str | None = None
    request_id: str | None = None
    retryable: bool = False
    reset_at: float | None = None
    attempts: int = 1


class DiagnosticError(Value, frozen=True, kw_only=True):
    """What was raised: the class's name, its words, and the traceback where there is one."""

    name: str
    message: str
    stack: str | None = None
    code: str | int | None = None


class Diagnostic(Value, frozen=True, kw_only=True):
    """Something odd about how an answer came to be, for whoever looks into it later; never sent to a model.
    `timestamp`: Unix milliseconds."""

    type: str
    timestamp: int
    error: DiagnosticError | None = None
    details: Any = None


# Messages


class UserMessage(Value, frozen=True, kw_only=True, tag="user", tag_field="role"):
    """What a person, or the runner in their name, says. `timestamp`: Unix milliseconds."""

    content: tuple[UserContent, ...]
    timestamp: int


class AssistantMessage(Value, frozen=True, kw_only=True, tag="assistant", tag_field="role"):
    """One answer of a model. `model` is the id that was asked for, `response_model` the one that answered
    where it differs; `raw_stop_reason` is the provider's own word; `error` is set for stop reason `error`."""

    content: tuple[AssistantContent, ...]
    api: str
    provider: str
    model: str
    usage: Usage = Usage()
    stop_reason: StopReason
    timestamp: int
    raw_stop_reason: str | None = None
    error_message: str | None = None
    error: ErrorInfo | None = None
    response_model: str | None = None
    response_id: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def text(self) -> str:
        """All text blocks, joined."""
        return "".join([block.text for block in self.content if type(block) is TextContent])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order they were written, whatever the stop reason."""
        return tuple([block for block in self.content if type(block) is ToolCall])


class ToolResultMessage(Value, frozen=True, kw_only=True, tag="toolResult", tag_field="role"):
    """What a tool call came to. `details` are for the record and for people, never sent to a model."""

    tool_call_id: str
    tool_name: str
    content: tuple[UserContent, ...]
    is_error: bool = False
    timestamp: int
    details: Any = None
    usage: Usage | None = None
    added_tool_names: tuple[str, ...] = ()


class BashExecutionMessage(Value, frozen=True, kw_only=True, tag="bashExecution", tag_field="role"):
    """A command that a person ran beside the conversation."""

    command: str
    output: str
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    exclude_from_context: bool = False
    timestamp: int


class CompactionDetails(Value, frozen=True, kw_only=True):
    """Paths, as the calls wrote them, that were read and not changed, and those that were changed."""

    read_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()


class CompactionSummaryMessage(Value, frozen=True, kw_only=True, tag="compactionSummary", tag_field="role"):
    """The summary that replaced older history of `tokens_before` tokens; `details` name the files that the
    history read and changed."""

    summary: str
    tokens_before: int
    timestamp: int
    details: CompactionDetails | None = None


class BranchSummaryMessage(Value, frozen=True, kw_only=True, tag="branchSummary", tag_field="role"):
    """The summary of a branch that the conversation came back from."""

    summary: str
    from_id: str
    timestamp: int


class CustomMessage(Value, frozen=True, kw_only=True, tag="custom", tag_field="role"):
    """A message of the host's own kind, named by `custom_type`; `content` is what the model reads. A subclass
    with fields of its own is stored whole, and read back as itself where `register_message_type` knows it."""

    custom_type: str
    content: str | tuple[UserContent, ...]
    display: bool = True
    details: Any = None
    timestamp: int


Message: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage
AgentMessage: TypeAlias = (
    UserMessage
    | AssistantMessage
    | ToolResultMessage
    | BashExecutionMessage
    | CompactionSummaryMessage
    | BranchSummaryMessage
    | CustomMessage
)


def role_of(message: AgentMessage) -> str:
    """The name of a message's role, as it is stored."""
    return str(message.__struct_config__.tag)
