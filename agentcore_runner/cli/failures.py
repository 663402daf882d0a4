"""A failure before or outside a run: what is printed, and the exit code."""

from __future__ import annotations

import errno
import sys
import traceback
from pathlib import Path
from typing import Any

import click

from agentcore_runner.cli.early import EARLY, Interrupted
from agentcore_runner.errors import SIGNALS, ConfigError, ExitCode, RunnerError

READER_GONE = (errno.EPIPE, errno.EBADF)
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def report_failure(error: BaseException, args: list[str]) -> int:
    """Print what went wrong for people and, where a machine-readable result was asked for, a whole result;
    give back the exit code."""
    EARLY.leave_at_once()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print(error.format_message(), file=sys.stderr)
        return ExitCode.config_invalid
    code, reason = cause_of(error)
    if code is ExitCode.internal_error:
        traceback.print_exception(error)
    reading = bool(args) and args[0] in ("show", "schema")
    if not (reading and code is ExitCode.stdout_closed):
        print_reason(error, code, reason)
    if args and args[0] not in ("validate", "show", "schema"):
        write_result(code, reason, args[1:] if args[0] == "run" else args)
    return int(code)


def cause_of(error: BaseException) -> tuple[ExitCode, str]:
    """The exit code and one sentence."""
    match error:
        case Interrupted():
            return error.code, f"Interrupted by {error.name} before the run began."
        case click.Abort() if isinstance(error.__cause__, EOFError):
            # Click takes any EOFError for somebody who left a prompt; nothing here prompts.
            return ExitCode.internal_error, f"Internal error: {error.__cause__!r}"
        case KeyboardInterrupt() | click.Abort():
            return ExitCode.interrupted, "Interrupted by SIGINT before the run began."
        case SystemExit():
            # Click leaves so when the reader of a help text has gone.
            return ExitCode.stdout_closed, "Standard output was closed by its reader."
        case OSError() if error.errno in READER_GONE:
            return ExitCode.stdout_closed, "Standard output was closed by its reader."
        case OSError() if error.errno in DISK_FULL:
            return ExitCode.transcript_error, f"cannot write: {error.strerror}"
        case click.UsageError():
            return ExitCode.config_invalid, usage_message(error)
        case click.ClickException():
            return ExitCode.config_invalid, error.format_message()
        case RunnerError():
            return error.exit_code, str(error)
        case _:
            return ExitCode.internal_error, f"Internal error: {error!r}"


def usage_message(error: click.UsageError) -> str:
    """Click's message with where to read on."""
    path = error.ctx.command_path if error.ctx else "agentcore-run"
    return f"{error.format_message().rstrip('.')} (see {path} --help)"


def print_reason(error: BaseException, code: ExitCode, reason: str) -> None:
    """The problems of an agent file in full, anything else as one line."""
    if isinstance(error, ConfigError) and error.problems:
        from agentcore_runner.definition.problems import render_text

        print(render_text(error.problems).rstrip("\n"), file=sys.stderr)
        return
    name = "interrupted" if code in SIGNALS.values() else code.name
    print(f"agentcore-run: {name} ({int(code)}): {reason}", file=sys.stderr)


def write_result(code: ExitCode, reason: str, args: list[str]) -> None:
    """A whole result object where `--format json` or `-o` asked for one."""
    wanted = lenient(args)
    if not wanted.get("output") and wanted.get("form") != "json":
        return
    from agentcore_runner.cli.deliver import write_file
    from agentcore_runner.cli.printing import emit
    from agentcore_runner.report.result import not_started
    from agentcore_runner.transcript.lines import encode_line

    line = encode_line(not_started(code, reason))
    try:
        if wanted.get("form") == "json":
            emit(line.decode())
    except RunnerError as exc:
        print(f"agentcore-run: {exc}", file=sys.stderr)
    try:
        if wanted.get("output"):
            write_file(Path(wanted["output"]), line)
    except RunnerError as exc:
        print(f"agentcore-run: {exc}", file=sys.stderr)


def lenient(args: list[str]) -> dict[str, Any]:
    """What can be made out of the flags of a run, of which some may be wrong."""
    from agentcore_runner.cli.run import command

    try:
        context = command.make_context(
            "run", list(args), resilient_parsing=True, ignore_unknown_options=True, allow_extra_args=True
        )
    except click.ClickException:
        return {}
    return context.params
