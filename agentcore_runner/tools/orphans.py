"""Which processes descend from a run's calls, also after their parents died."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

RUN_MARK = "AGENTCORE_RUN"
CALL_MARK = "AGENTCORE_CALL"
ANY_CALL = 0
PS_TIMEOUT_S = 5.0
EXEC_S = 0.1
EXEC_PAUSE_S = 0.001
DEAD = (b"Z", b"X")
END_OF_ENVIRONMENT = 48
"""The field of /proc/PID/stat, counted from the state, that is 0 until a new environment is in place."""


class Process(NamedTuple):
    """One line of the process table. `started` tells two holders of one pid apart; `dead` is a zombie."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    dead: bool


class Table(Protocol):
    """A way to look at processes."""

    def processes(self) -> dict[int, Process]:
        """Every process that may be one of ours, by pid; more do no harm."""

    def marked(self, process: Process, run_id: str) -> int | None:
        """The call in whose environment the process was started, if it is one of this run."""


class Family:
    """Tells which call of a run a process belongs to: by descent, by session or group, by the mark in its
    environment. `sole_parent` says that nothing else in this process starts children, so that every child
    that appears is an orphan of ours."""

    def __init__(self, run_id: str, table: Table, *, sole_parent: bool) -> None:
        self._run_id = run_id
        self._table = table
        self._leaders: dict[int, int] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._sole_parent = sole_parent
        self._foreign = frozenset(child_pids(os.getpid())) if sole_parent else frozenset()

    def add(self, pid: int, call: int) -> None:
        """Take in a process that was started for a call, with a session of its own."""
        self._leaders[pid] = call

    def members(self) -> list[tuple[Process, int]]:
        """All that are alive or not yet reaped, each with its call (`ANY_CALL` where that is unknown)."""
        table = self._table.processes()
        calls: dict[int, int | None] = {os.getpid(): None}
        for start in table.values():
            self._settle(start, table, calls)
        found = []
        for pid, process in table.items():
            call = calls[pid]
            if call is not None:
                self._known[process.pid, process.started] = call
                found.append((process, call))
        return found

    def _settle(self, start: Process, table: dict[int, Process], calls: dict[int, int | None]) -> None:
        """Climb from a process until an ancestor whose call is known, and note it for the whole way."""
        way: list[int] = []
        process: Process | None = start
        call: int | None = None
        while process is not None:
            if process.pid in calls:
                call = calls[process.pid]
                break
            way.append(process.pid)
            call = self._own_call(process)
            if call is not None:
                break
            process = table.get(process.parent)
        for pid in way:
            calls[pid] = call

    def adopted(self) -> list[Process]:
        """Orphans of the run that are now children of this process (Linux only)."""
        found = []
        for pid in child_pids(os.getpid()):
            if pid not in self._leaders and (process := read_process(pid)) is not None:
                call = self._own_call(process)
                if call is not None:
                    self._known[process.pid, process.started] = call
                    found.append(process)
        return found

    def forget(self, pid: int) -> None:
        """A process that was reaped: its number may be used again."""
        self._known = {key: call for key, call in self._known.items() if key[0] != pid}

    def _own_call(self, process: Process) -> int | None:
        """The call that the process itself gives away, without regard to its parents."""
        for number in (process.session, process.group):
            if number in self._leaders:
                return self._leaders[number]
        known = self._known.get((process.pid, process.started))
        if known is not None:
            return known
        marked = self._table.marked(process, self._run_id)
        if marked is not None:
            return marked
        return ANY_CALL if process.parent == os.getpid() and self._is_orphan(process) else None

    def _is_orphan(self, process: Process) -> bool:
        """An unmarked child of ours that nobody here can have started."""
        if self._sole_parent:
            return process.pid not in self._foreign
        return process.dead and process.session not in (os.getsid(0), process.pid)


class ProcTable:
    """Linux: this process's descendants, out of /proc. Orphans come back to it (see `Subreaper`)."""

    def processes(self) -> dict[int, Process]:
        found: dict[int, Process] = {}
        queue = list(child_pids(os.getpid()))
        for pid in queue:
            if pid not in found and (process := read_process(pid)) is not None:
                found[pid] = process
                queue.extend(child_pids(pid))
        return found

    def marked(self, process: Process, run_id: str) -> int | None:
        if process.parent != os.getpid():
            return None
        names = dict(item.partition(b"=")[::2] for item in environment_of(process.pid).split(b"\0"))
        if names.get(RUN_MARK.encode()) != run_id.encode():
            return None
        call = names.get(CALL_MARK.encode(), b"")
        return int(call) if call.isdigit() else ANY_CALL


class PsTable:
    """Elsewhere: all processes as `ps` shows them, with their environments where the system allows it."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def processes(self) -> dict[int, Process]:
        environments = ["-A", "-E", "-ww"] if sys.platform == "darwin" else ["axeww"]
        # Each apart: to a BSD `ps` all that follows the first `=` is that column's title.
        columns = [f"-o{name}=" for name in ("pid", "ppid", "pgid", "stat", "command")]
        try:
            with subprocess.Popen(
                ["ps", *environments, *columns],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ) as ps:
                text = ps.communicate(timeout=PS_TIMEOUT_S)[0]
        except (OSError, subprocess.SubprocessError):
            return {}
        found = self.parse(text.decode("utf-8", "replace"))
        found.pop(ps.pid, None)
        return found

    def parse(self, text: str) -> dict[int, Process]:
        """The table out of what `ps` printed; lines that are no process are skipped."""
        found: dict[int, Process] = {}
        texts: dict[int, str] = {}
        for line in text.split("\n"):
            fields = line.split(None, 4)
            if len(fields) < 4 or not all(field.isdigit() for field in fields[:3]):
                continue
            pid, parent, group = (int(field) for field in fields[:3])
            found[pid] = Process(pid, parent, group, group, 0, fields[3].startswith("Z"))
            texts[pid] = fields[4] if len(fields) > 4 else ""
        self._texts = texts  # at once: several threads may look
        return found

    def marked(self, process: Process, run_id: str) -> int | None:
        text = self._texts.get(process.pid, "")
        if f"{RUN_MARK}={run_id}" not in text.split():
            return None
        call = re.search(rf"(?<!\S){CALL_MARK}=(\d+)(?!\S)", text)
        return int(call[1]) if call else ANY_CALL


def child_pids(pid: int) -> Iterator[int]:
    """The children of all threads of a process, from /proc; none where it has no such file."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children = file.read()
        except OSError:
            continue
        yield from map(int, children.split())


def environment_of(pid: int) -> bytes:
    """The environment a process was started with; nothing if it is gone or another user's. While a process
    executes a program, its new environment is not there for a moment: that moment is waited for, lest a
    process of ours look like a stranger's."""
    deadline = time.monotonic() + EXEC_S
    in_place = False
    while True:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                data = file.read()
        except OSError:
            return b""
        if data or in_place:
            return data
        fields = stat_fields(pid)
        in_place = fields is None or fields[0] in DEAD or fields[END_OF_ENVIRONMENT] != b"0"
        if not in_place:
            if time.monotonic() >= deadline:
                return b""
            time.sleep(EXEC_PAUSE_S)


def read_process(pid: int) -> Process | None:
    """A process's line, or None if it is gone."""
    fields = stat_fields(pid)
    if fields is None:
        return None
    return Process(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]), fields[0] in DEAD)


def stat_fields(pid: int) -> list[bytes] | None:
    """What /proc says of a process, from its state on, or None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name, in parentheses, may hold anything, also spaces and parentheses.
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None
