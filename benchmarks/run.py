"""Runs both sides in turn and prints the ratios, and whether each stays within its bound."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from agentcore_runner import __version__
from benchmarks.measure import Broken, Cost, Scenario, Server, agentcore_run, plain_loop

MEMORY = 80.0  # MiB, in each scenario
SCENARIOS = (
    Scenario("S1", "start-up and one short answer", turns=0, tokens=20, must={"wall": 2.2}),
    Scenario("S2", "50 tool turns", turns=50, tokens=20, must={"CPU": 1.5}),
    Scenario("S3", "one answer of 20,000 deltas", turns=0, tokens=20_000, must={"CPU": 1.5}),
    Scenario(
        "S3r", "the same, Responses", turns=0, tokens=20_000, must={"CPU": 1.5},
        model=("openai/mock", "openai-responses"),
    ),
    Scenario(
        "S3a", "the same, Messages", turns=0, tokens=20_000, must={"CPU": 1.5},
        model=("anthropic/mock", "anthropic-messages"),
    ),
    Scenario(
        "S3g", "the same, Gemini", turns=0, tokens=20_000, must={"CPU": 1.5},
        model=("google/mock", "google-generative-ai"),
    ),
    # Late turns may grow as the plain loop's do; a tenth more is noise.
    Scenario("S4", "200 tool turns", turns=200, tokens=20, must={"CPU": 1.5, "growth": 1.1}),
)  # fmt: skip


class Row(NamedTuple):
    """A measure of a scenario: medians of both sides, the median of the pairs' ratios, and the bound."""

    title: str
    measure: str
    ours: str
    plain: str
    ratio: float
    must: str
    kept: bool | None

    def __str__(self) -> str:
        verdict = {None: "", True: "yes", False: "**no**"}[self.kept]
        cells = (self.title, self.measure, self.ours, self.plain, f"{self.ratio:.2f}", self.must, verdict)
        return f"| {' | '.join(cells)} |"


def main(arguments: list[str] | None = None) -> int:
    """The command line: 0, or 1 when a run broke or, with --check, when a bound was missed."""
    options = _options(arguments)
    ours = plain_loop if options.noise else agentcore_run
    print(_where(options.pairs), "", *_head("plain loop again" if options.noise else "ours"), sep="\n")
    kept = True
    try:
        with Server() as server:
            for scenario in SCENARIOS:
                if options.only and scenario.name not in options.only:
                    continue
                for row in _rows(scenario, _pairs(server, scenario, ours, options.pairs)):
                    print(row, flush=True)
                    kept = kept and row.kept is not False
    except Broken as broken:
        print(broken, file=sys.stderr)
        return 1
    return 0 if kept or not options.check else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    names = [scenario.name for scenario in SCENARIOS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--pairs", type=int, default=7, metavar="N", help="runs of each side (default 7)")
    parser.add_argument("--only", action="append", choices=names, help="this scenario (repeatable)")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bound is missed")
    parser.add_argument("--noise", action="store_true", help="the plain loop on both sides: what chance does")
    return parser.parse_args(arguments)


def _pairs(
    server: Server, scenario: Scenario, ours: Callable[[Server, Scenario], Cost], count: int
) -> list[tuple[Cost, Cost]]:
    """(ours, plain) of each pair; a first pair, which fills caches, is dropped."""
    both = [(plain_loop(server, scenario), ours(server, scenario)) for _ in range(count + 1)]
    return [(mine, plain) for plain, mine in both[1:]]


def _rows(scenario: Scenario, pairs: list[tuple[Cost, Cost]]) -> Iterator[Row]:
    measures: dict[str, tuple[Callable[[Cost], float], str]] = {
        "wall": (lambda cost: 1000 * cost.wall_s, "{:.0f} ms"),
        "CPU": (lambda cost: 1000 * cost.cpu_s, "{:.0f} ms"),
        "growth": (lambda cost: cost.growth or 0.0, "{:.2f}"),
        "memory": (lambda cost: cost.peak_mib, "{:.0f} MiB"),
    }
    if pairs[0][0].growth is None:
        del measures["growth"]
    for measure, (of, unit) in measures.items():
        ours, plain = (statistics.median(of(pair[side]) for pair in pairs) for side in (0, 1))
        ratio = statistics.median(of(mine) / of(other) for mine, other in pairs)
        if measure == "memory":
            must, kept = f"below {MEMORY:.0f} MiB", ours < MEMORY
        elif measure in scenario.must:
            must, kept = f"≤ {scenario.must[measure]}", ratio <= scenario.must[measure]
        else:
            must, kept = "", None
        title = f"{scenario.name} {scenario.title}"
        yield Row(title, measure, unit.format(ours), unit.format(plain), ratio, must, kept)


def _head(ours: str) -> tuple[str, str]:
    return (
        f"| scenario | measure | {ours} | plain loop | ratio | must | kept |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    )


def _where(pairs: int) -> str:
    """Date, versions and machine: a ratio means something only with them."""
    today = datetime.datetime.now(datetime.UTC).date()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    machine = f"{_processor()}, {os.cpu_count()} cores, {platform.system()}"
    return f"{today}, agentcore-runner {__version__}, {python}, {machine}. Medians of {pairs} pairs."


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
