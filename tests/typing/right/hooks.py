"""Hooks: each as a plain and as an async function."""

from collections.abc import Callable, Sequence

import msgspec

from agentcore_runner.core import (
    AbortSignal,
    AfterHook,
    AfterToolCall,
    AfterToolCallResult,
    Agent,
    AgentMessage,
    BeforeHook,
    BeforeToolCall,
    BeforeToolCallResult,
    ConvertToLlm,
    Message,
    Model,
    NextTurn,
    OnError,
    PrepareNextTurn,
    ShouldStop,
    StreamFn,
    TextContent,
    ThinkingLevel,
    TransformContext,
    TurnContext,
    convert_to_llm,
)


def before(call: BeforeToolCall) -> BeforeToolCallResult | None:
    if call.tool_call.name == "rm":
        return BeforeToolCallResult(block=True, reason="Not here.", terminate=True)
    if call.signal.aborted or not call.context.messages:
        return None
    return BeforeToolCallResult(args={**call.args, "path": "."})


async def before_async(call: BeforeToolCall) -> BeforeToolCallResult | None:
    return before(call)


def after(call: AfterToolCall) -> AfterToolCallResult | None:
    if call.is_error or call.duration_ms < 1000:
        return None
    note = TextContent(text="That took long.")
    return AfterToolCallResult(content=(*call.result.content, note), is_error=False)


async def after_async(call: AfterToolCall) -> AfterToolCallResult:
    return AfterToolCallResult(details={"model": call.assistant_message.model}, terminate=True)


def stop(turn: TurnContext) -> bool:
    return len(turn.new_messages) > 100 or any(result.is_error for result in turn.tool_results)


async def stop_async(turn: TurnContext) -> bool:
    return turn.message.stop_reason == "length"


def next_turn(turn: TurnContext) -> NextTurn | None:
    if not turn.tool_results:
        return NextTurn(stop=True)
    quiet = msgspec.structs.replace(turn.context, system_prompt="")
    return NextTurn(thinking_level=ThinkingLevel.LOW, tools=turn.context.tools, context=quiet)


async def next_turn_async(turn: TurnContext) -> NextTurn:
    return NextTurn(model=Model(id="b", name="B", api="a", provider="p"))


def transform(messages: list[AgentMessage], signal: AbortSignal) -> list[AgentMessage]:
    return messages[-10:]


async def transform_async(messages: list[AgentMessage], signal: AbortSignal) -> Sequence[AgentMessage]:
    return tuple(messages)


def convert(messages: Sequence[AgentMessage]) -> list[Message]:
    return convert_to_llm(messages)


async def convert_async(messages: Sequence[AgentMessage]) -> list[Message]:
    return convert_to_llm(messages[1:])


def report(error: BaseException, where: str) -> None:
    print(where, error)


BEFORE: tuple[BeforeHook, ...] = (before, before_async, lambda call: None)
AFTER: tuple[AfterHook, ...] = (after, after_async)
STOP: tuple[ShouldStop, ...] = (stop, stop_async)
NEXT: tuple[PrepareNextTurn, ...] = (next_turn, next_turn_async)
TRANSFORM: tuple[TransformContext, ...] = (transform, transform_async)
CONVERT: tuple[ConvertToLlm, ...] = (convert, convert_async)
REPORT: OnError = report


def build(model: Model, stream_fn: StreamFn, now: Callable[[], int]) -> list[Agent]:
    plain = Agent(
        model=model,
        stream_fn=stream_fn,
        now=now,
        before_tool_call=before,
        after_tool_call=after,
        should_stop_after_turn=stop,
        prepare_next_turn=next_turn,
        transform_context=transform,
        convert_to_llm=convert,
        on_error=report,
    )
    waiting = Agent(
        model=model,
        stream_fn=stream_fn,
        now=now,
        before_tool_call=before_async,
        after_tool_call=after_async,
        should_stop_after_turn=stop_async,
        prepare_next_turn=next_turn_async,
        transform_context=transform_async,
        convert_to_llm=convert_async,
    )
    waiting.before_tool_call = None
    waiting.should_stop_after_turn = stop
    return [plain, waiting]
