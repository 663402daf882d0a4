"""An agent: a conversation with its queues, listeners and abort, run by run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import Literal

import msgspec

from agentcore_runner.core import config as cfg
from agentcore_runner.core import events as ev
from agentcore_runner.core.audience import Audience
from agentcore_runner.core.compaction import Compacted
from agentcore_runner.core.compactor import Compactor
from agentcore_runner.core.convert import Converter
from agentcore_runner.core.iterate import iterate_events
from agentcore_runner.core.loop import run_loop
from agentcore_runner.core.messages import AgentMessage, AssistantMessage, ImageContent
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.prompt import PromptInput, normalize_prompt_input
from agentcore_runner.core.queues import Disposition, Drain, Kind, MessageQueue, QueueItem, QueueMode
from agentcore_runner.core.run import Run
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.state import AgentState
from agentcore_runner.core.stream import StreamFn
from agentcore_runner.core.tools import AgentContext, AgentTool, ToolExecutionMode


class _Busy:
    """A run in progress: how to abort it, and how to learn that it is over. It may be a compaction, after
    which a run is wanted where something was submitted."""

    def __init__(self) -> None:
        self.signal = AbortSignal()
        self.idle = asyncio.Event()
        self.compacting = False
        self.wanted = False


class Agent:
    """Runs prompts one after the other and keeps the conversation in `state`.

    `sink` gets every event before the listeners, for the record: if it fails, the run is aborted. Listeners
    (`subscribe`) cannot change a run: what they raise goes to `on_error`. Hooks, `deadline` and
    `abort_grace_s` may be assigned between runs; see `AgentLoopConfig`.
    """

    def __init__(
        self,
        *,
        model: Model,
        stream_fn: StreamFn,
        now: Callable[[], int],
        system_prompt: str = "",
        tools: Iterable[AgentTool] = (),
        messages: Iterable[AgentMessage] = (),
        thinking_level: ThinkingLevel = ThinkingLevel.OFF,
        tool_execution: ToolExecutionMode = ToolExecutionMode.PARALLEL,
        steering_mode: QueueMode | Literal["all", "one-at-a-time"] = QueueMode.ONE_AT_A_TIME,
        follow_up_mode: QueueMode | Literal["all", "one-at-a-time"] = QueueMode.ONE_AT_A_TIME,
        convert_to_llm: cfg.ConvertToLlm | None = None,
        transform_context: cfg.TransformContext | None = None,
        compactor: Compactor | None = None,
        fall_back: cfg.FallBack | None = None,
        before_tool_call: cfg.BeforeHook | None = None,
        after_tool_call: cfg.AfterHook | None = None,
        should_stop_after_turn: cfg.ShouldStop | None = None,
        prepare_next_turn: cfg.PrepareNextTurn | None = None,
        sink: ev.Sink | None = None,
        on_error: cfg.OnError | None = None,
        abort_grace_s: float = 5.0,
        deadline: float | None = None,
    ) -> None:
        self.state = AgentState(
            system_prompt=system_prompt,
            model=model,
            thinking_level=thinking_level,
            tools=tools,
            messages=messages,
            partial=self._streaming_message,
        )
        self.steering = MessageQueue("steer", QueueMode(steering_mode))
        self.follow_ups = MessageQueue("follow-up", QueueMode(follow_up_mode))
        self.stream_fn = stream_fn
        self.tool_execution = tool_execution
        self.convert_to_llm: cfg.ConvertToLlm = convert_to_llm or Converter()
        self.transform_context: cfg.TransformContext | None = transform_context
        self.compactor = compactor
        self.fall_back: cfg.FallBack | None = fall_back
        self.before_tool_call: cfg.BeforeHook | None = before_tool_call
        self.after_tool_call: cfg.AfterHook | None = after_tool_call
        self.should_stop_after_turn: cfg.ShouldStop | None = should_stop_after_turn
        self.prepare_next_turn: cfg.PrepareNextTurn | None = prepare_next_turn
        self.on_error: cfg.OnError | None = on_error
        self.abort_grace_s = abort_grace_s
        self.deadline = deadline
        self._now = now
        self._audience = Audience(self.state.take_in, sink, self._report)
        self._run: Run | None = None
        self._busy: _Busy | None = None
        self._task: asyncio.Task[list[AgentMessage]] | None = None

    async def prompt(self, prompt: PromptInput, images: Sequence[ImageContent] = ()) -> list[AgentMessage]:
        """Run a text, a message or several to the end; the messages that were added.

        A failure or an abort is the last message's stop reason, not an exception. Raises RuntimeError while
        a run is in progress and ValueError for an empty prompt.
        """
        self._require_idle("prompt")
        prompts = normalize_prompt_input(prompt, images, timestamp=self._now())
        return await self._run_until_idle(prompts, self._begin())

    def prompt_sync(self, prompt: PromptInput, images: Sequence[ImageContent] = ()) -> list[AgentMessage]:
        """`prompt` for code that runs no event loop."""
        return asyncio.run(self.prompt(prompt, images))

    def events(
        self, prompt: PromptInput, images: Sequence[ImageContent] = ()
    ) -> AsyncGenerator[ev.AgentEvent, None]:
        """`prompt`, as the events of its run. A slow reader slows the run. Leaving the iteration early
        aborts the run and waits for its end; use `contextlib.aclosing` to have that happen at once."""
        return iterate_events(self, prompt, images)

    async def continue_(self) -> list[AgentMessage]:
        """Go on without a new prompt; the messages that were added. After an answer, what is queued is
        delivered. Raises RuntimeError while a run is in progress and where there is nothing to go on with."""
        self._require_idle("continue")
        messages = self.state.messages
        if not messages:
            raise RuntimeError("nothing to continue: the conversation is empty; call prompt() first")
        if not isinstance(messages[-1], AssistantMessage):
            return await self._run_until_idle((), self._begin())
        pending = self._next_queued()
        if not pending:
            raise RuntimeError("nothing to continue: the last message is an answer and nothing is queued")
        return await self._run_until_idle((), self._begin(), pending)

    def submit(
        self, prompt: str | AgentMessage, images: Sequence[ImageContent] = (), *, kind: Kind = "prompt"
    ) -> Disposition:
        """Say something whatever the agent is doing; returns at once, with what becomes of it.

        While a run is in progress, `steer` goes to its next request and the others follow up when it would
        end; after an abort they wait. What comes during `compact()` starts a run when that is done. Nobody is
        running: a run starts in the background, which `wait_for_idle()` waits for. Raises RuntimeError where
        no event loop is running."""
        asyncio.get_running_loop()
        if self._busy is not None:
            self._busy.wanted = True
            return self.steer(prompt, images) if kind == "steer" else self.follow_up(prompt, images)
        if kind == "prompt":
            normal = normalize_prompt_input(prompt, images, timestamp=self._now())
            return self._start(normal)
        queued = self.steer(prompt, images) if kind == "steer" else self.follow_up(prompt, images)
        return msgspec.structs.replace(self._start((), self._next_queued()), id=queued.id)

    def steer(self, message: str | AgentMessage, images: Sequence[ImageContent] = ()) -> Disposition:
        """Queue a message for the next request of the run in progress."""
        return self._queue(self.steering, message, images)

    def follow_up(self, message: str | AgentMessage, images: Sequence[ImageContent] = ()) -> Disposition:
        """Queue a message for when the run would end."""
        return self._queue(self.follow_ups, message, images)

    @property
    def queued(self) -> tuple[QueueItem, ...]:
        """All messages that are not delivered yet: steering, then follow-ups."""
        return self.steering.items + self.follow_ups.items

    def clear_queues(self) -> tuple[QueueItem, ...]:
        """Take back what is queued: steering, then follow-ups."""
        return self.steering.clear() + self.follow_ups.clear()

    def abort(self, reason: str = "abort") -> None:
        """Ask the run in progress to stop; returns at once. What is queued stays queued."""
        if self._busy is not None:
            self._busy.signal.abort(reason)

    async def wait_for_idle(self) -> None:
        """Return when no run is in progress."""
        while self._busy is not None:
            await self._busy.idle.wait()

    async def compact(self, instructions: str | None = None) -> Compacted:
        """Replace the older part of the conversation by a summary, now; a run in progress is aborted first,
        a compaction in progress is waited for. `instructions` say what the summary is to look at. Raises
        CompactionError when there is nothing to compact or no summary could be had, RuntimeError for an agent
        without a compactor."""
        if self.compactor is None:
            raise RuntimeError("cannot compact: give the agent a compactor")
        if self._busy is not None and not self._busy.compacting:
            self.abort("compaction")
        await self.wait_for_idle()
        busy = self._begin()
        busy.compacting = True
        try:
            request = cfg.FitRequest(
                context=self._context(),
                model=self.state.model,
                stream_fn=self.stream_fn,
                thinking_level=self.state.thinking_level,
                signal=busy.signal,
                deadline=self.deadline,
            )
            compacted = await self.compactor.compact(request, instructions)
            self.state.messages = compacted.messages
            return compacted
        finally:
            self._settle(busy)
            if busy.wanted and not busy.signal.aborted and (pending := self._next_queued()):
                self._start((), pending)

    def reset(self) -> None:
        """Forget the conversation and the queues. Raises RuntimeError while a run is in progress."""
        self._require_idle("reset")
        self.state.messages = []
        self.state.error_message = None
        self.clear_queues()

    def subscribe(self, listener: ev.Sink) -> Callable[[], None]:
        """Have the listener called with every event, in order, after those that subscribed before; returns
        a function that ends it. The run waits for an awaitable it returns."""
        return self._audience.subscribe(listener)

    def _require_idle(self, verb: str) -> None:
        if self._busy is not None:
            raise RuntimeError(
                f"cannot {verb} while a run is in progress: use steer() or follow_up(), or wait_for_idle()"
            )

    def _queue(
        self, queue: MessageQueue, message: str | AgentMessage, images: Sequence[ImageContent]
    ) -> Disposition:
        (normal,) = normalize_prompt_input(message, images, timestamp=self._now())
        busy = self._busy
        delivers = busy is not None and not busy.signal.aborted and (busy.wanted or not busy.compacting)
        return Disposition(id=queue.add(normal).id, status="queued" if delivers else "waiting")

    def _next_queued(self) -> Drain:
        return self.steering.drain() or self.follow_ups.drain()

    def _start(self, prompts: Sequence[AgentMessage], pending: Drain | None = None) -> Disposition:
        busy = self._begin()
        self._task = asyncio.get_running_loop().create_task(self._run_until_idle(prompts, busy, pending))
        # A task that is cancelled before its first step never comes to its `finally`.
        self._task.add_done_callback(lambda _: self._settle(busy))
        return Disposition(id=None, status="started")

    def _begin(self) -> _Busy:
        """Be busy from now on, until the run that this stands for is settled."""
        busy = self._busy = _Busy()
        self.state.is_streaming = True
        self.state.error_message = None
        return busy

    def _settle(self, busy: _Busy) -> None:
        if self._busy is not busy:
            return
        self._busy = self._run = None
        self.state.is_streaming = False
        self.state.pending_tool_calls.clear()
        busy.idle.set()

    async def _run_until_idle(
        self, prompts: Sequence[AgentMessage], busy: _Busy, pending: Drain | None = None
    ) -> list[AgentMessage]:
        """Run, and run again for what was queued while the run was ending: between the last look into the
        queues and being idle nothing is awaited, so no message can be left behind there."""
        added: list[AgentMessage] = []
        try:
            again = True
            while again:
                self._run = Run(self._context(), self._config(), self._audience.emit, busy.signal)
                finished = await run_loop(self._run, prompts, pending)
                added += self._run.ledger.messages
                prompts, pending = (), self._next_queued() if finished else None
                again = bool(pending)
        finally:
            self._settle(busy)
        return added

    async def _fit_context(self, request: cfg.FitRequest) -> list[AgentMessage] | None:
        before = self.state.messages
        compacted = await self.compactor.fit(request) if self.compactor else None
        if compacted is None:
            return None
        if self.state.messages is before:  # else somebody has assigned others in the meantime
            self.state.messages = compacted.messages
        return compacted.messages

    async def _fall_back(self, answer: AssistantMessage) -> cfg.OtherModel | None:
        other = self.fall_back(answer) if self.fall_back else None
        if isinstance(other, Awaitable):
            other = await other
        if other is not None:
            self.state.model = other.model
            self.state.thinking_level = other.thinking_level or self.state.thinking_level
        return other

    def _context(self) -> AgentContext:
        state = self.state
        return AgentContext(system_prompt=state.system_prompt, messages=state.messages, tools=state.tools)

    def _config(self) -> cfg.AgentLoopConfig:
        return cfg.AgentLoopConfig(
            model=self.state.model,
            stream_fn=self.stream_fn,
            now=self._now,
            thinking_level=self.state.thinking_level,
            tool_execution=self.tool_execution,
            convert_to_llm=self.convert_to_llm,
            transform_context=self.transform_context,
            fit_context=self._fit_context if self.compactor else None,
            fall_back=self._fall_back if self.fall_back else None,
            before_tool_call=self.before_tool_call,
            after_tool_call=self.after_tool_call,
            should_stop_after_turn=self.should_stop_after_turn,
            prepare_next_turn=self.prepare_next_turn,
            steering=self.steering,
            follow_up=self.follow_ups,
            abort_grace_s=self.abort_grace_s,
            deadline=self.deadline,
            on_error=self.on_error,
        )

    def _streaming_message(self) -> AssistantMessage | None:
        partial = self._run.partial if self._run is not None else None
        return partial.message() if partial is not None else None

    def _report(self, error: BaseException, where: str) -> None:
        if self._run is not None:
            self._run.report(error, where)
