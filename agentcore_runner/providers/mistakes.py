"""Mistakes in what a run says about its model: collected, so that all of them can be told at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from agentcore_runner.errors import ConfigError
from agentcore_runner.words import did_you_mean


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake. `key` is its place in the settings, such as `("compat", NAME)`; empty where the model
    itself is wrong. What is wrong in a script has its `file` and, where it is known, the `line`."""

    message: str
    key: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is None:
            return self.message
        return (
            f"{self.file}: {self.message}"
            if self.line is None
            else f"{self.file}:{self.line}: {self.message}"
        )


class Mistaken(ConfigError):
    """Says all of its mistakes, a line for each; `key` is that of the first."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join([str(mistake) for mistake in self.mistakes]), key=self.mistakes[0].key)


def refuse(mistakes: Iterable[Mistake]) -> None:
    """Raise `Mistaken` if there are any."""
    found = tuple(mistakes)
    if found:
        raise Mistaken(found)


F = TypeVar("F", bound=msgspec.Struct)


def with_flags(detected: F, overrides: dict[str, Any]) -> F:
    """The flags, those of a `compat` over what was detected. Raises `Mistaken` for keys and values that are
    none."""
    kind = type(detected)
    refuse(flag_mistakes(overrides, kind))
    return msgspec.convert(msgspec.structs.asdict(detected) | overrides, kind)


def flag_mistakes(overrides: dict[str, Any], kind: type[msgspec.Struct]) -> Iterator[Mistake]:
    """The keys of a `compat` that are no flags of this kind, and the values that do not fit."""
    for name, value in overrides.items():
        key = ("compat", name)
        if name not in kind.__struct_fields__:
            hint = did_you_mean(name, kind.__struct_fields__)
            yield Mistake(message=f"{name!r} is not a key of model.compat{hint}", key=key)
            continue
        try:
            msgspec.convert({name: value}, kind)
        except msgspec.ValidationError:
            wanted = _wanted(get_type_hints(kind)[name])
            yield Mistake(message=f"model.compat.{name}: expected {wanted}, found {value!r}", key=key)


def _wanted(kind: Any) -> str:
    words = {bool: "true or false", str: "a string", dict[str, Any]: "a map"}
    return words.get(kind) or " or ".join(map(repr, get_args(kind)))
