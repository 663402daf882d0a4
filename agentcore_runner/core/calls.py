"""The tool calls of one answer: prepared in order, run together or alone, answered in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from agentcore_runner.core import results
from agentcore_runner.core.events import ToolExecutionUpdateEvent
from agentcore_runner.core.grammar import start_of
from agentcore_runner.core.messages import AssistantMessage, ToolCall, Value
from agentcore_runner.core.one_call import (
    PreparedToolCall,
    execute_prepared_tool_call,
    finalize_executed_tool_call,
    prepare_tool_call,
)
from agentcore_runner.core.patience import after_abort, leave_behind
from agentcore_runner.core.run import Run
from agentcore_runner.core.tools import AgentToolResult, ToolExecutionMode


class Interrupted(Value, frozen=True, kw_only=True):
    """A tool raised what is meant for the whole process, such as KeyboardInterrupt."""

    error: BaseException


_Work: TypeAlias = "asyncio.Task[AgentToolResult | Interrupted]"


async def execute_tool_calls(run: Run, answer: AssistantMessage) -> bool:
    """Answer every call of the message with a result message; True when the model is to see the results,
    False when there are none or all of them ask the run to stop.

    A sequential tool is a barrier: the calls before it finish, it runs alone, the calls after it run
    together again. No call starts after an abort, and none runs in an answer that was cut, failed or
    aborted.
    """
    calls = answer.tool_calls
    refusal = results.not_run(answer.stop_reason)
    if refusal is None:
        for group in _between_barriers(run, calls):
            if not run.signal.aborted:
                await _execute_group(run, answer, group)
            await run.say_all(run.ledger.close_calls(group, results.ABORTED))
    else:
        await run.say_all(run.ledger.close_calls(calls, refusal))
    return not all(run.ledger.ended[call.id].result.terminate for call in calls)


def _between_barriers(run: Run, calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
    """The calls in groups that run together."""
    groups: list[list[ToolCall]] = []
    together = False
    for call in calls:
        tool = run.tools.get(call.name)
        mode = tool.execution_mode if tool else None
        alone = ToolExecutionMode.SEQUENTIAL in (run.config.tool_execution, mode)
        if together and not alone:
            groups[-1].append(call)
        else:
            groups.append([call])
        together = not alone
    return groups


async def _execute_group(run: Run, answer: AssistantMessage, calls: list[ToolCall]) -> None:
    """Start and prepare the calls one by one, then run together those that may run."""
    prepared: list[PreparedToolCall] = []
    for call in calls:
        if run.signal.aborted:
            return
        await run.say(start_of(call))
        outcome = await prepare_tool_call(run, answer, call)
        if isinstance(outcome, PreparedToolCall):
            prepared.append(outcome)
        else:
            await run.say(run.ledger.ending(call, outcome))
    if prepared and not run.signal.aborted:
        await _run_together(run, answer, prepared)


async def _run_together(run: Run, answer: AssistantMessage, calls: list[PreparedToolCall]) -> None:
    """Run the calls at once. Events come from here only, in the order things happen, so that a listener
    never sees two at a time. Calls that outlive an abort by the grace time are left behind."""
    inbox: asyncio.Queue[ToolExecutionUpdateEvent | _Work | None] = asyncio.Queue()
    working: dict[_Work, ToolCall] = {}
    for call in calls:
        task = asyncio.create_task(_work(run, answer, call, inbox.put_nowait))
        task.add_done_callback(inbox.put_nowait)
        working[task] = call.tool_call
    forget = after_abort(run.signal, run.config.abort_grace_s, lambda: inbox.put_nowait(None))
    try:
        while working:
            news = await inbox.get()
            if news is None:
                break
            if isinstance(news, asyncio.Task):
                await run.say(run.ledger.ending(working.pop(news), _result_of(news)))
            else:
                await run.say(news)
        for left in working.values():
            await run.say(run.ledger.ending(left, results.left_behind(left.name, run.config.abort_grace_s)))
    except BaseException as exc:
        await _stop(run, list(working), exc)
        raise
    finally:
        forget()
        for task, left in working.items():
            leave_behind(task, run.report, f"tool {left.name!r}")


async def _stop(run: Run, tasks: list[_Work], cause: BaseException) -> None:
    """The run itself is being torn down: give the tools the time to clean up."""
    run.signal.abort(type(cause).__name__)
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=run.config.abort_grace_s)


def _result_of(task: _Work) -> AgentToolResult:
    """What the task came to. Raises what the tool meant for the process."""
    if task.cancelled():
        return results.ABORTED
    outcome = task.result()
    if isinstance(outcome, Interrupted):
        raise outcome.error
    return outcome


async def _work(
    run: Run,
    answer: AssistantMessage,
    prepared: PreparedToolCall,
    post: Callable[[ToolExecutionUpdateEvent], None],
) -> AgentToolResult | Interrupted:
    """One call from its execution to its final result. Updates count until the tool is done."""
    call = prepared.tool_call
    running = True

    def on_update(partial: AgentToolResult) -> None:
        if running:
            post(
                ToolExecutionUpdateEvent(
                    tool_call_id=call.id,
                    tool_name=call.name,
                    args=call.arguments,
                    partial_result=partial,
                )
            )

    try:
        result = await execute_prepared_tool_call(run, prepared, on_update)
        running = False
        return await finalize_executed_tool_call(run, answer, prepared, result)
    except (KeyboardInterrupt, SystemExit) as exc:
        return Interrupted(error=exc)
    finally:
        running = False
