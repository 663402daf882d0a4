"""An agent file → its definition, or everything that is wrong with it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.definition.check import review
from agentcore_runner.definition.convert import definition_of, model_spec
from agentcore_runner.definition.document import Document, parse
from agentcore_runner.definition.family import Family
from agentcore_runner.definition.files import Project
from agentcore_runner.definition.layers import Layers, Overrides
from agentcore_runner.definition.problems import KeyPath, Problem, Severity, in_order
from agentcore_runner.definition.scalars import parse_duration, resolve
from agentcore_runner.definition.source import Mistake, Source, decode
from agentcore_runner.definition.types import AgentDefinition, ModelSpec
from agentcore_runner.definition.vocabulary import models_in
from agentcore_runner.errors import ConfigError
from agentcore_runner.words import counted

__all__ = [
    "Loaded",
    "check_agent",
    "load_agent",
    "parse_duration",
    "parse_scalar",
]

NO_OVERRIDES = Overrides()
MAX_BYTES = 1024 * 1024
BARE_WORD = re.compile(r"[\w.+-]*")


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an agent file: a definition unless there are errors, each model if that part is right,
    by the place it stands at, the problems in the order of their places, and the names of the profiles.
    `document` knows the places; it is None for a file that could not be read."""

    path: str
    definition: AgentDefinition | None
    models: dict[KeyPath, ModelSpec] = {}
    problems: tuple[Problem, ...]
    profiles: tuple[str, ...] = ()
    document: Document | None = None

    def problem(
        self,
        path: KeyPath,
        rule: str,
        message: str,
        hint: str | None = None,
        severity: Severity = "error",
    ) -> Problem:
        """A problem at the value of a key of the agent file, such as `("model", "id")`, or at the nearest
        value around it."""
        if self.document is None:
            return _unplaced(self.path, rule, message, hint, severity)
        return self.document.problem(path, rule, message, hint=hint, severity=severity)


def check_agent(
    path: str,
    *,
    model_given: bool = False,
    env: Mapping[str, str] = os.environ,
    overrides: Overrides = NO_OVERRIDES,
) -> Loaded:
    """The definition in a file and all problems of all files it names, in one pass. `model_given` says that
    a flag supplies the model, so that the file need not. Never raises for what an author wrote, nor for what
    is wrong with the overrides."""
    try:
        document = parse(decode(path, _read(path)))
    except Mistake as exc:
        return Loaded(path=path, definition=None, problems=(exc.problem,))
    if document.root is None:
        return Loaded(path=path, definition=None, problems=tuple(document.problems), document=document)
    project = Project(path)
    document.source.path = project.agent
    family = Family(project)
    document = family.united(document, overridden=overrides.given)
    layers = Layers(document, overrides)
    document = layers.document
    assert document.root is not None
    findings = review(document, project, model_given=model_given, env=env, partial=family.broken)
    problems = in_order(
        path, _once([*document.problems, *family.problems, *layers.problems], findings.problems)
    )
    data, definition = document.root.data, None
    if not any(problem.severity == "error" for problem in problems):
        definition = definition_of(path, data, findings.templates, findings.files, project, layers.origins())
    models = {
        place: model_spec(written)
        for place, written in models_in(data).items()
        if not any(place[: len(wrong)] == wrong or wrong[: len(place)] == place for wrong in findings.wrong)
        and (isinstance(written, str) or "id" in written)
    }
    return Loaded(
        path=path,
        definition=definition,
        models=models,
        problems=problems,
        profiles=layers.profiles,
        document=document,
    )


def load_agent(
    path: str | Path,
    *,
    model_given: bool = False,
    env: Mapping[str, str] = os.environ,
    profile: str | None = None,
    settings: Sequence[str] = (),
) -> AgentDefinition:
    """The definition in a file, with one of its profiles and with settings such as `limits.max_turns=5` on
    top; raises ConfigError with all problems when there is an error."""
    overrides = Overrides(profile=profile, settings=tuple(settings))
    loaded = check_agent(str(path), model_given=model_given, env=env, overrides=overrides)
    if loaded.definition is not None:
        return loaded.definition
    errors = [problem for problem in loaded.problems if problem.severity == "error"]
    message = str(errors[0]) if len(errors) == 1 else f"{path} has {counted(len(errors), 'error')}"
    raise ConfigError(message, loaded.problems)


def parse_scalar(text: str) -> Any:
    """The YAML 1.2 value of a text such as a flag's; raises ConfigError for a text that is no YAML."""
    if BARE_WORD.fullmatch(text):
        try:
            return resolve(text)
        except ValueError as exc:
            raise ConfigError(f"{exc}, found {text[:40]!r}") from None
    document = parse(Source("value", text))
    if document.root is None or document.problems:
        raise ConfigError(f"{document.problems[0].message}, in {text[:80]!r}", document.problems)
    return document.root.data


def _once(first: list[Problem], second: list[Problem]) -> list[Problem]:
    """The problems of each file alone, and those of all together that were not told already."""
    told = {(problem.file, problem.line, problem.column, problem.rule) for problem in first}
    place = ((problem.file, problem.line, problem.column, problem.rule) for problem in second)
    return [*first, *(problem for problem, where in zip(second, place, strict=True) if where not in told)]


def _read(path: str) -> bytes:
    """The file's bytes; raises Mistake."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        message, hint = f"there is no file {path!r}", "the first argument is the path of an agent file"
        raise Mistake(_unplaced(path, "file-missing", message, hint)) from None
    except IsADirectoryError:
        raise Mistake(_unplaced(path, "file-missing", f"{path!r} is a folder")) from None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else exc
        raise Mistake(_unplaced(path, "file-missing", f"cannot read {path!r}: {reason}")) from None
    if len(data) > MAX_BYTES:
        raise Mistake(_unplaced(path, "yaml-limit", f"the file is larger than {MAX_BYTES >> 20} MiB"))
    return data


def _unplaced(
    path: str, rule: str, message: str, hint: str | None = None, severity: Severity = "error"
) -> Problem:
    return Problem(file=path, line=1, column=1, rule=rule, message=message, hint=hint, severity=severity)
