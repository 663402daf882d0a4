"""Queues and aborts: an agent that waits wherever something can be said to it, beside what is expected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as hs
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentcore_runner.core import events as ev
from agentcore_runner.core import stream as st
from agentcore_runner.core.agent import Agent
from agentcore_runner.core.config import NextTurn
from agentcore_runner.core.messages import AssistantMessage, ErrorInfo, UserMessage
from agentcore_runner.core.model import Model
from agentcore_runner.core.queues import Disposition, Kind, QueueMode
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentToolResult, OnUpdate
from tests.core.checks import Grammar, check_replayable
from tests.core.expected_queues import PLACES, QUEUES, Expected, Move, Queue
from tests.core.scripted import MODEL, answer, call, now, tool
from tests.core.stage import GRACE_S, PATIENCE_S, users

T = TypeVar("T")
MOST_QUEUED = 3
"""No more than this is queued, so that runs also come to their end."""

HEEDS_ABORTS = ("model", "tool", "prepare")


class Gates:
    """Where the run waits until it is let on; `at` names the place."""

    def __init__(self) -> None:
        self.at: str | None = None
        self.left_open = False
        self.arrived = asyncio.Event()
        """Set when the run has come to a gate or to its end."""
        self._opened = asyncio.Event()
        self.open = self._opened.set

    async def stop(self, place: str, signal: AbortSignal | None = None) -> None:
        """Wait at the place; where a signal is given, an abort opens the gate."""
        if self.left_open:
            return
        self._opened.clear()
        self.at = place
        self.arrived.set()
        forget = signal.on_abort(self.open) if signal is not None else lambda: None
        try:
            await self._opened.wait()
        finally:
            forget()
            self.at = None


class Talking(RuleBasedStateMachine):
    """What is said to an agent while it waits. The text of a queued message is the id that it is to get."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.gates = Gates()
        self.expected = Expected()
        self.stops: Iterator[str] = iter(())
        self.counts = dict.fromkeys(["prompt", *QUEUES], 0)
        self.gone: list[str] = []
        self.said: list[str] = []
        self.requests: list[list[str]] = []
        self.waiters: list[asyncio.Task[None]] = []
        self.faults: list[BaseException] = []
        self.grammar = Grammar()
        self.agent = Agent(
            model=MODEL,
            stream_fn=self._model,
            now=now,
            tools=[tool("echo", self._execute)],
            sink=self._hear,
            on_error=lambda error, where: self.faults.append(error),
            should_stop_after_turn=lambda _: self.expected.move == "last",
            prepare_next_turn=self._prepare,
            abort_grace_s=GRACE_S,
        )
        self.agent.subscribe(self._watch)

    @initialize(
        places=hs.sets(hs.sampled_from(PLACES), min_size=3),
        queued=hs.lists(hs.sampled_from(QUEUES), max_size=2),
        all_at_once=hs.sets(hs.sampled_from(QUEUES)),
    )
    def begin(self, places: set[str], queued: list[Queue], all_at_once: set[Queue]) -> None:
        self.expected.places = places
        for queue in queued:
            self.say(queue)
        for queue in all_at_once:
            self.change_mode(queue, QueueMode.ALL)
        self.submit("prompt")

    # What is said

    @precondition(lambda self: len(self.expected.queued) < MOST_QUEUED)
    @rule(kind=hs.sampled_from(["prompt", "steer", "follow_up"]))
    def submit(self, kind: Kind) -> None:
        queue: Queue | None = "steer" if kind == "steer" else "follow-up"
        status = "queued"
        if not self.expected.running:
            queue, status = None if kind == "prompt" else queue, "started"
        elif self.expected.aborted:
            status = "waiting"
        text = self._new(queue or "prompt")
        said = self._inside(lambda: self.agent.submit(text, kind=kind))
        assert said == Disposition(id=text if queue else None, status=status)  # type: ignore[arg-type]
        if queue is not None:
            self.expected.queues[queue].append(text)
        if status == "started":
            if queue is not None:
                self.expected.drain(*QUEUES)
            self._follow([] if queue else [text])

    @precondition(lambda self: len(self.expected.queued) < MOST_QUEUED)
    @rule(queue=hs.sampled_from(QUEUES))
    def say(self, queue: Queue) -> None:
        text = self._new(queue)
        said = self.agent.steer(text) if queue == "steer" else self.agent.follow_up(text)
        running = self.expected.running and not self.expected.aborted
        assert said == Disposition(id=text, status="queued" if running else "waiting")
        self.expected.queues[queue].append(text)

    @precondition(lambda self: not self.expected.running)
    @rule()
    def continue_(self) -> None:
        messages = self.agent.state.messages
        if not messages or (isinstance(messages[-1], AssistantMessage) and not self.expected.queued):
            with pytest.raises(RuntimeError, match="nothing to continue"):
                self._wait(self.agent.continue_())
            return
        if isinstance(messages[-1], AssistantMessage):
            self.expected.drain(*QUEUES)
        self.running = self._inside(lambda: asyncio.ensure_future(self.agent.continue_()))
        self._follow([])

    @precondition(lambda self: self.expected.running and not self.expected.aborted)
    @rule(patient=hs.booleans())
    def abort(self, patient: bool) -> None:
        """A patient hook is interrupted when the grace time is over; others see the abort at once."""
        waits = self.gates.at in HEEDS_ABORTS
        self._inside(self.agent.abort)
        self.expected.aborted = True
        if self.gates.at == "prepare" and not patient:
            self._inside(self.gates.open)
        if waits:
            self._settle()

    @precondition(lambda self: len(self.expected.queued) > 2)
    @rule()
    def clear(self) -> None:
        cleared = [item.id for item in self.agent.clear_queues()]
        assert cleared == self.expected.clear()
        self.gone += cleared

    @rule(queue=hs.sampled_from(QUEUES), mode=hs.sampled_from(QueueMode))
    def change_mode(self, queue: Queue, mode: QueueMode) -> None:
        (self.agent.steering if queue == "steer" else self.agent.follow_ups).mode = mode
        self.expected.modes[queue] = mode

    @precondition(lambda self: not self.expected.running and len(self.said) > 4)
    @rule()
    def reset(self) -> None:
        self.agent.reset()
        self.gone += self.expected.said + self.expected.clear()
        self.said, self.expected.said = [], []

    @precondition(lambda self: len(self.waiters) < 1)
    @rule()
    def wait_for_idle(self) -> None:
        self.waiters.append(self._inside(lambda: asyncio.ensure_future(self.agent.wait_for_idle())))

    # How the run goes on

    @precondition(lambda self: self.gates.at == "model")
    @rule(
        move=hs.sampled_from(["text", "done", "done", "last", "call", "call", "call", "last call", "error"])
    )
    def model_goes_on(self, move: Move) -> None:
        self.expected.move = move
        self._go_on()

    @precondition(lambda self: self.gates.at == "prepare")
    @rule(no_next_turn=hs.booleans())
    def prepare_goes_on(self, no_next_turn: bool) -> None:
        self.expected.no_next_turn = no_next_turn
        self._go_on()

    @precondition(lambda self: self.gates.at not in (None, "model", "prepare"))
    @rule()
    def goes_on(self) -> None:
        self._go_on()

    # What holds at every stop

    @invariant()
    def every_message_is_where_it_is_expected_and_once(self) -> None:
        queued = [item.id for item in self.agent.queued]
        assert queued == users([item.message for item in self.agent.queued]) == self.expected.queued
        assert self.said == self.expected.said
        found = [text for text in self.said + queued + self.gone if not text.startswith("prompt")]
        given = [f"{name}-{n + 1}" for name in QUEUES for n in range(self.counts[name])]
        assert sorted(found) == sorted(given)

    @invariant()
    def every_request_had_what_was_said_by_then(self) -> None:
        assert self.requests == self.expected.requests

    @invariant()
    def it_is_idle_when_nothing_runs(self) -> None:
        running = self.expected.running
        assert self.faults == []
        assert self.agent.state.is_streaming == running
        assert [waiter.done() for waiter in self.waiters] == [not running] * len(self.waiters)
        if running:
            return
        self.waiters.clear()
        self._wait(self.agent.wait_for_idle())
        self.grammar.check_is_over()
        check_replayable(self.agent.state.messages)
        assert users(self.agent.state.messages) == self.said
        assert self.agent.state.pending_tool_calls == set()
        assert self.agent.state.streaming_message is None

    def teardown(self) -> None:
        self.gates.left_open = True
        self.runner.close()

    # How the machine speaks to the agent

    def _new(self, name: str) -> str:
        self.counts[name] += 1
        return f"{name}-{self.counts[name]}"

    def _wait(self, awaitable: Awaitable[T]) -> T:
        async def wait() -> T:
            async with asyncio.timeout(PATIENCE_S):
                return await awaitable

        return self.runner.run(wait())

    def _inside(self, do: Callable[[], T]) -> T:
        """Do it where the event loop runs."""

        async def now() -> T:
            return do()

        return self._wait(now())

    def _follow(self, prompts: list[str]) -> None:
        """A run has begun: stop at its first gate."""

        async def tell_end() -> None:
            await self.agent.wait_for_idle()
            self.gates.arrived.set()

        self.stops = self.expected.runs(prompts)
        self.end = self._inside(lambda: asyncio.ensure_future(tell_end()))
        self._settle()

    def _go_on(self) -> None:
        self._inside(self.gates.open)
        self._settle()

    def _settle(self) -> None:
        self._wait(self.gates.arrived.wait())
        self.gates.arrived.clear()
        assert self.gates.at == next(self.stops, None)

    # What the agent sees

    async def _model(
        self, model: Model, context: st.LlmContext, options: st.StreamOptions
    ) -> AsyncIterator[st.AssistantMessageEvent]:
        self.requests.append(users(context.messages))
        yield st.Start()
        yield st.TextStart(content_index=0)
        await self.gates.stop("model", options.signal)
        while self.expected.move == "text" and not options.signal.aborted:
            yield st.TextDelta(content_index=0, delta="and ")
            await self.gates.stop("model", options.signal)
        if self.expected.move == "error":
            error = ErrorInfo(kind="server", message="overloaded")
            yield st.Failed(reason="error", message=answer(stop="error", error=error))
        else:
            calls = [call("", "echo")] if "call" in self.expected.move else []
            yield st.Done(reason="done", message=answer("and", *calls))

    async def _execute(
        self, params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate
    ) -> AgentToolResult:
        await self.gates.stop("tool", signal)
        return AgentToolResult(terminate=self.expected.move == "last call")

    async def _prepare(self, _: object) -> NextTurn | None:
        if "prepare" in self.expected.places:
            await self.gates.stop("prepare")
        return NextTurn(stop=self.expected.no_next_turn)

    def _hear(self, event: ev.AgentEvent) -> None:
        self.grammar.feed(event)
        if isinstance(event, ev.MessageStartEvent):
            self.said += users([event.message])

    def _watch(self, event: ev.AgentEvent) -> Awaitable[None] | None:
        place = str(event.__struct_config__.tag)
        if isinstance(event, ev.MessageStartEvent) and isinstance(event.message, UserMessage):
            place = "said"
        return self.gates.stop(place) if place in self.expected.places else None


Talking.TestCase.settings = settings(max_examples=250, stateful_step_count=50, deadline=None)
TestTalking = Talking.TestCase
