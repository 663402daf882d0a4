"""What a caller puts on top of an agent's files: a profile of theirs, and values from flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentcore_runner.definition.compose import Node
from agentcore_runner.definition.document import Document
from agentcore_runner.definition.family import loose_limit, without
from agentcore_runner.definition.merge import loosened, merged
from agentcore_runner.definition.problems import KeyPath, Problem
from agentcore_runner.definition.setting import put, settings_in
from agentcore_runner.definition.source import Mistake, Source
from agentcore_runner.words import nearest

PROFILE, SET = "--profile", "--set"


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asks for beside the file: the name of a profile, settings as `path=value` in the order
    they apply, and whether these may loosen limits of the file."""

    profile: str | None = None
    settings: tuple[str, ...] = ()
    raise_limits: bool = False

    @property
    def given(self) -> bool:
        """Whether there are any."""
        return self.profile is not None or bool(self.settings)


class Layers:
    """A document with its overrides merged into it. `profiles` are the names of its profiles, `problems` what
    is wrong with the overrides."""

    def __init__(self, document: Document, overrides: Overrides) -> None:
        assert document.root is not None
        self.problems: list[Problem] = []
        self.sources = list(document.sources)
        self.profile, self.of_profile = overrides.profile, set[int]()
        written = document.node(("profiles",))
        named = written.children if written is not None and isinstance(written.data, dict) else {}
        self.profiles = tuple(str(name) for name in named)
        root = without(document.root, "profiles")
        # A file that holds no map is a mistake by itself, and nothing mends it.
        mendable = isinstance(root.data, dict)
        if mendable and overrides.profile is not None:
            root = self._with_profile(root, named.get(overrides.profile), overrides.profile)
        if mendable and overrides.settings:
            root = self._with_settings(root, overrides)
        self.document = Document(document.source, root, document.problems, self.sources)

    def _with_profile(self, root: Node, part: Node | None, name: str) -> Node:
        if part is None:
            self.problems.append(_no_profile(name, self.profiles, self.sources[0].file))
        elif isinstance(part.data, dict):
            self.of_profile = {id(node) for _, node in nodes(part, ())}
            return merged(root, part)
        return root

    def _with_settings(self, root: Node, overrides: Overrides) -> Node:
        source = Source(SET, "\n".join(overrides.settings))
        self.sources.append(source)
        changed = root
        for setting in settings_in(source, overrides.settings):
            try:
                changed = put(changed, setting)
            except Mistake as exc:
                self.problems.append(exc.problem)
        if not overrides.raise_limits:
            for name, value, bound in loosened(root, changed):
                hint = "a flag may only tighten a limit of the file, unless --raise-limits is given"
                self.problems.append(loose_limit(name, value, bound, hint))
        return changed

    def origins(self) -> dict[KeyPath, str]:
        """Where each value was written, by its path: `FILE:LINE:COLUMN`, with the profile that it stands in,
        or the flag."""
        assert self.document.root is not None
        return {
            path: self._origin(node)
            for name, part in self.document.root.children.items()
            if not str(name).startswith("x-")
            for path, node in nodes(part, (name,))
            if not node.children
        }

    def _origin(self, node: Node) -> str:
        if node.source.file == SET and node.source.path is None:
            return f"{SET} {node.source.lines[node.line - 1]}"
        profile = f" (profile {self.profile})" if id(node) in self.of_profile else ""
        return f"{node.source.file}:{node.line}:{node.column}{profile}"


def nodes(node: Node, path: KeyPath) -> Iterator[tuple[KeyPath, Node]]:
    """A value and every value in it, with their paths."""
    yield path, node
    for name, child in node.children.items():
        yield from nodes(child, (*path, name))


def _no_profile(name: str, known: Sequence[str], file: str) -> Problem:
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"its profiles are {', '.join(known)}" if known else None
    message = f"{name!r} is not a profile of {file}" if known else f"{file} has no profiles"
    return Source(PROFILE, name).problem(1, 1, "profile", message, hint=hint, width=len(name) or 1)
