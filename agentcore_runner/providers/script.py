"""The script of a scripted model: what may stand in it, and its checked values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from agentcore_runner.core.messages import ErrorKind
from agentcore_runner.providers.mistakes import Mistake, refuse
from agentcore_runner.providers.script_template import template_fault
from agentcore_runner.providers.script_yaml import Lines, mistaken, read_yaml
from agentcore_runner.words import did_you_mean

Duration: TypeAlias = float | str
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a script: unknown keys are mistakes."""


class ScriptedCall(Part, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool call; `raw_arguments` is sent as it stands, well-formed or not."""

    name: str
    arguments: dict[str, Any] = {}
    raw_arguments: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        if self.arguments and self.raw_arguments is not None:
            raise ValueError("give arguments or raw_arguments, not both")


class ScriptedBlock(Part, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One block of `content`."""

    text: str | None = None
    thinking: str | None = None
    tool_call: ScriptedCall | None = None

    def __post_init__(self) -> None:
        if [self.text, self.thinking, self.tool_call].count(None) != 2:
            raise ValueError("a block is one of text, thinking, tool_call")


class ScriptedUsage(Part, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens; what is left out is counted."""

    input: int | None = None
    output: int | None = None
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


class ScriptedError(Part, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A failure after so many deltas; `times` None means always."""

    status: int | None = None
    kind: ErrorKind | None = None
    message: str | None = None
    retry_after: Duration | None = None
    times: int | None = None
    after: int = 0

    def __post_init__(self) -> None:
        if (self.status is None) == (self.kind is None):
            raise ValueError("an error has a status or a kind, one of them")
        if self.status is not None and not 300 <= self.status < 600:
            raise ValueError("the status of an error is a number from 300 to 599")
        if self.after < 0 or (self.times is not None and self.times < 1):
            raise ValueError("after counts from 0, times from 1")
        if self.retry_after is not None:
            seconds(self.retry_after)


class Turn(Part, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer."""

    text: str | None = None
    thinking: str | None = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    content: tuple[ScriptedBlock, ...] = ()
    delay: Duration = 0.0
    delta_delay: Duration = 0.0
    chunk: int = 20
    stop_reason: Literal["done", "length", "refused"] = "done"
    usage: ScriptedUsage = ScriptedUsage()
    error: ScriptedError | None = None
    repeat: int = 1

    def __post_init__(self) -> None:
        if self.content and (self.text is not None or self.thinking is not None or self.tool_calls):
            raise ValueError("give content, or text, thinking and tool_calls, not both")
        if self.chunk < 1 or self.repeat < 1:
            raise ValueError("chunk and repeat count from 1")
        seconds(self.delay)
        seconds(self.delta_delay)

    @property
    def blocks(self) -> tuple[ScriptedBlock, ...]:
        """The content in order: thinking, text and calls, where it is not spelt out."""
        if self.content:
            return self.content
        prose = [ScriptedBlock(thinking=self.thinking)] if self.thinking is not None else []
        prose += [ScriptedBlock(text=self.text)] if self.text is not None else []
        return (*prose, *[ScriptedBlock(tool_call=call) for call in self.tool_calls])


def load_script(path: Path, shown: str) -> tuple[Turn, ...]:
    """The turns, each as often as it is repeated. Raises `Mistaken` with all mistakes;
    `shown` is the file's name in them."""
    data, lines = read_yaml(path, shown)
    if not isinstance(data, dict) or not isinstance(data.get("turns"), list) or not data["turns"]:
        raise mistaken("a script is a map with a list of turns (write turns: and - text: Hello)", shown, 1)
    mistakes = [
        (lines.get((key,), 1), f"{key!r} is not a key of a script{did_you_mean(key, ['turns'])}")
        for key in data
        if key != "turns"
    ]
    turns: list[Turn] = []
    for index, item in enumerate(data["turns"]):
        place = ("turns", index)
        try:
            turn = msgspec.convert(item, Turn)
        except msgspec.ValidationError as exc:
            mistakes.append(_in_words(str(exc), place, lines))
            continue
        mistakes += _template_faults(item, place, lines)
        turns += [turn] * turn.repeat
    refuse([Mistake(message=message, file=shown, line=line) for line, message in mistakes])
    return tuple(turns)


def seconds(value: Duration) -> float:
    """A duration in seconds: a number of them, or `500ms`, `30s`, `5m`, `2h`."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)", value)
        if match is None:
            raise ValueError(f"{value!r} is no duration (write 0.5, 500ms or 30s)")
        return float(match[1]) * UNITS[match[2]]
    if value < 0:
        raise ValueError("a duration is not negative")
    return float(value)


def _in_words(message: str, place: tuple[str | int, ...], lines: Lines) -> tuple[int, str]:
    """The line and `turns[1].error: what is wrong`, from a message of msgspec's, which ends with the path."""
    message, _, path = message.partition(" - at `$")
    steps = [int(part) if part.isdigit() else part for part in re.findall(r"\w+", path)]
    place = (*place, *steps)
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", message)
    if unknown:
        owner: Any = {"error": ScriptedError, "usage": ScriptedUsage, "content": ScriptedBlock}.get(
            next((step for step in reversed(steps) if isinstance(step, str)), ""), Turn
        )
        if steps and ("tool_calls" in steps or steps[-1] == "tool_call"):
            owner = ScriptedCall
        hint = did_you_mean(unknown[1], owner.__struct_fields__)
        message = f"{unknown[1]!r} is not a key here{hint}"
        line = lines.get((*place, unknown[1]), lines.get(place, 1))
    else:
        message = message.replace("Object missing required field", "missing key").replace("`", "'")
        line = lines.get(place, 1)
    return line, f"{_spelt(place)}: {message}"


def _template_faults(value: Any, place: tuple[str | int, ...], lines: Lines) -> Iterator[tuple[int, str]]:
    """The lines and what is wrong with the templates in a turn."""
    if isinstance(value, str):
        fault = template_fault(value) if place[-1] != "raw_arguments" else None
        if fault:
            yield lines.get(place, 1), f"{_spelt(place)}: {fault}"
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _template_faults(item, (*place, key), lines)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _template_faults(item, (*place, index), lines)


def _spelt(place: tuple[str | int, ...]) -> str:
    return "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in place]).lstrip(".")
