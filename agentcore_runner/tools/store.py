"""Changing a file: one call at a time, and whole or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from weakref import WeakValueDictionary

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.tool import check

# A lock lives as long as somebody holds it or waits for it.
_locks: WeakValueDictionary[tuple[int, Path], asyncio.Lock] = WeakValueDictionary()


@contextlib.asynccontextmanager
async def file_lock(path: Path, signal: AbortSignal) -> AsyncIterator[None]:
    """Hold the file with this real path alone; first come, first served. Raises ToolError if the signal is
    set by the time it is our turn."""
    key = (id(asyncio.get_running_loop()), path)
    lock = _locks.get(key)
    if lock is None:
        lock = _locks[key] = asyncio.Lock()
    async with lock:
        check(signal)
        yield


def store(path: Path, data: bytes) -> bool:
    """Give a file new contents; True if it was new. Its folders are made. Readers see all of the
    old or all of the new, except where the file has other names (hard links) or its folder is not writable.
    Raises OSError."""
    try:
        before = path.stat()
    except FileNotFoundError:
        before = None
        path.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        if not stat.S_ISREG(before.st_mode):
            raise IsADirectoryError(None, "it is no regular file", str(path))
        if not os.access(path, os.W_OK):
            raise PermissionError(None, "permission denied", str(path))
        if before.st_nlink > 1 or not os.access(path.parent, os.W_OK):
            path.write_bytes(data)
            return False
    swap_in(path, data, before)
    return before is None


def swap_in(path: Path, data: bytes, before: os.stat_result | None) -> None:
    """Write beside the file, then put the result in its place, with the mode and the owner it had."""
    beside = path.with_name(f".{path.name[:100]}.{os.urandom(4).hex()}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if before is not None:
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, before.st_uid, before.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def encode(text: str, what: str) -> bytes:
    """UTF-8 bytes; raises ToolError naming the character that has none."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as exc:
        code = ord(text[exc.start])
        raise ToolError(f"{what}: U+{code:04X} at offset {exc.start} is half a character") from exc
