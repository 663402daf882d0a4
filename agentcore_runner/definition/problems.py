"""A mistake in an agent file, with its place, and the forms it is printed in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from agentcore_runner.words import counted

Severity: TypeAlias = Literal["error", "warning"]
KeyPath: TypeAlias = "tuple[str | int, ...]"
"""The keys and indexes that lead from a document's root to a value: `("tools", 0, "timeout")`."""

RULES = {
    "duplicate-key": "A key stands twice in one map.",
    "duplicate-name": "Two entries of one list have the same name.",
    "encoding": "A file is not UTF-8 text.",
    "extends": "The files that an agent extends run in a circle, or are too many.",
    "env-unset": "An environment variable that the agent names is not set.",
    "file-missing": "A file cannot be read.",
    "file-outside-project": "A file lies outside the project.",
    "input-default": "The default of an input does not satisfy the input's own schema.",
    "input-schema": "A schema in the agent file is not a usable JSON Schema.",
    "key-exposed": "The key of a model service would reach prompts and tools.",
    "limit-loosened": "A limit is looser than one that a parent or the file sets.",
    "missing-key": "A required key is missing.",
    "model": "The model cannot be spoken to as it is written.",
    "not-supported-yet": "A key or value is part of the format, but not of this version.",
    "profile": "There is no profile of the name that was asked for.",
    "script": "The script of a scripted model cannot be played.",
    "setting": "A setting from a flag leads nowhere, or is not of the form PATH=VALUE.",
    "template-filter": "A template uses a filter or test that does not exist.",
    "template-render": "A template failed while it was filled in.",
    "template-syntax": "A template is not valid Jinja2.",
    "template-undefined": "A template uses a name that is not declared.",
    "tool-missing": "A program or folder that a tool names is not here.",
    "type": "A value is of the wrong type.",
    "unknown-key": "A key is not known at its place.",
    "unused-input": "An input is declared and never used.",
    "value": "A value is not allowed.",
    "yaml-limit": "A file is too large, too deep, or expands too far.",
    "yaml-syntax": "A file is not valid YAML.",
}
EXCERPT_WIDTH = 110
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake: `line` and `column` count from 1; `hint` is the next step, if one is known; `excerpt`
    holds the source lines around it with their numbers, for the text form; `chain` the places that led to the
    file, the agent file's last."""

    file: str
    line: int
    column: int
    rule: str
    severity: Severity = "error"
    message: str
    hint: str | None = None
    excerpt: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The mistake in one line, without the excerpt."""
        hint = f" ({self.hint})" if self.hint else ""
        where = f"{self.file}:{self.line}:{self.column}"
        return f"{where}: {self.severity}[{self.rule}]: {self.message}{hint}"

    @property
    def told(self) -> str:
        """The message with the next step and the chain, for forms that have no place for them."""
        hint = f" ({self.hint})" if self.hint else ""
        chain = f" [extended at {', '.join(self.chain)}]" if self.chain else ""
        return f"{self.message}{hint}{chain}"


def render_text(problems: Sequence[Problem], *, agents: int = 1) -> str:
    """The problems for a person, each with its excerpt, and a last line that counts them; "" for none.
    `agents` is the number of agent files that were checked."""
    if not problems:
        return ""
    lines: list[str] = []
    for problem in problems:
        lines += [str(problem), *problem.excerpt]
        if problem.chain:
            lines.append(f"      = extended at {', '.join(problem.chain)}")
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    counts = [counted(number, word) for number, word in ((errors, "error"), (warnings, "warning")) if number]
    ending = " Nothing was run." if errors else ""
    lines.append(f"{' and '.join(counts)} in {counted(agents, 'agent')}.{ending}")
    return "\n".join(lines) + "\n"


def in_order(path: str, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems of the agent file at `path` first, then those of other files, each by place and told
    once. A line that one of them does not show, because a key may stand there, no other shows either."""
    unique = dict.fromkeys(problems)
    hidden = {(problem.file, problem.line) for problem in unique if not problem.excerpt}
    if hidden:
        unique = dict.fromkeys(
            msgspec.structs.replace(problem, excerpt=())
            if {(problem.file, problem.line), (problem.file, problem.line - 1)} & hidden
            else problem
            for problem in unique
        )
    return tuple(
        sorted(
            unique,
            key=lambda problem: (problem.file != path, problem.file, problem.line, problem.column),
        )
    )


def to_json(problems: Sequence[Problem]) -> dict[str, Any]:
    """The problems as plain data, under the key `problems`."""
    return {"problems": [_fields(problem) for problem in problems]}


def _fields(problem: Problem) -> dict[str, Any]:
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "rule": problem.rule,
        "severity": problem.severity,
        "message": problem.message,
        "hint": problem.hint,
        "chain": list(problem.chain),
    }


def to_github(problems: Sequence[Problem]) -> str:
    """The problems as workflow commands, one a line, which GitHub shows beside the changed lines."""
    lines = []
    for problem in problems:
        place = f"file={_property(problem.file)},line={problem.line},col={problem.column}"
        lines.append(f"::{problem.severity} {place},title={_property(problem.rule)}::{_data(problem.told)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def to_sarif(problems: Sequence[Problem]) -> dict[str, Any]:
    """The problems as a SARIF 2.1.0 log with one run."""
    from agentcore_runner import __name__ as package

    rules = sorted({problem.rule for problem in problems})
    driver = {
        "name": package.replace("_", "-"),
        "rules": [
            {"id": rule, "shortDescription": {"text": RULES.get(rule, rule)}} for rule in rules
        ],
    }  # fmt: skip
    results = [_result(problem, rules.index(problem.rule)) for problem in problems]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(problem: Problem, rule_index: int) -> dict[str, Any]:
    region = {"startLine": problem.line, "startColumn": problem.column}
    location = {"artifactLocation": {"uri": _uri(problem.file)}, "region": region}
    return {
        "ruleId": problem.rule,
        "ruleIndex": rule_index,
        "level": problem.severity,
        "message": {"text": problem.told},
        "locations": [{"physicalLocation": location}],
    }


def _uri(file: str) -> str:
    """A URI reference: relative to the working directory where the file lies in it, else `file://`."""
    import os
    from urllib.parse import quote

    if os.path.isabs(file):
        relative = os.path.relpath(file)
        if relative.startswith(os.pardir):
            return "file://" + quote(file)
        file = relative
    return quote(os.path.normpath(file).replace(os.sep, "/"))


def excerpt(lines: Sequence[str], line: int, column: int, width: int) -> tuple[str, ...]:
    """The line before, the line itself and a caret line under `width` characters from `column` (from 1)."""
    if not 1 <= line <= len(lines) or not any(lines):
        return ()
    text = lines[line - 1]
    start = max(0, column - EXCERPT_WIDTH // 2) if len(text) > EXCERPT_WIDTH else 0
    rows = []
    for number in (line - 1, line):
        shown = _printable(lines[number - 1][start : start + EXCERPT_WIDTH]).rstrip() if number else ""
        if shown or number == line:
            rows.append(f"{number:>5} | {shown}".rstrip())
    end = min(len(text), start + EXCERPT_WIDTH, column - 1 + width)
    carets = "^" * max(1, _columns(text[column - 1 : end]))
    return (*rows, f"      | {' ' * _columns(text[start : column - 1])}{carets}")


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text
    )


def _printable(text: str) -> str:
    """The text with nothing in it that a terminal would obey; one character stays one character."""
    return CONTROL.sub(" ", text)
