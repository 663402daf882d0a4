"""Work that may take as long as somebody outside likes, such as reading standard input."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.errors import ConfigError

T = TypeVar("T")


async def aside(function: Callable[[], T], signal: AbortSignal) -> T:
    """What the function gives, called in a thread of its own. Once the signal is set the wait ends with
    ConfigError and the thread is left to itself: nobody can end a read, and a daemon keeps no process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(value)  # type: ignore[arg-type]

    def work() -> None:
        value, error = None, None
        try:
            value = function()
        except BaseException as exc:
            error = exc
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, daemon=True).start()
    forget = signal.on_abort(lambda: settle(None, ConfigError(f"stopped by {signal.reason}")))
    try:
        return await done
    finally:
        forget()
