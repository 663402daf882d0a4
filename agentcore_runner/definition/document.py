"""YAML 1.2 text → data, and the line and column of every key and value."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from agentcore_runner.definition.compose import Composer, Node
from agentcore_runner.definition.problems import KeyPath, Problem, Severity
from agentcore_runner.definition.source import Mistake, Source


class Document:
    """A parsed file, or several merged into one, whose `sources` are all of theirs. `root` is None when the
    text is no YAML; then `problems` says why."""

    def __init__(
        self, source: Source, root: Node | None, problems: list[Problem], sources: Sequence[Source] = ()
    ) -> None:
        self.source, self.root, self.problems = source, root, problems
        self.sources = tuple(sources) or (source,)

    def node(self, path: KeyPath) -> Node | None:
        """The value at a path; None if there is none."""
        node = self.root
        for part in path:
            if node is None:
                return None
            node = node.children.get(part)
        return node

    def place(self, path: KeyPath, *, at_key: bool = False) -> tuple[Source, int, int, int]:
        """Text, line, column and width of the value at a path (or of its key), or of the nearest one around
        it that exists; an empty value is shown at its key."""
        for end in range(len(path), 0, -1):
            parent, name = self.node(path[: end - 1]), path[end - 1]
            if parent is None or name not in parent.children:
                continue
            value = parent.children[name]
            key = parent.keys.get(name) if isinstance(name, str) else None
            shown = key if key is not None and (at_key or value.width == 0) else value
            return shown.source, shown.line, shown.column, shown.width
        if self.root is None:
            return self.source, 1, 1, 1
        return self.root.source, self.root.line, self.root.column, 1

    def problem(
        self,
        path: KeyPath,
        rule: str,
        message: str,
        *,
        hint: str | None = None,
        severity: Severity = "error",
        at_key: bool = False,
    ) -> Problem:
        """A problem at the place of a path, with the line unless a key may stand there."""
        source, line, column, width = self.place(path, at_key=at_key)
        problem = source.problem(line, column, rule, message, hint=hint, severity=severity, width=width)
        return msgspec.structs.replace(problem, excerpt=()) if self._may_hold_key(path) else problem

    def _may_hold_key(self, path: KeyPath) -> bool:
        """Whether what stands at a path may be a key of a service: a log is no place for it."""
        node = self.node(path)
        value = node.data if node is not None else None
        if not isinstance(value, str) or not path:
            return False
        if path[-1] == "base_url":
            return "@" in value
        return (is_secretive(str(path[-1])) and not value.isupper()) or path[-2:-1] == ("headers",)


def is_secretive(key: str) -> bool:
    """Whether a key's name says that its value is a secret, or where one is kept."""
    return SECRETIVE.search(key) is not None


SECRETIVE = re.compile(r"api_?key|token$|secret|password|authorization", re.I)


def parse(source: Source) -> Document:
    """The document of a text. Never raises for what the text holds."""
    composer = Composer(source)
    try:
        root = composer.compose()
    except Mistake as exc:
        return Document(source, None, [*composer.problems, exc.problem])
    return Document(source, root, composer.problems)
