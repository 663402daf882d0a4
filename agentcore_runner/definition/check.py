"""Everything that is checked in a parsed agent file, in one pass."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from agentcore_runner.definition.compose import Node
from agentcore_runner.definition.document import Document
from agentcore_runner.definition.files import Project, Unreadable
from agentcore_runner.definition.inputs import input_problems, schema_problems
from agentcore_runner.definition.problems import KeyPath, Problem
from agentcore_runner.definition.schema import structure_problems
from agentcore_runner.definition.source import Mistake
from agentcore_runner.definition.template import MARKERS, Template
from agentcore_runner.definition.templates import Templates, template_paths
from agentcore_runner.definition.types import CompactionSpec
from agentcore_runner.definition.vocabulary import unsupported, written

SOURCES = ("command", "file", "text")
NOT_CONFIGURATION = {"metadata", "description", "text", "pattern", "$comment"}


class Findings(msgspec.Struct, kw_only=True):
    """What the check found: problems, the paths of what is wrong, and the templates and files by the path
    that holds or names them."""

    problems: list[Problem] = []
    wrong: set[KeyPath] = set()
    templates: dict[KeyPath, Template] = {}
    files: dict[KeyPath, Any] = {}


def review_alone(document: Document) -> list[Problem]:
    """What is wrong with the structure of a file that is a part of an agent, wherever the other parts are."""
    assert document.root is not None
    later = unsupported(document.root.data)
    filled = {path for path, text in _strings(document.root, (), later) if "${" in text or "$$" in text}
    problems, _ = structure_problems(document, skip=later.keys(), open_values=filled, partial=True)
    return [*problems, *(_not_yet(document, path, what) for path, what in later.items())]


def review(
    document: Document,
    project: Project,
    *,
    model_given: bool,
    env: Mapping[str, str],
    partial: bool = False,
) -> Findings:
    """Check structure, names, schemas, files and templates. One mistake gives one problem: what is wrong
    already is not looked at again. In a `partial` document nothing is missing and no name undeclared."""
    assert document.root is not None
    data = document.root.data
    if not isinstance(data, dict):
        problems, _ = structure_problems(document, skip=(), model_given=model_given)
        return Findings(problems=problems, wrong={()})
    later = unsupported(data)
    filled = _substitutions(document, later.keys())
    problems, wrong = structure_problems(
        document, skip=later.keys(), open_values=filled.keys(), model_given=model_given, partial=partial
    )
    # What stands under a wrong key may be a template that uses inputs.
    complete = not later and not partial and not any(_holds_template(document.node(path)) for path in wrong)
    problems += [_not_yet(document, path, what) for path, what in later.items()]
    wrong |= later.keys()
    problems += _not_filled(document, filled, wrong)
    wrong |= filled.keys()
    problems += _twice(document, data, wrong)
    for path, problem in list(schema_problems(document, data, wrong)):
        problems.append(problem)
        wrong.add(path)
    problems += input_problems(document, data, wrong)
    problems += _unset(document, data, wrong, env)
    problems += _without_room(document, data, wrong)
    templates = Templates(document, project, wrong, partial=partial)
    problems += templates.check(complete=complete)
    files, file_problems = _context_files(document, data, project, wrong)
    problems += file_problems
    return Findings(problems=problems, wrong=wrong, templates=templates.found, files=files)


def _not_yet(document: Document, path: KeyPath, what: str) -> Problem:
    message = f"{what} is not supported yet"
    key = isinstance(path[-1], str) and path[-2:] != ("model", "api")
    shown = path if key or path[-1] == "api" else (*path, "type")
    hint = "remove it: this version would not act on it"
    return document.problem(shown, "not-supported-yet", message, hint=hint, at_key=key)


def _twice(document: Document, data: dict[str, Any], wrong: set[KeyPath]) -> Iterator[Problem]:
    """Tools and context items whose name another one has."""
    for key, what in (("tools", "tool"), ("context", "context item")):
        entries = data.get(key)
        first: dict[str, int] = {}
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            path: KeyPath = (key, index, "name") if isinstance(entry, dict) else (key, index)
            name = entry.get("name") if isinstance(entry, dict) else entry
            if not isinstance(name, str) or path in wrong or (key, index) in wrong:
                continue
            if name in first:
                message = f"two {what}s are called {name!r}; the first is {key}[{first[name]}]"
                yield document.problem(path, "duplicate-name", message, hint="rename or remove one")
            first.setdefault(name, index)


def _unset(
    document: Document, data: dict[str, Any], wrong: set[KeyPath], env: Mapping[str, str]
) -> Iterator[Problem]:
    """Variables that are exposed and do not exist."""
    exposed = data["env"].get("expose") if isinstance(data.get("env"), dict) else None
    for index, name in enumerate(exposed if isinstance(exposed, list) else ()):
        path: KeyPath = ("env", "expose", index)
        if isinstance(name, str) and path not in wrong and name not in env:
            yield document.problem(
                path, "env-unset", f"{name} is not set", hint="used by env.expose", severity="warning"
            )


def _without_room(document: Document, data: dict[str, Any], wrong: set[KeyPath]) -> Iterator[Problem]:
    """Token counts for compaction that leave nothing of the model's window."""
    model, counts_written = data.get("model"), data.get("compaction")
    if any(path[:1] in ((), ("model",), ("compaction",)) for path in wrong):
        return
    if not isinstance(model, dict) or not isinstance(counts_written, dict):
        return
    window, names = model.get("context_window"), ("reserve_tokens", "keep_recent_tokens")
    counts = [int(counts_written.get(name, getattr(CompactionSpec(), name))) for name in names]
    named = next((name for name in names if name in counts_written), None)
    if window is not None and named is not None and sum(counts) >= window:
        message = (
            f"reserve_tokens and keep_recent_tokens, {counts[0]:,} and {counts[1]:,}, leave no room in the "
            f"model's context_window of {int(window):,}"
        )
        yield document.problem(("compaction", named), "value", message, hint="make them smaller")


def _substitutions(document: Document, later: Collection[KeyPath]) -> dict[KeyPath, str]:
    """Every `${…}` and `$$` in configuration strings, by path: a later version will fill them in."""
    assert document.root is not None
    templates = {path for path, kind in template_paths(document.root.data) if kind != "file"}
    return {
        path: "${…}" if "${" in text else "$$"
        for path, text in _strings(document.root, (), later)
        if ("${" in text or "$$" in text) and path not in templates
    }


def _not_filled(document: Document, filled: Mapping[KeyPath, str], wrong: set[KeyPath]) -> Iterator[Problem]:
    for path, mark in filled.items():
        if any(path[:end] in wrong for end in range(1, len(path) + 1)):
            continue
        message = f"{written(path)}: '{mark}' is not supported yet"
        yield document.problem(path, "not-supported-yet", message, hint="write the value itself")


def _strings(node: Node, path: KeyPath, skip: Collection[KeyPath]) -> Iterator[tuple[KeyPath, str]]:
    """Every configuration string of a document, with its path."""
    if isinstance(node.data, str):
        yield path, node.data
    for name, child in node.children.items():
        if isinstance(name, str) and (name in NOT_CONFIGURATION or (not path and name.startswith("x-"))):
            continue
        if (*path, name) not in skip:
            yield from _strings(child, (*path, name), skip)


def _holds_template(node: Node | None) -> bool:
    if node is None:
        return False
    if isinstance(node.data, str):
        return any(marker in node.data for marker in MARKERS)
    return any(map(_holds_template, node.children.values()))


def _context_files(
    document: Document, data: dict[str, Any], project: Project, wrong: set[KeyPath]
) -> tuple[dict[KeyPath, Any], list[Problem]]:
    """The files of context items; an optional one may be missing."""
    files: dict[KeyPath, Any] = {}
    problems: list[Problem] = []
    for path, item in _context_items(data):
        file = item.get("file")
        # One mistake is enough where an item has two sources.
        if not isinstance(file, str) or not file or any((*path, key) in wrong for key in SOURCES):
            continue
        try:
            node = document.node((*path, "file"))
            folder = project.folder(node.source if node is not None else document.source)
            files[(*path, "file")] = project.locate(file, folder)
            project.read(file, folder)
        except Mistake as exc:
            problems.append(exc.problem)
        except Unreadable as exc:
            if exc.rule != "file-missing" or item.get("optional") is not True:
                problems.append(document.problem((*path, "file"), exc.rule, exc.message, hint=exc.hint))
    return files, problems


def _context_items(data: dict[str, Any]) -> Iterable[tuple[KeyPath, dict[str, Any]]]:
    items = data.get("context")
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            yield ("context", index), item
