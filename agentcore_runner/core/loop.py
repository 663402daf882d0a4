"""The agent loop: ask the model, run the tools it calls, ask again, until there is nothing left to do.

    agent_start  (turn_start  delivered messages  the answer  its tool calls  turn_end)+  agent_end

Between turns the queues are polled: steering after every turn, follow-ups when the run would end.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentcore_runner.core.assemble import Partial
from agentcore_runner.core.calls import execute_tool_calls
from agentcore_runner.core.config import AgentLoopConfig, TurnContext
from agentcore_runner.core.events import AgentStartEvent, Sink, TurnStartEvent
from agentcore_runner.core.messages import AgentMessage, AssistantMessage, ErrorInfo
from agentcore_runner.core.patience import AbortIgnored
from agentcore_runner.core.queues import Drain, MessageQueue
from agentcore_runner.core.response import aborted, stream_assistant_response
from agentcore_runner.core.run import HookError, Run
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentContext


async def agent_loop(
    prompts: Sequence[AgentMessage],
    context: AgentContext,
    config: AgentLoopConfig,
    emit: Sink,
    signal: AbortSignal,
) -> list[AgentMessage]:
    """Run the prompts to their end; the messages that were added, prompts included.

    Does not raise what models, tools, hooks and sinks raise: a failure is an assistant message with stop
    reason `error`. A cancellation or KeyboardInterrupt is raised again after the run is closed.
    """
    run = Run(context, config, emit, signal)
    await run_loop(run, prompts)
    return run.ledger.messages


async def agent_loop_continue(
    context: AgentContext, config: AgentLoopConfig, emit: Sink, signal: AbortSignal
) -> list[AgentMessage]:
    """Go on from a context that ends with something to answer; the messages that were added. Raises
    ValueError when there is nothing to answer: no message, or an answer as the last one."""
    if not context.messages or isinstance(context.messages[-1], AssistantMessage):
        raise ValueError("nothing to answer: the last message must be a user message or a tool result")
    return await agent_loop((), context, config, emit, signal)


async def run_loop(run: Run, prompts: Sequence[AgentMessage], pending: Drain | None = None) -> bool:
    """Take a run from its first event to its last; True when it ended because nothing was left to do.
    `pending` is delivered at once; without it the steering queue is polled."""
    try:
        idle = await _turns(run, prompts, pending)
        await run.say(run.ledger.agent_end())
    except BaseException as exc:
        idle = await _break_off(run, exc)
    finally:
        for queue in (run.config.steering, run.config.follow_up):
            if queue is not None:
                queue.put_back()
    return idle and not run.signal.aborted


async def _turns(run: Run, prompts: Sequence[AgentMessage], pending: Drain | None) -> bool:
    await run.say(AgentStartEvent())
    await run.say(TurnStartEvent())
    for prompt in prompts:
        await run.say_message(prompt)
    pending = pending or _poll(run.config.steering)
    while True:
        await _deliver(run, pending)
        answer = await stream_assistant_response(run)
        more = await execute_tool_calls(run, answer)
        await run.say(run.ledger.turn_end(answer))
        turn = run.turn_context(answer)
        if answer.stop_reason in ("error", "aborted") or await _is_over(run, turn):
            return False
        pending = _poll(run.config.steering)
        if not more and not pending:
            pending = _poll(run.config.follow_up)
        if not more and not pending:
            return True
        if not await _prepare_next_turn(run, turn):
            return False
        pending = pending or _poll(run.config.steering)
        await run.say(TurnStartEvent())


def _poll(queue: MessageQueue | None) -> Drain | None:
    return queue.drain() if queue is not None else None


async def _deliver(run: Run, pending: Drain | None) -> None:
    """Put queued messages into the conversation, unless the run is aborted: then they stay queued."""
    while pending and not run.signal.aborted:
        await run.say_message(pending.deliver())  # what is started is always ended, so it cannot be lost


async def _is_over(run: Run, turn: TurnContext) -> bool:
    """Whether the run ends after this turn, whatever is left to do."""
    hook = run.config.should_stop_after_turn
    if hook is not None and not run.signal.aborted and await run.ask("should_stop_after_turn", hook, turn):
        return True
    return run.signal.aborted


async def _prepare_next_turn(run: Run, turn: TurnContext) -> bool:
    """Let the host change what the next turn gets; False when there must not be one."""
    hook = run.config.prepare_next_turn
    if hook is not None and (next_turn := await run.ask("prepare_next_turn", hook, turn)) is not None:
        if next_turn.stop:
            return False
        run.apply(next_turn)
    return not run.signal.aborted


async def _break_off(run: Run, cause: BaseException) -> bool:
    """Close everything that is open after something was raised; False, for the run is not idle. Raises what
    was meant for the process."""
    interrupt = None if isinstance(cause, Exception) else cause
    stopped = interrupt is not None or isinstance(cause, AbortIgnored)
    if interrupt is not None:
        run.signal.abort(type(interrupt).__name__)
    elif not stopped:
        _report(run, cause)
    last_word = _last_word(run, None if stopped else cause)
    run.partial = None
    for event in run.ledger.closing(last_word, needed=not stopped):
        try:
            await run.say(event)
        except BaseException as exc:  # a second Ctrl-C must not leave the record open either
            interrupt = interrupt or exc
    if interrupt is not None:
        raise interrupt
    return False


def _report(run: Run, cause: BaseException) -> None:
    if isinstance(cause, HookError):
        run.report(cause.error, cause.hook)
    else:
        run.report(cause, "loop")


def _last_word(run: Run, failure: BaseException | None) -> AssistantMessage:
    """The answer as far as it came, ended by the failure, or by an abort when there is none."""
    partial = run.partial or Partial(run.model, run.config.now())
    if failure is None:
        return run.call_ids.settle(aborted(partial.message()))
    text = str(failure) if isinstance(failure, HookError) else f"{type(failure).__name__}: {failure}"
    return run.call_ids.settle(partial.message("error", ErrorInfo(kind="internal", message=text)))
