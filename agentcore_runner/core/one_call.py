"""One tool call: prepared, executed, finalized."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from agentcore_runner.core import results
from agentcore_runner.core.arguments import validate_tool_arguments
from agentcore_runner.core.config import AfterToolCall, BeforeToolCall
from agentcore_runner.core.messages import AssistantMessage, ToolCall, Value
from agentcore_runner.core.patience import AbortIgnored, cancelled_from_outside
from agentcore_runner.core.run import HookError, Run
from agentcore_runner.core.tools import AgentTool, AgentToolResult, OnUpdate, text_result


class PreparedToolCall(Value, frozen=True, kw_only=True):
    """A call that may run: its tool is known, its `args` are valid and nobody objected."""

    tool_call: ToolCall
    tool: AgentTool
    args: dict[str, Any]


async def prepare_tool_call(
    run: Run, answer: AssistantMessage, call: ToolCall
) -> PreparedToolCall | AgentToolResult:
    """The call, ready to run, or the result that says why it will not."""
    tool = run.tools.get(call.name)
    if tool is None:
        return results.unknown_tool(call.name, run.tools)
    if call.raw_arguments is not None:
        return results.malformed(call)
    try:
        raw = call.arguments if tool.prepare_arguments is None else tool.prepare_arguments(call.arguments)
        args = validate_tool_arguments(tool, raw)
        if run.signal.aborted:  # nobody is asked about a call that will not run
            return results.ABORTED
        return await _unless_objected(run, answer, PreparedToolCall(tool_call=call, tool=tool, args=args))
    except HookError as exc:
        run.report(exc.error, exc.hook)
        return text_result(str(exc), is_error=True)
    except AbortIgnored:
        return results.ABORTED
    except Exception as exc:
        return results.failed(exc)


async def _unless_objected(
    run: Run, answer: AssistantMessage, prepared: PreparedToolCall
) -> PreparedToolCall | AgentToolResult:
    """Let the hook have its say. What it makes of the arguments is validated again."""
    if run.config.before_tool_call is None:
        return prepared
    question = BeforeToolCall(
        assistant_message=answer,
        tool_call=prepared.tool_call,
        args=prepared.args,
        context=run.context,
        signal=run.signal,
    )
    verdict = await run.ask("before_tool_call", run.config.before_tool_call, question)
    if verdict is not None and verdict.block:
        refusal = results.blocked(verdict.reason)
        return msgspec.structs.replace(refusal, terminate=verdict.terminate)
    if run.signal.aborted:
        return results.ABORTED
    changed = prepared.args if verdict is None or verdict.args is None else verdict.args
    return msgspec.structs.replace(prepared, args=validate_tool_arguments(prepared.tool, changed))


async def execute_prepared_tool_call(
    run: Run, prepared: PreparedToolCall, on_update: OnUpdate
) -> AgentToolResult:
    """The tool's result, or the error result made from what it raised."""
    if run.signal.aborted:
        return results.ABORTED
    tool, call = prepared.tool, prepared.tool_call
    try:
        result: Any = await tool.execute(call.id, prepared.args, run.signal, on_update, run.context)
    except asyncio.CancelledError as exc:
        if cancelled_from_outside():
            raise
        return results.failed(exc)
    except Exception as exc:
        return results.failed(exc)
    if not isinstance(result, AgentToolResult):
        wrong = TypeError(f"tool {tool.name!r} returned {type(result).__name__}, not an AgentToolResult")
        run.report(wrong, f"tool {tool.name!r}")
        return results.failed(wrong)
    return result


async def finalize_executed_tool_call(
    run: Run, answer: AssistantMessage, prepared: PreparedToolCall, result: AgentToolResult
) -> AgentToolResult:
    """The result after the hook: each field it gives replaces the result's. A hook that fails has not
    approved the result, so its error takes the result's place."""
    if run.config.after_tool_call is None:
        return result
    question = AfterToolCall(
        assistant_message=answer,
        tool_call=prepared.tool_call,
        args=prepared.args,
        context=run.context,
        signal=run.signal,
        result=result,
        is_error=result.is_error,
        duration_ms=run.ledger.running_ms(prepared.tool_call),
    )
    try:
        changes = await run.ask("after_tool_call", run.config.after_tool_call, question)
    except HookError as exc:
        run.report(exc.error, exc.hook)
        return text_result(str(exc), is_error=True)
    except AbortIgnored:
        return results.ABORTED
    if changes is None:
        return result
    given = {
        name: value for name in changes.__struct_fields__ if (value := getattr(changes, name)) is not None
    }
    return msgspec.structs.replace(result, **given)
