"""The conversation that a transcript holds is the one that the agent had, compactions included."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.core.agent import Agent
from agentcore_runner.core.compaction import CompactionSettings
from agentcore_runner.core.compactor import Compactor
from agentcore_runner.core.convert import register_message_type
from agentcore_runner.core.messages import (
    AgentMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ErrorInfo,
    TextContent,
    UserMessage,
)
from agentcore_runner.core.model import Model
from agentcore_runner.core.stream import AssistantMessageEvent, Failed, LlmContext, Start, StreamOptions
from agentcore_runner.core.tools import AgentToolResult, text_result
from agentcore_runner.errors import CompactionError, TranscriptError
from agentcore_runner.transcript.check import check_lines
from agentcore_runner.transcript.reader import Line, parse_line
from agentcore_runner.transcript.recorder import Recorder
from agentcore_runner.transcript.resume import conversation_of
from tests.core.scripted import answer, call, run, says, tool

WINDOW = 4000
MODEL = Model(id="m", name="M", api="scripted", provider="test", context_window=WINDOW)


class Note(CustomMessage, frozen=True, kw_only=True, tag="custom", tag_field="role"):
    """A message of a host's own kind."""

    custom_type: str = "resume-note"
    pinned: bool = False


class Recorded:
    """An agent whose record is kept in memory. Its model's answers are `size` words long; every third one
    calls a tool whose result is as long, and where `fail` says so, a request is refused as too long."""

    def __init__(self, size: int = 20, fail: Callable[[int], bool] = lambda _: False) -> None:
        self.lines: list[bytes] = []
        self.requests: list[LlmContext] = []
        self.compactions = 0
        self._size = size
        self._fail = fail
        self._recorder = Recorder("r1", [self.lines.append], clock=lambda: 1_800_000_000.0)
        self._tool = tool("echo", self._echo)
        self._clock = itertools.count(1000)
        self.agent = self.fresh([])

    def fresh(self, messages: list[AgentMessage]) -> Agent:
        """Another agent with the same model and tools, and this conversation."""
        agent = Agent(
            model=MODEL,
            stream_fn=self._stream,
            now=lambda: next(self._clock),
            tools=[self._tool],
            compactor=Compactor(
                CompactionSettings(reserve_tokens=1000, keep_recent_tokens=600),
                now=lambda: next(self._clock),
                on_note=self._recorder.on_note,
            ),
            sink=self._recorder.on_event,
        )
        agent.state.messages = messages
        return agent

    async def _echo(self, *_: Any) -> AgentToolResult:
        return text_result("result " * self._size)

    async def _stream(
        self, model: Model, context: LlmContext, options: StreamOptions
    ) -> AsyncIterator[AssistantMessageEvent]:
        if "summarise" in context.system_prompt.lower():
            self.compactions += 1
            events = says(f"summary {self.compactions}")
        else:
            self.requests.append(context)
            number = len(self.requests)
            words = "word " * self._size
            events = says(words, call(f"c{number}")) if number % 3 == 0 else says(words)
            if self._fail(number):
                error = ErrorInfo(kind="overflow", message="prompt is too long")
                events = [Start(), Failed(reason="error", message=answer(stop="error", error=error))]
        for event in events:
            yield event

    @property
    def read_back(self) -> list[Line]:
        return [parse_line(number, line) for number, line in enumerate(self.lines, 1)]

    @property
    def messages(self) -> list[AgentMessage]:
        return self.agent.state.messages


def user(text: str) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), timestamp=7)


def test_2000_messages_are_compacted_resumed_from_their_record_and_continued_alike() -> None:
    it = Recorded()

    async def talk() -> None:
        for number in range(860):
            await it.agent.prompt([user(f"question {number}")])

    run(talk(), seconds=60)

    said = [line for line in it.read_back if line.data and line.data["type"] == "message_end"]
    assert len(said) > 2000
    assert it.compactions > 5
    assert conversation_of(it.read_back) == it.messages
    assert isinstance(it.messages[0], CompactionSummaryMessage)
    assert len(it.messages) < 300

    resumed = it.fresh(conversation_of(it.read_back))
    first_requests = []
    for agent in (it.agent, resumed):
        made = len(it.requests)
        run(agent.prompt([user("and now?")]))
        first_requests.append(it.requests[made])
    assert first_requests[0] == first_requests[1]


@given(
    st.integers(1, 300),
    st.lists(st.booleans(), min_size=1, max_size=12),
    st.sets(st.integers(1, 12)),
)
@settings(max_examples=60, deadline=None)
def test_invariant_10_the_record_holds_the_conversation_after_every_run(
    size: int, manual: list[bool], refused: set[int]
) -> None:
    it = Recorded(size, lambda number: number in refused)

    async def talk() -> None:
        for number, by_hand in enumerate(manual):
            await it.agent.prompt([user(f"question {number}")])
            assert conversation_of(it.read_back) == it.messages
            if by_hand:
                with contextlib.suppress(CompactionError):
                    await it.agent.compact()
                assert conversation_of(it.read_back) == it.messages

    run(talk())

    assert [fault for fault in check_lines(it.read_back) if "run_" not in fault] == []


def test_a_message_of_a_hosts_own_kind_is_read_back_as_what_it_was() -> None:
    register_message_type(Note)
    it = Recorded()
    note = Note(content=(TextContent(text="mind the gap"),), timestamp=1, pinned=True)

    run(it.agent.prompt([note]))

    assert conversation_of(it.read_back)[0] == note


def test_a_torn_last_line_is_passed_over_and_any_other_fault_is_not() -> None:
    it = Recorded()
    run(it.agent.prompt([user("one")]))
    torn = parse_line(99, it.lines[-1][:-5])
    broken = parse_line(3, b"{]\n")

    assert conversation_of([*it.read_back, torn]) == it.messages
    with pytest.raises(TranscriptError, match="line 3: not JSON"):
        conversation_of([*it.read_back[:2], broken, *it.read_back[3:]])


def test_a_compaction_that_keeps_what_is_not_there_is_an_error() -> None:
    it = Recorded(300)
    for number in range(12):
        run(it.agent.prompt([user(f"question {number}")]))
    index = next(n for n, line in enumerate(it.lines) if b'"compaction_end"' in line)
    end = json.loads(it.lines[index])
    lost = json.dumps({**end, "first_kept": 0}).encode() + b"\n"

    lines = [*it.read_back[:index], parse_line(index + 1, lost), *it.read_back[index + 1 :]]

    with pytest.raises(
        TranscriptError, match=f"line {index + 1}: record 0, which compaction_end keeps, is no"
    ):
        conversation_of(lines)
    assert any("record 0 is not in the conversation" in fault for fault in check_lines(lines))
