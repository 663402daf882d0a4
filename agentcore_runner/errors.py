"""What this package raises on purpose, and the exit code of each branch.

RunnerError
├── ConfigError        2    a mistake of the author or the caller; nothing was sent
├── TimeIsOver         3    the run's time was used up before its first request
├── ProviderError      4–10 the model service failed; carries an ErrorInfo
├── CompactionError    10   a conversation could not be made shorter
├── ToolError          –    a tool failed; told to the model, never ends a run
├── TranscriptError    14   a record could not be written or read
└── StdoutClosed       141  the reader of standard output went away
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentcore_runner.core.messages import ErrorInfo
    from agentcore_runner.definition.problems import Problem


class ExitCode(enum.IntEnum):
    """The process's exit codes; the member's name is the name in the result object."""

    completed = 0
    gate_failed = 1
    config_invalid = 2
    limit_reached = 3
    provider_error = 4
    rate_limited = 5
    auth_failed = 6
    output_invalid = 7
    truncated = 8
    refused = 9
    context_overflow = 10
    tool_unavailable = 11
    permission_blocked = 12
    replay_mismatch = 13
    transcript_error = 14
    internal_error = 70
    hung_up = 129
    interrupted = 130
    stdout_closed = 141
    terminated = 143


SIGNALS = {"SIGINT": ExitCode.interrupted, "SIGTERM": ExitCode.terminated, "SIGHUP": ExitCode.hung_up}
"""The signals that end a run, by name, with their exit codes."""


class RunnerError(Exception):
    """Base of all our errors; `str()` is one sentence for a person."""

    exit_code = ExitCode.internal_error


class ConfigError(RunnerError):
    """A mistake that stops a run before anything is sent. `problems` hold the places, if known; `key` is the
    path of the key that is wrong within the part of the file that was being read, such as `("headers",)`."""

    exit_code = ExitCode.config_invalid

    def __init__(self, message: str, problems: Sequence[Problem] = (), *, key: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
        self.key = key


class TimeIsOver(RunnerError):
    """The run's time was used up before its first request."""

    exit_code = ExitCode.limit_reached


class ProviderError(RunnerError):
    """A model service failed; `info` says how, and whether trying again makes sense."""

    exit_code = ExitCode.provider_error

    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(info.message)
        self.info = info


class CompactionError(RunnerError):
    """A conversation could not be compacted; nothing of it was changed."""

    exit_code = ExitCode.context_overflow


class ToolError(RunnerError):
    """A tool failed; the text is what the model is told, `details` go into the record."""

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details = details or {}


class TranscriptError(RunnerError):
    """A record could not be written, or a transcript could not be read."""

    exit_code = ExitCode.transcript_error


class StdoutClosed(RunnerError):
    """Whoever read standard output went away."""

    exit_code = ExitCode.stdout_closed
