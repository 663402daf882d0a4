"""Walks a folder without what its ignore files name. Standard library only: see `search_worker`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from agentcore_runner.tools.globs import translate

GIT_KINDS = (".gitignore", os.path.join(".git", "info", "exclude"))


class Entry(NamedTuple):
    """Something below the top: its path relative to it, and what it is. A link is neither followed nor a
    folder."""

    path: str
    is_dir: bool
    is_file: bool


class Level(NamedTuple):
    """A folder on the way, with its ignore files by kind."""

    folder: str
    rules: dict[str, Rules]
    has_git: bool


class Rules:
    """One ignore file."""

    def __init__(self, text: str) -> None:
        runs: list[tuple[bool, list[str]]] = []
        for line in text.split("\n"):
            rule = parse(line)
            if rule is not None and runs and runs[-1][0] == rule[0]:
                runs[-1][1].append(rule[1])
            elif rule is not None:
                runs.append((rule[0], [rule[1]]))
        self._runs = [(ignored, re.compile("|".join(sources))) for ignored, sources in reversed(runs)]

    def verdict(self, path: str) -> bool | None:
        """Whether a path, relative to the file's folder, is ignored; None if the file says nothing of it. A
        folder's path ends in `/`."""
        return next((ignored for ignored, pattern in self._runs if pattern.fullmatch(path)), None)


def parse(line: str) -> tuple[bool, str] | None:
    """A line as (ignored, regular expression); None for a line that is no rule."""
    text = line.removesuffix("\r")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    ignored = not text.startswith("!")
    glob = text.removeprefix("!")
    only_folders = glob.endswith("/")
    glob = glob.rstrip("/")
    if not glob:
        return None
    anchored = "/" in glob
    try:
        source = translate(glob.lstrip("/"))
        re.compile(source)
    except re.error:
        return None
    return ignored, ("" if anchored else "(?s:.*/)?") + source + ("/" if only_folders else "/?")


def walk(top: str, names: tuple[str, ...]) -> Iterator[Entry]:
    """Everything below `top` that is not ignored, hidden entries too, `.git` never, each folder sorted by
    name. `names` are the ignore files that outrank git's, strongest first; those above `top` count too."""
    kinds = (*names, *GIT_KINDS)
    top = os.path.abspath(top)
    levels = [*outer_levels(top, kinds), level_of(top, kinds)]
    stack = [(listing(top, "", levels, kinds), levels)]
    while stack:
        entries, levels = stack[-1]
        entry = next(entries, None)
        if entry is None:
            stack.pop()
            continue
        yield entry
        if entry.is_dir:
            folder = os.path.join(top, entry.path)
            levels = [*levels, level_of(folder, kinds)]
            stack.append((listing(folder, entry.path + "/", levels, kinds), levels))


def listing(folder: str, prefix: str, levels: list[Level], kinds: tuple[str, ...]) -> Iterator[Entry]:
    """What a folder holds and nothing ignores; nothing if it cannot be read."""
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    for entry in entries:
        is_dir = entry.is_dir(follow_symlinks=False)
        path = os.path.join(folder, entry.name) + "/" * is_dir
        if entry.name != ".git" and not is_ignored(path, levels, kinds):
            yield Entry(prefix + entry.name, is_dir, entry.is_file(follow_symlinks=False))


def outer_levels(top: str, kinds: tuple[str, ...]) -> list[Level]:
    """The folders above `top`, outermost first."""
    levels = []
    folder = os.path.dirname(top)
    while True:
        levels.append(level_of(folder, kinds))
        if folder == os.path.dirname(folder):
            return levels[::-1]
        folder = os.path.dirname(folder)


def level_of(folder: str, kinds: tuple[str, ...]) -> Level:
    """A folder's own ignore files."""
    rules = {}
    for kind in kinds:
        try:
            with open(os.path.join(folder, kind), encoding="utf-8-sig", errors="surrogateescape") as file:
                rules[kind] = Rules(file.read())
        except OSError:
            continue
    return Level(folder.rstrip("/") + "/", rules, os.path.lexists(os.path.join(folder, ".git")))


def is_ignored(path: str, levels: list[Level], kinds: tuple[str, ...]) -> bool:
    """Whether an absolute path is ignored: the first kind that has a word on it decides, of a kind the
    innermost file. Git's files count up to the root of the repository."""
    for kind in kinds:
        for level in reversed(levels):
            if kind in level.rules:
                verdict = level.rules[kind].verdict(path[len(level.folder) :])
                if verdict is not None:
                    return verdict
            if level.has_git and kind in GIT_KINDS:
                break
    return False
