"""The agent definition: what a checked file means, frozen, with every default filled in.

Everything here may be trusted: a value exists only if the whole file was valid.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from agentcore_runner.definition.problems import KeyPath
from agentcore_runner.definition.template import Template

ThinkingLevelName: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
QueueModeName: TypeAlias = Literal["all", "one-at-a-time"]
ExecutionModeName: TypeAlias = Literal["sequential", "parallel"]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen part of the definition."""


class InputSpec(Part, frozen=True, kw_only=True):
    """One input: its JSON Schema without our own keys, and how it is obtained. `default` is UNSET when there
    is none; `from_stdin` is `source: stdin`."""

    schema: dict[str, Any]
    required: bool
    default: Any = msgspec.UNSET
    from_stdin: bool = False
    description: str | None = None


class CostSpec(Part, frozen=True, kw_only=True):
    """USD per million tokens. Cached tokens without a price of their own cost as much as others."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float | None = None
    cache_write: float | None = None


class ModelSpec(Part, frozen=True, kw_only=True):
    """`provider` and `id` are the two sides of the first slash; None means: as the provider has it."""

    provider: str
    id: str
    api: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    headers: dict[str, str] = {}
    context_window: int | None = None
    cost: CostSpec | None = None
    compat: dict[str, Any] = {}
    extra_body: dict[str, Any] = {}


FallbackReason: TypeAlias = Literal[
    "overloaded", "rate_limit", "network", "model_not_found", "auth", "context_overflow", "refused"
]
USUAL_REASONS: frozenset[FallbackReason] = frozenset(
    ("overloaded", "rate_limit", "network", "model_not_found")
)


class ThinkingSpec(Part, frozen=True, kw_only=True):
    """One of the two is set: a level, or tokens."""

    level: ThinkingLevelName | None = None
    budget_tokens: int | None = None


class FallbackSpec(Part, frozen=True, kw_only=True):
    """A model that goes on where another failed for one of the reasons in `on`; without `thinking` it thinks
    as the first."""

    model: ModelSpec
    thinking: ThinkingSpec | None = None
    on: frozenset[FallbackReason] = USUAL_REASONS


class ContextItem(Part, frozen=True, kw_only=True):
    """Something gathered before the first turn. Exactly one of `command` (an argv of templates over
    `inputs` and `env`), `file` (absolute path) and `text` is set; `max_tokens` caps the text; `untrusted`
    text is fenced off in the prompt."""

    name: str
    command: tuple[Template, ...] = ()
    file: Path | None = None
    text: str | None = None
    optional: bool = False
    max_tokens: int | None = None
    untrusted: bool = False


class QueueModes(Part, frozen=True, kw_only=True):
    steering: QueueModeName = "one-at-a-time"
    follow_up: QueueModeName = "one-at-a-time"


class ToolSpec(Part, frozen=True, kw_only=True):
    """What every tool entry may say. `timeout` is in seconds, `max_output` in bytes; `when` is the source of
    an expression over `inputs` and `env` that decides whether the tool is offered."""

    name: str
    label: str | None = None
    description: str | None = None
    timeout: float | None = None
    execution_mode: ExecutionModeName | None = None
    max_output: int | None = None
    idempotent: bool = False
    when: Template | None = None


class BuiltinToolSpec(ToolSpec, frozen=True, kw_only=True):
    """`builtin` names the tool that is meant; `name` is what the model calls it (the same, unless renamed is
    supported). `root` is as written, relative to the working directory."""

    builtin: str
    root: str | None = None


class CommandToolSpec(ToolSpec, frozen=True, kw_only=True):
    """An argv whose items are templates over `args` (and `inputs`, `env`, `context`)."""

    command: tuple[Template, ...]
    parameters: dict[str, Any]
    stdin: Template | None = None
    cwd: str | None = None
    env: dict[str, str] = {}
    ok_exit_codes: tuple[int, ...] = (0,)


class Limits(Part, frozen=True, kw_only=True):
    """Seconds and bytes. `written` names the keys that stand in a file: only those bind the flags."""

    max_turns: int = 50
    max_tool_calls: int | None = None
    timeout: float = 1800.0
    max_repeated_calls: int = 5
    max_tool_output: int = 50 * 1024
    idle_timeout: float = 300.0
    written: frozenset[str] = frozenset()


class CompactionSpec(Part, frozen=True, kw_only=True):
    """Tokens; `model` writes the summaries, None is the model that answers."""

    enabled: bool = True
    reserve_tokens: int = 16_384
    keep_recent_tokens: int = 20_000
    model: ModelSpec | None = None


class TranscriptSpec(Part, frozen=True, kw_only=True):
    """`path` as written, relative to the working directory; None is the default place."""

    path: str | None = None
    partial: bool = False
    fsync: bool = True


class AgentDefinition(Part, frozen=True, kw_only=True):
    """One agent. `path` is the file as it was named, `directory` its folder, `project` the folder that
    nothing is read outside of; `resolved` is the merged file as plain data, `origins` where each of its
    values was written, as `FILE:LINE:COLUMN` or as the flag; `digest` stands for `resolved` and for
    every file in `files`."""

    name: str
    version: str | None = None
    description: str | None = None
    metadata: dict[str, Any] = {}
    inputs: dict[str, InputSpec] = {}
    model: ModelSpec | None = None
    thinking: ThinkingSpec | None = None
    thinking_unsupported: Literal["clamp", "error"] = "clamp"
    fallback: tuple[FallbackSpec, ...] = ()
    env_expose: tuple[str, ...] = ()
    context: tuple[ContextItem, ...] = ()
    system_prompt: Template | None = None
    prompt: Template | None = None
    follow_ups: tuple[Template, ...] = ()
    queue_mode: QueueModes = QueueModes()
    tool_execution: ExecutionModeName = "parallel"
    tools: tuple[BuiltinToolSpec | CommandToolSpec, ...] = ()
    limits: Limits = Limits()
    compaction: CompactionSpec = CompactionSpec()
    transcript: TranscriptSpec = TranscriptSpec()
    path: str
    directory: Path
    project: Path
    resolved: dict[str, Any]
    origins: dict[KeyPath, str]
    digest: str
    files: tuple[Path, ...]
