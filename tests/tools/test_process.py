from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import signal as signals
import subprocess
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.errors import ToolError
from agentcore_runner.tools.child import start
from agentcore_runner.tools.leftovers import Leftovers
from agentcore_runner.tools.orphans import CALL_MARK, RUN_MARK, ProcTable, environment_of, read_process
from agentcore_runner.tools.process import Children, Exit

from .support import is_alive, run, until

ENV = {"PATH": os.environ["PATH"]}
# Other test processes must not take these children for theirs.
RUN_ID = f"run-{os.getpid()}"
# Not every system has a command of this name.
SETSID = f"{sys.executable} -I -S -c 'import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])'"
both = pytest.mark.parametrize("portable", [False, True] if sys.platform == "linux" else [True])


@asynccontextmanager
async def children(portable: bool = False, grace: float = 0.2) -> AsyncIterator[Children]:
    kids = Children(RUN_ID, grace=grace, portable=portable)
    try:
        yield kids
    finally:
        await kids.aclose()


async def shell(kids: Children, folder: Path, command: str, **more: object) -> tuple[Exit, bytes]:
    output: list[bytes] = []
    done = await kids.run(["sh", "-c", command], cwd=folder, env=ENV, on_output=output.append, **more)  # type: ignore[arg-type]
    return done, b"".join(output)


def pid_in(path: Path) -> int:
    return int(path.read_text())


def has_pid(path: Path) -> bool:
    return path.exists() and path.read_text().strip().isdigit()


@both
def test_output_and_exit_code_come_back(portable: bool, tmp_path: Path) -> None:
    async def main() -> tuple[int, bytes]:
        async with children(portable) as kids:
            done, output = await shell(kids, tmp_path, "echo out; echo err >&2; pwd; exit 3")
            return done.code, output

    assert run(main()) == (3, f"out\nerr\n{os.path.realpath(tmp_path)}\n".encode())


@both
def test_a_program_ended_by_a_signal_has_128_and_its_number(portable: bool, tmp_path: Path) -> None:
    async def main() -> int:
        async with children(portable) as kids:
            return (await shell(kids, tmp_path, "kill -SEGV $$"))[0].code

    assert run(main()) == 128 + signals.SIGSEGV


def test_standard_input_is_empty_unless_given(tmp_path: Path) -> None:
    async def main() -> tuple[bytes, bytes]:
        async with children() as kids:
            return (await shell(kids, tmp_path, "cat"))[1], (await shell(kids, tmp_path, "cat", stdin=b"in"))[
                1
            ]

    assert run(main()) == (b"", b"in")


def test_large_input_and_output_do_not_block_each_other(tmp_path: Path) -> None:
    data = bytes(range(256)) * 20_000

    async def main() -> bytes:
        async with children() as kids:
            return (await shell(kids, tmp_path, "cat", stdin=data))[1]

    assert run(main()) == data


def test_input_that_nobody_reads_is_dropped(tmp_path: Path) -> None:
    async def main() -> int:
        async with children() as kids:
            return (await shell(kids, tmp_path, "exit 0", stdin=b"x" * 1_000_000))[0].code

    assert run(main()) == 0


def test_standard_error_can_be_kept_apart(tmp_path: Path) -> None:
    async def main() -> tuple[bytes, bytes, int]:
        async with children() as kids:
            command = ["sh", "-c", "echo out; echo err >&2; echo 123456789"]
            got = await kids.capture(command, cwd=tmp_path, env=ENV, max_bytes=8)
            return got.stdout, got.stderr, got.total_bytes

    assert run(main()) == (b"out\n1234", b"err\n", 14)


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")

    async def why(argv: list[str], cwd: Path) -> str:
        async with children() as kids:
            with pytest.raises(ToolError) as caught:
                await kids.run(argv, cwd=cwd, env=ENV)
            return str(caught.value)

    assert run(why(["no-such-program"], tmp_path)) == (
        "cannot start 'no-such-program': no such program on PATH (or its interpreter is missing)"
    )
    assert run(why(["./plain"], tmp_path)) == "cannot start './plain': it is not executable"
    assert run(why(["ls"], tmp_path / "gone")) == (
        f"cannot start 'ls': there is no working directory '{tmp_path}/gone'"
    )
    assert run(why(["ls", "a\0b"], tmp_path)) == "cannot start 'ls': embedded null byte"


def test_children_are_marked_with_run_and_call(tmp_path: Path) -> None:
    async def main() -> bytes:
        async with children() as kids:
            await shell(kids, tmp_path, "true")
            return (await shell(kids, tmp_path, "echo $AGENTCORE_RUN $AGENTCORE_CALL"))[1]

    assert run(main()) == f"{RUN_ID} 2\n".encode()


@both
def test_a_child_that_ignores_term_is_killed_after_the_grace(portable: bool, tmp_path: Path) -> None:
    async def main() -> Exit:
        async with children(portable) as kids:
            command = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
            return (await shell(kids, tmp_path, command, timeout=0.3))[0]

    began = time.monotonic()
    done = run(main())

    assert (done.code, done.timed_out, done.aborted) == (137, True, False)
    assert 0.5 <= time.monotonic() - began < 5


@both
def test_a_child_may_use_the_grace_to_tidy_up(portable: bool, tmp_path: Path) -> None:
    async def main() -> tuple[Exit, bytes]:
        async with children(portable, grace=10) as kids:
            command = "trap 'echo bye; exit 5' TERM; echo ready; while :; do :; done"
            return await shell(kids, tmp_path, command, timeout=0.3)

    done, output = run(main())

    assert (done.code, done.timed_out, output) == (5, True, b"ready\nbye\n")


@both
def test_what_left_the_group_is_ended_too(portable: bool, tmp_path: Path) -> None:
    async def main() -> tuple[bool, list[bool]]:
        async with children(portable) as kids:
            command = (
                f"{SETSID} sh -c 'echo $$ > session; exec sleep 300' & "
                f"({SETSID} sh -c 'echo $$ > orphan; exec sleep 300' &) ; sleep 300"
            )
            signal = AbortSignal()
            task = asyncio.ensure_future(shell(kids, tmp_path, command, signal=signal))
            names = [tmp_path / "session", tmp_path / "orphan"]
            await until(lambda: all(has_pid(name) for name in names))
            signal.abort()
            done, _ = await task
            return done.aborted, [is_alive(pid_in(name)) for name in names]

    assert run(main()) == (True, [False, False])


@both
def test_a_timeout_spares_what_other_calls_left_running(portable: bool, tmp_path: Path) -> None:
    async def main() -> tuple[bool, bool]:
        async with children(portable) as kids:
            await shell(kids, tmp_path, f"{SETSID} sleep 300 & echo $! > server")
            await shell(kids, tmp_path, "sleep 300", timeout=0.2)
            pid = pid_in(tmp_path / "server")
            during = is_alive(pid)
            await kids.aclose()
            return during, is_alive(pid)

    assert run(main()) == (True, False)


@both
def test_an_abort_interrupts_at_once(portable: bool, tmp_path: Path) -> None:
    async def main() -> tuple[Exit, bytes]:
        async with children(portable) as kids:
            signal = AbortSignal()
            task = asyncio.ensure_future(
                shell(kids, tmp_path, "echo $$ > pid; echo hi; sleep 300", signal=signal)
            )
            await until(lambda: has_pid(tmp_path / "pid"))
            signal.abort("SIGTERM")
            return await task

    began = time.monotonic()
    done, output = run(main())

    assert (done.code, done.aborted, output) == (143, True, b"hi\n")
    assert time.monotonic() - began < 5


def test_nothing_is_started_after_an_abort(tmp_path: Path) -> None:
    async def main() -> Exit:
        async with children() as kids:
            signal = AbortSignal()
            signal.abort()
            return (await shell(kids, tmp_path, "touch started", signal=signal))[0]

    assert run(main()).aborted
    assert not (tmp_path / "started").exists()


@both
def test_a_background_process_does_not_hold_the_result_and_lives_until_the_run_ends(
    portable: bool, tmp_path: Path
) -> None:
    async def main() -> tuple[Exit, bytes, bool, bool]:
        async with children(portable) as kids:
            done, output = await shell(kids, tmp_path, "sleep 300 & echo $! > pid; echo started")
            pid = pid_in(tmp_path / "pid")
            during = is_alive(pid)
            await kids.aclose()
            return done, output, during, is_alive(pid)

    began = time.monotonic()
    done, output, during, after = run(main())

    assert (done.code, output, during, after) == (0, b"started\n", True, False)
    assert time.monotonic() - began < 5


@both
def test_a_background_process_may_go_on_printing(portable: bool, tmp_path: Path) -> None:
    async def main() -> bool:
        async with children(portable) as kids:
            command = (
                "(i=0; while [ $i -lt 400 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); "
                "[ $((i % 100)) = 0 ] && sleep 0.4; done; touch finished) & echo started"
            )
            await shell(kids, tmp_path, command)
            await until((tmp_path / "finished").exists)
            return True

    assert run(main())


@both
def test_a_session_that_ignores_term_is_killed_when_the_run_ends(portable: bool, tmp_path: Path) -> None:
    async def main() -> bool:
        async with children(portable) as kids:
            stubborn = 'trap "" TERM; echo $$ > pid; while :; do sleep 0.05; done'
            await shell(kids, tmp_path, f"{SETSID} sh -c '{stubborn}' >/dev/null 2>&1 &")
            await until(lambda: has_pid(tmp_path / "pid"))
            await kids.aclose()
            return is_alive(pid_in(tmp_path / "pid"))

    assert run(main()) is False


@both
def test_kill_now_leaves_nothing(portable: bool, tmp_path: Path) -> None:
    async def main() -> list[bool]:
        async with children(portable, grace=60) as kids:
            command = (
                f"{SETSID} sh -c 'trap \"\" TERM; echo $$ > other; while :; do sleep 0.05; done' & "
                "trap '' TERM; echo $$ > leader; while :; do sleep 0.05; done"
            )
            task = asyncio.ensure_future(shell(kids, tmp_path, command))
            names = [tmp_path / "leader", tmp_path / "other"]
            await until(lambda: all(has_pid(name) for name in names))
            kids.kill_now()
            await task
            if portable:
                await kids.aclose()
            await until(lambda: not any(is_alive(pid_in(name)) for name in names))
            return [is_alive(pid_in(name)) for name in names]

    assert run(main()) == [False, False]


@both
def test_a_call_that_is_dropped_leaves_nothing(portable: bool, tmp_path: Path) -> None:
    async def main() -> bool:
        async with children(portable) as kids:
            task = asyncio.ensure_future(shell(kids, tmp_path, "echo $$ > pid; sleep 300"))
            await until(lambda: has_pid(tmp_path / "pid"))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            pid = pid_in(tmp_path / "pid")
            await until(lambda: not is_alive(pid))
            return is_alive(pid)

    assert run(main()) is False


def test_nothing_starts_after_the_run_has_ended(tmp_path: Path) -> None:
    async def main() -> None:
        async with children() as kids:
            await kids.aclose()
            await shell(kids, tmp_path, "true")

    with pytest.raises(ToolError, match="the run has ended"):
        run(main())


def test_orphans_leave_no_zombies_while_the_run_goes_on(tmp_path: Path) -> None:
    """They end only after they were orphaned, and other children of this process do not matter."""
    note = "echo $! >> pids"

    async def main() -> tuple[int, set[int]]:
        async with children() as kids:
            command = (
                f"sleep 300 & {note}; {SETSID} sleep 300 & {note}; (sleep 300 & {note}); sleep 300 & {note}"
            )
            await shell(kids, tmp_path, command)
            orphans = {int(line) for line in (tmp_path / "pids").read_text().split()}
            for pid in orphans:
                os.kill(pid, signals.SIGKILL)
            await until(lambda: orphans.isdisjoint(children_of_ours()))
            return len(orphans), orphans & set(children_of_ours())

    assert run(main()) == (4, set())


def test_other_children_of_the_host_are_left_alone(tmp_path: Path) -> None:
    async def main() -> tuple[int | None, int | None]:
        mine, short = started("exec sleep 300"), started("exit 9")
        async with children() as kids:
            await until(lambda: not is_alive(short.pid))
            await shell(kids, tmp_path, "sleep 300 & exit 0")
            await kids.aclose()
        state, code = mine.poll(), short.wait()
        mine.kill()
        mine.wait()
        return state, code

    assert run(main()) == (None, 9)


if sys.platform == "linux":  # elsewhere orphans are found by their mark only

    def test_a_process_is_known_by_its_mark_while_it_executes_a_program() -> None:
        """For a moment of every `exec` /proc shows no environment."""
        env = {**ENV, RUN_MARK: RUN_ID, CALL_MARK: "7"}
        table, found = ProcTable(), set()
        for _ in range(50):
            pid = os.posix_spawn(shutil.which("sleep") or "", ["sleep", "300"], env, setsid=True)
            process = read_process(pid)
            assert process is not None
            found.add(table.marked(process, RUN_ID))
            os.kill(pid, signals.SIGKILL)
            os.waitpid(pid, 0)

        assert found == {7}

    def test_an_environment_that_is_empty_is_not_waited_for() -> None:
        pid = os.posix_spawn(shutil.which("sleep") or "", ["sleep", "300"], {})
        started = time.monotonic()
        found = [environment_of(pid) for _ in range(20)]
        took = time.monotonic() - started
        os.kill(pid, signals.SIGKILL)
        os.waitpid(pid, 0)

        assert set(found) == {b""}
        assert took < 1

    def test_a_sole_parent_finds_orphans_without_any_trace(tmp_path: Path) -> None:
        async def main() -> bool:
            before = started("exec sleep 300")
            kids = Children(RUN_ID, grace=0.2, sole_parent=True)
            await shell(kids, tmp_path, f"(env -i {SETSID} sh -c 'echo $$ > pid; exec sleep 300' &)")
            await until(lambda: has_pid(tmp_path / "pid"))
            pid = pid_in(tmp_path / "pid")
            assert is_alive(pid)
            await kids.aclose()
            assert before.poll() is None
            before.kill()
            before.wait()
            return is_alive(pid)

        assert run(main()) is False


def test_output_that_is_left_behind_after_the_end_is_closed(tmp_path: Path) -> None:
    async def main() -> bool:
        reading, writing = os.pipe()
        leftovers = Leftovers()
        leftovers.close()
        leftovers.add([reading])
        with pytest.raises(BrokenPipeError):
            os.write(writing, b"x")
        os.close(writing)
        return True

    assert run(main())


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"

    async def main() -> tuple[int, int]:
        before = len(os.listdir(folder))
        async with children() as kids:
            for _ in range(5):
                await shell(kids, tmp_path, "echo hi; sleep 300 &", stdin=b"x" * 200_000)
                await shell(kids, tmp_path, "sleep 300", timeout=0.05)
        return before, len(os.listdir(folder))

    before, after = run(main())

    assert after == before


def test_a_failed_start_leaves_no_descriptor_open(tmp_path: Path) -> None:
    """Two descriptors are free, and the program wants three pipes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    taken = descriptors()
    try:
        for fd in taken[:2]:
            os.close(fd)
        with pytest.raises(ToolError) as caught:
            start(["true"], cwd=tmp_path, env=ENV, stdin=b"x", on_output=print, on_stderr=print,
                  on_exit=print, portable=True)  # fmt: skip
        again = descriptors()
        taken[:2] = again
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert str(caught.value) == "cannot start 'true': Too many open files"
    assert len(again) == 2


def descriptors() -> list[int]:
    """All that can still be had."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        while True:
            found.append(os.open(os.devnull, os.O_RDONLY))
    return found


def test_fifty_megabytes_pass_in_bounded_memory_while_the_loop_goes_on(tmp_path: Path) -> None:
    total, longest = 0, 0.0

    def count(data: bytes) -> None:
        nonlocal total
        total += len(data)

    async def tick() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - before)

    async def main() -> int:
        async with children() as kids:
            ticking = asyncio.ensure_future(tick())
            command = ["sh", "-c", "head -c 50000000 /dev/zero"]
            tracemalloc.start()
            await kids.run(command, cwd=tmp_path, env=ENV, on_output=count)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            ticking.cancel()
            return peak

    peak = run(main())

    assert total == 50_000_000
    assert peak < 2_000_000
    assert longest < 1.0


def started(command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", "-c", command], start_new_session=True)


def children_of_ours() -> list[int]:
    """Living or dead, but not `ps` itself."""
    with subprocess.Popen(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True) as ps:
        rows = [line.split() for line in ps.communicate()[0].splitlines()]
    return [int(pid) for pid, parent in rows if int(parent) == os.getpid() and int(pid) != ps.pid]
