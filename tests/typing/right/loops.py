"""The loop without an agent, and its parts."""

from collections.abc import Callable

from agentcore_runner.core import (
    AbortIgnored,
    AbortSignal,
    AgentContext,
    AgentEvent,
    AgentLoopConfig,
    AgentMessage,
    AgentTool,
    AgentToolResult,
    AssistantMessage,
    Drain,
    FitRequest,
    HookError,
    MessageQueue,
    Model,
    PreparedToolCall,
    Run,
    StreamFn,
    ToolCall,
    ToolExecutionEndEvent,
    ToolResultMessage,
    agent_loop,
    agent_loop_continue,
    create_tool_result_message,
    execute_prepared_tool_call,
    execute_tool_calls,
    finalize_executed_tool_call,
    prepare_tool_call,
    stream_assistant_response,
)


async def fit(request: FitRequest) -> list[AgentMessage] | None:
    return None if request.answer is None else request.context.messages[-2:]


async def two_runs(
    prompts: list[AgentMessage], model: Model, stream_fn: StreamFn, tool: AgentTool, now: Callable[[], int]
) -> list[AgentMessage]:
    heard: list[AgentEvent] = []
    queue = MessageQueue("steer")
    item = queue.add(prompts[0])
    config = AgentLoopConfig(model=model, stream_fn=stream_fn, now=now, steering=queue, fit_context=fit)
    context = AgentContext(system_prompt="Be brief.", messages=[], tools=(tool,))
    signal = AbortSignal()
    added = await agent_loop(prompts, context, config, heard.append, signal)
    again = AgentContext(messages=[*added, item.message])
    return added + await agent_loop_continue(again, config, heard.append, signal)


async def by_hand(run: Run, call: ToolCall) -> list[AgentToolResult]:
    answer: AssistantMessage = await stream_assistant_response(run)
    go_on: bool = await execute_tool_calls(run, answer)
    try:
        prepared = await prepare_tool_call(run, answer, call)
    except (AbortIgnored, HookError):
        return []
    if not isinstance(prepared, PreparedToolCall):
        return [prepared]
    result = await execute_prepared_tool_call(run, prepared, print)
    return [result, await finalize_executed_tool_call(run, answer, prepared, result)] if go_on else []


def put(ended: ToolExecutionEndEvent) -> ToolResultMessage:
    return create_tool_result_message(ended, timestamp=0)


def taken(queue: MessageQueue) -> list[AgentMessage]:
    drain: Drain = queue.drain()
    messages = [drain.deliver() for _ in range(len(drain))]
    queue.put_back()
    return messages
