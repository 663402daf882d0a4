"""One run in progress: what it knows, what it has said, and how it speaks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar, TypeVarTuple

import msgspec

from agentcore_runner.core import events as ev
from agentcore_runner.core.assemble import Partial
from agentcore_runner.core.call_ids import CallIds
from agentcore_runner.core.config import AgentLoopConfig, ConvertToLlm, MaybeAwaitable, NextTurn, TurnContext
from agentcore_runner.core.convert import Converter
from agentcore_runner.core.grammar import Ledger
from agentcore_runner.core.messages import AgentMessage, AssistantMessage
from agentcore_runner.core.patience import AbortIgnored, Patience, cancelled_from_outside
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentContext, AgentTool

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class HookError(Exception):
    """A hook raised; the cause is what it raised."""

    def __init__(self, hook: str, error: BaseException) -> None:
        super().__init__(f"{hook} raised {type(error).__name__}: {error}")
        self.hook = hook
        self.error = error


class Run:
    """A run of the loop. Its own copy of the messages grows; `model`, `thinking_level` and the tools may
    change between turns."""

    def __init__(
        self, context: AgentContext, config: AgentLoopConfig, emit: ev.Sink, signal: AbortSignal
    ) -> None:
        self.config = config
        self.signal = signal
        self.emit = emit
        self.model = config.model
        self.thinking_level = config.thinking_level
        self.ledger = Ledger(config.now)
        self.call_ids = CallIds(context.messages)
        self.convert: ConvertToLlm = config.convert_to_llm or Converter()
        self.partial: Partial | None = None
        self._set_context(context)

    async def say(self, event: ev.AgentEvent) -> None:
        """Emit an event. A sink that raises cannot be relied on to keep the record, so it aborts the run."""
        self.ledger.feed(event)
        if type(event) is ev.MessageEndEvent:
            self.context.messages.append(event.message)
        try:
            waiting = self.emit(event)
            if waiting is not None:
                await waiting
        except (Exception, asyncio.CancelledError) as exc:
            self.sink_failed(exc)

    async def say_all(self, events: Iterable[ev.AgentEvent]) -> None:
        """Emit several events, each before the next is asked for."""
        for event in events:
            await self.say(event)

    async def say_message(self, message: AgentMessage) -> None:
        """A message that is whole from the start."""
        await self.say(ev.MessageStartEvent(message=message))
        await self.say(ev.MessageEndEvent(message=message))

    def sink_failed(self, error: BaseException) -> None:
        """The sink raised. A cancellation of the run is no failure of the sink and goes on."""
        if isinstance(error, asyncio.CancelledError) and cancelled_from_outside():
            raise error
        self.report(error, "sink")
        self.signal.abort("sink")

    def report(self, error: BaseException, where: str) -> None:
        """Tell the error channel; without one, the event loop's own."""
        if self.config.on_error is None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"{where} raised during an agent's run", "exception": error}
            )
            return
        with contextlib.suppress(Exception):
            self.config.on_error(error, where)

    async def ask(self, name: str, hook: Callable[[*Ts], MaybeAwaitable[T]], *args: *Ts) -> T:
        """A hook's answer. Raises HookError when it raised, AbortIgnored when it outlived an abort."""
        try:
            answer = hook(*args)
            if not isinstance(answer, Awaitable):
                return answer
            return await Patience(self.signal, self.config.abort_grace_s).wait(answer)
        except asyncio.CancelledError as exc:
            if cancelled_from_outside():
                raise
            raise HookError(name, exc) from exc
        except AbortIgnored:
            raise
        except Exception as exc:
            raise HookError(name, exc) from exc

    def turn_context(self, message: AssistantMessage) -> TurnContext:
        """The turn that has just ended."""
        return TurnContext(
            message=message,
            tool_results=self.ledger.turn_end(message).tool_results,
            context=self.context,
            new_messages=self.ledger.messages,
        )

    def apply(self, turn: NextTurn) -> None:
        """Change what the next turn is to change."""
        self.model = turn.model or self.model
        self.thinking_level = turn.thinking_level or self.thinking_level
        if turn.context is not None:
            self._set_context(turn.context)
        if turn.tools is not None:
            self._set_context(msgspec.structs.replace(self.context, tools=turn.tools))

    def replace_messages(self, messages: Iterable[AgentMessage]) -> None:
        """Go on with another history; what was said in this run stays said."""
        self._set_context(msgspec.structs.replace(self.context, messages=list(messages)))

    def _set_context(self, context: AgentContext) -> None:
        self.context = msgspec.structs.replace(context, messages=list(context.messages))
        self.tools: dict[str, AgentTool] = {}
        for tool in context.tools:
            self.tools.setdefault(tool.name, tool)
