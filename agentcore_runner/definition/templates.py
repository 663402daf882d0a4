"""The templates of an agent file: where they stand, what each may name, whether they are right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from agentcore_runner.definition.document import Document
from agentcore_runner.definition.files import Project, Unreadable
from agentcore_runner.definition.problems import KeyPath, Problem
from agentcore_runner.definition.source import Mistake, Source
from agentcore_runner.definition.template import Template, marks_of

if TYPE_CHECKING:
    from agentcore_runner.definition.template_check import Scope

Kind: TypeAlias = Literal["prompt", "file", "context", "tool", "expression"]
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")
FILE_KEYS = {"prompt_file", "system_prompt_file"}
ROOTS: dict[Kind, tuple[str, ...]] = {
    "prompt": ("inputs", "env", "context"),
    "file": ("inputs", "env", "context"),
    "context": ("inputs", "env"),
    "tool": ("inputs", "env", "context", "args"),
    "expression": ("inputs", "env"),
}


def template_paths(data: dict[str, Any]) -> Iterator[tuple[KeyPath, Kind]]:
    """The path of every template in a file, whatever stands there."""
    for name in ("system_prompt", "prompt"):
        if name in data:
            yield (name,), "prompt"
    for name in sorted(FILE_KEYS & data.keys()):
        yield (name,), "file"
    yield from (((("follow_ups", index)), "prompt") for index in _indexes(data.get("follow_ups")))
    for index, item in enumerate(_list(data.get("context"))):
        if isinstance(item, dict):
            yield from (
                (("context", index, "command", at), "context") for at in _indexes(item.get("command"))
            )
    for index, tool in enumerate(_list(data.get("tools"))):
        if isinstance(tool, dict):
            yield from ((("tools", index, "command", at), "tool") for at in _indexes(tool.get("command")))
            if "stdin" in tool:
                yield ("tools", index, "stdin"), "tool"
            if "when" in tool:
                yield ("tools", index, "when"), "expression"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _indexes(value: Any) -> range:
    return range(len(_list(value)))


class Templates:
    """The templates of one document, built and checked. `found` holds those that could be read, by path."""

    def __init__(
        self, document: Document, project: Project, wrong: set[KeyPath], *, partial: bool = False
    ) -> None:
        assert document.root is not None
        self.document, self.project, self.wrong = document, project, wrong
        self.data: dict[str, Any] = document.root.data
        self.found: dict[KeyPath, Template] = {}
        self.used: set[tuple[str, str | None]] = set()
        self.sources = {source.file: source for source in document.sources}
        self.seen = 0
        self.declared = _declared(self.data)
        # A name may be undefined only because what declares it is wrong, or in a file that cannot be read.
        declaring: set[KeyPath] = {("inputs",), ("env",), ("context",)}
        self.undeclared = partial or any(
            path in declaring
            or path[:2] == ("env", "expose")
            or (path[:1] == ("context",) and path[-1] == "name")
            for path in wrong
        )

    def check(self, *, complete: bool) -> list[Problem]:
        """The problems of all templates; with `complete`, also the inputs that none of them uses."""
        problems: list[Problem] = []
        all_seen = complete
        for path, kind in template_paths(self.data):
            wrong = any(path[:end] in self.wrong for end in range(len(path) + 1))
            node = self.document.node(path)
            # A tool of an unknown type has no schema that asks for text here.
            if wrong or node is None or not isinstance(node.data, str):
                all_seen = False
                continue
            template = self._build(path, kind, problems)
            if template is None:
                all_seen = False
                continue
            self.found[path] = template
            if kind == "expression" or not template.is_plain:
                all_seen &= self._check(path, kind, problems)
        if all_seen:
            problems += self._unused()
        return problems

    def _build(self, path: KeyPath, kind: Kind, problems: list[Problem]) -> Template | None:
        node = self.document.node(path)
        assert node is not None
        if kind != "file":
            return self._inline(path)
        try:
            pulled = self.project.read(node.data, self.project.folder(node.source))
        except Mistake as exc:
            problems.append(exc.problem)
            return None
        except Unreadable as exc:
            problems.append(self.document.problem(path, exc.rule, exc.message, hint=exc.hint))
            return None
        source = pulled.source
        return Template(
            source=source.text, file=source.file, line=1, column=1, text=source.text, name=pulled.name
        )

    def _inline(self, path: KeyPath) -> Template:
        """A template that stands in the agent file itself."""
        node = self.document.node(path)
        assert node is not None
        source, line = node.source, node.line
        # An anchor or a tag before the text is not part of it.
        before = PROPERTIES.match(source.lines[line - 1], node.column - 1)
        column = before.end() + 1 if before else node.column
        template = Template(
            source=node.data,
            file=source.file,
            line=line,
            column=column,
            text=source.text,
            name=self.project.name(source),
        )
        in_place = node.style is None and source.lines[line - 1].startswith(node.data, column - 1)
        if in_place or not node.data or (template.is_plain and node.style in ("|", ">")):
            return template
        marks = marks_of(node.data, source.lines, (line, column), node.end, node.style)
        if marks:
            _, line, column = marks[0]
        return msgspec.structs.replace(template, line=line, column=column, marks=marks)

    def _check(self, path: KeyPath, kind: Kind, problems: list[Problem]) -> bool:
        """Add what is wrong with a template; false when its uses are not all known."""
        from agentcore_runner.definition.includes import with_includes
        from agentcore_runner.definition.template_check import check

        template = self.found[path]
        if kind != "expression":
            template, mistakes = with_includes(template, self.project, self._sources()[template.file])
            self.found[path] = template
            problems += mistakes
        scope = self._scope(path, kind)
        checked = check(template, scope, self._sources(), expression=kind == "expression")
        self.used |= checked.uses
        # Who misspelt a name probably meant one that now looks unused.
        misspelt = any(problem.rule == "template-undefined" for problem in checked.problems)
        problems += [
            problem
            for problem in checked.problems
            if not (self.undeclared and problem.rule == "template-undefined")
        ]
        return checked.complete and not misspelt

    def _sources(self) -> dict[str, Source]:
        """The texts of all files so far, by the names they have in messages."""
        if self.seen < len(self.project.pulled):
            self.seen = len(self.project.pulled)
            self.sources |= {pulled.source.file: pulled.source for pulled in self.project.pulled.values()}
        return self.sources

    def _scope(self, path: KeyPath, kind: Kind) -> Scope:
        from agentcore_runner.definition.template_check import Scope

        declared = self.declared
        if kind == "tool":
            parameters = self.data["tools"][path[1]].get("parameters")
            properties = parameters.get("properties") if isinstance(parameters, dict) else None
            declared = {**declared, "args": _names(properties)}
        roots = {root: declared[root] for root in ROOTS[kind]}
        return Scope(roots=roots, elsewhere=frozenset(declared.keys() - roots.keys()))

    def _unused(self) -> Iterator[Problem]:
        inputs = self.data.get("inputs")
        if not isinstance(inputs, dict) or ("inputs", None) in self.used:
            return
        for name in inputs:
            if ("inputs", name) not in self.used and ("inputs", name) not in self.wrong:
                message = f"the input {name!r} is not used in any template"
                hint = "use it or remove it"
                yield self.document.problem(
                    ("inputs", name), "unused-input", message, hint=hint, severity="warning", at_key=True
                )


def _declared(data: dict[str, Any]) -> dict[str, frozenset[str]]:
    """The names of each root that a file declares."""
    env = data.get("env")
    items = [item.get("name") for item in _list(data.get("context")) if isinstance(item, dict)]
    return {
        "inputs": _names(data.get("inputs")),
        "env": _names(env.get("expose") if isinstance(env, dict) else None),
        "context": _names(items),
        "args": frozenset(),
    }


def _names(value: Any) -> frozenset[str]:
    return frozenset(name for name in value or () if isinstance(name, str))
