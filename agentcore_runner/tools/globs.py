"""File name patterns as regular expressions that cannot run away. Standard library only (`search_worker`)."""

from __future__ import annotations

import re
from collections.abc import Callable

MOST_ALTERNATIVES = 256


def path_filter(glob: str) -> Callable[[str], bool]:
    """A test of relative posix paths. A glob with a `/` is about the whole path, any other about the last
    part; `**` crosses folders, `{a,b}` are alternatives, a leading `!` turns the answer round. Raises
    ValueError for a glob that means nothing."""
    wanted = not glob.startswith("!")
    plain = glob.removeprefix("!").removeprefix("./")
    whole = "/" in plain.rstrip("/")
    sources = [translate(each) for each in alternatives(plain.strip("/"))]
    try:
        match = re.compile("|".join(sources)).fullmatch
    except re.error as exc:
        raise ValueError(f"bad glob {glob!r}: {exc}") from exc
    if whole:
        return lambda path: (match(path) is not None) is wanted
    return lambda path: (match(path.rpartition("/")[2]) is not None) is wanted


def alternatives(glob: str) -> list[str]:
    """The globs that braces stand for."""
    done, queue = [], [glob]
    while queue:
        each = queue.pop(0)
        parts = braces(each)
        if parts is None:
            done.append(each)
        else:
            before, inner, after = parts
            queue += [before + item + after for item in inner]
        if len(done) + len(queue) > MOST_ALTERNATIVES:
            raise ValueError(f"more than {MOST_ALTERNATIVES} alternatives in {glob!r}")
    return done


def braces(glob: str) -> tuple[str, list[str], str] | None:
    """The text before the first pair of braces, its items, the text after it."""
    opened, depth, items, at = -1, 0, [""], 0
    while at < len(glob):
        char = glob[at]
        step = glob[at : at + 2] if char == "\\" else char
        if char == "{":
            depth += 1
            opened = at if depth == 1 else opened
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                return glob[:opened], items, glob[at + 1 :]
        if char == "," and depth == 1:
            items.append("")
        elif depth and at != opened:
            items[-1] += step
        at += len(step)
    return None


def translate(glob: str) -> str:
    """The source of a regular expression for a whole relative path."""
    parts = glob.split("/")
    source = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            source += ".+" if last else "(?:.*/)?"
        else:
            source += component(part) + ("" if last else "/")
    return f"(?s:{source})"


def component(glob: str) -> str:
    """The source for one part between slashes. The text after a star is taken where it is found first and the
    search never comes back to it, so that many stars cost no more than few."""
    pieces = [""]
    for token in re.findall(r"\\.|\[[!^]?\]?[^\]]*\]|\*+|.", glob, re.DOTALL):
        if token[0] == "*":
            pieces.append("")
        else:
            pieces[-1] += single(token)
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join([f"(?>[^/]*?{piece})" for piece in pieces[1:-1]])
    return f"{pieces[0]}{middle}[^/]*{pieces[-1]}"


def single(token: str) -> str:
    """The source for one character of a name."""
    if token == "?":
        return "[^/]"
    if token[0] == "[" and len(token) > 2:
        inner = token[1:-1]
        negated = inner[0] in "!^"
        inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[1:] if negated else inner)
        return f"(?!/)[{'^' if negated else ''}{inner}]"
    return re.escape(token[1:] if token[0] == "\\" and len(token) > 1 else token)
