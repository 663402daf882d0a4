"""When a request is made again, and how long that takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from agentcore_runner.core.assemble import Assembler
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import AssistantMessageEvent, Retry, Start, StreamOptions, TextStart
from agentcore_runner.providers.failures import failed
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
