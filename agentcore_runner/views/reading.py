"""A transcript as text for a person."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from agentcore_runner.core.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    role_of,
)
from agentcore_runner.transcript import records as rec
from agentcore_runner.transcript.reader import Line
from agentcore_runner.views.progress import compacted_line
from agentcore_runner.words import counted

RESULT_LINES = 12
LINE_CHARS = 200


def as_text(lines: Iterable[Line]) -> Iterator[str]:
    """The transcript's lines of text: head, messages and tools in order, and how it ended."""
    last: Line | None = None
    finished = False
    for line in lines:
        if line.error is not None:
            fault = "torn: the run died while writing it" if line.torn else line.error
            yield f"[line {line.number}: {fault}]"
            continue
        last = line
        if line.record is not None:
            finished = finished or isinstance(line.record, rec.RunFinished)
            yield from record_text(line.record)
    if not finished and last is not None and last.data is not None:
        yield ""
        yield (
            f"== no end: the run was killed, or still runs; the last whole record is "
            f"{last.data.get('type')} (seq {last.data.get('seq')}) at {last.data.get('ts')}"
        )


def record_text(record: rec.AnyRecord) -> Iterator[str]:
    """What one record looks like; nothing for those that only mark a border."""
    match record:
        case rec.RunStarted():
            yield from head(record)
        case rec.SystemPrompt():
            yield from block("system", record.text)
        case rec.TurnStart():
            yield ""
            yield f"== turn {int(record.turn or 0) + 1} at {record.ts}"
        case rec.MessageEnd():
            yield from message_text(record)
        case rec.ToolExecutionEnd() if record.is_error:
            yield f"[{record.tool_name} failed after {record.duration_ms} ms]"
        case rec.RetryRecord():
            status = f"status {record.status}" if record.status else "no response"
            yield f"[retry {record.attempt} after {record.delay_s:.1f} s, {status}: {record.reason}]"
        case rec.ModelFallback():
            yield f"[{record.failed} failed ({record.message}): {record.following} goes on]"
        case rec.CompactionEnd():
            yield from compaction_text(record)
        case rec.Warning():
            yield f"[warning: {record.message}]"
        case rec.LimitWarning():
            yield f"[{record.key}: {record.used:g} of {record.value:g} used]"
        case rec.RunFinished():
            yield from tail(record)
        case _:
            pass


def head(record: rec.RunStarted) -> Iterator[str]:
    """Who ran what."""
    agent, model = record.agent, record.model
    version = f" {agent.version}" if agent.version else ""
    yield f"run {record.run}: {agent.name}{version} ({agent.path}) at {record.ts}"
    yield f"model: {model.provider}/{model.id}, thinking {record.thinking_level}"
    yield f"tools: {', '.join(record.tools) or 'none'}"
    if record.inputs:
        yield f"inputs: {shortened(json.dumps(record.inputs, ensure_ascii=False))}"
    if agent.git is not None:
        yield f"git: {agent.git.get('commit')}{' (dirty)' if agent.git.get('dirty') else ''}"


def message_text(record: rec.MessageEnd) -> Iterator[str]:
    """One message."""
    match record.message:
        case UserMessage() as message:
            for part in message.content:
                yield from block("user", part.text if isinstance(part, TextContent) else image(part))
        case AssistantMessage() as message:
            yield from answer(message)
        case ToolResultMessage() as message:
            parts = [part.text if isinstance(part, TextContent) else image(part) for part in message.content]
            title = f"{message.tool_name} gave{' an error' if message.is_error else ''}"
            yield from block(title, "\n".join(parts), RESULT_LINES)
        case other:
            yield from block(role_of(other), json_text(other))


def compaction_text(record: rec.CompactionEnd) -> Iterator[str]:
    """What became of the older part of the conversation."""
    if record.summary is None:
        yield f"[compaction failed, nothing was changed: {record.error_message}]"
        return
    yield f"[{compacted_line(record.summary.tokens_before, record.tokens_after or 0)}, {record.reason}]"
    yield from block("summary", record.summary.summary)


def answer(message: AssistantMessage) -> Iterator[str]:
    """An assistant message, block by block, and how it stopped unless that was in order."""
    for part in message.content:
        match part:
            case TextContent():
                yield from block("assistant", part.text)
            case ThinkingContent():
                yield from block("thinking", part.thinking, RESULT_LINES)
            case ToolCall():
                arguments = part.raw_arguments if part.raw_arguments is not None else json.dumps(
                    part.arguments, ensure_ascii=False
                )  # fmt: skip
                yield f"--> {part.name} {shortened(arguments)}"
    if message.stop_reason != "done":
        why = f": {message.error_message}" if message.error_message else ""
        yield f"[stopped: {message.stop_reason}{why}]"


def tail(record: rec.RunFinished) -> Iterator[str]:
    """How the run ended and what it used."""
    cost = f"${record.cost_usd:.4f}" if record.cost_usd is not None else "cost unknown"
    yield ""
    yield f"== {record.exit.name} ({record.exit.code}): {record.reason}"
    counts = f"{counted(record.turns, 'turn')}, {counted(record.tool_calls, 'tool call')}"
    used = f"{counts}, {record.usage.total_tokens:,} tokens, {cost}"
    model, tools = record.model_ms / 1000, record.tool_ms / 1000
    yield f"{used}, {record.duration_ms / 1000:.1f} s (model {model:.1f} s, tools {tools:.1f} s)"


def block(title: str, text: str, most: int | None = None) -> Iterator[str]:
    """A titled, indented text, cut after `most` lines."""
    rows = text.rstrip("\n").split("\n")
    shown = rows if most is None else rows[:most]
    yield f"{title}:"
    for row in shown:
        yield f"  {row if most is None else shortened(row)}"
    if len(shown) < len(rows):
        yield f"  … {len(rows) - len(shown)} more lines"


def shortened(text: str) -> str:
    """The text, cut to a line's length."""
    return text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}…"


def image(part: ImageContent) -> str:
    """A stand-in for an image."""
    return f"[image, {part.mime_type}, {len(part.data) * 3 // 4:,} bytes]"


def json_text(value: object) -> str:
    """Any message as JSON."""
    import msgspec

    return msgspec.json.encode(value).decode()
