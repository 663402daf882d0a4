"""One request and its answer: stream events become agent events, and always end in a message."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from agentcore_runner.core.assemble import Partial
from agentcore_runner.core.config import FitRequest, NextTurn, OtherModel
from agentcore_runner.core.events import MessageEndEvent, MessageStartEvent, MessageUpdateEvent
from agentcore_runner.core.grammar import without_content
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    Diagnostic,
    DiagnosticError,
    ErrorInfo,
    ErrorKind,
)
from agentcore_runner.core.patience import Patience, cancelled_from_outside, close_in_time
from agentcore_runner.core.run import Run
from agentcore_runner.core.stream import (
    AssistantMessageEvent,
    Done,
    Failed,
    LlmContext,
    Retry,
    Start,
    StreamOptions,
    ToolCallEnd,
    ToolCallStart,
)
from agentcore_runner.errors import ProviderError

STREAM_GRACE_S = 0.5
"""How long an aborted stream may take to end by itself, which lets it say what it used."""

ABORTED_TEXT = "Request was aborted"
CALL_STOP_REASONS = frozenset({"tool_calls", "tool_use", "toolUse", "function_call"})
_RARE = frozenset({Start, Retry, ToolCallStart, ToolCallEnd, Done, Failed})


async def stream_assistant_response(run: Run) -> AssistantMessage:
    """Ask the model once. The answer, which is in the transcript when this returns; a failure or an abort
    is an answer with that stop reason. A request that was too long is made again, once, if the context can be
    made to fit; one that failed for good is made to another model where the host has one. Raises only what
    hooks raise."""
    answer = await _answer(run)
    while (other := await _other_model(run, answer)) is not None:
        words = answer.error_message or "the model refused to answer"
        await _void(run, answer, f"{words}; {other.model.key} goes on")
        run.apply(NextTurn(model=other.model, thinking_level=other.thinking_level))
        answer = await _answer(run)
    answer = run.call_ids.settle(answer)
    if run.ledger.open_message is None:
        await run.say(MessageStartEvent(message=without_content(answer)))
    run.partial = None
    await run.say(MessageEndEvent(message=answer))
    return answer


async def _answer(run: Run) -> AssistantMessage:
    """The answer of the model at hand, from a context that fits it."""
    await _fit(run)
    answer = await _ask(run)
    if not _may_have_overflowed(answer):
        return answer
    if await _fit(run, answer):
        error = answer.error
        cut = "the answer was cut where the model's window ends"
        await _void(run, answer, error.message if error else cut, kind="overflow")
        return await _ask(run)
    return aborted(answer) if run.signal.aborted else answer


async def _other_model(run: Run, answer: AssistantMessage) -> OtherModel | None:
    """Who is asked in place of a model that has failed."""
    hook = run.config.fall_back
    if hook is None or run.signal.aborted or answer.stop_reason not in ("error", "refused"):
        return None
    other: OtherModel | None = await run.ask("fall_back", hook, answer)
    return other


async def _fit(run: Run, answer: AssistantMessage | None = None) -> bool:
    """Let the host fit the context to the model; whether it did anything."""
    hook = run.config.fit_context
    if hook is None or run.signal.aborted:
        return False
    request = FitRequest(
        context=run.context,
        model=run.model,
        stream_fn=run.config.stream_fn,
        thinking_level=run.thinking_level,
        signal=run.signal,
        deadline=run.config.deadline,
        answer=answer,
    )
    messages = await run.ask("fit_context", hook, request)
    if messages is not None:
        run.replace_messages(messages)
    return messages is not None


def _may_have_overflowed(answer: AssistantMessage) -> bool:
    return answer.stop_reason == "length" or (answer.error is not None and answer.error.kind == "overflow")


async def _void(run: Run, answer: AssistantMessage, reason: str, kind: ErrorKind | None = None) -> None:
    """Take back what came of a request that is made again."""
    error = answer.error
    if run.ledger.open_message is None:
        await run.say(MessageStartEvent(message=without_content(answer)))
    again = Retry(
        attempt=error.attempts if error else 1,
        delay_s=0.0,
        status=error.status if error else None,
        reason=reason,
        kind=kind or (error.kind if error else "refused"),
        request_id=error.request_id if error else None,
        usage=answer.usage if answer.usage.total_tokens else None,
        model=f"{answer.provider}/{answer.model}",
    )
    await run.say(MessageUpdateEvent(assistant_message_event=again))


async def _ask(run: Run) -> AssistantMessage:
    """The answer to a request with the context as it is."""
    run.partial = Partial(run.model, run.config.now())
    run.call_ids.begin()
    if not run.signal.aborted:
        context = await _llm_context(run)
        if not run.signal.aborted:  # the hooks take their time, and may abort
            return await _listen(run, context)
    return aborted(run.partial.message())


async def _llm_context(run: Run) -> LlmContext:
    messages: Sequence[AgentMessage] = run.context.messages
    if run.config.transform_context is not None:
        messages = await run.ask(
            "transform_context", run.config.transform_context, list(messages), run.signal
        )
    return LlmContext(
        system_prompt=run.context.system_prompt,
        messages=await run.ask("convert_to_llm", run.convert, messages),
        tools=run.context.tools,
    )


async def _listen(run: Run, context: LlmContext) -> AssistantMessage:
    """The answer to a request that is sent now."""
    partial = run.partial
    assert partial is not None
    options = StreamOptions(
        thinking_level=run.thinking_level, signal=run.signal, deadline=run.config.deadline
    )
    patience = Patience(run.signal, min(STREAM_GRACE_S, run.config.abort_grace_s))
    try:
        stream = run.config.stream_fn(run.model, context, options)
        try:
            last = await _consume(run, partial, stream, patience)
        finally:
            await _close(run, stream)
    except asyncio.CancelledError as exc:
        if not patience.was_mine():
            if cancelled_from_outside():
                raise
            return _raised(run, partial, exc)
        last = None
    except Exception as exc:
        return aborted(partial.message()) if run.signal.aborted else _raised(run, partial, exc)
    finally:
        patience.close()
    if run.signal.aborted:
        return aborted(last.message if last else partial.message())
    return _checked(last) if last else _broken_off(partial)


async def _consume(
    run: Run, partial: Partial, stream: AsyncIterator[AssistantMessageEvent], patience: Patience
) -> Done | Failed | None:
    """Pass the events on until the last one; None when there is none, or the abort came first.

    This runs once per event: no task, no timer, no scope, and no call that is not needed.
    """
    pull = stream.__aiter__().__anext__
    emit, signal, keep = run.emit, run.signal, partial.keep
    begun = False
    while True:
        patience.waiting = True
        try:
            event = await pull()
        except StopAsyncIteration:
            return None
        finally:
            patience.waiting = False
        kind = type(event)
        if kind is Done or kind is Failed:
            return event  # type: ignore[return-value]
        if signal.reason is not None:
            return None
        if kind in _RARE:
            event = _under_unique_id(run, event)
        if not begun:
            begun = True
            if run.ledger.open_message is None:
                await run.say(MessageStartEvent(message=partial.message()))
        if kind is Start:
            continue
        keep(event)
        try:
            waiting = emit(MessageUpdateEvent(assistant_message_event=event))
            if waiting is not None:
                await waiting
        except (Exception, asyncio.CancelledError) as exc:
            run.sink_failed(exc)


def _under_unique_id(run: Run, event: AssistantMessageEvent) -> AssistantMessageEvent:
    if isinstance(event, ToolCallStart):
        return run.call_ids.on_start(event)
    if isinstance(event, ToolCallEnd):
        return run.call_ids.on_end(event)
    run.call_ids.begin()
    return event


async def _close(run: Run, stream: Any) -> None:
    """Let the stream clean up, for a bounded time: one that was left in the middle may hold a connection."""
    try:
        await close_in_time(stream, run.config.abort_grace_s)
    except Exception as exc:
        run.report(exc, "stream_fn")


def aborted(message: AssistantMessage) -> AssistantMessage:
    """What had arrived when the abort came: one abort has one outcome, whatever the stream made of it."""
    return msgspec.structs.replace(message, stop_reason="aborted", error_message=ABORTED_TEXT, error=None)


def _broken_off(partial: Partial) -> AssistantMessage:
    text = "The model's stream broke off: it ended without its last event"
    return partial.message("error", ErrorInfo(kind="stream", message=text, retryable=True))


def _checked(last: Done | Failed) -> AssistantMessage:
    """The answer the stream ended with, corrected where it contradicts itself."""
    message = last.message
    if isinstance(last, Failed) and message.stop_reason not in ("error", "aborted"):
        return msgspec.structs.replace(message, stop_reason=last.reason)
    if (
        message.raw_stop_reason in CALL_STOP_REASONS
        and message.stop_reason == "done"
        and not message.tool_calls
    ):
        text = "The model stopped to call a tool, but sent no call"
        error = ErrorInfo(kind="stream", message=text, retryable=True)
        return msgspec.structs.replace(message, stop_reason="error", error_message=text, error=error)
    return message


def _raised(run: Run, partial: Partial, error: BaseException) -> AssistantMessage:
    """The answer of a stream that raised: a failure of the model's where it says so, else a defect."""
    if isinstance(error, ProviderError):
        return partial.message("error", error.info)
    run.report(error, "stream_fn")
    name = type(error).__name__
    text = f"The model's stream function raised {name}: {error}"
    what = DiagnosticError(name=name, message=str(error), stack="".join(traceback.format_exception(error)))
    note = Diagnostic(type="stream_fn_raised", timestamp=run.config.now(), error=what)
    answer = partial.message("error", ErrorInfo(kind="internal", message=text))
    return msgspec.structs.replace(answer, diagnostics=(note,))
