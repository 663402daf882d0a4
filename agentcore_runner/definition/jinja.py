"""Templates parsed and filled in. Imported only when a template has something to fill in."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from jinja2 import Template as Compiled
from jinja2 import TemplateSyntaxError, Undefined, nodes
from jinja2.parser import Parser

from agentcore_runner.definition.places import Places
from agentcore_runner.definition.sandbox import Environment, NotGiven, Root, left_out
from agentcore_runner.definition.source import Source
from agentcore_runner.definition.template import Included, Template
from agentcore_runner.errors import ConfigError


@functools.lru_cache(maxsize=64)
def environment(includes: tuple[Included, ...] = ()) -> Environment:
    """The environment that can read these files."""
    return Environment(includes)


def parse(source: str) -> nodes.Template:
    """The syntax tree of a template; raises TemplateSyntaxError."""
    return environment().parse(source)


def parse_expression(source: str) -> nodes.Template:
    """The syntax tree of a bare expression, as a template that prints it; raises TemplateSyntaxError."""
    parser = Parser(environment(), source, state="variable")
    expression = parser.parse_expression()
    if not parser.stream.eos:
        raise TemplateSyntaxError("unexpected text after the expression", parser.stream.current.lineno)
    expression.set_environment(environment())
    tree = nodes.Template([nodes.Output([expression], lineno=1)], lineno=1)
    tree.set_environment(environment())
    return tree


@functools.lru_cache(maxsize=256)
def compiled(source: str, name: str, file: str, includes: tuple[Included, ...]) -> Compiled:
    """A template ready to be filled in; raises TemplateSyntaxError."""
    env = environment(includes)
    code = env.compile(source, name, file)
    return env.template_class.from_code(env, code, env.make_globals(None))


def render(template: Template, variables: Mapping[str, Any]) -> str:
    """The filled-in text; raises ConfigError with the place in the template's file."""
    try:
        return _render(template.source, template, variables)
    # Whatever an author's template raises is the template's mistake.
    except Exception as exc:
        raise _failure(template, variables, exc) from exc


def evaluate(template: Template, variables: Mapping[str, Any]) -> Any:
    """The value of a bare expression, None for an input that was not given; raises ConfigError with its
    place."""
    try:
        value = _expression(template.source)(_roots(variables))
        if left_out(value):
            return None
        if isinstance(value, Undefined):
            str(value)
    # As for a template.
    except Exception as exc:
        raise _error(template, template.place(0), exc) from exc
    return value


def _render(source: str, template: Template, variables: Mapping[str, Any]) -> str:
    ready = compiled(source, template.name, template.file, template.includes)
    return ready.render(_roots(variables))


def _roots(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: Root(name, value) if isinstance(value, dict) else value for name, value in variables.items()
    }


@functools.lru_cache(maxsize=256)
def _expression(source: str) -> Any:
    return environment().compile_expression(source, undefined_to_none=False)


def _failure(template: Template, variables: Mapping[str, Any], failure: Exception) -> ConfigError:
    """The error at the tag that failed. Jinja2 counts lines of the text it was given, so a folded text is
    tried once more with the file's own lines."""
    unfolded = template.unfolded()
    if unfolded != template.source:
        try:
            _render(unfolded, template, variables)
        # It failed before, and only the place matters now.
        except Exception as exc:
            failure = exc
    file, number = _failed_line(template, failure)
    for included in template.includes:
        if included.file == file != template.file:
            template = Template(source=included.text, file=file, line=1, column=1, text=included.text)
            unfolded = included.text
    places = Places(unfolded, environment().lexer)
    name = None
    if isinstance(failure, NotGiven):
        name = places.name(number, failure.root, failure.name)
    return _error(template, template.place(places.opening(number, name).offset), failure)


def _failed_line(template: Template, failure: Exception) -> tuple[str, int]:
    """The file and line, as Jinja2 counts it, where a template failed."""
    if isinstance(failure, TemplateSyntaxError):
        return failure.filename or template.file, failure.lineno
    files = {template.file, *(included.file for included in template.includes)}
    place = template.file, 1
    frame: TracebackType | None = failure.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename in files:
            place = frame.tb_frame.f_code.co_filename, frame.tb_lineno
        frame = frame.tb_next
    return place


def _error(template: Template, place: tuple[int, int], failure: Exception) -> ConfigError:
    message = str(failure) or type(failure).__name__
    if not isinstance(failure, TemplateSyntaxError) and type(failure).__module__ == "builtins":
        message = f"{type(failure).__name__}: {message}"
    hint = failure.hint if isinstance(failure, NotGiven) else None
    source = Source(template.file, template.text)
    problem = source.problem(*place, "template-render", message, hint=hint, width=2)
    return ConfigError(str(problem), [problem])
