"""The files that a definition pulls in: where they may lie, their text, what messages call them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from agentcore_runner.definition.source import Mistake, Source, decode

MAX_BYTES = 8 * 1024 * 1024
MAX_AGENT_BYTES = 1024 * 1024


class Unreadable(Exception):
    """A file cannot be had; to be reported where it is named."""

    def __init__(self, rule: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.rule, self.message, self.hint = rule, message, hint


class Pulled(msgspec.Struct, frozen=True, kw_only=True):
    """A file's text; `name` is its path from the project folder, with `/`."""

    path: Path
    name: str
    source: Source


class Project:
    """The folder that nothing is read outside of: the nearest one above with `.git`, else the agent's own."""

    def __init__(self, agent_file: str) -> None:
        self.agent = Path(os.path.realpath(agent_file))
        self.directory = self.agent.parent
        above = (folder for folder in self.agent.parents if (folder / ".git").exists())
        self.root = next(above, self.directory)
        self.pulled: dict[Path, Pulled] = {}
        self.parents: set[Path] = set()

    def read(self, written: str, folder: Path) -> Pulled:
        """The text of a file named in a file of `folder`. Raises Unreadable for one that is missing or
        outside the project, Mistake for one that is not UTF-8."""
        path = self.locate(written, folder)
        if path not in self.pulled:
            source = decode(shown(path), _bytes(path, written, MAX_BYTES))
            source = Source(source.file, source.text.replace("\r\n", "\n"))
            self.pulled[path] = Pulled(path=path, name=path.relative_to(self.root).as_posix(), source=source)
        return self.pulled[path]

    def parent(self, path: Path, written: str, chain: tuple[str, ...]) -> Source:
        """The text of an agent file that another one extends, at a path from `locate`; raises as `read`."""
        data = _bytes(path, written, MAX_AGENT_BYTES)
        self.parents.add(path)
        try:
            source = decode(shown(path), data)
        except Mistake as exc:
            raise Mistake(msgspec.structs.replace(exc.problem, chain=chain)) from None
        return Source(source.file, source.text, path=path, chain=chain)

    def folder(self, source: Source) -> Path:
        """The folder that paths in a text start from: its file's; for a flag the working directory."""
        return source.path.parent if source.path else Path(os.getcwd())

    def name(self, source: Source) -> str:
        """A text's path from the project folder, as its templates are named."""
        return (source.path or self.agent).relative_to(self.root).as_posix()

    def locate(self, written: str, folder: Path) -> Path:
        """The resolved path of a file named in a file of `folder`; raises Unreadable for one outside."""
        if "\0" in written:
            raise Unreadable("value", f"{written!r} is no path")
        path = Path(os.path.realpath(folder / written))
        if not path.is_relative_to(self.root):
            name = shown(self.root)
            raise Unreadable(
                "file-outside-project",
                f"{written!r} lies outside the project" + (f" {name}" if name != "." else ""),
                "definitions read files of their project only",
            )
        return path


def _bytes(path: Path, written: str, most: int) -> bytes:
    try:
        if path.is_dir():
            raise Unreadable("file-missing", f"{written!r} is a folder")
        if path.exists() and not path.is_file():
            raise Unreadable("file-missing", f"{written!r} is no regular file")
        if path.stat().st_size > most:
            raise Unreadable("file-missing", f"{written!r} is larger than {most >> 20} MiB")
        return path.read_bytes()
    except FileNotFoundError:
        raise Unreadable(
            "file-missing", f"there is no file {written!r}", f"looked for {shown(path)}"
        ) from None
    except OSError as exc:
        raise Unreadable("file-missing", f"cannot read {written!r}: {exc.strerror}") from None


def shown(path: Path) -> str:
    """A path as messages write it: from the working directory where it lies in it."""
    try:
        return str(path.relative_to(os.getcwd()))
    except (ValueError, OSError):
        return str(path)
