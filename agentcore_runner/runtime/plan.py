"""Everything up to the first request: resolved, rendered, checked, with nothing sent yet."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.core.messages import TextContent, UserContent
from agentcore_runner.core.model import ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentTool
from agentcore_runner.definition.types import AgentDefinition, Limits
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.catalog import Provider
from agentcore_runner.runtime.aside import aside
from agentcore_runner.runtime.check import require_valid
from agentcore_runner.runtime.clock import file_stamp, stopwatch
from agentcore_runner.runtime.control import Control
from agentcore_runner.runtime.gather import attachment, gather_context, template_variables
from agentcore_runner.runtime.git import git_state
from agentcore_runner.runtime.ground import Ground
from agentcore_runner.runtime.inputs import resolve_inputs
from agentcore_runner.runtime.limits import effective_limits
from agentcore_runner.runtime.model import Models, open_models
from agentcore_runner.runtime.options import RunOptions
from agentcore_runner.runtime.toolbox import build_tools, child_environment
from agentcore_runner.tools.process import Children


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is ready to start. `clock` gives the seconds since its preparation began; `prompt` is the
    first user message's content; `git` is the state of the agent file's repository. `models` has
    the model that answers first, first."""

    run: str
    clock: Callable[[], float]
    definition: AgentDefinition
    git: dict[str, Any] | None
    warnings: list[str]
    options: RunOptions
    cwd: Path
    inputs: dict[str, Any]
    models: Models
    system_prompt: str
    prompt: tuple[UserContent, ...]
    follow_ups: tuple[str, ...]
    tools: tuple[AgentTool, ...]
    children: Children
    limits: Limits
    transcript: Path | None

    @property
    def shown_transcript(self) -> str | None:
        """The transcript's path as a person at the working directory would write it."""
        if self.transcript is None:
            return None
        inside = self.transcript.is_relative_to(Path.cwd())
        return str(self.transcript.relative_to(Path.cwd()) if inside else self.transcript)

    @property
    def provider(self) -> Provider:
        """The model that answers."""
        return self.models.choices[0].provider

    @property
    def thinking_level(self) -> ThinkingLevel:
        """How much it thinks."""
        return self.models.choices[0].level

    @property
    def scripted(self) -> bool:
        """Whether no model is asked at all."""
        return all(provider.scripted for provider in self.models.providers)

    @property
    def parts(self) -> tuple[Children | Provider, ...]:
        """What must be closed, in this order."""
        return (self.children, *self.models.providers)

    async def aclose(self) -> None:
        """Let go of what the plan holds, if it was never run."""
        for part in self.parts:
            await part.aclose()


async def prepare(
    agent: str | AgentDefinition,
    options: RunOptions,
    *,
    env: Mapping[str, str],
    control: Control,
) -> Plan:
    """A plan, or ConfigError with everything that is wrong. What takes time, such as context commands and
    standard input, ends when `control` says so, and when the run's time is over."""
    clock = stopwatch()
    cwd = options.cwd.absolute()
    if not cwd.is_dir():
        raise ConfigError(f"working directory {options.cwd} is not a directory (see --cwd)")
    definition, warnings = definition_of(agent, options, env, cwd)
    limits = effective_limits(definition, options)
    inputs = await aside(lambda: resolve_inputs(definition, options.inputs, options.stdin_text), control.stop)
    run = os.urandom(4).hex()
    models = open_models(definition, options, env=env, cwd=cwd, idle_timeout=limits.idle_timeout)
    children = Children(run, sole_parent=options.sole_parent)
    forget = control.hurry.on_abort(children.kill_now)
    transcript = transcript_path(definition, options, cwd, run)
    ground = Ground(
        cwd=cwd, env=child_environment(env, definition.env_expose), children=children, signal=control.stop
    )
    try:
        variables = template_variables(inputs, env, definition.env_expose)
        git = asyncio.create_task(git_state(definition.project, ground))
        try:
            variables["context"] = await gather_context(
                definition.context, variables, ground, time_left=lambda: limits.timeout - clock()
            )
        finally:
            await git
        tools = build_tools(
            definition.tools,
            variables,
            ground,
            side_dir=side_directory(transcript, run),
            max_output=limits.max_tool_output,
        )
        prompt, follow_ups = await prompts_of(definition, options, variables, control.stop)
        return Plan(
            run=run,
            clock=clock,
            definition=definition,
            git=git.result(),
            warnings=[*warnings, *models.warnings],
            options=options,
            cwd=cwd,
            inputs=inputs,
            models=models,
            system_prompt=definition.system_prompt.render(variables) if definition.system_prompt else "",
            prompt=prompt,
            follow_ups=follow_ups,
            tools=tools,
            children=children,
            limits=limits,
            transcript=transcript,
        )
    except BaseException:
        await children.aclose()
        for provider in models.providers:
            await provider.aclose()
        raise
    finally:
        forget()


def definition_of(
    agent: str | AgentDefinition, options: RunOptions, env: Mapping[str, str], cwd: Path
) -> tuple[AgentDefinition, list[str]]:
    """The checked definition and its warnings; a file with errors is a ConfigError that carries them all."""
    if isinstance(agent, AgentDefinition):
        if options.overrides.given:
            raise ConfigError("a loaded definition takes no profile and no settings: give them to load_agent")
        return agent, []
    overrides = options.overrides
    loaded, problems = require_valid(agent, options.model, env, cwd, options.models_file, overrides)
    assert loaded.definition is not None
    return loaded.definition, [f"{p.file}:{p.line}:{p.column}: {p.message}" for p in problems]


async def prompts_of(
    definition: AgentDefinition, options: RunOptions, variables: Mapping[str, Any], signal: AbortSignal
) -> tuple[tuple[UserContent, ...], tuple[str, ...]]:
    """The first message's content and the follow-ups: flags first, then the file, then standard input."""
    from_file = [template.render(variables) for template in definition.follow_ups]
    if options.prompts:
        first, rest = options.prompts[0], list(options.prompts[1:])
    elif definition.prompt is not None:
        first, rest = definition.prompt.render(variables), []
    elif options.stdin_prompt is not None:
        first, rest = await aside(options.stdin_prompt, signal), []
    else:
        raise ConfigError("no prompt: set `prompt:` in the agent file, pass --prompt TEXT, or pipe one in")
    if not first.strip() and not options.attachments:
        raise ConfigError("the prompt is empty: there is nothing to ask")
    content = (TextContent(text=first), *[attachment(path) for path in options.attachments])
    return content, (*rest, *from_file)


def transcript_path(definition: AgentDefinition, options: RunOptions, cwd: Path, run: str) -> Path | None:
    """Where the record goes; None for `none`."""
    where = options.transcript or definition.transcript.path
    if where == "none":
        return None
    name = f"{file_stamp()}-{definition.name}-{run}.jsonl"
    if where is None:
        return cwd / ".agentcore" / "runs" / name
    path = cwd / Path(where).expanduser()
    return path / name if where.endswith(("/", os.sep)) or path.is_dir() else path


def side_directory(transcript: Path | None, run: str) -> Path:
    """Where full outputs go: beside the record, or in the folder for temporary files when there is none."""
    if transcript is not None:
        return transcript.with_name(f"{transcript.stem}.files")
    import tempfile

    return Path(tempfile.gettempdir()) / f"agentcore-{run}"
