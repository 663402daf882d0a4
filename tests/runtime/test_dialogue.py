"""What is said to an agent line by line: during its runs, between them, and in the place of a command."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from agentcore_runner.core import stream as st
from agentcore_runner.core.messages import TextContent, UserMessage
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentToolResult, text_result
from agentcore_runner.runtime.dialogue import Command, Dialogue, Line, Mistake
from tests.core.scripted import Heard, Turn, agent, call, run, says, texts, tool

ABORT = Command(kind="abort")
FAILS = says("oops", stop="error")
Step = Line | Callable[[], Any]


def prompt(text: str) -> Command:
    return Command(kind="prompt", text=text)


def steer(text: str) -> Command:
    return Command(kind="steer", text=text)


def follow_up(text: str) -> Command:
    return Command(kind="follow_up", text=text)


async def never() -> None:
    await asyncio.Event().wait()


async def told(steps: tuple[Step, ...]) -> AsyncIterator[Line]:
    """The lines; what stands between them is called, and waited for, before the next one comes."""
    for step in steps:
        if isinstance(step, Command | Mistake):
            yield step
        elif isinstance(waiting := step(), Awaitable):
            await waiting


class Slow:
    """A turn that begins when it is let go."""

    def __init__(self, turn: list[st.AssistantMessageEvent]) -> None:
        self.asked = asyncio.Event()
        self.free = asyncio.Event()
        self._turn = turn

    async def __call__(self, *_: object) -> AsyncIterator[st.AssistantMessageEvent]:
        self.asked.set()
        await self.free.wait()
        for event in self._turn:
            yield event


class Talk:
    """An agent that plays the turns, and a dialogue with it. `may_say` is how often a limit lets the agent
    have more to do."""

    def __init__(self, *turns: Turn, may_say: int = 100, **fields: Any) -> None:
        self.agent = agent(*turns, abort_grace_s=0.01, **fields)
        self.heard = Heard(self.agent)
        self.stop = AbortSignal()
        self.stop.on_abort(lambda: self.agent.abort("stop"))
        self.warnings: list[str] = []
        self.queued: list[tuple[int, int]] = []
        self.left = may_say
        self.dialogue: Dialogue | None = None

    def hold(self, *steps: Step) -> None:
        run(self.holding(*steps))

    async def holding(self, *steps: Step) -> None:
        """Say `a`, then the lines."""
        self.dialogue = Dialogue(
            self.agent,
            told(steps),
            stop=self.stop,
            is_over=lambda: self.stop.aborted or self.left < 0,
            may_go_on=self.may_go_on,
            on_queued=self.on_queued,
            warn=self.warn,
        )
        await self.dialogue.hold(UserMessage(content=(TextContent(text="a"),), timestamp=0))

    async def may_go_on(self) -> bool:
        self.left -= 1
        return self.left >= 0

    async def on_queued(self) -> None:
        self.queued.append((len(self.agent.steering), len(self.agent.follow_ups)))

    async def warn(self, message: str) -> None:
        self.warnings.append(message)

    @property
    def aborted(self) -> bool:
        assert self.dialogue is not None
        return self.dialogue.aborted

    @property
    def said(self) -> list[str]:
        return texts(self.agent.state.messages)

    @property
    def waiting(self) -> list[str]:
        return texts([item.message for item in self.agent.queued])

    @property
    def runs(self) -> int:
        return self.heard.story.count("agent_start")


def test_a_prompt_during_a_run_follows_up_and_steering_goes_before_it() -> None:
    slow = Slow(says("one"))
    talk = Talk(slow, says("two"), says("three"), says("four"))

    talk.hold(slow.asked.wait, prompt("b"), follow_up("c"), steer("d"), slow.free.set)

    assert talk.said == [
        "user: a", "assistant done: one", "user: d", "assistant done: two",
        "user: b", "assistant done: three", "user: c", "assistant done: four",
    ]  # fmt: skip
    assert talk.queued == [(0, 0), (0, 1), (0, 2), (1, 2)]
    assert talk.runs == 1


def test_whatever_is_said_to_an_idle_agent_starts_a_run() -> None:
    talk = Talk(says("one"), says("two"), says("three"), says("four"))
    idle = talk.agent.wait_for_idle

    talk.hold(idle, steer("b"), idle, follow_up("c"), idle, prompt("d"))

    assert [line for line in talk.said if line.startswith("user")] == [
        "user: a", "user: b", "user: c", "user: d",
    ]  # fmt: skip
    assert talk.runs == 4


def test_an_abort_leaves_the_queues_and_the_next_line_starts_a_run_that_gets_them() -> None:
    slow = Slow(says("never"))
    talk = Talk(slow, says("one"), says("two"))
    busy: list[bool] = []

    talk.hold(
        slow.asked.wait,
        prompt("b"),
        ABORT,
        lambda: busy.append(talk.agent.state.is_streaming),
        lambda: busy.append(bool(talk.waiting)),
        prompt("c"),
    )

    assert busy == [False, True]
    assert talk.said == [
        "user: a", "assistant aborted: ",
        "user: c", "assistant done: one", "user: b", "assistant done: two",
    ]  # fmt: skip
    assert (talk.aborted, talk.waiting) == (False, [])


def test_an_abort_as_the_last_word_ends_the_dialogue_with_what_is_queued_still_there() -> None:
    slow = Slow(says("never"))
    talk = Talk(slow, says("never"))

    talk.hold(slow.asked.wait, steer("b"), prompt("c"), ABORT, ABORT, Mistake(message="?"))

    assert talk.said == ["user: a", "assistant aborted: "]
    assert (talk.aborted, talk.waiting) == (True, ["user: b", "user: c"])


def test_an_abort_waits_for_a_tool_that_takes_its_time() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def body(_: Any, signal: AbortSignal, __: Any) -> AgentToolResult:
        started.set()
        await signal.wait()
        await asyncio.sleep(0.001)
        stopped.set()
        return text_result("stopped")

    talk = Talk(says(call("A", "slow")), says("one"), tools=[tool("slow", body)])
    talk.agent.abort_grace_s = 5
    seen: list[bool] = []

    talk.hold(started.wait, ABORT, lambda: seen.append(stopped.is_set()), prompt("b"))

    assert seen == [True]
    assert talk.said[-2:] == ["user: b", "assistant done: one"]


def test_an_abort_of_an_idle_agent_does_nothing() -> None:
    talk = Talk(says("one"))

    talk.hold(talk.agent.wait_for_idle, ABORT)

    assert talk.said == ["user: a", "assistant done: one"]
    assert not talk.aborted


def test_what_a_failed_run_has_left_is_said_without_another_line() -> None:
    first, second = Slow(FAILS), Slow(says("one"))
    talk = Talk(first, second)

    talk.hold(first.asked.wait, steer("b"), first.free.set, second.asked.wait, second.free.set)

    assert talk.said == ["user: a", "assistant error: oops", "user: b", "assistant done: one"]
    assert talk.runs == 2


def test_what_a_failed_run_has_left_comes_before_the_next_line() -> None:
    slow = Slow(FAILS)
    talk = Talk(slow, says("one"), says("two"))

    talk.hold(slow.asked.wait, follow_up("b"), slow.free.set, talk.agent.wait_for_idle, prompt("c"))

    assert [line for line in talk.said if line.startswith("user")] == ["user: a", "user: b", "user: c"]


def test_what_a_run_has_left_that_fails_while_a_limit_is_looked_at_comes_before_the_next_line() -> None:
    slow = Slow(FAILS)
    talk = Talk(slow, says("one"), says("two"))

    async def failing_meanwhile() -> bool:
        if talk.waiting:
            slow.free.set()
            await talk.agent.wait_for_idle()
        return True

    talk.may_go_on = failing_meanwhile  # type: ignore[method-assign]
    talk.hold(slow.asked.wait, steer("b"), prompt("c"))

    assert [line for line in talk.said if line.startswith("user")] == ["user: a", "user: b", "user: c"]


def test_what_is_left_when_the_lines_end_is_said_too() -> None:
    slow = Slow(FAILS)
    talk = Talk(slow, FAILS, says("one"))

    talk.hold(slow.asked.wait, follow_up("b"), follow_up("c"), slow.free.set)

    assert talk.said[-4:] == ["user: b", "assistant error: oops", "user: c", "assistant done: one"]


def test_a_mistake_is_passed_on_and_the_dialogue_goes_on() -> None:
    talk = Talk(says("one"), says("two"))

    talk.hold(Mistake(message="line 1: no"), talk.agent.wait_for_idle, prompt("b"))

    assert talk.warnings == ["line 1: no"]
    assert talk.said[-2:] == ["user: b", "assistant done: two"]


def test_a_limit_ends_the_dialogue_though_lines_still_come() -> None:
    talk = Talk(says("one"), says("two"), may_say=1)
    idle = talk.agent.wait_for_idle

    talk.hold(idle, prompt("b"), idle, prompt("c"), never)

    assert talk.said == ["user: a", "assistant done: one", "user: b", "assistant done: two"]


def test_a_limit_ends_the_dialogue_when_it_forbids_what_is_left() -> None:
    slow = Slow(FAILS)
    talk = Talk(slow, may_say=1)

    talk.hold(slow.asked.wait, prompt("b"), slow.free.set, never)

    assert talk.said == ["user: a", "assistant error: oops"]
    assert talk.waiting == ["user: b"]


@pytest.mark.parametrize("busy", [True, False])
def test_a_stop_ends_the_dialogue_at_once(busy: bool) -> None:
    slow = Slow(says("never"))
    talk = Talk(slow if busy else says("one"))

    talk.hold(
        slow.asked.wait if busy else talk.agent.wait_for_idle, lambda: talk.stop.abort("SIGTERM"), never
    )

    assert talk.said == ["user: a", "assistant aborted: " if busy else "assistant done: one"]
    assert not talk.aborted


def test_a_stop_while_a_limit_is_looked_at_starts_nothing() -> None:
    talk = Talk(says("one"), says("never"))
    ask = talk.may_go_on

    async def stopping() -> bool:
        talk.stop.abort("SIGTERM")
        return await ask()

    talk.may_go_on = stopping  # type: ignore[method-assign]
    talk.hold(talk.agent.wait_for_idle, prompt("b"), never)

    assert talk.said == ["user: a", "assistant done: one"]


@pytest.mark.parametrize("ending", ["cancelled", "failed"])
def test_whatever_ends_the_dialogue_leaves_an_idle_agent(ending: Literal["cancelled", "failed"]) -> None:
    slow = Slow(says("never"))
    talk = Talk(slow)

    def fail() -> None:
        raise OSError("lost")

    async def end() -> None:
        holding = asyncio.create_task(talk.holding(slow.asked.wait, fail if ending == "failed" else never))
        await slow.asked.wait()
        if ending == "cancelled":
            holding.cancel()
        await holding

    with pytest.raises(OSError if ending == "failed" else asyncio.CancelledError):
        run(end())

    assert talk.heard.story[-2:] == ["turn_end 0", "agent_end"]
    assert not talk.agent.state.is_streaming


KINDS = hs.sampled_from(["prompt", "steer", "follow_up", "abort", "abort"])


@settings(max_examples=60, deadline=None)
@given(
    hs.lists(hs.tuples(KINDS, hs.integers(0, 12)), max_size=8),
    hs.lists(hs.booleans(), max_size=8),
    hs.sampled_from(["all", "one-at-a-time"]),
)
def test_nothing_that_is_said_is_lost_or_said_twice(
    lines: list[tuple[Any, int]], fails: list[bool], mode: Literal["all", "one-at-a-time"]
) -> None:
    turns = [FAILS if each else says("ok") for each in fails]
    talk = Talk(*turns, steering_mode=mode, follow_up_mode=mode)

    async def pause(steps: int) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)

    steps: list[Step] = []
    for number, (kind, before) in enumerate(lines):
        steps += [partial(pause, before), Command(kind=kind, text=f"{kind} {number}")]
    talk.hold(*steps)

    wanted = [f"user: {kind} {number}" for number, (kind, _) in enumerate(lines) if kind != "abort"]
    delivered = [line for line in talk.said if line.startswith("user")][1:]
    assert sorted(delivered + talk.waiting) == sorted(wanted)
    assert talk.aborted or not talk.waiting
    for kind in ("steer", "follow_up"):
        in_order = [line for line in wanted if line.startswith(f"user: {kind}")]
        assert [line for line in delivered + talk.waiting if line.startswith(f"user: {kind}")] == in_order
