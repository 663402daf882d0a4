"""The JSON Schemas of records and of the result object, drawn from their types."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.report.result import RunResult
from agentcore_runner.transcript.records import AnyRecord

DIALECT = "https://json-schema.org/draft/2020-12/schema"
HOME = "https://agentcore-runner.dev/schemas"


def events_schema() -> dict[str, Any]:
    """One record of a transcript, format version 1."""
    return published(
        AnyRecord,
        "events.v1",
        "One line of an agentcore-runner transcript. Readers ignore unknown fields and record types.",
    )


def result_schema() -> dict[str, Any]:
    """The result object of a run."""
    return published(RunResult, "result.v1", "What a run of agentcore-runner came to.")


def unwrapped(schema: Any) -> Any:
    """The schema with each description on one line: how a docstring is indented differs between versions of
    Python and msgspec."""
    if isinstance(schema, dict):
        return {
            key: " ".join(value.split())
            if key == "description" and isinstance(value, str)
            else unwrapped(value)
            for key, value in schema.items()
        }
    return [unwrapped(item) for item in schema] if isinstance(schema, list) else schema


def published(kind: Any, name: str, description: str) -> dict[str, Any]:
    """The type's schema with its dialect, address and description in front."""
    body = unwrapped(msgspec.json.schema(kind))
    head = {"$schema": DIALECT, "$id": f"{HOME}/{name}.schema.json", "description": description}
    return {**head, **body}
