"""Run an agent from Python: `run`, `run_async`, and `stream` for the events as they happen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcore_runner.core.events import AgentEvent
from agentcore_runner.definition.types import AgentDefinition
from agentcore_runner.report.result import RunResult
from agentcore_runner.runtime.control import Control
from agentcore_runner.runtime.execute import Execution
from agentcore_runner.runtime.options import RunOptions
from agentcore_runner.runtime.plan import prepare
from agentcore_runner.runtime.wiring import Listener

MOST_WAITING = 256
"""Events that may wait for the consumer before the run has to."""


def run(
    agent: str | Path | AgentDefinition,
    prompt: str | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    model: str | None = None,
    models_file: str | Path | None = None,
    profile: str | None = None,
    settings: Sequence[str] = (),
    thinking_level: str | None = None,
    cwd: str | Path = ".",
    limits: Mapping[str, float] | None = None,
    transcript: str | Path | None = None,
    on_event: Listener | None = None,
) -> RunResult:
    """Run an agent file, or a definition from `load_agent`, to its end and give back the result.

    A failed run is a result too: look at `result.status`. `prompt` replaces the file's own; `models_file`
    tells of models of your own; `profile` is one of the file's, `settings` are values for it such as
    `"model.temperature=0"`; `limits` may tighten those of the file (seconds and counts); `transcript`
    is a file, a folder or `"none"`. Raises ConfigError for a mistake in the file or the arguments,
    TranscriptError when no record can be kept. Not to be called inside a running event loop: there, await
    `run_async`."""
    return asyncio.run(
        run_async(
            agent,
            prompt,
            inputs=inputs,
            model=model,
            models_file=models_file,
            profile=profile,
            settings=settings,
            thinking_level=thinking_level,
            cwd=cwd,
            limits=limits,
            transcript=transcript,
            on_event=on_event,
        )
    )


async def run_async(
    agent: str | Path | AgentDefinition,
    prompt: str | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    model: str | None = None,
    models_file: str | Path | None = None,
    profile: str | None = None,
    settings: Sequence[str] = (),
    thinking_level: str | None = None,
    cwd: str | Path = ".",
    limits: Mapping[str, float] | None = None,
    transcript: str | Path | None = None,
    on_event: Listener | None = None,
    control: Control | None = None,
) -> RunResult:
    """`run` as a coroutine. `control.interrupt(reason)` stops it from outside, and so does cancelling."""
    control = control or Control()
    options = RunOptions(
        prompts=() if prompt is None else (prompt,),
        inputs=inputs or {},
        model=model,
        profile=profile,
        settings=tuple(settings),
        models_file=None if models_file is None else Path(models_file),
        thinking_level=thinking_level,
        cwd=Path(cwd),
        limits=limits or {},
        transcript=None if transcript is None else str(transcript),
    )
    source = agent if isinstance(agent, AgentDefinition) else str(agent)
    plan = await prepare(source, options, env=os.environ, control=control)
    listeners = () if on_event is None else (on_event,)
    try:
        execution = Execution(plan, control=control, listeners=listeners)
    except BaseException:
        await plan.aclose()
        raise
    return await execution.execute()


async def stream(
    agent: str | Path | AgentDefinition, prompt: str | None = None, **options: Any
) -> AsyncIterator[AgentEvent | RunResult]:
    """The run's events as they happen, then its result as the last item. Takes what `run_async` takes; a
    consumer that leaves early ends the run, whose record is closed all the same."""
    inbox: asyncio.Queue[AgentEvent | None] = asyncio.Queue(MOST_WAITING)
    control = Control()

    async def listen(event: AgentEvent) -> None:
        if not control.stop.aborted:
            await inbox.put(event)

    async def work() -> RunResult:
        try:
            return await run_async(agent, prompt, on_event=listen, control=control, **options)
        finally:
            if not control.stop.aborted:
                await inbox.put(None)

    task = asyncio.create_task(work())
    try:
        while (event := await inbox.get()) is not None:
            yield event
        yield await task
    finally:
        if not task.done():
            control.interrupt("the consumer of the events left")
            while not inbox.empty():
                inbox.get_nowait()
            await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # seen: whoever reads on gets it from `await task`
