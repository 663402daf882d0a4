"""The records of a transcript: one JSON object a line, format version 1.

Readers ignore unknown fields and unknown record types, so that old and new files stay readable.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from agentcore_runner.core.messages import AgentMessage, CompactionSummaryMessage, ToolResultMessage, Usage
from agentcore_runner.report.result import RunResult

VERSION = 1


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The envelope: format version, number from 0 without gaps, time (RFC 3339, UTC, milliseconds), the run's
    id, and the turn, counted from 0, where one is open."""

    v: int
    seq: int
    ts: str
    run: str
    turn: int | UnsetType = UNSET


class AgentRef(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent file it was: `path` as given, `git` {commit, dirty} where the file is under git."""

    name: str
    version: str | None
    path: str
    digest: str
    git: dict[str, Any] | None


class ModelRef(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    id: str
    api: str


class RunStarted(Record, frozen=True, kw_only=True, tag="run_started"):
    """First record: everything that decides what the run will do. `tools` are the names really offered."""

    runner: str
    agent: AgentRef
    model: ModelRef
    thinking_level: str
    queue_mode: dict[str, str]
    tools: list[str]
    mcp: list[Any]
    limits: dict[str, Any]
    inputs: dict[str, Any]
    cwd: str
    definition: dict[str, Any]
    parent: dict[str, Any] | None = None


class SystemPrompt(Record, frozen=True, kw_only=True, tag="system_prompt"):
    """The system prompt as rendered; once."""

    text: str


class AgentStart(Record, frozen=True, kw_only=True, tag="agent_start"):
    """The agent takes up its prompts."""


class AgentEnd(Record, frozen=True, kw_only=True, tag="agent_end"):
    """The agent is done; `messages` are the `seq` numbers of the `message_end` records it added."""

    messages: list[int]


class TurnStart(Record, frozen=True, kw_only=True, tag="turn_start"):
    """One request, and the tools it calls, begins."""


class TurnEnd(Record, frozen=True, kw_only=True, tag="turn_end"):
    """`seq` numbers of the turn's answer and of its tool results; `message` is null if there is no answer."""

    message: int | None
    tool_results: list[int]


class MessageStart(Record, frozen=True, kw_only=True, tag="message_start"):
    """A message begins; its content stands in `message_end`."""

    role: str


class MessageUpdate(Record, frozen=True, kw_only=True, tag="message_update"):
    """With `partial` only: a piece of the open message; `kind` is `text_delta`, `thinking_delta` or
    `toolcall_delta`."""

    content_index: int
    kind: str
    delta: str


class MessageEnd(Record, frozen=True, kw_only=True, tag="message_end"):
    """The whole message."""

    message: AgentMessage


class ToolExecutionStart(Record, frozen=True, kw_only=True, tag="tool_execution_start"):
    """A call is taken up; `args` as the model wrote them."""

    tool_call_id: str
    tool_name: str
    args: Any


class ToolExecutionUpdate(Record, frozen=True, kw_only=True, tag="tool_execution_update"):
    """With `partial` only: what a running tool has so far."""

    tool_call_id: str
    tool_name: str
    partial_result: Any


class ToolExecutionEnd(Record, frozen=True, kw_only=True, tag="tool_execution_end"):
    """The call is over; its content stands in the tool result message that follows."""

    tool_call_id: str
    tool_name: str
    is_error: bool
    duration_ms: int
    details: Any


class RetryRecord(Record, frozen=True, kw_only=True, tag="retry"):
    """A request failed and is made again: the deltas since the message's start are void. `attempt` is 1 for
    the first failure, `status` null where no response came; `usage` is what the attempt used, where known."""

    attempt: int
    delay_s: float
    status: int | None
    reason: str
    usage: Usage | UnsetType = UNSET


class ModelFallback(
    Record, frozen=True, kw_only=True, tag="model_fallback", rename={"failed": "from", "following": "to"}
):
    """A model failed for good, and another goes on with the request and all later ones: `from` and `to` are
    `provider/id`. `reason` is the kind of failure, `message` its words."""

    failed: str
    following: str
    thinking_level: str
    reason: str
    message: str


class CompactionStart(Record, frozen=True, kw_only=True, tag="compaction_start"):
    """The conversation is being made shorter; `model` (`provider/id`) is asked for the summary. `reason` is
    `threshold` before a request that would not fit, `overflow` after one that the service refused, or
    `manual`."""

    reason: str
    tokens_before: int
    model: str


class ReplacedResult(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the conversation, from now on, for the result in record `seq`."""

    seq: int
    message: ToolResultMessage


class CompactionEnd(Record, frozen=True, kw_only=True, tag="compaction_end"):
    """`summary` now stands for every message before `first_kept`, the `seq` of a `message_end`, or for all of
    them where that is null; tool results in `replaced` were shortened. Without a `summary` nothing changed,
    and `error_message` says why. The requests to `model` used `usage`."""

    reason: str
    summary: CompactionSummaryMessage | None
    first_kept: int | None
    replaced: list[ReplacedResult]
    tokens_after: int | None
    usage: Usage
    model: str
    aborted: bool
    will_retry: bool
    error_message: str | None


class QueueUpdate(Record, frozen=True, kw_only=True, tag="queue_update"):
    """How many messages wait in each queue."""

    steering: int
    follow_up: int


class LimitWarning(Record, frozen=True, kw_only=True, tag="limit_warning"):
    """80 % of a limit is used."""

    name: str
    value: float
    used: float
    key: str


class Warning(Record, frozen=True, kw_only=True, tag="warning"):
    """Something a person should know; the run went on."""

    message: str


class Heartbeat(Record, frozen=True, kw_only=True, tag="heartbeat"):
    """15 s passed without another record."""


class RunFinished(RunResult, frozen=True, kw_only=True, tag="run_finished"):
    """Last record, always and once: the result object's fields beside the envelope. `traceback` only where
    the fault was ours."""

    v: int
    seq: int
    ts: str
    traceback: str | UnsetType = UNSET


AnyRecord: TypeAlias = (
    RunStarted
    | SystemPrompt
    | AgentStart
    | AgentEnd
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | RetryRecord
    | ModelFallback
    | CompactionStart
    | CompactionEnd
    | QueueUpdate
    | LimitWarning
    | Warning
    | Heartbeat
    | RunFinished
)
