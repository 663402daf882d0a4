"""Tool entries of the definition → live tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentcore_runner.core.tools import AgentTool, ToolExecutionMode
from agentcore_runner.definition.template import Template, evaluate
from agentcore_runner.definition.types import BuiltinToolSpec, CommandToolSpec, ToolSpec
from agentcore_runner.errors import ConfigError, ToolError
from agentcore_runner.providers.catalog import KEY_VARIABLES
from agentcore_runner.runtime.ground import Ground
from agentcore_runner.tools import BUILTINS
from agentcore_runner.tools.command import command_tool
from agentcore_runner.tools.options import ToolOptions

PASSED_ON = re.compile(r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TMPDIR|TERM")


def child_environment(env: Mapping[str, str], expose: tuple[str, ...]) -> dict[str, str]:
    """What a child process gets: a short list of harmless names and the exposed ones, never a key of a model
    service."""
    return {
        name: value
        for name, value in env.items()
        if (PASSED_ON.fullmatch(name) or name in expose) and name not in KEY_VARIABLES
    }


def build_tools(
    specs: tuple[BuiltinToolSpec | CommandToolSpec, ...],
    variables: Mapping[str, Any],
    ground: Ground,
    *,
    side_dir: Path,
    max_output: int,
) -> tuple[AgentTool, ...]:
    """The tools that are offered, in the file's order; those whose `when` is false are left out."""
    tools = []
    for spec in specs:
        if spec.when is not None and not evaluate(spec.when, variables):
            continue
        options = ToolOptions(
            name=spec.name,
            label=spec.label,
            description=spec.description,
            root=root_of(spec, ground.cwd),
            cwd=directory_of(spec, ground.cwd),
            env=ground.env,
            max_output=spec.max_output or max_output,
            side_dir=side_dir,
            timeout=spec.timeout,
            execution_mode=ToolExecutionMode(spec.execution_mode) if spec.execution_mode else None,
            children=ground.children,
        )
        tools.append(build(spec, options, variables))
    return tuple(tools)


def build(
    spec: BuiltinToolSpec | CommandToolSpec, options: ToolOptions, variables: Mapping[str, Any]
) -> AgentTool:
    """One live tool."""
    if isinstance(spec, BuiltinToolSpec):
        return BUILTINS[spec.builtin](options)
    return command_tool(
        options,
        parameters=spec.parameters,
        argv=lambda args: argv_of(spec.command, {**variables, "args": args}),
        stdin=stdin_of(spec.stdin, variables),
        env=spec.env,
        ok_exit_codes=spec.ok_exit_codes,
    )


def argv_of(items: tuple[Template, ...], variables: Mapping[str, Any]) -> list[str]:
    """The rendered argv. An item is one argument whatever it holds; one that would become an option although
    its template is none is refused."""
    argv = []
    for item in items:
        text = rendered(item, variables)
        if text.startswith("-") and not item.source.startswith("-"):
            raise ToolError(f"refused: the argument {text[:80]!r} would be read as an option")
        if "\0" in text:
            raise ToolError("refused: an argument holds a NUL character")
        argv.append(text)
    return argv


def stdin_of(
    template: Template | None, variables: Mapping[str, Any]
) -> Callable[[dict[str, Any]], str | None] | None:
    """A function from a call's arguments to what the command reads."""
    if template is None:
        return None
    return lambda args: rendered(template, {**variables, "args": args})


def rendered(template: Template, variables: Mapping[str, Any]) -> str:
    """The template's text; what it cannot do with these arguments is told to the model."""
    try:
        return template.render(variables)
    except ConfigError as exc:
        raise ToolError(str(exc)) from exc


def directory_of(spec: BuiltinToolSpec | CommandToolSpec, cwd: Path) -> Path:
    """What the tool's paths are relative to, and where its commands run: the working directory, or a `root`
    that this does not lie in."""
    if isinstance(spec, CommandToolSpec):
        return cwd / Path(spec.cwd).expanduser() if spec.cwd else cwd
    root = root_of(spec, cwd)
    return cwd if cwd.resolve().is_relative_to(root.resolve()) else root


def root_of(spec: ToolSpec, cwd: Path) -> Path:
    """The folder that file tools may not leave."""
    root = spec.root if isinstance(spec, BuiltinToolSpec) else None
    return cwd / Path(root).expanduser() if root else cwd
