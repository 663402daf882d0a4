"""Runs a program for a tool and tells the model what came of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence

from agentcore_runner.core.tools import AgentToolResult, OnUpdate, text_result
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.output import Collector, collector
from agentcore_runner.tools.process import Exit
from agentcore_runner.tools.tool import Call

DEFAULT_TIMEOUT_S = 120.0
UPDATE_PERIOD_S = 0.1
UPDATE_BYTES = 4096


async def run_program(
    options: ToolOptions,
    call: Call,
    argv: Sequence[str],
    *,
    timeout: float,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    ok_exit_codes: Sequence[int] = (0,),
) -> AgentToolResult:
    """The program's output, then a status line where it did not end with 0. It is an error unless the exit
    code is one of `ok_exit_codes`; a program that cannot be started raises ToolError."""
    output = collector(options, call.id)
    updates = Updates(output, call.on_update)

    def take(data: bytes) -> None:
        output.feed(data)
        updates.due()

    try:
        done = await options.children.run(
            argv,
            cwd=options.cwd,
            env={**options.env, **(env or {})},
            stdin=stdin,
            timeout=timeout,
            signal=call.signal,
            on_output=take,
        )
    except BaseException:
        output.finish()
        raise
    finally:
        updates.close()
    result = output.finish(status=status_line(done, timeout), empty="(no output)")
    details = {**result.details, "exit_code": done.code, "timed_out": done.timed_out, "aborted": done.aborted}
    failed = done.timed_out or done.aborted or done.code not in ok_exit_codes
    return text_result(result.text, details, is_error=failed)


def status_line(done: Exit, timeout: float) -> str:
    """How the program ended, in words; nothing for the usual way."""
    if done.aborted:
        return "aborted"
    if done.timed_out:
        return f"timed out after {timeout:g} second" + ("" if timeout == 1 else "s")
    return f"exit code {done.code}" if done.code else ""


def installed(env: Mapping[str, str], *names: str) -> str | None:
    """The first of these programs that lies on PATH, as an absolute path."""
    for name in names:
        for folder in env.get("PATH", os.defpath).split(os.pathsep):
            path = os.path.join(folder, name)
            # An empty or relative folder would be looked up where the agent works.
            if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


class Updates:
    """Shows the end of the output while it grows: some time after it changed, never more often."""

    def __init__(self, output: Collector, on_update: OnUpdate) -> None:
        self._output = output
        self._on_update = on_update
        self._timer: asyncio.TimerHandle | None = None

    def due(self) -> None:
        """There is something new to show."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UPDATE_PERIOD_S, self._show)

    def close(self) -> None:
        """Show nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _show(self) -> None:
        self._timer = None
        self._on_update(
            text_result(self._output.tail(UPDATE_BYTES), {"total_bytes": self._output.total_bytes})
        )
