"""Inputs and the JSON Schemas an author writes: whether they can be used, whether defaults satisfy them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentcore_runner.definition.document import Document
from agentcore_runner.definition.problems import KeyPath, Problem
from agentcore_runner.definition.references import unusable
from agentcore_runner.definition.schema import value_errors
from agentcore_runner.definition.vocabulary import written

OWN_KEYS = {"source", "default", "title", "description", "examples"}


def value_schema(spec: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an input's value, without our own keys and without annotations."""
    schema = {key: value for key, value in spec.items() if key not in OWN_KEYS}
    if isinstance(schema.get("required"), bool):
        del schema["required"]
    return schema


def input_problems(document: Document, data: dict[str, Any], wrong: set[KeyPath]) -> Iterator[Problem]:
    """Defaults that their schema refuses, and a second input that wants standard input."""
    inputs = data.get("inputs")
    touched = _touched(wrong)
    reads_stdin = None
    for name, spec in inputs.items() if isinstance(inputs, dict) else ():
        path: KeyPath = ("inputs", name)
        if not isinstance(spec, dict) or path in touched:
            continue
        if spec.get("source") == "stdin":
            if reads_stdin is not None:
                message = (
                    f"{written(path)}: only one input can come from standard input, and {reads_stdin!r} does"
                )
                yield document.problem((*path, "source"), "value", message)
            reads_stdin = reads_stdin or name
        if "default" in spec:
            yield from _default_problems(document, path, spec)


def _default_problems(document: Document, path: KeyPath, spec: dict[str, Any]) -> Iterator[Problem]:
    node = document.node((*path, "default"))
    text = node.text if node is not None else None
    try:
        errors = value_errors(spec["default"], value_schema(spec), text)
    except ValueError as exc:
        yield document.problem(path, "input-schema", f"{written(path)}: not a usable JSON Schema: {exc}")
        return
    if errors:
        message = f"{written((*path, 'default'))}: {errors[0]}"
        unquoted = text and not isinstance(spec["default"], str) and "expected a string" in errors[0]
        hint = f'write "{text}" in quotes' if unquoted else None
        yield document.problem((*path, "default"), "input-default", message, hint=hint)


def schema_problems(
    document: Document, data: dict[str, Any], wrong: set[KeyPath]
) -> Iterator[tuple[KeyPath, Problem]]:
    """Schemas that no value could be held against, and parameters of a tool that are no object; each with
    the path that is wrong."""
    touched = _touched(wrong)
    for path, schema in _schemas(data):
        if path in touched:
            continue
        for steps, message in unusable(schema):
            at = (*path, *steps)
            key = len(steps) > 1 and steps[-2] == "patternProperties"
            yield at, document.problem(at, "input-schema", f"{written(at)}: {message}", at_key=key)
        if path[-1] == "parameters":
            yield from ((path, problem) for problem in _no_object(document, path, schema))


def _touched(wrong: set[KeyPath]) -> set[KeyPath]:
    """Every path with something wrong at it or below it."""
    return {path[:end] for path in wrong for end in range(len(path) + 1)}


def _schemas(data: dict[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    inputs, tools = data.get("inputs"), data.get("tools")
    for name, spec in inputs.items() if isinstance(inputs, dict) else ():
        yield ("inputs", name), spec
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and "parameters" in tool:
            yield ("tools", index, "parameters"), tool["parameters"]


def _no_object(document: Document, path: KeyPath, schema: Any) -> Iterator[Problem]:
    fits = isinstance(schema, dict) and (
        schema.get("type") == "object" or ("type" not in schema and (not schema or "properties" in schema))
    )
    if not fits:
        message = f"{written(path)}: expected the schema of an object"
        yield document.problem(path, "input-schema", message, hint="write {type: object, properties: {…}}")
