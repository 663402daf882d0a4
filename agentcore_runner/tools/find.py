"""The `find` tool: files and folders whose names fit a glob, by fd where it is installed."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Callable

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentTool, AgentToolResult, text_result
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.globs import path_filter
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.output import collector
from agentcore_runner.tools.paths import printable
from agentcore_runner.tools.program import installed
from agentcore_runner.tools.search import Place, place_of, run_search, run_worker
from agentcore_runner.tools.tool import Call, check, make_tool, object_schema, text, whole_number

DEFAULT_LIMIT = 1000
MAX_LIMIT = 20_000
PLAIN = re.compile(r"[A-Za-z0-9_.*-]+")
FD = ("--hidden", "--exclude=.git", "--color=never", "--case-sensitive", "--print0")
# So that nobody's personal ignore files decide what is found.
NO_HOME = {"HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"}


def find_tool(options: ToolOptions) -> AgentTool:
    """Finds what lies inside the root and is not ignored; the same with fd and without."""

    async def find(call: Call) -> AgentToolResult:
        pattern = call.params["pattern"]
        limit = min(call.params.get("limit", DEFAULT_LIMIT), MAX_LIMIT)
        place = place_of(options, call.params.get("path"), folder_only=True)
        try:
            names = Names(path_filter(pattern), limit)
        except ValueError as exc:
            raise ToolError(f"pattern: {exc}") from exc
        if not await by_fd(options, place, pattern, names, call.signal):
            names = Names(path_filter(pattern), limit)
            request = {"search": "names", "pattern": pattern}
            await run_worker(options, place, request, signal=call.signal, on_output=names.feed)
        check(call.signal)
        output = collector(options, call.id, head_share=1)
        output.feed_text("\n".join(printable(place.prefix + name) for name in names.first()))
        notices = []
        if names.total > limit:
            more = f"limit={min(names.total, MAX_LIMIT)} or " if limit < MAX_LIMIT else ""
            notices.append(f"{limit} of {names.total} results shown; use {more}a narrower pattern")
        result = output.finish(empty="No files found matching pattern", notices=notices)
        return text_result(result.text, {**result.details, "results": names.total})

    return make_tool(
        options,
        find,
        description="Find files and directories by a glob, hidden ones too, without what .gitignore names. A "
        "pattern with a '/' is compared with the path below the searched directory, others with the name.",
        parameters=object_schema(
            ("pattern",),
            pattern=text("A glob such as `*.py`, `src/**/*.ts` or `**/test_*`."),
            path=text("The directory to search; default: the working directory."),
            limit=whole_number(f"Most results to show; default {DEFAULT_LIMIT}, at most {MAX_LIMIT}."),
        ),
    )


async def by_fd(options: ToolOptions, place: Place, pattern: str, names: Names, signal: AbortSignal) -> bool:
    """Search with fd; False where there is none or it cannot do what we need."""
    fd = installed(options.env, "fd", "fdfind")
    if fd is None:
        return False
    # Outside a repository fd heeds .gitignore only when told to, and older ones cannot be told.
    git = [] if in_repository(place) else ["--no-require-git"]
    # Plain globs mean the same to fd; the others are left to us.
    glob = ["--glob", "--", pattern] if PLAIN.fullmatch(pattern) else ["."]
    argv = [fd, *FD, *git, *glob]
    ran = await run_search(options, place, argv, signal=signal, on_output=names.feed, env=NO_HOME)
    return ran.exit.aborted or (ran.exit.code == 0 and not ran.errors)


def in_repository(place: Place) -> bool:
    """Whether the place lies in a git repository."""
    return any((folder / ".git").exists() for folder in (place.folder, *place.folder.parents))


class Names:
    """Takes names that end in NUL, and keeps the first of those that fit."""

    def __init__(self, fits: Callable[[str], bool], limit: int) -> None:
        self.total = 0
        self._fits = fits
        self._limit = limit
        self._rest = b""
        self._kept: list[Backwards] = []

    def feed(self, data: bytes) -> None:
        """Take a piece of the output."""
        *names, self._rest = (self._rest + data).split(b"\0")
        for raw in names:
            name = os.fsdecode(raw).removeprefix("./")
            if not self._fits(name.rstrip("/")):
                continue
            self.total += 1
            if len(self._kept) < self._limit:
                heapq.heappush(self._kept, Backwards(name))
            else:
                heapq.heappushpop(self._kept, Backwards(name))

    def first(self) -> list[str]:
        """The names in order: folder by folder, each sorted by name."""
        return [kept.name for kept in sorted(self._kept, reverse=True)]


class Backwards:
    """A name that sorts the other way round, so that a heap gives up its last one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._key = os.fsencode(name).rstrip(b"/").split(b"/")

    def __lt__(self, other: Backwards) -> bool:
        return self._key > other._key
