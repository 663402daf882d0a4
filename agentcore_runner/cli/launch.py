"""Options → a run with signals, progress and outputs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import traceback
from collections.abc import AsyncIterator, Mapping
from typing import Any

from agentcore_runner.cli.deliver import Delivery
from agentcore_runner.cli.early import EARLY, Interrupted
from agentcore_runner.cli.flags import options_from
from agentcore_runner.cli.intake import Intake
from agentcore_runner.cli.main import leave
from agentcore_runner.cli.printing import emit_json
from agentcore_runner.cli.signals import Stuck, handle_signals
from agentcore_runner.cli.stdin import Stdin
from agentcore_runner.cli.stdout import Stderr, Stdout
from agentcore_runner.errors import SIGNALS, ConfigError, RunnerError
from agentcore_runner.report.result import RunResult
from agentcore_runner.runtime.aside import aside
from agentcore_runner.runtime.control import Control
from agentcore_runner.runtime.dialogue import Line, Mistake
from agentcore_runner.runtime.execute import Execution
from agentcore_runner.runtime.options import RunOptions
from agentcore_runner.runtime.plan import Plan, prepare
from agentcore_runner.views.progress import Progress, final_line


def run_flags(flags: Mapping[str, Any]) -> int:
    """Run with these flags and give back the exit code."""
    stdin = Stdin(flags["stdin_timeout"])
    intake = Intake(stdin) if flags["input_format"] == "jsonl" else None
    options = options_from(flags, stdin, intake)
    EARLY.held = True  # until the event loop is there: then the run has handlers of its own
    return asyncio.run(execute(flags, options, stdin, intake))


async def execute(flags: Mapping[str, Any], options: RunOptions, stdin: Stdin, intake: Intake | None) -> int:
    """Prepare and run under signal handlers; the exit code."""
    control = Control()
    stuck = Stuck(control)
    handle_signals(control, stuck)
    try:
        plan = await prepared(flags["agent"], options, intake, control)
    except ConfigError:
        # A context command that a signal ended is no mistake of the author.
        leave_if_interrupted(control)
        raise
    progress = Progress.for_flags(
        flags,
        Stderr().line,
        {tool.name: tool.label for tool in plan.tools},
        terminal=sys.stderr.isatty(),
    )
    unread = stdin.unread_warning()
    for warning in [*([unread] if unread else []), *plan.warnings]:
        progress.warn(warning)
    if flags["dry_run"]:
        emit_json(await first_request(plan))
        return 0
    said = told(intake, progress) if intake is not None else None
    return await run_plan(flags, plan, control, progress, stuck, said)


async def prepared(agent: str, options: RunOptions, intake: Intake | None, control: Control) -> Plan:
    """The plan, when everything that can be read by now was read: a mistake in it is a ConfigError."""
    plan = await prepare(agent, options, env=os.environ, control=control)
    if intake is not None:
        try:
            await aside(intake.read_ahead, control.stop)
        except BaseException:
            await plan.aclose()
            raise
    return plan


async def told(intake: Intake, progress: Progress) -> AsyncIterator[Line]:
    """The commands from standard input; what is wrong with a line is also shown."""
    async for line in intake.commands():
        if isinstance(line, Mistake):
            progress.warn(line.message)
        yield line


def leave_if_interrupted(control: Control) -> None:
    """Raise Interrupted if a signal has come."""
    if control.stop.reason in SIGNALS:
        raise Interrupted(control.stop.reason)


async def run_plan(
    flags: Mapping[str, Any],
    plan: Plan,
    control: Control,
    progress: Progress,
    stuck: Stuck,
    said: AsyncIterator[Line] | None,
) -> int:
    """Run the plan, deliver, and say on standard error how it ended."""
    stdout = Stdout()
    delivery = Delivery(
        flags["form"],
        stdout,
        output=flags["output"],
        answer_file=flags["answer_file"],
        stop=control.stop,
    )

    def leave_now(result: RunResult) -> None:
        with contextlib.suppress(RunnerError):
            delivery.write_files(result)
        progress.finish(final_line(result, scripted=plan.scripted))
        leave(result.exit.code)

    try:
        run = Execution(
            plan,
            control=control,
            listeners=(progress.on_event,),
            lines=stdout.line if flags["form"] == "jsonl" else None,
            deliver=delivery,
            leave=leave_now,
            watchers=(progress.on_note,),
            said=said,
        )
    except BaseException:
        await plan.aclose()
        raise
    stuck.execution = run
    result = await run.execute()
    if run.fault is not None:
        traceback.print_exception(run.fault)
    progress.finish(final_line(result, scripted=plan.scripted))
    leave(result.exit.code)


async def first_request(plan: Plan) -> dict[str, Any]:
    """What would be sent first; nothing is."""
    from agentcore_runner.core.messages import UserMessage
    from agentcore_runner.core.signal import AbortSignal
    from agentcore_runner.core.stream import LlmContext, StreamOptions
    from agentcore_runner.runtime.clock import unix_ms

    context = LlmContext(
        system_prompt=plan.system_prompt,
        messages=[UserMessage(content=plan.prompt, timestamp=unix_ms())],
        tools=plan.tools,
    )
    options = StreamOptions(thinking_level=plan.thinking_level, signal=AbortSignal())
    request = plan.provider.preview(context, plan.models.choices[0].asked(options, plan.run))
    await plan.aclose()
    return request
