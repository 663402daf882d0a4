"""`agentcore-run`: finds the command, and gives every failure its exit code."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

COMMANDS = {
    "run": "Run an agent file (the word `run` may be left out).",
    "validate": "Check agent files; nothing is sent, nothing is spent.",
    "show": "Read a transcript.",
    "schema": "Print a JSON Schema: agent, events or result.",
}
EPILOG = """\b
Example:
  agentcore-run agents/reviewer.yaml -i base_ref=origin/main -o result.json

\b
Exit codes:
    0 completed          6 auth_failed         12 permission_blocked *
    1 gate_failed *      7 output_invalid      13 replay_mismatch *
    2 config_invalid     8 truncated           14 transcript_error
    3 limit_reached      9 refused             70 internal_error
    4 provider_error    10 context_overflow   129, 130, 143 interrupted
    5 rate_limited      11 tool_unavailable * 141 stdout_closed
  * kept for a later version
"""


class Commands(click.Group):
    """Imports a command when it is called; a first word that is no command is an agent file to run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"agentcore_runner.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version"):
            refuse_misspelt_command(args[0], ctx)
            args = ["run", *args]
        return super().parse_args(ctx, args)


def refuse_misspelt_command(word: str, ctx: click.Context) -> None:
    """A first word that is neither a command nor a file, but nearly a command, is a slip."""
    if "." in word or word.startswith("-") or os.path.exists(word):
        return
    from agentcore_runner.words import did_you_mean

    hint = did_you_mean(word, COMMANDS)
    if hint:
        raise click.UsageError(f"there is no file or command {word!r}{hint}", ctx)


@click.command(
    cls=Commands,
    epilog=EPILOG,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    options_metavar="",
    subcommand_metavar="AGENT.yaml [PROMPT]... | COMMAND [ARGS]...",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, help="Show the version.",
              callback=lambda ctx, _, wanted: show_version(ctx) if wanted else None)  # fmt: skip
def cli() -> None:
    """Run an LLM agent that a YAML file defines, and write a transcript of every event.

    Flags of a run: agentcore-run run --help
    """


def show_version(ctx: click.Context) -> NoReturn:
    """Print the version and leave."""
    from agentcore_runner import __version__

    click.echo(f"agentcore-run {__version__}")
    ctx.exit(0)


def main(argv: list[str] | None = None) -> NoReturn:
    """The entry point; leaves the process with one of the documented exit codes."""
    args = sys.argv[1:] if argv is None else argv
    occupy_standard_streams()
    leave(run_command(args))


def occupy_standard_streams() -> None:
    """Put something in the place of a standard stream that whoever started us has closed, before any other
    file gets its number. What stands in for standard output cannot be written to: its loss is to be seen."""
    for fd, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, mode)
        if getattr(sys, name) is None:
            setattr(sys, name, open(fd, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def run_command(args: list[str]) -> int:
    """Run the command line and give back the exit code."""
    from agentcore_runner.cli.early import EARLY

    EARLY.catch()
    from agentcore_runner.cli.failures import report_failure

    try:
        code: Any = cli.main(args=args, prog_name="agentcore-run", standalone_mode=False)
        return int(code or 0)
    except click.exceptions.Exit as exc:
        return exc.exit_code
    except BaseException as exc:
        return report_failure(exc, args)


def leave(code: int) -> NoReturn:
    """Flush and go at once: neither an open socket nor a thread that hangs may keep the process."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as exc:
            if stream is sys.stdout and not code:
                from agentcore_runner.cli.stdout import failure

                code = failure(exc).exit_code
    os._exit(code)
