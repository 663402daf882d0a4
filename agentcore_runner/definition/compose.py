"""YAML 1.2 events → nodes: values with the place of each, aliases and merges resolved, within limits."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore_runner.characters import REPLACEMENT, mend
from agentcore_runner.definition.problems import Problem
from agentcore_runner.definition.scalars import resolve
from agentcore_runner.definition.source import Mistake, Source
from agentcore_runner.definition.yaml_text import forbidden_character, in_plain_words

MAX_DEPTH = 64
MAX_NODES = 50_000
CORE = "tag:yaml.org,2002:"
STR = f"{CORE}str"
SCALAR_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),),
}  # fmt: skip
TAGS = {f"{CORE}{name}" for name in (*SCALAR_TYPES, "map", "seq")}
SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
# PyYAML ends lines at these as YAML 1.1 did; stand-ins from the private use area keep them ordinary.
OLD_BREAKS = "\x85\u2028\u2029"


class Node:
    """A value and where it stands; `end` is the line and column after it. `text` is the source of an unquoted
    scalar; `keys` holds the places of a map's keys; `children` the values by key or index; `size` and `depth`
    count what aliases expand to; `source` is the text that it stands in."""

    __slots__ = (
        "children", "column", "data", "depth", "end", "keys", "line", "size", "source", "style", "text",
        "width",
    )  # fmt: skip

    def __init__(
        self, data: Any, event: Any, source: Source, *, text: str | None = None, style: str | None = None
    ) -> None:
        start, end = event.start_mark, event.end_mark
        self.data, self.source = data, source
        self.line, self.column = start.line + 1, start.column + 1
        self.end = (end.line + 1, end.column + 1)
        self.width = end.column - start.column if end.line == start.line else 10_000
        self.text, self.style = text, style
        self.keys: dict[str, Node] = {}
        self.children: dict[str | int, Node] = {}
        self.size, self.depth = 1, 1

    def with_children(self, children: Mapping[Any, Node], keys: Mapping[str, Node] | None = None) -> Node:
        """A map or a list at the same place with other values; with `keys` it is a map."""
        node = copy.copy(self)
        node.children, node.keys = dict(children), dict(keys or {})
        node.text = node.style = None
        node.data = (
            [child.data for child in children.values()]
            if keys is None
            else {name: child.data for name, child in children.items()}
        )
        return node


class Composer:
    """Events → nodes. Problems that leave the rest readable are gathered; others raise Mistake."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.anchors: dict[str, Node | None] = {}
        self.nodes = 0
        text = source.text
        spare = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
        self.stand_ins = {old: next(spare) for old in OLD_BREAKS if old in text}
        self.events = self._events(text)

    def _events(self, text: str) -> Iterator[Any]:
        import yaml

        bad = forbidden_character(text)
        if bad is not None:
            offset, message, escape = bad
            raise Mistake(self.source.problem_at(offset, "yaml-syntax", message, escape))
        # libyaml refuses halves of a surrogate pair, which JSON writes; the Python parser lets us join them.
        loader: Any = yaml.Loader if SURROGATE_ESCAPE.search(text) else getattr(yaml, "CLoader", yaml.Loader)
        stand_ins = {ord(old): stand_in for old, stand_in in self.stand_ins.items()}
        try:
            yield from yaml.parse(text.translate(stand_ins), Loader=loader)
        except yaml.MarkedYAMLError as exc:
            mark = exc.problem_mark or exc.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            lines = self.source.lines
            message, hint = in_plain_words(exc.problem or "", lines[line - 1] if line <= len(lines) else "")
            raise Mistake(self.source.problem(line, column, "yaml-syntax", message, hint=hint)) from None
        except (yaml.YAMLError, ValueError, OverflowError) as exc:
            raise Mistake(self.source.problem(1, 1, "yaml-syntax", f"not YAML: {exc}")) from None

    def compose(self) -> Node:
        """The root of the only document."""
        import yaml

        root: Node | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise self._mistake(event, "yaml-syntax", "the file holds more than one document",
                                        "an agent file is one document; remove the '---'")  # fmt: skip
                if event.version is not None and event.version != (1, 2):
                    self._report(event, "yaml-syntax", "an agent file is YAML 1.2", "remove the %YAML line")
                root = self._node(next(self.events), 1)
        if root is None:
            hint = "start with schema_version: 1, name and model"
            raise Mistake(self.source.problem(1, 1, "yaml-syntax", "the file is empty", hint=hint))
        return root

    def _node(self, event: Any, depth: int) -> Node:
        import yaml

        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        self._count(event, 1, depth)
        if event.tag is not None and event.tag != "!" and event.tag not in TAGS:
            self._report(event, "yaml-syntax", f"the tag {event.tag!r} is not known", "remove it")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event)
            fits = not event.tag or event.tag == "!" or _is_a(event.tag, node.data)
        elif isinstance(event, yaml.SequenceStartEvent):
            node, fits = self._list(event, depth), event.tag in (None, "!", f"{CORE}seq")
        else:
            node, fits = self._map(event, depth), event.tag in (None, "!", f"{CORE}map")
        if not fits and event.tag in TAGS:
            message = f"the value does not fit its tag {event.tag.replace(CORE, '!!')!r}"
            self._report(event, "yaml-syntax", message, "remove the tag")
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, depth: int) -> Node:
        if event.anchor not in self.anchors:
            raise self._mistake(event, "yaml-syntax", f"the anchor '&{event.anchor}' is not defined above")
        target = self.anchors[event.anchor]
        if target is None:
            raise self._mistake(event, "yaml-syntax", f"the alias '*{event.anchor}' contains itself")
        self._count(event, target.size, depth + target.depth - 1)
        return target

    def _count(self, event: Any, nodes: int, depth: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            message = f"the file holds more than {MAX_NODES} values, aliases expanded"
            raise self._mistake(event, "yaml-limit", message, "use fewer aliases")
        if depth > MAX_DEPTH:
            raise self._mistake(event, "yaml-limit", f"values are nested more than {MAX_DEPTH} deep")

    def _scalar(self, event: Any) -> Node:
        text = event.value
        for old, stand_in in self.stand_ins.items():
            text = text.replace(stand_in, old)
        if event.style == '"':
            text = self._joined(event, text)
        if event.tag in ("!", STR) or (event.style and event.tag is None):
            return Node(text, event, self.source, style=event.style)
        try:
            return Node(resolve(text), event, self.source, text=text)
        except ValueError as exc:
            self._report(event, "value", f"{exc}, found {text[:40]!r}", "put it in quotes if it is text")
            return Node(0, event, self.source, text=text)

    def _joined(self, event: Any, text: str) -> str:
        """The text with surrogate pairs joined to the characters they stand for."""
        whole = mend(text)
        if whole.count(REPLACEMENT) > text.count(REPLACEMENT):
            message = "half of a surrogate pair is no character"
            self._report(event, "yaml-syntax", message, r"write both halves, or \U and eight digits")
        return whole

    def _list(self, event: Any, depth: int) -> Node:
        import yaml

        node = Node([], event, self.source)
        while not isinstance(item := next(self.events), yaml.SequenceEndEvent):
            child = self._node(item, depth + 1)
            node.children[len(node.data)] = child
            node.data.append(child.data)
            _grow(node, child)
        return node

    def _map(self, event: Any, depth: int) -> Node:
        import yaml

        node = Node({}, event, self.source)
        merged: list[Node] = []
        while not isinstance(item := next(self.events), yaml.MappingEndEvent):
            key = self._node(item, depth + 1)
            value = self._node(next(self.events), depth + 1)
            _grow(node, value)
            if key.text == "<<":
                merged += self._merged(item, value)
                continue
            name = self._name(item, key)
            if name is None:
                continue
            if name in node.keys:
                message = f"duplicate key {name!r} (first at line {node.keys[name].line})"
                self._report(item, "duplicate-key", message)
                continue
            node.keys[name], node.children[name], node.data[name] = key, value, value.data
        for other in merged:
            for name in other.keys:
                if name not in node.keys:
                    node.keys[name], node.children[name] = other.keys[name], other.children[name]
                    node.data[name] = other.data[name]
        return node

    def _name(self, event: Any, key: Node) -> str | None:
        """A key's text; None, told as a mistake, for anything but text. A map is what an unquoted template
        looks like."""
        if isinstance(key.data, str):
            return key.data
        if key.text is not None:
            self._report(event, "type", f"a key is text, found {key.text or 'nothing'}",
                         f'write "{key.text}" in quotes')  # fmt: skip
            return None
        line = self.source.lines[key.line - 1]
        template = line[max(0, key.column - 2) :].startswith("{{")
        hint = "put the value in quotes: '{{' opens two maps in YAML" if template else None
        raise self._mistake(event, "yaml-syntax", "a key is text, found a map or a list", hint)

    def _merged(self, event: Any, value: Node) -> list[Node]:
        """The maps that `<<` names, the first winning over later ones."""
        maps = list(value.children.values()) if isinstance(value.data, list) else [value]
        if not all(isinstance(entry.data, dict) for entry in maps):
            self._report(event, "type", "'<<' merges a map or a list of maps")
            return []
        return maps

    def _report(self, event: Any, rule: str, message: str, hint: str | None = None) -> None:
        self.problems.append(self._mistake(event, rule, message, hint).problem)

    def _mistake(self, event: Any, rule: str, message: str, hint: str | None = None) -> Mistake:
        start, end = event.start_mark, event.end_mark
        width = end.column - start.column if end.line == start.line else 10_000
        return Mistake(
            self.source.problem(start.line + 1, start.column + 1, rule, message, hint=hint, width=width)
        )


def _is_a(tag: str, value: Any) -> bool:
    """Whether a scalar's value is of the type that its tag names."""
    kinds = SCALAR_TYPES.get(tag.removeprefix(CORE), ())
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _grow(node: Node, child: Node) -> None:
    node.size += child.size
    node.depth = max(node.depth, child.depth + 1)
