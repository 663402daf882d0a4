"""The result object: what a run came to, in one value that every output agrees with."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from agentcore_runner.errors import ExitCode

Status: TypeAlias = Literal["completed", "gate_failed", "limit_reached", "error", "interrupted"]


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """The process's exit code and its name."""

    code: int
    name: str


class TokenSums(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of several requests; `input` excludes cached tokens."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0


class UsageSums(TokenSums, frozen=True, kw_only=True):
    """Tokens of the whole run, and of each `provider/id` in it."""

    by_model: dict[str, TokenSums] = {}


class LimitHit(msgspec.Struct, frozen=True, kw_only=True):
    """The limit that ended a run: `key` is what to raise; times are in seconds."""

    name: str
    value: float
    used: float
    key: str


class RequestError(msgspec.Struct, frozen=True, kw_only=True, rename={"kind": "class"}):
    """A request that failed, the final ones and those that were tried again. `reset_at` is when a rate limit
    ends (RFC 3339, UTC), if the service said so."""

    kind: str
    status: int | None
    request_id: str | None
    attempt: int
    message: str
    reset_at: str | None = None


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to. `answer` is the text of the last assistant message, None unless the run finished;
    `cost_usd` is None when no price is known; durations are in milliseconds."""

    status: Status
    exit: Exit
    reason: str
    retryable: bool
    answer: str | None = None
    partial_answer: str | None = None
    output: dict[str, Any] | None = None
    stop_reason: str | None = None
    turns: int = 0
    tool_calls: int = 0
    usage: UsageSums = UsageSums()
    cost_usd: float | None = None
    cost_known: bool = False
    gates: list[Any] = []
    denials: list[Any] = []
    errors: list[RequestError] = []
    limit: LimitHit | None = None
    duration_ms: int = 0
    model_ms: int = 0
    tool_ms: int = 0
    model: str | None = None
    run: str | None = None
    transcript: str | None = None


def status_of(code: ExitCode) -> Status:
    """The status word that goes with an exit code."""
    match code:
        case ExitCode.completed:
            return "completed"
        case ExitCode.gate_failed:
            return "gate_failed"
        case ExitCode.limit_reached:
            return "limit_reached"
        case ExitCode.interrupted | ExitCode.terminated | ExitCode.hung_up:
            return "interrupted"
        case _:
            return "error"


def exit_of(code: ExitCode) -> Exit:
    """The code and its name; the three signals share the name `interrupted`."""
    name = "interrupted" if status_of(code) == "interrupted" else code.name
    return Exit(code=int(code), name=name)


def not_started(code: ExitCode, reason: str) -> RunResult:
    """The result of a run that ended before it began."""
    status = status_of(code)
    return RunResult(status=status, exit=exit_of(code), reason=reason, retryable=status == "interrupted")
