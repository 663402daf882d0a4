"""`path=value` from a flag → a value at its path in a document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from agentcore_runner.definition.compose import Node
from agentcore_runner.definition.document import parse
from agentcore_runner.definition.merge import MODELS, long_model, long_tool, merged
from agentcore_runner.definition.problems import KeyPath
from agentcore_runner.definition.scalars import resolve
from agentcore_runner.definition.source import LINE_BREAK, Mistake, Source
from agentcore_runner.words import nearest

PART = re.compile(r"\[(\d{1,9})\]|(?:^|\.)([^.\[\]=]+)")
MOST_PARTS = 32
STRUCTURED = re.compile(r"""\[|"|'|\{(?![{%#])""")
"""How a value begins that is YAML with a structure; a template is a text."""


class Step(NamedTuple):
    """A part of a path, and the place of its text."""

    name: str | int
    node: Node


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One value and the path that it belongs to; `mistake` is what is wrong with its text."""

    steps: tuple[Step, ...] = ()
    value: Node | None = None
    mistake: Mistake | None = None


class Mark(NamedTuple):
    """A place from 0, as a YAML event has it."""

    line: int
    column: int


class Span(NamedTuple):
    """A stretch of text, as a YAML event has it."""

    start_mark: Mark
    end_mark: Mark


def settings_in(source: Source, texts: Sequence[str]) -> Iterator[Setting]:
    """The settings in the lines of `source`, which are `texts` joined."""
    line = 0
    for text in texts:
        try:
            yield _setting(source, line, text)
        except Mistake as exc:
            yield Setting(mistake=exc)
        line += len(LINE_BREAK.findall(text)) + 1


def put(root: Node, setting: Setting) -> Node:
    """The document with a setting in it; raises Mistake where its path leads nowhere."""
    if setting.mistake is not None:
        raise setting.mistake
    assert setting.value is not None
    return _put(root, setting.steps, setting.value, ())


def _put(there: Node | None, steps: tuple[Step, ...], value: Node, path: KeyPath) -> Node:
    if not steps:
        return value if there is None else merged(there, value, path)
    step, rest = steps[0], steps[1:]
    if there is not None and path in MODELS:
        there = long_model(there)
    elif there is not None and path[:1] == ("tools",) and len(path) == 2:
        there = long_tool(there)
    if there is not None and isinstance(there.data, list):
        index = _index(there, step)
        if path == ("permissions", "deny"):
            raise _mistake(step.node, "what is denied stays denied", "set permissions.deny to add to it")
        child = _put(there.children[index], rest, value, (*path, index))
        return there.with_children({**there.children, index: child})
    if isinstance(step.name, int):
        raise _mistake(step.node, "there is no list here")
    old = there if there is not None and isinstance(there.data, dict) else None
    child = _put(old.children.get(step.name) if old else None, rest, value, (*path, step.name))
    if old is None:
        return step.node.with_children({step.name: child}, {step.name: step.node})
    keys = {step.name: step.node, **old.keys} if step.name not in old.children else old.keys
    return old.with_children({**old.children, step.name: child}, keys)


def _index(entries: Node, step: Step) -> int:
    """Where in a list an entry stands that is named by its number or its name."""
    if isinstance(step.name, int):
        if step.name < len(entries.data):
            return step.name
        count = len(entries.data)
        raise _mistake(step.node, f"the list has no entry {step.name}", f"it has {count}, the first is 0")
    named: dict[Any, int] = {
        entry.get("name") if isinstance(entry, dict) else entry: index
        for index, entry in reversed([*enumerate(entries.data)])
        if isinstance(entry, dict | str)
    }
    if step.name in named:
        return named[step.name]
    known = [name for name in named if isinstance(name, str)]
    near = nearest(step.name, known)
    hint = f"did you mean {near!r}?" if near else f"write [0] for the first of {len(entries.data)}"
    raise _mistake(step.node, f"the list has no entry called {step.name!r}", hint)


def _setting(source: Source, line: int, text: str) -> Setting:
    path, equals, written = text.partition("=")
    steps: list[Step] = []
    end = 0
    for match in PART.finditer(path):
        if match.start() != end:
            break
        end = match.end()
        number, name = match[1], match[2]
        start = match.start(1) if number else match.start(2)
        span = Span(Mark(line, start), Mark(line, end))
        steps.append(Step(int(number) if number else name, Node(name, span, source)))
    whole = Node(text, _span(line, 0, text), source)
    if not equals or end != len(path) or not steps or len(steps) > MOST_PARTS:
        raise _mistake(whole, "expected PATH=VALUE, such as limits.max_turns=5 or tools.bash.timeout=2m")
    if steps[0].name in ("extends", "profiles"):
        hint = "name it in the file" if steps[0].name == "extends" else "choose one with --profile NAME"
        raise _mistake(steps[0].node, f"'{steps[0].name}' cannot be set by a flag", hint)
    return Setting(steps=tuple(steps), value=_value(source, line, len(path) + 1, written))


def _value(source: Source, line: int, column: int, text: str) -> Node:
    """The value of a text: YAML or JSON where it begins like a list, a map or a quote, else one scalar."""
    span = _span(line, column, text)
    if not STRUCTURED.match(text):
        try:
            return Node(resolve(text) if text else "", span, source, text=text)
        except ValueError as exc:
            raise _mistake(Node(text, span, source), f"{exc}, found {text[:40]!r}") from None
    document = parse(Source(source.file, text))
    if document.problems or document.root is None:
        problem = document.problems[0]
        raise _mistake(Node(text, span, source), problem.message, problem.hint, rule=problem.rule)
    _move(document.root, source, line, column, set())
    return document.root


def _span(line: int, column: int, text: str) -> Span:
    """Where a text stands that begins at a place."""
    pieces = LINE_BREAK.split(text)
    end = len(pieces[-1]) + (column if len(pieces) == 1 else 0)
    return Span(Mark(line, column), Mark(line + len(pieces) - 1, end))


def _move(node: Node, source: Source, line: int, column: int, done: set[int]) -> None:
    """Give a value that was parsed alone its place in a longer text."""
    if id(node) in done:
        return
    done.add(id(node))
    node.source = source
    node.column += column if node.line == 1 else 0
    node.end = (node.end[0] + line, node.end[1] + (column if node.end[0] == 1 else 0))
    node.line += line
    for child in (*node.keys.values(), *node.children.values()):
        _move(child, source, line, column, done)


def _mistake(node: Node, message: str, hint: str | None = None, *, rule: str = "setting") -> Mistake:
    return Mistake(node.source.problem(node.line, node.column, rule, message, hint=hint, width=node.width))
