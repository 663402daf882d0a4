"""The files that templates include, import or extend: found, read and kept with the template."""

from __future__ import annotations

import posixpath
import re

import msgspec
from jinja2 import TemplateSyntaxError

from agentcore_runner.definition import jinja
from agentcore_runner.definition.files import Project, Pulled, Unreadable
from agentcore_runner.definition.problems import Problem
from agentcore_runner.definition.source import Mistake, Source
from agentcore_runner.definition.template import Included, Template
from agentcore_runner.definition.template_names import Reading, reading_tags, referenced

READING = re.compile(r"\{%[-+]?\s*(?:include|import|from|extends)\b")


def with_includes(template: Template, project: Project, source: Source) -> tuple[Template, list[Problem]]:
    """The template with every file it reads, directly or not, and what is wrong with those files. `source` is
    the file that the template stands in."""
    found: dict[str, Included] = {}
    problems: list[Problem] = []
    waiting = [(template, source)]
    while waiting:
        current, where = waiting.pop()
        for node in reading_nodes(current):
            for name, pulled in _read(node, current, where, project, problems).items():
                if name not in found:
                    text, file = pulled.source.text, pulled.source.file
                    found[name] = Included(name=name, file=file, text=text)
                    part = Template(source=text, file=file, line=1, column=1, name=name)
                    waiting.append((part, pulled.source))
    includes = tuple(found[name] for name in sorted(found))
    return msgspec.structs.replace(template, includes=includes), problems


def reading_nodes(template: Template) -> list[Reading]:
    """The tags of a template that read files; none where the syntax is wrong, which is reported elsewhere."""
    if not READING.search(template.source):
        return []
    try:
        tree = jinja.parse(template.unfolded())
    except (TemplateSyntaxError, RecursionError):
        return []
    return reading_tags(tree)


def _read(
    node: Reading, template: Template, source: Source, project: Project, problems: list[Problem]
) -> dict[str, Pulled]:
    """The files a tag names, by their paths from the project folder as Jinja2 will ask for them."""
    names = referenced(node)
    place = _place(node, template)
    if not names:
        message = "the name of an included file is written out, not computed"
        problems.append(source.problem(*place, "template-syntax", message))
    folder = posixpath.dirname(template.name)
    pulled: dict[str, Pulled] = {}
    missing = []
    for name in names:
        try:
            found = project.read(name, project.root / folder)
            pulled[posixpath.normpath(posixpath.join(folder, name))] = found
        except Mistake as exc:
            problems.append(exc.problem)
        except Unreadable as exc:
            missing.append(exc)
    # A list of names is a list of alternatives.
    if missing and not pulled and not getattr(node, "ignore_missing", False):
        problems.append(source.problem(*place, missing[0].rule, missing[0].message, hint=missing[0].hint))
    return pulled


def _place(node: Reading, template: Template) -> tuple[int, int]:
    lines = template.unfolded().split("\n")
    offset = sum(len(line) + 1 for line in lines[: node.lineno - 1])
    match = READING.search(lines[node.lineno - 1])
    return template.place(offset + (match.start() if match else 0))
