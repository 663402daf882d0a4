"""Reads a script's YAML 1.2 and notes the line of every key and item."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from agentcore_runner.providers.mistakes import Mistake, Mistaken

if TYPE_CHECKING:
    import yaml

Lines: TypeAlias = dict[tuple[str | int, ...], int]
"""The line, from 1, of the value at a path."""

INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}


def read_yaml(path: Path, shown: str) -> tuple[Any, Lines]:
    """Plain data and its lines. Raises `Mistaken` with file and line for what is no YAML."""
    import yaml

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as exc:
        raise mistaken(f"cannot be read: {exc.strerror}", shown) from exc
    except UnicodeDecodeError as exc:
        raise mistaken(f"byte {exc.start} is not UTF-8", shown) from exc
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 1 if exc.problem_mark else 1
        raise mistaken(f"not YAML: {exc.problem}", shown, line) from exc
    except yaml.YAMLError as exc:
        raise mistaken(f"not YAML: {exc}", shown) from exc
    reader = _Reader(shown)
    return (reader.value(root, ()) if root is not None else None), reader.lines


class _Reader:
    """Turns nodes into plain data. An alias is read again at each place it stands, at most so often."""

    MAX_NODES = 100_000

    def __init__(self, shown: str) -> None:
        self.lines: Lines = {}
        self._shown = shown
        self._count = 0

    def value(self, node: yaml.Node, place: tuple[str | int, ...]) -> Any:
        import yaml

        self._count += 1
        if self._count > self.MAX_NODES or len(place) > 50:
            raise self._mistake(node, "the script is too large or too deep, or an alias stands in itself")
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return scalar(node.value) if not node.style and not node.tag.endswith(":str") else node.value
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]
        return self._map(node, place)

    def _map(self, node: Any, place: tuple[str | int, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key, str):
                raise self._mistake(key_node, "a key must be a string")
            if key in found:
                raise self._mistake(key_node, f"the key {key!r} stands here twice")
            self.lines[(*place, key)] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, (*place, key))
        return found

    def _mistake(self, node: Any, message: str) -> Mistaken:
        return mistaken(message, self._shown, node.start_mark.line + 1)


def mistaken(message: str, shown: str, line: int | None = None) -> Mistaken:
    """The one mistake of a script that cannot be read further."""
    return Mistaken([Mistake(message=message, file=shown, line=line)])


def scalar(text: str) -> Any:
    """What an unquoted word means in YAML 1.2: `off` and `no` are words, `0755` is no number."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if FLOAT.fullmatch(text) else text
