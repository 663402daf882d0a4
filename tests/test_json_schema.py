"""The types of plain values, and where references in a schema lead."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore_runner.json_schema import has_type, pointed

TYPES = ["string", "integer", "number", "boolean", "object", "array", "null"]
SCHEMA = {"$defs": {"a/b~c": {"type": "string"}, "list": [True, {"const": 1}]}}


@pytest.mark.parametrize(
    ("value", "types"),
    [
        ("x", ["string"]),
        (1, ["integer", "number"]),
        (2.0, ["integer", "number"]),
        (2.5, ["number"]),
        (True, ["boolean"]),
        ({}, ["object"]),
        ([], ["array"]),
        (None, ["null"]),
    ],
)
def test_a_value_has_its_own_types_and_no_other(value: Any, types: list[str]) -> None:
    assert [name for name in TYPES if has_type(value, name)] == types
    assert has_type(value, ["unknown", types[-1]])
    assert not has_type(value, "unknown")


@pytest.mark.parametrize(
    ("reference", "part"),
    [
        ("#", SCHEMA),
        ("#/$defs/a~1b~0c", {"type": "string"}),
        ("#/$defs/list/1", {"const": 1}),
        ("#/$defs/list/2", None),
        ("#/$defs/list/x", None),
        ("#/$defs/none", None),
        ("#/$defs/a~1b~0c/type/0", None),
        ("#anchor", True),
        ("other.json", None),
        ("http://example.org/#/$defs", None),
    ],
)
def test_a_reference_leads_to_a_part_or_to_nothing(reference: str, part: Any) -> None:
    assert pointed(SCHEMA, reference) == part
