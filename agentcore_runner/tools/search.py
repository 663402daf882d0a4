"""What searching for texts and for names have in common: where to look, and who does it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

import agentcore_runner
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.child import OnOutput
from agentcore_runner.tools.options import ToolOptions
from agentcore_runner.tools.paths import display, resolve
from agentcore_runner.tools.process import Exit
from agentcore_runner.tools.program import DEFAULT_TIMEOUT_S

BAD_PATTERN = 3
BOOT = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from agentcore_runner.tools.search_worker import main; sys.exit(main())"
)
MAX_STDERR = 8 * 1024


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where to search: `folder` becomes the working directory, `target` is `./` or a file in it, `prefix`
    goes before every path that is shown."""

    folder: Path
    target: str
    prefix: str


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """How a search ended, and the start of what it had to say."""

    exit: Exit
    errors: str


def place_of(options: ToolOptions, path: str | None, *, folder_only: bool) -> Place:
    """The place that a path names; raises ToolError if there is none."""
    real = resolve(options, path or ".", reading=True)
    shown = display(real, options.cwd)
    if not real.exists():
        raise ToolError(f"cannot access {shown!r}: there is no such file or directory")
    if not real.is_dir() and folder_only:
        raise ToolError(f"{shown!r} is not a directory")
    folder = real if real.is_dir() else real.parent
    near = display(folder, options.cwd)
    return Place(
        folder=folder,
        target="./" if real.is_dir() else f"./{real.name}",
        prefix="" if near == "." else near.rstrip("/") + "/",
    )


async def run_search(
    options: ToolOptions,
    place: Place,
    argv: list[str],
    *,
    signal: AbortSignal,
    on_output: OnOutput,
    env: dict[str, str] | None = None,
    stdin: bytes = b"",
) -> Ran:
    """Run a search program in its place; raises ToolError after a timeout."""
    errors = bytearray()
    timeout = options.timeout or DEFAULT_TIMEOUT_S
    done = await options.children.run(
        argv,
        cwd=place.folder,
        env={**options.env, **(env or {})},
        stdin=stdin,
        timeout=timeout,
        signal=signal,
        on_output=on_output,
        on_stderr=lambda data: errors.extend(data[: MAX_STDERR - len(errors)]),
    )
    if done.timed_out:
        raise ToolError(f"timed out after {timeout:g} seconds; search in a smaller folder")
    return Ran(exit=done, errors=errors.decode("utf-8", "replace").strip())


async def run_worker(
    options: ToolOptions, place: Place, request: dict[str, Any], *, signal: AbortSignal, on_output: OnOutput
) -> None:
    """Search with our own means; raises ToolError for a pattern that they do not understand."""
    # Isolated: nothing in the folder that is searched may be imported.
    argv = [sys.executable, "-I", "-S", "-X", "utf8", "-c", BOOT, str(package_folder())]
    ran = await run_search(
        options, place, argv, signal=signal, on_output=on_output, stdin=msgspec.json.encode(request)
    )
    if ran.exit.code == BAD_PATTERN:
        raise ToolError(f"bad pattern {request['pattern']!r}: {ran.errors}")
    if ran.exit.code != 0 and not ran.exit.aborted:
        raise ToolError(f"the search failed with exit code {ran.exit.code}: {ran.errors[-500:]}")


def package_folder() -> Path:
    """The folder that our package is imported from."""
    return Path(agentcore_runner.__path__[0]).parent
