"""The one place that starts a process: a run's children, and the promise that none outlives it."""

from __future__ import annotations

import asyncio
import signal as signals
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.child import Child, Ending, OnOutput, start
from agentcore_runner.tools.leftovers import Leftovers
from agentcore_runner.tools.orphans import CALL_MARK, RUN_MARK, Family, Process, ProcTable, PsTable
from agentcore_runner.tools.signalling import group_of, send
from agentcore_runner.tools.subreaper import SUBREAPER

DRAIN_IDLE_S = 0.25
DRAIN_LONGEST_S = 2.0
AFTER_KILL_S = 1.0
LONGEST_PAUSE_S = 0.05
ABORTED_CODE = 128 + signals.SIGTERM
KILLED_CODE = 128 + signals.SIGKILL

Chosen: TypeAlias = Callable[[int], bool]


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended. `code` is 128 + n where signal n ended it."""

    code: int
    timed_out: bool = False
    aborted: bool = False


class Captured(msgspec.Struct, frozen=True, kw_only=True):
    """A program's outputs, cut after the first `max_bytes`; `total_bytes` counts all of standard output."""

    exit: Exit
    stdout: bytes
    stderr: bytes
    total_bytes: int


class Children:
    """All processes of a run. What is ended gets TERM, `grace` seconds, KILL. `sole_parent` may be set where
    nothing else in this process starts children: then orphans that hide every trace are found too.
    `portable` does without what only Linux has."""

    def __init__(
        self,
        run_id: str,
        *,
        grace: float = 2.0,
        sole_parent: bool = False,
        portable: bool = sys.platform != "linux",
    ) -> None:
        self._run_id = run_id
        self._grace = grace
        self._sole_parent = sole_parent
        self._portable = portable
        self._family: Family | None = None
        self._holds_orphans = False
        self._running: dict[int, Child] = {}
        self._calls = 0
        self._leftovers = Leftovers()
        self._closed = False

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes = b"",
        timeout: float | None = None,
        signal: AbortSignal | None = None,
        on_output: OnOutput | None = None,
        on_stderr: OnOutput | None = None,
    ) -> Exit:
        """Run a program to its end, `timeout` seconds or the signal. After the last two everything it started
        is ended; else what it left running lives until the run ends. `on_output` gets standard output and
        error as they come, `on_stderr` takes the latter apart. Raises ToolError if it cannot be started."""
        if signal is not None and signal.aborted:
            return Exit(code=ABORTED_CODE, aborted=True)
        call, child = self._start(argv, cwd, env, stdin, on_output or ignore, on_stderr)
        try:
            ending = await child.wait(timeout, signal)
            if ending is not Ending.EXITED:
                await self._end(lambda member: member == call)
                await child.wait(AFTER_KILL_S, None)
            await child.drain(DRAIN_IDLE_S, DRAIN_LONGEST_S)
        except BaseException:
            self._kill(lambda member: member == call)
            raise
        finally:
            self._leftovers.add(child.release())
        return Exit(
            code=KILLED_CODE if child.code is None else child.code,
            timed_out=ending is Ending.TIMED_OUT,
            aborted=ending is Ending.ABORTED,
        )

    async def capture(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        max_bytes: int,
        stdin: bytes = b"",
        timeout: float | None = None,
        signal: AbortSignal | None = None,
    ) -> Captured:
        """Run a program and keep at most `max_bytes` of each of its outputs."""
        stdout, stderr, total = bytearray(), bytearray(), 0

        def keep(data: bytes) -> None:
            nonlocal total
            total += len(data)
            stdout.extend(data[: max_bytes - len(stdout)])

        done = await self.run(
            argv, cwd=cwd, env=env, stdin=stdin, timeout=timeout, signal=signal, on_output=keep,
            on_stderr=lambda data: stderr.extend(data[: max_bytes - len(stderr)]),
        )  # fmt: skip
        return Captured(exit=done, stdout=bytes(stdout), stderr=bytes(stderr), total_bytes=total)

    async def aclose(self) -> None:
        """End everything that is left of the run; nothing can be started afterwards."""
        self._closed = True
        if self._family is not None:
            await self._end(lambda member: True)
            for child in tuple(self._running.values()):
                await child.wait(AFTER_KILL_S, None)
            self._adopt()
        self._leftovers.close()
        if self._holds_orphans:
            self._holds_orphans = False
            SUBREAPER.release()

    def kill_now(self) -> None:
        """Kill everything of the run at once, without waiting for it. Without /proc these are the groups of
        running programs; what left its group is killed by `aclose`."""
        self._closed = True
        self._grace = 0.0
        self._kill(lambda member: True)

    def _start(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes,
        on_output: OnOutput,
        on_stderr: OnOutput | None,
    ) -> tuple[int, Child]:
        if self._closed:
            raise ToolError(f"cannot start {argv[0]!r}: the run has ended")
        family = self._family = self._family or self._new_family()
        self._calls += 1
        call = self._calls
        child = start(
            argv,
            cwd=cwd,
            env={**env, RUN_MARK: self._run_id, CALL_MARK: str(call)},
            stdin=stdin,
            on_output=on_output,
            on_stderr=on_stderr,
            on_exit=self._exited,
            portable=self._portable,
        )
        family.add(child.pid, call)
        self._running[call] = child
        return call, child

    def _new_family(self) -> Family:
        self._holds_orphans = not self._portable and SUBREAPER.acquire()
        table = ProcTable() if self._holds_orphans else PsTable()
        return Family(self._run_id, table, sole_parent=self._sole_parent)

    def _exited(self, child: Child) -> None:
        self._running = {call: other for call, other in self._running.items() if other is not child}
        self._adopt()

    def _adopt(self) -> None:
        """Reap the orphans that came to us and are dead; be told when the others die."""
        if self._holds_orphans and self._family is not None:
            self._leftovers.reap(self._family)

    async def _end(self, chosen: Chosen) -> None:
        if not await self._signal(chosen, signals.SIGTERM, self._grace):
            await self._signal(chosen, signals.SIGKILL, AFTER_KILL_S)
        self._adopt()

    async def _signal(self, chosen: Chosen, number: signals.Signals, patience: float) -> bool:
        """Send a signal to every chosen process once, and to those that appear meanwhile; True when all are
        gone within `patience` seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        told: set[tuple[int, int]] = set()
        pause = 0.001
        while alive := await self._alive(chosen):
            send(alive, number, told, self._leader_pids(chosen))
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(min(pause, max(0.0, deadline - loop.time())))
            pause = min(pause * 2, LONGEST_PAUSE_S)
        return True

    async def _alive(self, chosen: Chosen) -> list[Process]:
        # `ps` takes its time; /proc does not.
        return self._look(chosen) if self._holds_orphans else await asyncio.to_thread(self._look, chosen)

    def _look(self, chosen: Chosen) -> list[Process]:
        members = self._family.members() if self._family else []
        alive = [process for process, call in members if chosen(call) and not process.dead]
        missing = self._leader_pids(chosen).difference(process.pid for process, _ in members)
        return alive + [group_of(pid) for pid in missing]

    def _leader_pids(self, chosen: Chosen) -> set[int]:
        running = tuple(self._running.items())  # the loop may change it while a thread looks
        return {child.pid for call, child in running if chosen(call) and child.code is None}

    def _kill(self, chosen: Chosen) -> None:
        """Kill what there is, and once more what was born meanwhile. Never asks `ps`, which would block."""
        for _ in range(3 if self._holds_orphans else 1):
            leaders = self._leader_pids(chosen)
            alive = self._look(chosen) if self._holds_orphans else [group_of(pid) for pid in leaders]
            if not alive:
                break
            send(alive, signals.SIGKILL, set(), leaders)


def ignore(data: bytes) -> None:
    """Take output that nobody wants."""
