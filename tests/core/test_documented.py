"""The pages on the core tell the truth: its trees of events happen, and its examples print what they say."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from agentcore_runner.core import events as ev
from agentcore_runner.core import stream as st
from agentcore_runner.core.agent import Agent
from agentcore_runner.core.messages import AgentMessage, AssistantMessage, ErrorInfo, ToolResultMessage
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentToolResult, OnUpdate, text_result
from agentcore_runner.errors import ProviderError
from tests.core.scripted import Heard, Turn, agent, call, label, run, says, tool
from tests.runner import environment

PAGES = [Path(__file__).parents[2] / "docs" / name for name in ("core.md", "extending.md")]
TREE = re.compile(r"^### ([^\n]+)\n(?:(?!#|```)[^\n]*\n)*```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(
    r"^```python\n((?:(?!```)[^\n]*\n)*)```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
Deeds = dict[str, Callable[[Agent], Any]]


def test_the_trees_of_events_are_what_happens() -> None:
    page = PAGES[0].read_text(encoding="utf-8")
    chapter = page.partition("\n## Event sequences\n")[2].partition("\n## ")[0]

    told = dict(TREE.findall(chapter))

    assert told == {title: "".join(f"{line}\n" for line in tree(heard)) for title, heard in sequences()}


def examples() -> list[Any]:
    """Code and what it prints, named by page and line."""
    texts = [(page.name, page.read_text(encoding="utf-8")) for page in PAGES]
    return [
        pytest.param(found[1], found[2], id=f"{name}:{text.count(chr(10), 0, found.start()) + 1}")
        for name, text in texts
        for found in EXAMPLE.finditer(text)
    ]


@pytest.mark.parametrize(("code", "printed"), examples())
def test_an_example_prints_what_stands_below_it(code: str, printed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )

    assert (done.stderr, done.stdout) == ("", printed)


def sequences() -> Iterator[tuple[str, list[ev.AgentEvent]]]:
    """What the page shows, as it happens."""
    look, answer = says("Let me look.", call("A", "clock")), says("It is noon.")
    german = says("Es ist zwölf Uhr.")
    yield "A text answer", played({}, answer)
    yield "A tool call", played({}, look, answer)
    yield "Parallel calls", parallel_calls()
    yield (
        "Steering",
        played({"tool_execution_start A": lambda it: it.steer("In German, please.")}, look, german),
    )
    yield "A follow-up", played({"message_start assistant": follow_up}, answer, german)
    yield "An abort while the model speaks", played({"message_update text_delta": Agent.abort}, answer)
    both = says(call("A", "wait"), call("B", "wait"))
    yield "An abort while tools run", played({"tool_execution_update B": Agent.abort}, both)
    yield "An error", played({}, broken)


def played(deeds: Deeds, *turns: Turn) -> list[ev.AgentEvent]:
    """The events of a run in which something is done when an event with this label comes."""
    it = agent(*turns, tools=[tool("clock", clock), tool("wait", wait)])
    heard = Heard(it)
    it.subscribe(lambda event: deeds.get(label(event), do_nothing)(it))
    run(it.prompt("What time is it?"))
    return heard.events


def do_nothing(it: Agent) -> None:
    """Most events call for no deed."""


def follow_up(it: Agent) -> None:
    if not it.queued and len(it.state.messages) == 1:
        it.follow_up("In German, please.")


async def clock(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
    return text_result("12:00")


async def wait(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
    on_update(text_result("waiting"))
    await signal.wait()
    return text_result("stopped waiting", is_error=True)


async def broken(*request: Any) -> AsyncIterator[st.AssistantMessageEvent]:
    for event in says("It is")[:3]:
        yield event
    raise ProviderError(ErrorInfo(kind="server", message="overloaded", status=529))


def parallel_calls() -> list[ev.AgentEvent]:
    """A ends after B, and nobody knows C."""
    b_is_over = asyncio.Event()

    async def slow(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        on_update(text_result("still running"))
        await b_is_over.wait()
        return text_result("slow")

    async def fast(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
        return text_result("fast")

    calls = says(call("A", "slow"), call("B", "fast"), call("C", "nobody"))
    it = agent(calls, says("Done."), tools=[tool("slow", slow), tool("fast", fast)])
    heard = Heard(it)
    it.subscribe(lambda event: b_is_over.set() if label(event) == "tool_execution_end B" else None)
    run(it.prompt("Do all three."))
    return heard.events


Node = tuple[int, str]


def tree(events: Sequence[ev.AgentEvent]) -> list[str]:
    """The events as the page draws them: what is between a start and its end hangs from the start."""
    lines = []
    nodes = list(nodes_of(events))
    for place, (depth, text) in enumerate(nodes):
        rest = nodes[place + 1 :]
        bars = "".join("│  " if goes_on(rest, level) else "   " for level in range(1, depth))
        corner = "" if depth == 0 else "├─ " if goes_on(rest, depth) else "└─ "
        lines.append(f"{bars}{corner}{text}")
    return lines


def goes_on(rest: Sequence[Node], level: int) -> bool:
    """Whether another node hangs from the same place."""
    return next((depth == level for depth, _ in rest if depth <= level), False)


def nodes_of(events: Sequence[ev.AgentEvent]) -> Iterator[Node]:
    """Each event with its depth. Updates of a message share a line, and so do the start and the end of a
    message that is whole from the start."""
    depth = 0
    for kind, group in groupby(events, type):
        if kind is ev.MessageUpdateEvent:
            pieces = [event.assistant_message_event.__struct_config__.tag for event in group]
            yield depth, f"message_update: {', '.join(pieces)}"
            continue
        for event in group:
            whole = isinstance(event, ev.MessageStartEvent) and not isinstance(
                event.message, AssistantMessage
            )
            if whole:
                continue
            closes = ends_something(event)
            depth -= closes
            yield depth, described(event)
            depth += begins_something(event)


def ends_something(event: ev.AgentEvent) -> bool:
    if isinstance(event, ev.MessageEndEvent):
        return isinstance(event.message, AssistantMessage)
    return isinstance(event, ev.TurnEndEvent | ev.AgentEndEvent)


def begins_something(event: ev.AgentEvent) -> bool:
    return isinstance(event, ev.AgentStartEvent | ev.TurnStartEvent | ev.MessageStartEvent)


def described(event: ev.AgentEvent) -> str:
    match event:
        case ev.MessageStartEvent():
            return "message_start: assistant"
        case ev.MessageEndEvent(message=AssistantMessage() as answer):
            return f"message_end: {spoken(answer)}"
        case ev.MessageEndEvent(message=message):
            return f"message_start, message_end: {spoken(message)}"
        case ev.ToolExecutionStartEvent():
            return f"tool_execution_start: {event.tool_call_id} {event.tool_name}"
        case ev.ToolExecutionUpdateEvent():
            return f'tool_execution_update: {event.tool_call_id} "{words(event.partial_result)}"'
        case ev.ToolExecutionEndEvent():
            return f"tool_execution_end: {event.tool_call_id}{' (error)' if event.is_error else ''}"
        case ev.TurnEndEvent(tool_results=results) if results:
            return f"turn_end: results of {', '.join(result.tool_call_id for result in results)}"
        case ev.AgentEndEvent(messages=messages):
            return f"agent_end: {len(messages)} messages"
    return label(event).partition(" ")[0]


def spoken(message: AgentMessage) -> str:
    match message:
        case AssistantMessage():
            calls = [f"call {each.id}" for each in message.tool_calls]
            said = [f'"{message.text}"'] if message.text else []
            return f"assistant, {message.stop_reason}: {', '.join([*said, *calls])}"
        case ToolResultMessage():
            return f'result of {message.tool_call_id} "{words(message)}"'
    return f'user "{words(message)}"'


def words(value: Any) -> str:
    return "".join(block.text for block in value.content)
