"""`agentcore-run validate`: every mistake of every file, in one pass."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from agentcore_runner.errors import ExitCode
from agentcore_runner.words import counted


@click.command("validate", short_help="Check agent files.")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT.yaml...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="How problems are printed.",
)
@click.option("--model", metavar="PROVIDER/ID", help="The model a run would be given.")
@click.option(
    "--models-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The models, prices and providers a run would be given.",
)
@click.option("--profile", metavar="NAME", help="The profile of a run; without it all are checked.")
@click.option("--set", "settings", multiple=True, metavar="PATH=VALUE", help="A value a run would be given.")
@click.option("--raise-limits", is_flag=True, help="Let --set loosen limits that the file sets.")
def command(agents: tuple[str, ...], form: str, **flags: Any) -> int:
    """Check AGENT.yaml files as a run would, without sending or spending anything.

    Exit code 0 when there is no error, 2 otherwise; warnings do not count. Problems go to standard error in
    text form, to standard output in the other forms.
    """
    problems = [problem for agent in agents for problem in problems_with(agent, **flags)]
    printed(problems, form, len(agents))
    failed = any(problem.severity == "error" for problem in problems)
    return ExitCode.config_invalid if failed else ExitCode.completed


def problems_with(
    agent: str,
    *,
    model: str | None,
    models_file: Path | None,
    profile: str | None,
    settings: tuple[str, ...],
    raise_limits: bool,
) -> Sequence[Any]:
    """The problems of an agent; where no profile is chosen, also the errors in each."""
    from agentcore_runner.definition.layers import Overrides
    from agentcore_runner.definition.problems import in_order
    from agentcore_runner.runtime.check import problems_of

    overrides = Overrides(profile=profile, settings=settings, raise_limits=raise_limits)
    loaded, found = problems_of(agent, model, os.environ, Path.cwd(), models_file, overrides)
    problems = list(found)
    for name in loaded.profiles if profile is None else ():
        chosen = Overrides(profile=name, settings=settings, raise_limits=raise_limits)
        others = problems_of(agent, model, os.environ, Path.cwd(), models_file, chosen)[1]
        problems += [problem for problem in others if problem.severity == "error"]
    return in_order(agent, problems)


def printed(problems: list[Any], form: str, agents: int) -> None:
    """Print the problems in the form asked for."""
    from agentcore_runner.cli.printing import emit, emit_json
    from agentcore_runner.definition import problems as forms

    match form:
        case "text":
            text = forms.render_text(problems, agents=agents) if problems else all_valid(agents)
            print(text.rstrip("\n"), file=sys.stderr)
        case "json":
            emit_json(forms.to_json(problems))
        case "sarif":
            emit_json(forms.to_sarif(problems))
        case _:
            emit(forms.to_github(problems))


def all_valid(agents: int) -> str:
    """What is said when nothing is wrong."""
    return f"{counted(agents, 'agent')} {'is' if agents == 1 else 'are'} valid."
