"""A run's record while it is kept: the transcript file, the lines on standard output, and what broke."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from agentcore_runner.core.compaction import CompactionNote
from agentcore_runner.core.events import AgentEvent
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.errors import RunnerError, StdoutClosed, TranscriptError
from agentcore_runner.report.result import RunResult
from agentcore_runner.transcript import records as rec
from agentcore_runner.transcript.recorder import LineSink, Recorder
from agentcore_runner.transcript.writer import TranscriptFile

HEARTBEAT_S = 15.0
SLOW_READER_S = 2.0
OWN_FOLDER = ".agentcore"


class RunRecord:
    """Writes every record to the file at `path` and to `lines`, where given. A place that fails sets `stop`
    and is left alone from then on; the other goes on. Once `stop` is set, whoever reads the lines has two
    seconds to take each one."""

    def __init__(
        self,
        run: str,
        path: Path | None,
        *,
        fsync: bool,
        partial: bool,
        lines: LineSink | None,
        stop: AbortSignal,
    ) -> None:
        """Raises TranscriptError when the file cannot be created."""
        self.broken: RunnerError | None = None
        self._stop = stop
        self._lines = lines
        self._file = open_file(path, fsync=fsync) if path is not None else None
        sinks: list[LineSink] = []
        if self._file is not None:
            sinks.append(self._to_file)
        if lines is not None:
            sinks.append(self._to_lines)
        self._recorder = Recorder(run, sinks, time.time, partial=partial)
        self._closed = False
        self._slow: set[asyncio.Future[None]] = set()

    def on_event(self, event: AgentEvent) -> Awaitable[None] | None:
        """Record one agent event; the awaitable, if any, is a slow reader of standard output."""
        return self._recorder.on_event(event)

    def on_note(self, note: CompactionNote) -> Awaitable[None] | None:
        """Record one step of a compaction; the awaitable is as for events."""
        return self._recorder.on_note(note)

    def write(self, record_type: type[rec.Record], **fields: Any) -> Awaitable[None] | None:
        """Record something of the runner's own."""
        return self._recorder.write(record_type, **fields)

    async def note(self, record_type: type[rec.Record], **fields: Any) -> None:
        """Record something of the runner's own, and wait for a slow reader."""
        waiting = self.write(record_type, **fields)
        if waiting is not None:
            await waiting

    def warn(self, message: str) -> None:
        """Record a warning from where nothing can be awaited; one that comes after the end is dropped."""
        if self._closed:
            return
        waiting = self.write(rec.Warning, message=message)
        if waiting is not None:
            slow = asyncio.ensure_future(waiting)
            self._slow.add(slow)
            slow.add_done_callback(self._slow.discard)

    async def sync(self) -> None:
        """Return once everything so far is on disk."""
        if self._file is not None:
            await self._file.sync()

    async def heartbeat(self) -> None:
        """Record a heartbeat after every 15 s of silence, until cancelled."""
        while True:
            silence = time.time() - self._recorder.last_write
            if silence >= HEARTBEAT_S:
                await self.note(rec.Heartbeat)
                silence = 0.0
            await asyncio.sleep(max(0.1, HEARTBEAT_S - silence))

    def last_line(self, result: RunResult, fault: BaseException | None = None) -> bytes:
        """The line of `run_finished`, not written yet."""
        return self._recorder.finish(result, fault)

    def has_room_for(self, line: bytes) -> bool:
        """Whether the last line can be written; asked before the result goes anywhere else."""
        if self._file is None:
            return True
        try:
            self._file.probe(len(line))
        except TranscriptError as exc:
            self._break(exc)
            return False
        return True

    async def finish_lines(self, line: bytes) -> bool:
        """Give the last line to whoever reads them; False when they are gone, which changes the result."""
        before = self.broken
        waiting = self._to_lines(line)
        if waiting is not None:
            await waiting
        return self.broken is before

    def finish(self, line: bytes) -> None:
        """Write the last line to the file, bring everything to disk and close."""
        if self._closed:
            return
        self._closed = True
        if self._file is not None:
            self._to_file(line)
            self._file.close()

    def _to_file(self, line: bytes) -> None:
        assert self._file is not None
        try:
            self._file.write(line)
        except TranscriptError as exc:
            self._break(exc)

    def _to_lines(self, line: bytes) -> Awaitable[None] | None:
        if self._lines is None:
            return None
        try:
            waiting = self._lines(line)
        except RunnerError as exc:
            self._lose_lines(exc)
            return None
        return self._wait_for_lines(waiting) if waiting is not None else None

    async def _wait_for_lines(self, waiting: Awaitable[None]) -> None:
        try:
            await taken(waiting, self._stop)
        except RunnerError as exc:
            self._lose_lines(exc)

    def _lose_lines(self, error: RunnerError) -> None:
        self._lines = None
        self._break(error)

    def _break(self, error: RunnerError) -> None:
        # A lost record weighs more than a lost reader: the exit code must say so.
        if self.broken is None or isinstance(error, TranscriptError):
            self.broken = error
        self._stop.abort("output lost")


async def taken(waiting: Awaitable[None], stop: AbortSignal) -> None:
    """Wait until a reader has taken what is written; two seconds after `stop` was set it counts as gone,
    which is StdoutClosed."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as scope:
            forget = stop.on_abort(lambda: scope.reschedule(loop.time() + SLOW_READER_S))
            try:
                await waiting
            finally:
                forget()
    except TimeoutError as exc:
        raise StdoutClosed("The reader of standard output stopped taking what is written.") from exc


def open_file(path: Path, *, fsync: bool) -> TranscriptFile:
    """The transcript file; a folder of ours above it is kept out of git."""
    for folder in path.parents:
        if folder.name == OWN_FOLDER:
            keep_out_of_git(folder)
    return TranscriptFile(path, fsync=fsync)


def keep_out_of_git(folder: Path) -> None:
    """Give our folder a `.gitignore` of `*`, unless it has one. Where that cannot be written, neither can the
    transcript, which says so better."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("*\n")
