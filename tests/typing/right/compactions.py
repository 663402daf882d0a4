"""Compaction: by itself, by hand, with its notes; and the summary of a branch."""

from collections.abc import Callable
from typing import assert_never

from agentcore_runner.core import (
    Agent,
    AgentContext,
    AgentMessage,
    BranchSummary,
    BranchSummaryMessage,
    Compacted,
    CompactionEnd,
    CompactionError,
    CompactionNote,
    CompactionSettings,
    CompactionStart,
    Compactor,
    Meter,
    Model,
    OnNote,
    Retry,
    StreamFn,
    Usage,
    summarise_branch,
)


def note(about: CompactionNote) -> None:
    match about:
        case CompactionStart(reason=reason, tokens_before=tokens):
            print(reason, tokens)
        case CompactionEnd(result=Compacted() as result):
            print(result.kept, result.tokens_after)
        case CompactionEnd():
            print(about.error_message, about.aborted)
        case Retry():
            print(about.attempt)
        case _:
            assert_never(about)


async def note_async(about: CompactionNote) -> None:
    note(about)


def build(model: Model, stream_fn: StreamFn, now: Callable[[], int]) -> Agent:
    settings = CompactionSettings(reserve_tokens=2000, keep_recent_tokens=1000)
    notes: tuple[OnNote, ...] = (note, note_async)
    compactor = Compactor(settings, now=now, model=model, stream_fn=stream_fn, on_note=notes[0])
    return Agent(model=model, stream_fn=stream_fn, now=now, compactor=compactor)


async def by_hand(agent: Agent) -> int:
    try:
        compacted = await agent.compact("Keep the file names.")
    except CompactionError as error:
        print(error)
        return 0
    usage: Usage = compacted.usage
    return usage.total_tokens + len(compacted.summary.summary)


async def leave(
    path: list[AgentMessage], model: Model, stream_fn: StreamFn, now: Callable[[], int]
) -> BranchSummaryMessage:
    summary: BranchSummary = await summarise_branch(
        path, from_id="7", model=model, stream_fn=stream_fn, now=now
    )
    return summary.message


def size(context: AgentContext) -> int:
    return Meter().measure(context)
