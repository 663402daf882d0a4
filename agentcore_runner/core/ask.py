"""One request beside the conversation: a question, and the answer as a whole."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from agentcore_runner.core.assemble import Partial
from agentcore_runner.core.messages import AssistantMessage, ErrorInfo, TextContent, UserMessage
from agentcore_runner.core.model import Model
from agentcore_runner.core.patience import AbortIgnored, Patience, close_in_time
from agentcore_runner.core.stream import (
    AssistantMessageEvent,
    Done,
    Failed,
    LlmContext,
    Retry,
    StreamFn,
    StreamOptions,
)
from agentcore_runner.errors import ProviderError

ABORT_GRACE_S = 0.5


async def ask(
    model: Model,
    stream_fn: StreamFn,
    system_prompt: str,
    text: str,
    options: StreamOptions,
    *,
    now: Callable[[], int],
    on_retry: Callable[[Retry], Awaitable[None]],
) -> AssistantMessage:
    """The answer to one text, without tools. A failure or an abort, and whatever the stream raises, is an
    answer with that stop reason. `now` gives Unix milliseconds."""
    partial = Partial(model, now())
    user = UserMessage(content=(TextContent(text=text),), timestamp=now())
    context = LlmContext(system_prompt=system_prompt, messages=[user])
    patience = Patience(options.signal, ABORT_GRACE_S)
    stream = stream_fn(model, context, options)
    try:
        last = await patience.wait(_last(stream, partial, on_retry))
        # One abort has one outcome, whatever the stream made of it.
        return msgspec.structs.replace(last, stop_reason="aborted") if options.signal.aborted else last
    except AbortIgnored:
        return partial.message("aborted")
    except ProviderError as exc:
        return partial.message("error", exc.info)
    except Exception as exc:
        text = f"the model's stream function raised {type(exc).__name__}: {exc}"
        return partial.message("error", ErrorInfo(kind="internal", message=text))
    finally:
        with contextlib.suppress(Exception):  # the answer is here: what its stream leaves behind is its own
            await close_in_time(stream, ABORT_GRACE_S)


async def _last(
    stream: AsyncIterator[AssistantMessageEvent],
    partial: Partial,
    on_retry: Callable[[Retry], Awaitable[None]],
) -> AssistantMessage:
    async for event in stream:
        if isinstance(event, Done):
            return event.message
        if isinstance(event, Failed):
            return msgspec.structs.replace(event.message, stop_reason=event.reason)
        if isinstance(event, Retry):
            await on_retry(event)
        partial.keep(event)
    text = "The model's stream broke off: it ended without its last event"
    return partial.message("error", ErrorInfo(kind="stream", message=text, retryable=True))
