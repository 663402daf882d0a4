"""The installed `agentcore-run` as a child process, and what it left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("agentcore-run")
PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR")


class Ended:
    """A finished child: exit code, both streams, and the transcript if it wrote exactly one."""

    def __init__(self, code: int, stdout: bytes, stderr: bytes, cwd: Path) -> None:
        self.code = code
        self.stdout_bytes = stdout
        self.stdout = stdout.decode()
        self.stderr = stderr.decode()
        self.cwd = cwd

    @property
    def result(self) -> dict[str, Any]:
        """Standard output as one JSON document."""
        return json.loads(self.stdout)

    @property
    def transcript(self) -> Path:
        """The only transcript under the default folder."""
        (path,) = self.cwd.glob(".agentcore/runs/*.jsonl")
        return path

    @property
    def records(self) -> list[dict[str, Any]]:
        """Its records."""
        return records_of(self.transcript)

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """Its records of one type."""
        return [record for record in self.records if record["type"] == kind]


def records_of(path: Path) -> list[dict[str, Any]]:
    """Every line of a transcript, parsed."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A small, known environment: no key, no colour, no CI."""
    return {**{name: os.environ[name] for name in PASSED_ON if name in os.environ}, **(extra or {})}


def start(
    *args: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: Any = subprocess.DEVNULL,
    stdout: Any = subprocess.PIPE,
    stderr: Any = subprocess.PIPE,
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start the command; the caller waits for it."""
    return subprocess.Popen(
        [PROGRAM, *args],
        cwd=cwd,
        env=environment(env),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
    )


@contextmanager
def running(*args: str | Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A started command that is killed, if it still runs, when the test is done with it."""
    child = start(*args, **options)
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def run(
    *args: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    timeout: float = 60,
) -> Ended:
    """Run the command to its end."""
    source = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    child = start(*args, cwd=cwd, env=env, stdin=source)
    try:
        stdout, stderr = child.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        _, stderr = child.communicate()
        raise AssertionError(f"still running after {timeout} s; stderr: {stderr.decode()}") from None
    return Ended(child.returncode, stdout, stderr, cwd)
