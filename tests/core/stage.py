"""A planned conversation, played: the model, the tools, the hooks and the listeners do what the plan says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any, get_args

from agentcore_runner.core import config as cfg
from agentcore_runner.core import events as ev
from agentcore_runner.core import stream as st
from agentcore_runner.core.agent import Agent
from agentcore_runner.core.assemble import Assembler
from agentcore_runner.core.convert import Converter
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    ErrorInfo,
    Message,
    StopReason,
    UserMessage,
)
from agentcore_runner.core.model import Model
from agentcore_runner.core.queues import QueueItem, QueueMode
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentTool, AgentToolResult, OnUpdate, text_result
from agentcore_runner.errors import ProviderError
from tests.core.checks import Grammar, Rebuilt
from tests.core.generated import TOOLS, Deed, Pieces, Plan, Reply
from tests.core.scripted import MODEL, now, tool
from tests.core.stage_tools import BODIES, FIELDS, say
from tests.core.streamed import streamed

GRACE_S = 0.002
PATIENCE_S = 5.0
"""How long anything may take before it counts as hanging."""

MANY_EVENTS = 1000
"""From here on a run waits at each event, so that one that goes on for ever can be timed."""


class Stage:
    """An agent whose world follows a plan. `heard` has every event; `fault` is the first check that one of
    them did not pass, which must not be raised where the agent would catch it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.replies = list(plan.replies)
        self.quiet = False
        self.heard: list[ev.AgentEvent] = []
        self.fault: AssertionError | None = None
        self.grammar, self.rebuilt = Grammar(), Rebuilt()
        self.requests: list[st.LlmContext] = []
        self.errors: list[tuple[str, BaseException]] = []
        self.queued: dict[str, str] = {}
        self.cleared: list[QueueItem] = []
        self.open_streams = 0
        self.deaf_tools = 0
        self.aborted = self.cancelled = False
        self.begun, self.released = asyncio.Event(), asyncio.Event()
        self.task: asyncio.Task[list[AgentMessage]] | None = None
        self._asked: dict[str, int] = {}
        self._updates: list[OnUpdate] = []
        self._outcomes: tuple[str, ...] = ()
        self._convert = Converter()
        self.agent = self._build()
        for kind in plan.queued:
            self._queue(kind)

    def _build(self) -> Agent:
        agent = Agent(
            model=MODEL,
            stream_fn=self._stream,
            now=now,
            tools=[self._tool(name) for name in TOOLS if name != "unknown"],
            tool_execution="sequential" if self.plan.sequential else "parallel",
            steering_mode="all" if self.plan.all_steering else "one-at-a-time",
            follow_up_mode="all" if self.plan.all_follow_ups else "one-at-a-time",
            sink=self._hear,
            on_error=lambda error, where: self.errors.append((where, error)),
            abort_grace_s=GRACE_S,
            transform_context=self._transform,
            convert_to_llm=self._to_llm,
            before_tool_call=self._before,
            after_tool_call=lambda _: self._answer("after_tool_call", None, REPLACE),
            should_stop_after_turn=lambda _: self._answer("should_stop_after_turn", False, True),
            prepare_next_turn=lambda _: self._answer("prepare_next_turn", None, cfg.NextTurn(stop=True)),
        )
        agent.subscribe(self._act)
        return agent

    async def play(self, prompt: str = "go") -> list[AgentMessage] | None:
        """The messages that a prompt added, or None when its task was cancelled."""
        return await self.see_through(self.agent.prompt(prompt))

    async def see_through(self, run: Coroutine[Any, Any, list[AgentMessage]]) -> list[AgentMessage] | None:
        """The messages that a run added, or None when its task was cancelled. Fails when it hangs."""
        self.aborted = self.cancelled = False
        self.task = asyncio.create_task(run)
        await asyncio.wait([self.task], timeout=PATIENCE_S)
        assert self.task.done(), "the run hangs"
        if self.fault is not None:
            raise self.fault
        assert (self.task.cancelled(), self.task.cancelling()) == (self.cancelled, int(self.cancelled))
        return None if self.task.cancelled() else self.task.result()

    def abort(self) -> None:
        self._note_abort()
        self.agent.abort()

    def _note_abort(self) -> None:
        if not self.aborted:
            self.aborted = True
            streamed = isinstance(self.grammar.open_message, AssistantMessage) and self.open_streams == 0
            self._outcomes = get_args(StopReason) if streamed else ("error", "aborted")

    def calm_down(self) -> None:
        """Do nothing more that is planned: whatever is said from now on is answered."""
        self.quiet, self.replies = True, []

    async def tasks_left(self) -> int:
        """How many tasks are left beside this one, once those that were cancelled have had time to end."""
        for _ in range(20):
            await asyncio.sleep(0)
        return len(asyncio.all_tasks()) - 1

    async def clean_up(self) -> None:
        """Let the deaf tools go, so that nothing outlives the test."""
        self.released.set()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            await asyncio.wait(left, timeout=PATIENCE_S)

    # What hears the events

    def _hear(self, event: ev.AgentEvent) -> None:
        at = len(self.heard)
        self.heard.append(event)
        self.begun.set()
        try:
            self.grammar.feed(event)
            self.rebuilt.feed(event)
            if isinstance(event, ev.MessageUpdateEvent):
                partial = self.agent.state.streaming_message
                assert partial is not None and partial.content == self.rebuilt.content
            assert self.agent.state.pending_tool_calls == self.grammar.running_calls
            if self.aborted:
                self._check_aborted(event)
        except AssertionError as exc:
            self.fault = self.fault or exc
        if at == self.plan.sink_fails and not self.quiet:
            self._note_abort()
            raise OSError("disk full")

    def _check_aborted(self, event: ev.AgentEvent) -> None:
        """Only what is open ends; what fails then, such as a hook, is told in a turn of its own."""
        assert not isinstance(event, ev.AgentStartEvent)
        if isinstance(event, ev.MessageUpdateEvent):  # of a stream without a start, the first piece begins it
            assert isinstance(self.heard[-2], ev.MessageStartEvent)
        if isinstance(event, ev.TurnStartEvent) and self.grammar.turns > 1:
            self._outcomes = ("error",)
        if isinstance(event, ev.MessageEndEvent) and isinstance(event.message, AssistantMessage):
            assert event.message.stop_reason in self._outcomes

    def _act(self, event: ev.AgentEvent) -> Any:
        at = len(self.heard) - 1
        if isinstance(event, ev.ToolExecutionEndEvent):
            for update in self._updates:  # those of calls that have ended must have no effect
                update(text_result("more"))
        if self.quiet:
            return asyncio.sleep(0) if at > MANY_EVENTS else None
        if at == self.plan.cancelled and self.task is not None:
            self.cancelled = self.task.cancel()
        deeds = [deed for when, deed in self.plan.deeds if when == at]
        for deed in deeds:
            self._do(deed)
        if "raise" in deeds:
            raise RuntimeError("listener")
        return asyncio.sleep(0) if "pause" in deeds or at > MANY_EVENTS else None

    def _do(self, deed: Deed) -> None:
        match deed:
            case "abort":
                self.abort()
            case "steer" | "follow up":
                self._queue(deed)
            case "clear":
                self.cleared += self.agent.clear_queues()
            case "change modes":
                for queue in (self.agent.steering, self.agent.follow_ups):
                    queue.mode = QueueMode.ALL if queue.mode != QueueMode.ALL else QueueMode.ONE_AT_A_TIME

    def _queue(self, kind: str) -> None:
        text = f"{kind} {len(self.queued)}"
        say = self.agent.steer if kind == "steer" else self.agent.follow_up
        id = say(text).id
        assert id is not None
        self.queued[text] = id

    # What the agent asks

    async def _stream(
        self, model: Model, context: st.LlmContext, options: st.StreamOptions
    ) -> AsyncIterator[st.AssistantMessageEvent]:
        self._begin(options.signal)
        self.requests.append(context)
        reply = self.replies.pop(0) if self.replies else Reply((Pieces("text", ("the ", "end")),))
        self.open_streams += 1
        try:
            async for event in self._flawed(reply, streamed(reply)):
                yield event
        finally:
            self.open_streams -= 1

    async def _flawed(
        self, reply: Reply, events: list[st.AssistantMessageEvent]
    ) -> AsyncIterator[st.AssistantMessageEvent]:
        at = reply.at % len(events)
        before, after = events[:at], events[at:]
        if reply.flaw == "no start":
            before, after = [], events[1:]
        for event in before:
            yield event
        match reply.flaw:
            case "ends early":
                return
            case "raises":
                raise OSError("connection lost")
            case "provider error":
                raise ProviderError(ErrorInfo(kind="server", message="overloaded"))
            case "is cancelled":
                raise asyncio.CancelledError
            case "retries":
                yield st.Retry(attempt=1, delay_s=0, status=None, reason="lost")
                after = events[1:]
            case "aborts" | "aborts and says so" | "aborts and hangs":
                self.abort()
        if reply.flaw == "aborts and says so":
            partial = Assembler(MODEL.api, MODEL.provider, MODEL.id, 0)
            for event in before:
                partial.feed(event)
            after = [st.Failed(reason="aborted", message=partial.message("aborted"))]
        if reply.flaw == "aborts and hangs":
            await asyncio.Event().wait()
        for event in after:
            yield event
        if reply.flaw == "goes on after its end":
            yield st.TextStart(content_index=99)

    def _answer(self, hook: str, usual: Any, yes: Any) -> Any:
        """What a hook says; what it does first is planned."""
        if hook in ("should_stop_after_turn", "prepare_next_turn") and self.aborted:
            self.fault = self.fault or AssertionError(f"{hook} is asked after the abort")
        at = self._asked[hook] = self._asked.get(hook, -1) + 1
        deeds = [deed for name, when, deed in self.plan.hooks if (name, when) == (hook, at)]
        if self.quiet or not deeds:
            return usual
        if "steer" in deeds:
            self._queue("steer")
        if "abort" in deeds or "abort and hang" in deeds:
            self.abort()
        if "raise" in deeds:
            raise RuntimeError(hook)
        said = yes if "yes" in deeds else usual
        if "abort and hang" in deeds:
            return self._later(said, asyncio.Event().wait())
        return self._later(said, asyncio.sleep(0)) if "pause" in deeds else said

    @staticmethod
    async def _later(said: Any, wait: Any) -> Any:
        await wait
        return said

    def _before(self, question: cfg.BeforeToolCall) -> Any:
        self._begin(question.signal)
        return self._answer("before_tool_call", None, BLOCK)

    def _begin(self, signal: AbortSignal) -> None:
        """A request, a call or the question before it begins, which an abort forbids."""
        if signal.aborted:
            self.fault = self.fault or AssertionError("something begins after the abort")

    def _transform(self, messages: list[AgentMessage], signal: AbortSignal) -> Any:
        return self._answer("transform_context", messages, messages)

    def _to_llm(self, messages: Sequence[AgentMessage]) -> Any:
        sent: list[Message] = self._convert(messages)
        return self._answer("convert_to_llm", sent, sent)

    def _tool(self, name: str) -> AgentTool:
        own = {"aborts": self._abort, "aborts and is deaf": self._be_deaf}
        play = own.get(name) or BODIES.get(name, say)

        async def body(params: dict[str, Any], signal: AbortSignal, on_update: OnUpdate) -> AgentToolResult:
            self._begin(signal)
            self._updates.append(on_update)
            return await play(params, signal, on_update)

        return tool(name, body, **FIELDS.get(name, {}))

    async def _abort(self, params: dict[str, Any], signal: AbortSignal, _: OnUpdate) -> AgentToolResult:
        self.abort()
        await signal.wait()
        return text_result("stopped", is_error=True)

    async def _be_deaf(self, params: dict[str, Any], signal: AbortSignal, _: OnUpdate) -> AgentToolResult:
        self.abort()
        self.deaf_tools += 1
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue
        self.deaf_tools -= 1
        raise RuntimeError("late")


BLOCK = cfg.BeforeToolCallResult(block=True, reason="no")
REPLACE = cfg.AfterToolCallResult(is_error=True)


def users(messages: Sequence[Any]) -> list[str]:
    """What was said to the agent, prompts and queued messages alike."""
    return [message.content[0].text for message in messages if isinstance(message, UserMessage)]
