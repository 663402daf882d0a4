"""`agentcore-run AGENT.yaml`: the flags of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

FILE = click.Path(path_type=Path)


def duration(text: str | float) -> float:
    """Seconds, from a number or a number with a unit; fails with what is wanted."""
    from agentcore_runner.definition.load import parse_duration
    from agentcore_runner.errors import ConfigError

    try:
        return parse_duration(text)
    except ConfigError as exc:
        raise click.BadParameter(str(exc)) from exc


def pair(text: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"expected NAME=VALUE, found {text!r}")
    return name, value


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several click options as one decorator, in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


prompt_options = options(
    click.option("--prompt", "prompts", multiple=True, metavar="TEXT",
                 help="A prompt ('-': standard input); the first replaces the file's, more follow up."),
    click.option("--prompt-file", "prompt_files", multiple=True, type=FILE, metavar="FILE",
                 help="A prompt from a file; repeatable."),
    click.option("-i", "--input", "inputs", multiple=True, type=pair, metavar="NAME=VALUE",
                 help="An input's value; NAME=@FILE reads a file, NAME=- standard input."),
    click.option("--input-text", "input_texts", multiple=True, type=pair, metavar="NAME=VALUE",
                 help="An input's value as it stands: '@' and '-' have no meaning."),
    click.option("--inputs-file", type=FILE, metavar="FILE", help="Inputs from a YAML or JSON map."),
    click.option("--attach", "attachments", multiple=True, type=FILE, metavar="FILE",
                 help="An image or text file for the first message; repeatable."),
    click.option("--input-format", type=click.Choice(["text", "jsonl"]), default="text", show_default=True,
                 help="What standard input holds: a text, or JSON lines that talk to the agent."),
    click.option("--stdin-timeout", type=duration, metavar="DURATION", default=3.0, show_default=False,
                 help="How long to wait for a prompt on standard input (default: 3s)."),
)  # fmt: skip
override_options = options(
    click.option("--profile", metavar="NAME", help="One of the profiles of the file."),
    click.option("--set", "settings", multiple=True, metavar="PATH=VALUE",
                 help="A value of the file, such as model.temperature=0; repeatable."),
    click.option("--model", metavar="PROVIDER/ID", help="The model instead of the file's."),
    click.option("--models-file", type=FILE, metavar="FILE", help="Your own models, prices and providers."),
    click.option("--thinking-level", metavar="LEVEL",
                 type=click.Choice(["off", "minimal", "low", "medium", "high", "xhigh", "max"]),
                 help="off, minimal, low, medium, high, xhigh or max."),
    click.option("--cwd", type=FILE, default=Path(), metavar="DIR",
                 help="The working directory of tools, commands and written files."),
    click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="Tighten limits.max_turns."),
    click.option("--max-tool-calls", type=click.IntRange(min=0), metavar="N",
                 help="Tighten limits.max_tool_calls."),
    click.option("--timeout", type=duration, metavar="DURATION", help="Tighten limits.timeout (say 5m)."),
    click.option("--raise-limits", is_flag=True, help="Let flags loosen limits that the file sets."),
)  # fmt: skip
output_options = options(
    click.option("--format", "form", type=click.Choice(["text", "json", "jsonl"]), default="text",
                 show_default=True, help="Standard output: the answer, the result object, or every record."),
    click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the result object."),
    click.option("--answer-file", type=FILE, metavar="FILE", help="Write the answer."),
    click.option("--transcript", metavar="FILE|DIR|none",
                 help="Where the record goes (default: .agentcore/runs/)."),
    click.option("--partial", is_flag=True, help="Record deltas and tool updates too."),
    click.option("--dry-run", is_flag=True, help="Print the first request instead of sending it."),
    click.option("-q", "--quiet", is_flag=True, help="No line per turn."),
    click.option("-v", "--verbose", is_flag=True, help="Also a line per tool call and retry."),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto",
                 show_default=True, help="Colour on standard error."),
    click.option("--progress", type=click.Choice(["auto", "plain", "none"]), default="auto",
                 show_default=True, help="How progress is shown."),
)  # fmt: skip


@click.command(
    "run",
    short_help="Run an agent file.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("agent", metavar="AGENT.yaml")
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@prompt_options
@override_options
@output_options
def command(**flags: Any) -> int:
    """Run AGENT.yaml: the answer goes to standard output, everything else to standard error.

    The PROMPT words join into one prompt, which replaces the file's.
    """
    from agentcore_runner.cli.launch import run_flags

    return run_flags(flags)
