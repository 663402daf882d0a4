"""What one whole process cost, as the operating system and the server saw it.

Standard library only: on Linux a child's peak memory is at least that of the process that started it, so this
one has to stay smaller than what it measures.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from resource import struct_rusage
from typing import NamedTuple

HERE = Path(__file__).parent
LIMIT_S = 120.0
EARLY, LATE = range(30, 71), range(160, 201)  # around turn 50, and up to turn 200


class Scenario(NamedTuple):
    """What the model does: tool turns, then an answer of `tokens` deltas. `must` has a bound per measure;
    `model` has the provider and the API to speak."""

    name: str
    title: str
    turns: int
    tokens: int
    must: dict[str, float]
    model: tuple[str, str] = ("openai/mock", "openai-completions")


class Cost(NamedTuple):
    """One process from start to exit, with the children it waited for. Growth is the late gap between two
    requests over the early one; None where a run is too short to tell."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    growth: float | None


class Broken(Exception):
    """A run that did not do the work, so that its cost means nothing."""


class Server:
    """`benchmarks/server.py` as a child, for as long as a `with` block lasts."""

    def __enter__(self) -> Server:
        self.process = subprocess.Popen(
            [sys.executable, HERE / "server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port = int(self._line())
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def url(self, scenario: Scenario) -> str:
        root = f"http://127.0.0.1:{self.port}/turns={scenario.turns},tokens={scenario.tokens}"
        return f"{root}/v1" if scenario.model[0].startswith("openai/") else root

    def requests(self) -> list[tuple[float, float, int]]:
        """(began, answered, turn) of the requests since the last call."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [(began, answered, turn) for began, answered, turn in json.loads(self._line())]

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


def plain_loop(server: Server, scenario: Scenario) -> Cost:
    """The yardstick's cost."""
    url, api = server.url(scenario), scenario.model[1]
    if api == "openai-completions":
        command = [str(HERE / "plain_loop.py"), url]
    else:
        command = [str(HERE / "plain_stream.py"), api, url.removesuffix("/v1")]
    return cost_of(server, scenario, [sys.executable, *command, "record"])


def agentcore_run(server: Server, scenario: Scenario) -> Cost:
    """Our cost: the installed command, with its record and its output as a user has them."""
    command = Path(sys.executable).with_name("agentcore-run")
    return cost_of(server, scenario, [str(command), "agent.yaml", "go"])


def cost_of(server: Server, scenario: Scenario, command: list[str]) -> Cost:
    """The cost of this command in a fresh folder; raises Broken unless it did the scenario's requests."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, api = scenario.model
        agent = (HERE / "agent.yaml").read_text(encoding="utf-8")
        written = f'model: {{id: {model}, api: {api}, base_url: "{server.url(scenario)}"}}'
        (folder / "agent.yaml").write_text(agent.replace("model: openai/mock", written), encoding="utf-8")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": name,
            "LANG": "C.UTF-8",
            **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "dummy"),
        }
        server.requests()
        code, wall_s, usage = _run(command, folder, environment)
        requests = server.requests()
        if code != 0 or [turn for _, _, turn in requests] != list(range(scenario.turns + 1)):
            said = (folder / "stderr").read_text(encoding="utf-8", errors="replace")[-2000:]
            raise Broken(
                f"{scenario.name}: {command[:2]} ended with code {code} after {len(requests)} requests,"
                f" wanted code 0 after {scenario.turns + 1}. It said:\n{said}"
            )
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    peak_mib = usage.ru_maxrss * unit / 2**20
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, peak_mib, _growth(requests))


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, float, struct_rusage]:
    with open(folder / "stdout", "wb") as stdout, open(folder / "stderr", "wb") as stderr:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr
        )
        killer = threading.Timer(LIMIT_S, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - began
        killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, wall_s, usage


def _growth(requests: list[tuple[float, float, int]]) -> float | None:
    if len(requests) <= LATE[-1]:
        return None
    gaps = [began - requests[turn - 1][1] for began, _, turn in requests]
    # Lower quartiles: what else runs on the machine only ever adds.
    early, late = (statistics.quantiles([gaps[turn] for turn in turns])[0] for turns in (EARLY, LATE))
    return late / early
