"""Mistakes in what a run says about its model: collected, so that all of them can be told at once."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentcore_runner.errors import ConfigError


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
