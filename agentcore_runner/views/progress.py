"""Standard error during a run: a line per turn, and one line at the end."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

from agentcore_runner.core import events as ev
from agentcore_runner.core.compaction import CompactionEnd
from agentcore_runner.core.messages import AssistantMessage, TextContent
from agentcore_runner.core.stream import Retry
from agentcore_runner.core.tools import AgentToolResult
from agentcore_runner.report.result import RunResult
from agentcore_runner.runtime.route import Fallback
from agentcore_runner.runtime.wiring import Note
from agentcore_runner.words import counted

LAST_LINE_PATIENCE_S = 1.0
RED, YELLOW, GREEN, DIM, RESET = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[2m", "\x1b[0m"


class Write(Protocol):
    """Writes a line, waiting at most `patience` seconds for whoever reads; it may drop the line."""

    def __call__(self, text: str, *, patience: float = 0.0) -> None: ...


class Progress:
    """Shows a run in plain lines."""

    def __init__(
        self, write: Write, *, per_turn: bool, verbose: bool, color: bool, labels: Mapping[str, str]
    ) -> None:
        self._write = write
        self._labels = labels
        self._per_turn = per_turn
        self._verbose = verbose
        self._color = color
        self._turn = 0
        self._began = time.monotonic()

    @classmethod
    def for_flags(
        cls, flags: Mapping[str, Any], write: Write, labels: Mapping[str, str], *, terminal: bool
    ) -> Progress:
        """What `--quiet`, `--verbose`, `--progress` and `--color` ask for; `labels` are the tools' names for
        people, `terminal` says whether a person looks on."""
        return cls(
            write,
            per_turn=not flags["quiet"] and flags["progress"] != "none",
            verbose=flags["verbose"],
            color=wants_color(flags["color"], terminal=terminal),
            labels=labels,
        )

    def on_event(self, event: ev.AgentEvent) -> None:
        """Show one agent event, if it is worth a line."""
        if type(event) is ev.MessageUpdateEvent and not self._verbose:
            return
        match event:
            case ev.TurnEndEvent(message=AssistantMessage() as message):
                self._turn += 1
                if self._per_turn:
                    self._line(turn_line(self._turn, message, time.monotonic() - self._began), DIM)
            case ev.ToolExecutionEndEvent() if self._verbose:
                word = "failed" if event.is_error else "done"
                why = f": {first_line(event.result)}" if event.is_error else ""
                name = self._labels.get(event.tool_name, event.tool_name)
                self._line(f"  {name} {word} in {event.duration_ms / 1000:.1f} s{why}", DIM)
            case ev.MessageUpdateEvent(assistant_message_event=Retry() as retry):
                self._line(retry_line(retry), YELLOW)
            case _:
                pass

    def on_note(self, note: Note) -> None:
        """Show how a compaction ended, what was asked again for it, and which model goes on for another."""
        match note:
            case Fallback():
                failed, following = note.failed.provider.model.key, note.following.provider.model.key
                self.warn(f"{failed} failed ({note.message}): {following} goes on")
            case CompactionEnd(result=None):
                self.warn(f"the conversation could not be made shorter: {note.error_message}")
            case CompactionEnd(result=result) if self._per_turn and result is not None:
                self._line(compacted_line(result.tokens_before, result.tokens_after), DIM)
            case Retry():
                self._line(retry_line(note), YELLOW)
            case _:
                pass

    def warn(self, text: str) -> None:
        """A warning, whatever the verbosity."""
        self._line(f"warning: {text}", YELLOW)

    def finish(self, text: str) -> None:
        """The last line."""
        self._line(text, GREEN if text.startswith("completed") else RED, LAST_LINE_PATIENCE_S)

    def _line(self, text: str, color: str, patience: float = 0.0) -> None:
        text = printable(text)
        self._write(f"{color}{text}{RESET}" if self._color else text, patience=patience)


def wants_color(choice: str, *, terminal: bool) -> bool:
    """Whether to colour: asked for, or a terminal that does not say no (NO_COLOR, TERM=dumb)."""
    if choice != "auto":
        return choice == "always"
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """One line without control characters, so that foreign text cannot steer a terminal or a CI log."""
    return "".join(char if char.isprintable() else " " for char in text)


def first_line(result: AgentToolResult) -> str:
    """The first line of a result's text, cut where it is long."""
    text = "".join(block.text for block in result.content if isinstance(block, TextContent))
    return next(iter(text.strip().splitlines()), "")[:120]


def turn_line(turn: int, message: AssistantMessage, elapsed: float) -> str:
    """What a turn did: tools by name, tokens, time since the start."""
    counts = Counter(call.name for call in message.tool_calls)
    tools = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())
    did = f"called {tools}" if tools else f"ended with {message.stop_reason!r}"
    return f"turn {turn}: {did}; {message.usage.total_tokens:,} tokens, {elapsed:.1f} s"


def retry_line(retry: Retry) -> str:
    """Why a request is made again, and when."""
    return f"  retry in {retry.delay_s:.1f} s: {retry.reason}"


def compacted_line(before: int, after: int) -> str:
    """How much shorter a conversation became."""
    return f"compacted: about {before:,} tokens became {after:,}"


def final_line(result: RunResult, *, scripted: bool) -> str:
    """How the run ended, what it used, and where the transcript is."""
    head = result.exit.name if result.exit.code == 0 else f"{result.exit.name} ({result.exit.code})"
    label = f"{head} (scripted model: no LLM was asked)" if scripted else head
    cost = f"${result.cost_usd:.4f}" if result.cost_usd is not None else "cost unknown"
    used = (
        f"{counted(result.turns, 'turn')}, {counted(result.tool_calls, 'tool call')}, "
        f"{result.usage.total_tokens:,} tokens, {cost}, {result.duration_ms / 1000:.1f} s"
    )
    why = "" if result.exit.code == 0 else f": {result.reason}"
    return f"{label}{why} [{used}] transcript: {result.transcript or 'none'}"
