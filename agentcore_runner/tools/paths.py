"""The paths a model gives: read kindly, and kept inside the tool's root."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from agentcore_runner.errors import ToolError
from agentcore_runner.tools.options import ToolOptions

UNICODE_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
UNPRINTABLE = re.compile("[\x00-\x1f\x7f\udc80-\udcff]")


def resolve(options: ToolOptions, path: str, *, reading: bool) -> Path:
    """The real path meant by `path`, relative to the working directory: with `~`, a leading `@` and odd
    spaces understood where nothing has exactly that name. Raises ToolError if it is outside the root."""
    if "\0" in path:
        raise ToolError("the path holds a NUL character")
    spellings = [options.cwd / spelling for spelling in readings(path, options.env)]
    found = next((each for each in spellings if os.path.lexists(each)), None)
    target = Path(os.path.realpath(found or similar(spellings[-1]) or spellings[-1]))
    root = Path(os.path.realpath(options.root))
    allowed = (root, Path(os.path.realpath(options.side_dir))) if reading else (root,)
    if not any(target.is_relative_to(folder) for folder in allowed):
        raise ToolError(
            f"{path!r} is outside {str(root)!r}, the folder that {options.name!r} may use; "
            f"paths are relative to {os.path.realpath(options.cwd)!r}"
        )
    return target


def readings(path: str, env: Mapping[str, str]) -> list[str]:
    """What the text may stand for, likeliest first."""
    plain = path[1:] if path.startswith("@") else path
    if plain == "~" or plain.startswith("~/"):
        plain = env.get("HOME", "~") + plain[1:]
    return list(dict.fromkeys([path, plain, UNICODE_SPACES.sub(" ", plain)]))


def similar(path: Path) -> Path | None:
    """The one file beside `path` whose name differs only in kinds of spaces or in Unicode composition."""
    try:
        names = [name for name in os.listdir(path.parent) if folded(name) == folded(path.name)]
    except OSError:
        return None
    return path.parent / names[0] if len(names) == 1 else None


def folded(name: str) -> str:
    """A name without differences that do not show."""
    return UNICODE_SPACES.sub(" ", unicodedata.normalize("NFC", name))


def display(path: str | Path, cwd: Path) -> str:
    """A path as the model can use it again: relative to the working directory where it lies below."""
    relative = os.path.relpath(path, os.path.realpath(cwd))
    return printable(str(path) if relative == ".." or relative.startswith("../") else relative)


def printable(name: str) -> str:
    """A file name as text on one line."""
    return UNPRINTABLE.sub(escape, name)


def escape(found: re.Match[str]) -> str:
    """A character that cannot be shown."""
    code = ord(found[0])
    return "\ufffd" if code >= 0xDC80 else f"\\x{code:02x}"


def access_error(path: str, exc: OSError) -> ToolError:
    """What the system said about a path, in our words."""
    if isinstance(exc, FileNotFoundError):
        return ToolError(f"cannot access {path!r}: there is no such file")
    if isinstance(exc, PermissionError):
        return ToolError(f"cannot access {path!r}: permission denied")
    return ToolError(f"cannot access {path!r}: {exc.strerror or exc}")
