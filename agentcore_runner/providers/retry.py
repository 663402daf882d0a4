"""Attempts become one stream of events: a request that fails is made again, within a policy's bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeAlias

import msgspec

from agentcore_runner.core.assemble import Assembler
from agentcore_runner.core.messages import ErrorInfo, StopReason, Usage
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import AssistantMessageEvent, Done, Failed, Retry, Start, StreamOptions
from agentcore_runner.providers.failures import RequestFailed
from agentcore_runner.providers.watch import Aborted, Watch


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """`tries` requests in all. Between them a random time from `min_delay` up to a bound that doubles with
    each failure and ends at `max_backoff`, or what the server asks for, if that is at most `max_delay`;
    all in seconds."""

    tries: int = 4
    min_delay: float = 0.5
    max_backoff: float = 8.0
    max_delay: float = 60.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt that worked came to, beside its events."""

    stop_reason: StopReason
    usage: Usage = Usage()
    raw_stop_reason: str | None = None
    response_model: str | None = None
    response_id: str | None = None


Attempt: TypeAlias = AsyncGenerator[list[AssistantMessageEvent] | Outcome, None]
"""One request: batches of events, then its outcome. It raises `RequestFailed` or `Aborted`."""


async def stream_with_retries(
    begin: Callable[[], Attempt],
    *,
    assembler: Assembler,
    options: StreamOptions,
    policy: RetryPolicy,
    now_s: Callable[[], float],
) -> AsyncGenerator[AssistantMessageEvent, None]:
    """`start`, the events of the attempts with a `retry` between them, then exactly one `done` or `error`.
    What else an attempt raises is a defect of ours, and the core's to report: it is passed on."""
    yield Start()
    number = 0
    while True:
        number += 1
        try:
            async with aclosing(begin()) as attempt:
                async for batch in attempt:
                    if isinstance(batch, Outcome):
                        yield _done(assembler, batch)
                        return
                    for event in batch:
                        if options.signal.reason is not None:
                            raise Aborted
                        assembler.feed(event)
                        yield event
            raise AssertionError("an attempt ended without an outcome")
        except Aborted:
            break
        except RequestFailed as exc:
            failure = exc
        delay = _next_delay(failure, number, options, policy)
        if isinstance(delay, _End):
            error = _final(failure, number, delay, now_s())
            message = assembler.message("error", error=error, usage=failure.usage)
            yield Failed(reason="error", message=message)
            return
        info = failure.info
        retry = Retry(
            attempt=number,
            delay_s=delay,
            status=info.status,
            reason=info.message,
            kind=info.kind,
            request_id=info.request_id,
            usage=failure.usage,
        )
        assembler.feed(retry)
        yield retry
        if not await _slept(delay, options.signal):
            break
    yield Failed(reason="aborted", message=assembler.message("aborted"))


class _End(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no other attempt, as a clause for the message; `wait` is the time that would have been too
    long, in seconds."""

    clause: str = ""
    wait: float | None = None


def _done(assembler: Assembler, outcome: Outcome) -> Done:
    message = assembler.message(
        outcome.stop_reason,
        usage=outcome.usage,
        raw_stop_reason=outcome.raw_stop_reason,
        response_model=outcome.response_model,
        response_id=outcome.response_id,
    )
    return Done(reason=outcome.stop_reason, message=message)


def _next_delay(
    failure: RequestFailed, number: int, options: StreamOptions, policy: RetryPolicy
) -> float | _End:
    """Seconds until the next attempt, or why there is none."""
    if not failure.again:
        return _End()
    if number >= policy.tries:
        return _End(clause=f"; gave up after {number} tries" if number > 1 else "")
    delay = failure.wait
    if delay is None:
        import random

        delay = random.uniform(policy.min_delay, min(policy.max_backoff, policy.min_delay * 2.0**number))
    elif delay > policy.max_delay:
        clause = f"; the server asks to wait {delay:.0f} s, at most {policy.max_delay:.0f} s are allowed"
        return _End(clause=clause, wait=delay)
    if options.deadline is not None and asyncio.get_running_loop().time() + delay > options.deadline:
        clause = f"; waiting {delay:.1f} s for the next try would pass the time limit"
        return _End(clause=clause, wait=delay)
    return delay


def _final(failure: RequestFailed, number: int, end: _End, now_s: float) -> ErrorInfo:
    """What the run ends with. Where it is the wait that ends it, whatever made it necessary, that is a rate
    limit; what it was otherwise becomes the code."""
    info = failure.info
    kind = info.kind if end.wait is None else "rate_limit"
    code = info.code if kind == info.kind else info.kind
    wait = failure.wait if end.wait is None else end.wait
    reset_at = info.reset_at
    if reset_at is None and kind == "rate_limit" and wait is not None:
        reset_at = now_s + wait
    return msgspec.structs.replace(
        info, kind=kind, code=code, message=info.message + end.clause, attempts=number, reset_at=reset_at
    )


async def _slept(seconds: float, signal: AbortSignal) -> bool:
    """Sleep; False when the signal was set first."""
    watch = Watch(signal)
    try:
        with watch:
            await asyncio.sleep(seconds)
    except Aborted:
        return False
    finally:
        watch.close()
    return True
