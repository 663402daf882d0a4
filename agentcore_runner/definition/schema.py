"""The packaged JSON Schema, and what it says about a document."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.definition.document import Document, is_secretive
from agentcore_runner.definition.kinds import found
from agentcore_runner.definition.problems import KeyPath, Problem
from agentcore_runner.definition.vocabulary import MOST_GUESSES, advise, models_in, within_profile, written
from agentcore_runner.definition.walk import PLAIN_KEYWORDS, Violation, violations
from agentcore_runner.words import nearest

SCHEMA_FILE = Path(__file__).with_name("agent.v1.schema.json")
# Places whose keys an author may have written somewhere else.
LEVELS = {
    "limits": "limits",
    "model": "model",
    "transcript": "transcript",
    "compaction": "compaction",
    "env": "env",
}


def agent_schema() -> dict[str, Any]:
    """The JSON Schema of an agent file, a fresh copy."""
    schema: dict[str, Any] = msgspec.json.decode(SCHEMA_FILE.read_bytes())
    return schema


@functools.cache
def _schema() -> dict[str, Any]:
    return agent_schema()


def structure_problems(
    document: Document,
    *,
    skip: Collection[KeyPath],
    open_values: Collection[KeyPath] = (),
    model_given: bool = False,
    partial: bool = False,
) -> tuple[list[Problem], set[KeyPath]]:
    """What is wrong with the structure of a document, and the paths that are wrong. `skip` are paths that are
    not looked at, `open_values` those whose values are not; with `model_given` the file need not name a
    model, and in a `partial` one nothing is missing, since it may stand in another file."""
    assert document.root is not None
    found_wrong = [
        violation
        for violation in violations(document.root.data, _schema(), skip=skip, titled=True)
        if violation.rule == "unknown-key" or violation.path not in open_values
    ]
    if not partial:
        found_wrong += _nameless_models(document.root.data, skip)
    unknown = [violation for violation in found_wrong if violation.rule == "unknown-key"]
    advice = {
        violation.path: advise(
            str(violation.found),
            violation.path[:-1],
            violation.known,
            _levels(violation.path[:-1]),
            guess=number < MOST_GUESSES,
        )
        for number, violation in enumerate(unknown)
    }
    # A misspelt key is one mistake, not also a missing one.
    excused = {(*path[:-1], said.suggestion) for path, said in advice.items()}
    if model_given:
        excused.add(("model",))
    problems, wrong = [], set()
    for violation in found_wrong:
        path = violation.path
        if violation.rule == "missing-key":
            if violation.wanted == "one of model, extends":
                violation = msgspec.structs.replace(violation, wanted="model")
            wanted = violation.wanted.removeprefix("one of ").split(", ")
            if partial or any((*path, name) in excused for name in wanted):
                continue
            if violation.wanted == "type":
                wrong.add(path)
            problems.append(_missing(document, violation))
        elif (said := advice.get(path)) is not None:
            problems.append(document.problem(path, "unknown-key", said.message, hint=said.hint, at_key=True))
            wrong.add(path)
        else:
            problems.append(_wrong_value(document, violation))
            wrong.add(path)
    return problems, wrong


def value_errors(value: Any, schema: dict[str, Any] | bool, text: str | None = None) -> list[str]:
    """What is wrong with a value by an author's schema, a sentence each; empty when it fits. Raises
    ValueError when the schema itself cannot be used. Everyday schemas do without importing jsonschema.
    `text` is how the value was written."""
    if isinstance(schema, dict) and _is_plain(schema):
        return [
            _sentence(violation, None if violation.path else text) for violation in violations(value, schema)
        ]
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    try:
        Draft202012Validator.check_schema(schema)
        errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: list(error.path))
    except (SchemaError, Unresolvable, RecursionError) as exc:
        raise ValueError(getattr(exc, "message", None) or str(exc) or "it refers to itself") from exc
    return [f"{written(tuple(error.path))}: {error.message}".removeprefix(": ") for error in errors]


def _is_plain(schema: Any) -> bool:
    """Whether the schema uses only what our own walk does exactly as jsonschema."""
    if not isinstance(schema, dict) or not schema.keys() <= PLAIN_KEYWORDS:
        return isinstance(schema, bool)
    parts = [*schema.get("properties", {}).values()]
    parts += [schema[name] for name in ("items", "additionalProperties") if name in schema]
    return all(map(_is_plain, parts))


def _nameless_models(data: Any, skip: Collection[KeyPath]) -> Iterator[Violation]:
    """Models without an id, which the schema lets pass: a part of one may stand in each of several files."""
    for path, model in models_in(data).items():
        if isinstance(model, dict) and "id" not in model and path[0] != "fallback" and path not in skip:
            yield Violation(path=path, rule="missing-key", wanted="id")


def _missing(document: Document, violation: Violation) -> Problem:
    wanted, path = violation.wanted, violation.path
    message = f"{wanted} is missing" if " " in wanted else f"the key {wanted!r} is missing"
    prefix = f"{written(path)}: " if path else ""
    hint = _missing_hint(document, violation)
    return document.problem(path, "missing-key", prefix + message, hint=hint)


def _wrong_value(document: Document, violation: Violation) -> Problem:
    path = violation.path
    node = document.node(path)
    text = node.text if node is not None else None
    if path and is_secretive(str(path[-1])) and isinstance(violation.found, str) and not violation.at_key:
        message = f"{written(path)}: expected {violation.wanted}, found something else"
        hint = "an agent file is no place for a key: name the variable that holds it"
        return document.problem(path, violation.rule, message, hint=hint)
    return document.problem(
        path,
        violation.rule,
        _sentence(violation, text),
        hint=_hint(violation, text, path),
        at_key=violation.at_key,
    )


def _sentence(violation: Violation, text: str | None = None) -> str:
    if violation.message is not None:
        return violation.message
    prefix = f"{written(violation.path)}: " if violation.path else ""
    if violation.rule == "missing-key":
        return f"{prefix}the key {violation.wanted!r} is missing"
    if violation.rule == "unknown-key":
        around = written(violation.path[:-1])
        return (
            f"{violation.found!r} is not a key of {around}"
            if around
            else f"{violation.found!r} is not a key here"
        )
    return f"{prefix}expected {violation.wanted}, found {found(violation.found, text)}"


def _hint(violation: Violation, text: str | None, path: KeyPath) -> str | None:
    value = violation.found
    if path == ("schema_version",):
        if value == "1":
            return "remove the quotes"
        return "this version of agentcore-runner reads schema_version: 1"
    if violation.choices:
        close = nearest(value, violation.choices) if isinstance(value, str) else None
        return f"did you mean {close!r}?" if close else None
    if text and not isinstance(value, str) and "true or false" not in violation.wanted:
        return f'write "{text}" in quotes' if _text_is_wanted(violation) else None
    if isinstance(value, str) and "true or false" in violation.wanted:
        return "YAML 1.2 has only true and false"
    if isinstance(value, str) and violation.rule == "type" and value.strip().isdigit():
        # Without quotes it is a text because of its leading zero.
        return f"write {int(value)}, without the leading zero" if text else "remove the quotes"
    if (
        (path[-1:] == ("model",) or path[:1] == ("fallback",))
        and isinstance(value, str)
        and "provider/id" in violation.wanted
    ):
        return "the part before the first '/' names the provider"
    return None


def _text_is_wanted(violation: Violation) -> bool:
    words = ("a string", "a text", "a name", "the name of an", "a path", "a Jinja2")
    return violation.rule == "type" and violation.wanted.startswith(words)


def _missing_hint(document: Document, violation: Violation) -> str | None:
    node = document.node(violation.path)
    data = node.data if node is not None and isinstance(node.data, dict) else {}
    if violation.wanted == "type":
        if "command" in data:
            return "add type: command"
        builtins = _schema()["$defs"]["builtin_name"]["enum"]
        if data.get("name") in builtins:
            return "add type: builtin"
        return f"it is one of {', '.join(violation.choices)}"
    if not violation.path:
        return HINTS.get(violation.wanted)
    return None


HINTS = {
    "schema_version": "add schema_version: 1",
    "name": "add a name such as name: reviewer",
    "model": "add model: provider/id, or pass --model",
}


@functools.cache
def _levels(path: KeyPath) -> dict[str, tuple[str, ...]]:
    """The keys of the places an author may have meant instead of `path`; none inside lists and schemas."""
    local = within_profile(path)
    if len(local) > 1 or local in (("inputs",), ("profiles",)):
        return {}
    schema = _schema()
    here = written(local)
    levels = {
        name: tuple(schema["$defs"][part]["properties"]) for name, part in LEVELS.items() if name != here
    }
    return levels if not path else {**levels, "": tuple(schema["properties"])}
