"""Everything short of a request: the file's own rules, and that what it names exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import which

import msgspec

from agentcore_runner.definition.layers import Overrides
from agentcore_runner.definition.load import NO_OVERRIDES, Loaded, check_agent
from agentcore_runner.definition.problems import KeyPath, Problem, in_order
from agentcore_runner.definition.types import AgentDefinition, BuiltinToolSpec, CommandToolSpec
from agentcore_runner.definition.vocabulary import MODEL
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers import catalog
from agentcore_runner.runtime.model import model_settings
from agentcore_runner.runtime.toolbox import directory_of, root_of

NEEDED_IN_A_RUN = ("env-unset", "tool-missing")
"""Rules that only warn while a file is checked, perhaps on another machine than it runs on."""


def problems_of(
    path: str,
    model: str | None,
    env: Mapping[str, str],
    cwd: Path,
    models_file: Path | None = None,
    overrides: Overrides = NO_OVERRIDES,
) -> tuple[Loaded, tuple[Problem, ...]]:
    """The loaded file and every problem in it, those of its model included: the agent file's first, then
    those of other files, each by place. `model` is the flag that replaces the file's; mistakes in the models
    file are a ConfigError."""
    own = catalog.read_models(models_file) if models_file else None
    loaded = check_agent(path, model_given=model is not None, env=env, overrides=overrides)
    problems = [*loaded.problems, *model_problems(loaded, model, own, env, cwd)]
    if loaded.definition is not None:
        problems += exposed_keys(loaded, loaded.definition, own)
        problems += missing_tools(loaded, loaded.definition, env, cwd)
    return loaded, in_order(path, problems)


def require_valid(
    path: str,
    model: str | None,
    env: Mapping[str, str],
    cwd: Path,
    models_file: Path | None = None,
    overrides: Overrides = NO_OVERRIDES,
) -> tuple[Loaded, tuple[Problem, ...]]:
    """The same for a run: a variable or a tool that is missing is an error now, and a file with errors is a
    ConfigError that carries them all."""
    loaded, found = problems_of(path, model, env, cwd, models_file, overrides)
    problems = tuple(
        msgspec.structs.replace(problem, severity="error") if problem.rule in NEEDED_IN_A_RUN else problem
        for problem in found
    )
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors or loaded.definition is None:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise ConfigError(f"{errors[0]}{more}", problems)
    return loaded, problems


def exposed_keys(
    loaded: Loaded, definition: AgentDefinition, models: catalog.ModelsFile | None
) -> Iterator[Problem]:
    """Keys of model services that the file would hand to prompts and child processes."""
    own = {spec.api_key_env for spec in loaded.models.values()}
    own |= {provider.api_key_env for provider in models.providers.values()} if models else set()
    for index, name in enumerate(definition.env_expose):
        if name in catalog.KEY_VARIABLES or name in own:
            message = f"{name} holds the key of a model service, which prompts and tools never get"
            yield loaded.problem(
                ("env", "expose", index), "key-exposed", message, "remove it from env.expose"
            )


def missing_tools(
    loaded: Loaded, definition: AgentDefinition, env: Mapping[str, str], cwd: Path
) -> Iterator[Problem]:
    """Programs and folders that tools name and that are not here."""
    for index, spec in enumerate(definition.tools):
        place: tuple[str | int, ...] = ("tools", index)
        folder = directory_of(spec, cwd)
        if isinstance(spec, CommandToolSpec) and spec.cwd and not folder.is_dir():
            yield missing(loaded, (*place, "cwd"), f"there is no folder {spec.cwd!r}")
        elif isinstance(spec, BuiltinToolSpec) and spec.root and not root_of(spec, cwd).is_dir():
            yield missing(loaded, (*place, "root"), f"there is no folder {spec.root!r}")
        elif isinstance(spec, CommandToolSpec) and spec.command[0].is_plain:
            program = spec.command[0].source
            found = (folder / program).is_file() if "/" in program else which(program, path=env.get("PATH"))
            if not found:
                yield missing(loaded, (*place, "command", 0), f"there is no program {program!r}")


def missing(loaded: Loaded, place: tuple[str | int, ...], message: str) -> Problem:
    """The warning for something that is not here."""
    return loaded.problem(
        place, "tool-missing", message, "it must be there when the agent runs", severity="warning"
    )


def model_problems(
    loaded: Loaded, model: str | None, own: catalog.ModelsFile | None, env: Mapping[str, str], cwd: Path
) -> Iterator[Problem]:
    """What is wrong with the file's own models, each at its key or at its line of the script; a flag's
    mistakes are a ConfigError that names the flag."""
    directory = Path(loaded.path).absolute().parent
    if model is not None:
        settings = model_settings(loaded.models.get(MODEL), model, own)
        mistakes = catalog.model_mistakes(settings, env, cwd=cwd, agent_directory=directory)
        if mistakes:
            raise ConfigError(f"--model {model}: {'; '.join(map(str, mistakes))}")
        return
    for place, spec in loaded.models.items():
        settings = model_settings(spec, None, own)
        for mistake in catalog.model_mistakes(settings, env, cwd=cwd, agent_directory=directory):
            yield at_its_place(loaded, place, mistake)
        if settings.api_key_env and not env.get(settings.api_key_env):
            yield loaded.problem(
                (*place, "api_key_env"),
                "env-unset",
                f"{settings.api_key_env} is not set",
                "it holds the key of the model service",
                severity="warning",
            )


def at_its_place(loaded: Loaded, place: KeyPath, mistake: catalog.Mistake) -> Problem:
    """The problem that a mistake in the model at this place stands for."""
    if mistake.file is not None:
        return Problem(
            file=mistake.file, line=mistake.line or 1, column=1, rule="script", message=mistake.message
        )
    key = mistake.key or ("id",)
    return loaded.problem((*place, *key), "model", mistake.message)
