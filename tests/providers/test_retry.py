"""When a request is made again, and how long that takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import msgspec
import pytest

from agentcore_runner.core.assemble import Assembler
from agentcore_runner.core.messages import ErrorInfo, ErrorKind, Usage
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import (
    AssistantMessageEvent,
    Failed,
    Retry,
    Start,
    StreamOptions,
    TextStart,
)
from agentcore_runner.providers.failures import RequestFailed, failed
from agentcore_runner.providers.retry import Attempt, Outcome, RetryPolicy, stream_with_retries
from agentcore_runner.providers.watch import Silent, Watch

USUAL = RetryPolicy()


def streamed(
    begin: Callable[[], Attempt], policy: RetryPolicy = USUAL
) -> AsyncGenerator[AssistantMessageEvent, None]:
    return stream_with_retries(
        begin,
        assembler=Assembler("a", "p", "m", 0),
        options=StreamOptions(signal=AbortSignal()),
        policy=policy,
        now_s=lambda: 0.0,
    )


def delays(failures: int, policy: RetryPolicy) -> list[float]:
    """The delays of a stream whose first attempts fail, without waiting for them."""
    left = failures

    async def begin() -> Attempt:
        nonlocal left
        left -= 1
        if left >= 0:
            raise failed("server", "busy")
        yield Outcome(stop_reason="done")

    async def run() -> list[AssistantMessageEvent]:
        return [event async for event in streamed(begin, policy)]

    return [event.delay_s for event in asyncio.run(run()) if isinstance(event, Retry)]


def test_delays_grow_up_to_a_bound_and_are_spread() -> None:
    policy = RetryPolicy(tries=6, min_delay=0.0005, max_backoff=0.008)
    bounds = [0.001, 0.002, 0.004, 0.008, 0.008]

    runs = [delays(5, policy) for _ in range(20)]

    assert all(0.0005 <= delay <= bound for run in runs for delay, bound in zip(run, bounds, strict=True))
    assert len({run[4] for run in runs}) > 1


def test_usual_policy_is_that_of_the_contract() -> None:
    assert (USUAL.tries, USUAL.min_delay, USUAL.max_backoff, USUAL.max_delay) == (4, 0.5, 8.0, 60.0)


def test_attempt_that_works_is_made_once() -> None:
    assert delays(0, USUAL) == []


# The watch


def test_silence_ends_a_wait_and_what_is_heard_puts_it_off() -> None:
    async def run() -> float:
        watch = Watch(AbortSignal(), 0.1)
        loop = asyncio.get_running_loop()
        started = loop.time()
        for _ in range(4):
            with watch:
                await asyncio.sleep(0.05)
            watch.heard()
        with pytest.raises(Silent), watch:
            await asyncio.sleep(60)
        watch.close()
        return loop.time() - started

    assert 0.25 <= asyncio.run(run()) < 5


def test_cancellation_from_outside_passes_through() -> None:
    async def wait() -> None:
        watch = Watch(AbortSignal(), 60)
        try:
            with watch:
                await asyncio.sleep(60)
        finally:
            watch.close()

    async def run() -> bool:
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(run())


def test_stream_that_is_left_early_ends_its_attempt() -> None:
    ended = False

    async def begin() -> Attempt:
        nonlocal ended
        try:
            yield [TextStart(content_index=0)]
            yield Outcome(stop_reason="done")
        finally:
            ended = True

    async def run() -> None:
        events = streamed(begin)
        assert [await anext(events), await anext(events)] == [Start(), TextStart(content_index=0)]
        await events.aclose()

    asyncio.run(run())

    assert ended


def test_defect_in_an_attempt_is_passed_on_to_be_reported() -> None:
    async def begin() -> Attempt:
        raise ZeroDivisionError("oh")
        yield

    async def run() -> list[AssistantMessageEvent]:
        return [event async for event in streamed(begin)]

    with pytest.raises(ZeroDivisionError, match="oh"):
        asyncio.run(run())


# What a failure says of itself


def failing(failure: RequestFailed, *, deadline: float | None = None) -> list[AssistantMessageEvent]:
    """The events of a stream whose attempts all fail so."""

    async def begin() -> Attempt:
        raise failure
        yield

    async def run() -> list[AssistantMessageEvent]:
        events = stream_with_retries(
            begin,
            assembler=Assembler("a", "p", "m", 0),
            options=StreamOptions(
                signal=AbortSignal(),
                deadline=None if deadline is None else asyncio.get_running_loop().time() + deadline,
            ),
            policy=RetryPolicy(tries=2, min_delay=0.001, max_backoff=0.001),
            now_s=lambda: 100.0,
        )
        return [event async for event in events]

    return asyncio.run(run())


def error_of(events: list[AssistantMessageEvent]) -> ErrorInfo:
    last = events[-1]
    assert isinstance(last, Failed)
    assert last.message.error is not None
    return last.message.error


@pytest.mark.parametrize("kind", ["server", "connection", "timeout", "stream"])
def test_wait_that_is_too_long_is_a_rate_limit_that_keeps_its_cause(kind: ErrorKind) -> None:
    failure = failed(kind, "busy")
    failure.wait = 300.0

    error = error_of(failing(failure))

    assert (error.kind, error.code, error.reset_at) == ("rate_limit", kind, 400.0)


def test_wait_beyond_the_deadline_keeps_its_cause() -> None:
    failure = failed("server", "busy")
    failure.wait = 30.0

    error = error_of(failing(failure, deadline=10.0))

    assert (error.kind, error.code) == ("rate_limit", "server")


def test_rate_limit_keeps_the_words_of_the_service() -> None:
    failure = failed("rate_limit", "slow down")
    failure.wait = 300.0
    failure.info = msgspec.structs.replace(failure.info, code="rate_limit_exceeded")

    error = error_of(failing(failure))

    assert (error.kind, error.code) == ("rate_limit", "rate_limit_exceeded")


def test_what_a_failed_attempt_used_is_told() -> None:
    failure = failed("stream", "broken")
    failure.usage = Usage(input=7, output=1)

    events = failing(failure)

    assert [event.usage for event in events if isinstance(event, Retry)] == [failure.usage]
    assert isinstance(events[-1], Failed)
    assert events[-1].message.usage == failure.usage
