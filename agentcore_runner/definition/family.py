"""A file and everything that it extends → one document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentcore_runner.definition.check import review_alone
from agentcore_runner.definition.compose import MAX_NODES, Node
from agentcore_runner.definition.document import Document, parse
from agentcore_runner.definition.files import Project, Unreadable, shown
from agentcore_runner.definition.merge import beside, loosened, merged
from agentcore_runner.definition.problems import Problem
from agentcore_runner.definition.source import Mistake, Source

MAX_GENERATIONS = 16
MAX_PARENTS = 64
"""How many parents all files of a family may name, one that is named twice counted twice."""


class Family:
    """The files of one agent. `problems` are the mistakes of each file by itself; `broken` says that a parent
    is missing from the result, `sources` are the files in it."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.problems: list[Problem] = []
        self.sources: list[Source] = []
        self.broken = False
        self.done: dict[Path, Node | None] = {}
        self.followed = 0
        self.values = 0

    def united(self, document: Document, *, overridden: bool) -> Document:
        """The agent file with its parents merged into it; itself where there is nothing to merge, neither
        these nor overrides."""
        root = document.root
        if root is None or not isinstance(root.data, dict):
            return document
        if not overridden and not root.data.keys() & {"extends", "profiles"}:
            return document
        root = self._resolved(document, (self.project.agent,))
        return Document(document.source, root, document.problems, self.sources)

    def _resolved(self, document: Document, line: tuple[Path, ...]) -> Node | None:
        """The root of a file with its parents merged into it; `line` are the files from the agent's to this
        one. None for a file that holds no map."""
        self.sources.append(document.source)
        root = document.root
        self.problems += document.problems
        if root is not None:
            self.problems += review_alone(document)
        if root is None or not isinstance(root.data, dict):
            self.broken = True
            return None
        self.values += root.size
        parents: Node | None = None
        for entry in self._entries(root):
            try:
                parent = self._parent(entry, line)
            except Mistake as exc:
                self.problems.append(exc.problem)
                parent = None
            self.broken |= parent is None
            if parent is not None:
                parents = parent if parents is None else beside(parents, parent)
        own = without(root, "extends")
        if parents is None:
            return own
        self.problems += _too_loose(parents, own)
        return merged(parents, own)

    def _entries(self, root: Node) -> Iterator[Node]:
        """The paths under `extends`."""
        written = root.children.get("extends")
        if written is None:
            return
        entries = list(written.children.values()) if isinstance(written.data, list) else [written]
        for entry in entries:
            if isinstance(entry.data, str) and entry.data:
                yield entry
            else:
                self.broken = True

    def _parent(self, entry: Node, line: tuple[Path, ...]) -> Node | None:
        """The root of a parent, with its own parents merged into it. Raises Mistake at its entry."""
        source = entry.source
        chain = (f"{source.file}:{entry.line}:{entry.column}", *source.chain)
        try:
            path = self.project.locate(entry.data, self.project.folder(source))
            self._allow(entry, path, line)
            if path in self.done:
                return self.done[path]
            text = self.project.parent(path, entry.data, chain)
        except Unreadable as exc:
            raise _at(entry, exc.rule, exc.message, exc.hint) from None
        self.done[path] = self._resolved(parse(text), (*line, path))
        return self.done[path]

    def _allow(self, entry: Node, path: Path, line: tuple[Path, ...]) -> None:
        if path in line:
            names = " → ".join(shown(file) for file in (*line[line.index(path) :], path))
            raise _at(entry, "extends", f"{shown(path)} would extend itself: {names}", "remove one of them")
        self.followed += 1
        if len(line) > MAX_GENERATIONS:
            message = f"the chain of parents is longer than {MAX_GENERATIONS} files"
            raise _at(entry, "extends", message, "merge some of them into one")
        if self.followed > MAX_PARENTS:
            message = f"the agent's files name more than {MAX_PARENTS} parents"
            raise _at(entry, "extends", message, "merge some of them into one")
        if self.values > 2 * MAX_NODES:
            raise _at(entry, "yaml-limit", f"the agent's files hold more than {2 * MAX_NODES} values")


def without(root: Node, name: str) -> Node:
    """A map without one of its keys."""
    if name not in root.children:
        return root
    children = {key: child for key, child in root.children.items() if key != name}
    return root.with_children(children, {key: node for key, node in root.keys.items() if key != name})


def _too_loose(parents: Node, own: Node) -> Iterator[Problem]:
    """Limits of a file, and of its profiles, that allow more than its parents do."""
    profiles = own.children.get("profiles")
    parts = [own, *(profiles.children.values() if profiles is not None else ())]
    for part in parts:
        for name, value, bound in loosened(parents, part):
            yield loose_limit(name, value, bound, "a child may only tighten a limit")


def loose_limit(name: str, value: Node, bound: Node, hint: str) -> Problem:
    """The problem of a limit that allows more than it may."""
    place = f"{bound.source.file}:{bound.line}:{bound.column}"
    message = f"limits.{name}: {value.data} is looser than {bound.data} at {place}"
    return _at(value, "limit-loosened", message, hint).problem


def _at(node: Node, rule: str, message: str, hint: str | None = None) -> Mistake:
    return Mistake(node.source.problem(node.line, node.column, rule, message, hint=hint, width=node.width))
