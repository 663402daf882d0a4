"""The `grep` tool: lines that match a pattern, by ripgrep where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentTool, AgentToolResult, text_result
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.globs import path_filter
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.output import NOT_UTF8, collector
from agentcore_runner.tools.paths import printable
from agentcore_runner.tools.program import installed
from agentcore_runner.tools.ripgrep import Event, EventReader
from agentcore_runner.tools.search import Place, place_of, run_search, run_worker
from agentcore_runner.tools.tool import Call, check, flag, make_tool, object_schema, text, whole_number

DEFAULT_LIMIT = 100
MAX_LIMIT = 2000
MAX_CONTEXT = 20
MAX_LINE = 500
# With 2 and nothing on standard error, some file could not be read.
FINE = (0, 1, 2)
# Nothing but what lies in the searched tree and above it decides what is searched.
RIPGREP = (
    "--json", "--no-config", "--no-messages", "--no-ignore-messages", "--hidden", "--no-require-git",
    "--no-ignore-global", "--glob=!.git", "--crlf", "--no-mmap", "--sort=path",
)  # fmt: skip


def grep_tool(options: ToolOptions) -> AgentTool:
    """Searches text files inside the root; what ripgrep does not understand, and everything where there is
    no ripgrep, is searched with Python's regular expressions."""

    async def grep(call: Call) -> AgentToolResult:
        wanted = msgspec.convert(call.params, Wanted).within_bounds()
        if "\n" in wanted.pattern:
            raise ToolError("the pattern holds a line end; lines are searched one at a time")
        place = place_of(options, wanted.path, folder_only=False)
        matches = await search(options, wanted, place, call.signal)
        check(call.signal)
        output = collector(options, call.id, head_share=1)
        output.feed_text("\n".join(matches.lines))
        result = output.finish(empty="No matches found", notices=matches.notices())
        details = {**result.details, "matches": matches.count, "limited": matches.limited}
        return text_result(result.text, details)

    return make_tool(
        options,
        grep,
        description="Search files for lines that match a regular expression, as `path:line: text`. Hidden "
        "files are searched, binary ones and what .gitignore names are not.",
        parameters=object_schema(
            ("pattern",),
            pattern=text("A regular expression, matched within one line."),
            path=text("The directory or file to search; default: the working directory."),
            glob=text("Only files that fit, such as `*.py` or `src/**/*.ts`."),
            ignore_case=flag("Match upper and lower case alike."),
            literal=flag("Take the pattern as plain text."),
            context=whole_number(f"Lines to show around each match, at most {MAX_CONTEXT}.", minimum=0),
            limit=whole_number(f"Most matches to show; default {DEFAULT_LIMIT}, at most {MAX_LIMIT}."),
        ),
    )


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments."""

    pattern: str
    path: str | None = None
    glob: str | None = None
    ignore_case: bool = False
    literal: bool = False
    context: int = 0
    limit: int = DEFAULT_LIMIT

    def within_bounds(self) -> Wanted:
        """The same, with no more asked than memory should hold."""
        return msgspec.structs.replace(
            self, context=min(self.context, MAX_CONTEXT), limit=min(self.limit, MAX_LIMIT)
        )


async def search(options: ToolOptions, wanted: Wanted, place: Place, signal: AbortSignal) -> Matches:
    """The matches, by whoever can find them."""
    try:
        fits = path_filter(wanted.glob) if wanted.glob and place.target == "./" else None
    except ValueError as exc:
        raise ToolError(f"glob: {exc}") from exc
    enough = AbortSignal()
    release = signal.on_abort(lambda: enough.abort(signal.reason or "abort"))
    try:
        ripgrep = installed(options.env, "rg")
        if ripgrep is not None:
            matches = Matches(wanted, place, fits, enough)
            argv = [ripgrep, *RIPGREP, *flags(wanted), "--", place.target]
            ran = await run_search(options, place, argv, signal=enough, on_output=matches.feed)
            if ran.exit.aborted or (ran.exit.code in FINE and not ran.errors):
                return matches
        matches = Matches(wanted, place, fits, enough)
        await run_worker(options, place, request(wanted, place), signal=enough, on_output=matches.feed)
        return matches
    finally:
        release()


def request(wanted: Wanted, place: Place) -> dict[str, Any]:
    """What our own search is asked."""
    names = ("pattern", "glob", "ignore_case", "literal", "context")
    return {"search": "texts", "target": place.target, **{name: getattr(wanted, name) for name in names}}


def flags(wanted: Wanted) -> list[str]:
    """Ripgrep's flags for the arguments. The glob is no flag of its own: there it would outrank .gitignore.
    Where it is plain it becomes a file type, so that no file is searched in vain."""
    found = ["--ignore-case" if wanted.ignore_case else "--case-sensitive", f"--context={wanted.context}"]
    if wanted.literal:
        found.append("--fixed-strings")
    glob = wanted.glob or ""
    if glob.startswith("*.") and glob[2:].replace("_", "").isalnum() and glob.isascii():
        found += [f"--type-add=wanted:{glob}", "--type=wanted"]
    return [*found, f"--regexp={wanted.pattern}"]


class Matches:
    """Takes what a search prints, keeps the lines to show, and sets `enough` when there are more."""

    def __init__(
        self, wanted: Wanted, place: Place, fits: Callable[[str], bool] | None, enough: AbortSignal
    ) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.limited = False
        self._enough = enough
        self._wanted = wanted
        self._prefix = place.prefix
        self._fits = fits
        self._events = EventReader()
        self._long = False
        self._file = FileLines()

    def feed(self, data: bytes) -> None:
        """Take a piece of the output."""
        if self.limited:
            return
        for event in self._events.feed(data):
            if event.type in ("match", "context"):
                self._line(event)
            elif event.type == "end" and self._end(event):
                self.limited = True
                self._enough.abort("limit")
                return

    def notices(self) -> list[str]:
        """What the model should know about the result."""
        found = []
        limit = self._wanted.limit
        if self.limited and limit < MAX_LIMIT:
            more = min(limit * 2, MAX_LIMIT)
            found.append(
                f"limit of {limit} reached, there are more matches; use limit={more} or a narrower pattern"
            )
        elif self.limited:
            found.append(f"limit of {limit} reached, there are more matches; use a narrower pattern")
        if self._long:
            found.append(f"lines are cut at {MAX_LINE} characters")
        return found

    def _line(self, event: Event) -> None:
        path, lines, number = event.data.path, event.data.lines, event.data.line_number
        if path is None or lines is None or number is None:
            return
        name = path.decoded().removeprefix("./")
        if self._fits is not None and not self._fits(name):
            return
        file, is_match = self._file, event.type == "match"
        room = self._wanted.limit - self.count
        file.count += is_match
        if file.count > room or (file.count == room and not is_match):
            # Beyond the limit nothing is shown but what surrounds the last match.
            if not file.last_match or number > file.last_match + self._wanted.context:
                return
            is_match = False
        if is_match:
            file.last_match = number
        if self._wanted.context and file.lines and number != file.last_number + 1:
            file.lines.append("--")
        file.last_number = number
        file.lines.append(self._shown(printable(self._prefix + name), lines.decoded(), number, is_match))

    def _shown(self, path: str, line: str, number: int, is_match: bool) -> str:
        line = NOT_UTF8.sub("\ufffd", line.removesuffix("\n").removesuffix("\r"))
        if len(line) > MAX_LINE:
            self._long = True
            line = line[:MAX_LINE] + "…"
        return f"{path}:{number}: {line}" if is_match else f"{path}-{number}- {line}"

    def _end(self, event: Event) -> bool:
        """Take over a file's lines unless it turned out binary; True when there are more than wanted."""
        file, self._file = self._file, FileLines()
        if event.data.binary_offset is not None or not file.count:
            return False
        room = self._wanted.limit - self.count
        if file.lines and self.lines and self._wanted.context:
            self.lines.append("--")
        self.lines += file.lines
        self.count += min(file.count, room)
        return file.count > room


class FileLines:
    """What is to be shown of the file at hand; numbers are 0 before the first line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.last_number = 0
        self.last_match = 0
