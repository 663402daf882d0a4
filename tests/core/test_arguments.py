"""Tool arguments: what is bent, what is refused, and what the model is told."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from agentcore_runner.core.arguments import validate_tool_arguments
from agentcore_runner.core.shapes import plainly_valid
from agentcore_runner.errors import ToolError
from tests.core.scripted import tool


def schema(part: Any, *, required: bool = True, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": part}, "required": ["x"] if required else [], **more}


def validated(part: Any, value: Any, **more: Any) -> Any:
    return validate_tool_arguments(tool("t", parameters=schema(part, **more)), {"x": value})["x"]


def refused(parameters: dict[str, Any], arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        validate_tool_arguments(tool("t", parameters=parameters), arguments)
    return str(caught.value)


LIST = {"type": "array", "items": {"type": "integer"}}
OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("part", "given", "wanted"),
    [
        ({"type": "number"}, "5.5", 5.5),
        ({"type": "number"}, True, 1),
        ({"type": "number"}, None, 0),
        ({"type": "integer"}, "7", 7),
        ({"type": "integer"}, 7.0, 7),
        ({"type": "integer"}, "7e0", 7),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "boolean"}, 1, True),
        ({"type": "boolean"}, 0, False),
        ({"type": "boolean"}, None, False),
        ({"type": "string"}, 5, "5"),
        ({"type": "string"}, True, "true"),
        ({"type": "string"}, None, ""),
        ({"type": "null"}, "", None),
        ({"type": "null"}, 0, None),
        ({"type": "null"}, False, None),
        ({"type": ["string", "integer"]}, "7", "7"),
        ({"type": ["integer", "null"]}, "7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "7", "7"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"oneOf": [{"type": "boolean"}, {"type": "number"}]}, "2.5", 2.5),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "7", 7),
        (LIST, ["1", 2], [1, 2]),
        (LIST, "[1, 2]", [1, 2]),
        (LIST, '["1"]', [1]),
        (OBJECT, '{"n": "3"}', {"n": 3}),
        (OBJECT, {"n": "3", "more": "x"}, {"n": 3, "more": "x"}),
        ({"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, ["1", 2], [1, "2"]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": "1"}, {"a": 1}),
    ],
)  # fmt: skip
def test_what_is_plainly_meant_is_coerced(part: Any, given: Any, wanted: Any) -> None:
    value = validated(part, given)

    assert (value, type(value)) == (wanted, type(wanted))


@pytest.mark.parametrize(
    ("part", "given"),
    [
        ({"type": "number"}, "abc"),
        ({"type": "number"}, ""),
        ({"type": "number"}, "1e999"),
        ({"type": "integer"}, "5.5"),
        ({"type": "integer"}, 5.5),
        ({"type": "boolean"}, "yes"),
        ({"type": "string"}, ["a"]),
        (LIST, 1),
        (LIST, "1, 2"),
        (LIST, '["a"]'),
        (LIST, None),
        (OBJECT, '{"m": 1}'),
        (OBJECT, "n: 1"),
    ],
)
def test_what_is_not_plainly_meant_is_refused(part: Any, given: Any) -> None:
    assert "- x" in refused(schema(part), {"x": given})


def test_an_optional_null_that_the_schema_rejects_is_not_given() -> None:
    parameters = schema({"type": "integer"}, required=False)

    assert validate_tool_arguments(tool("t", parameters=parameters), {"x": None}) == {}
    assert validated({"type": ["integer", "null"]}, None, required=False) is None


def test_local_references_are_followed() -> None:
    tree = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/tree"}},
    }
    parameters = {**schema({"$ref": "#/$defs/tree"}), "$defs": {"tree": tree}}
    given = {"x": {"n": "1", "next": {"n": "2"}}}

    assert validate_tool_arguments(tool("t", parameters=parameters), given) == {
        "x": {"n": 1, "next": {"n": 2}}
    }


def test_a_reference_to_itself_comes_to_an_end() -> None:
    parameters = {
        **schema({"$ref": "#/$defs/a"}),
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "string"}},
    }

    assert validate_tool_arguments(tool("t", parameters=parameters), {"x": 5}) == {"x": "5"}


def test_the_arguments_are_a_copy() -> None:
    given = {"x": [["1"]]}
    part = {"type": "array", "items": LIST}

    assert validated(part, given["x"]) == [[1]]
    assert given == {"x": [["1"]]}
    plain = {"x": [1]}
    assert validate_tool_arguments(tool("t", parameters=schema(LIST)), plain)["x"] is not plain["x"]


def test_a_refusal_names_every_fault_and_shows_what_came() -> None:
    parameters = {
        "type": "object",
        "properties": {
            "edits": {"type": "array", "items": {"type": "object", "required": ["old", "new"]}},
            "mode": {"enum": ["a", "b"]},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    given = {"edits": [{"old": "x"}], "mode": "c", "limit": "many", "pth": "a.txt"}

    assert refused(parameters, given).splitlines() == [
        "Invalid arguments for tool 't'; it was not run.",
        "- edits.0.new: required property is missing",
        '- mode: must be one of ["a","b"], found "c"',
        '- limit: must be integer, found "many"; or must be null, found "many"',
        "- path: required property is missing",
        "- root: unknown property 'pth' (known: edits, mode, limit)",
        "Received arguments:",
        "{",
        '  "edits": [',
        "    {",
        '      "old": "x"',
        "    }",
        "  ],",
        '  "mode": "c",',
        '  "limit": "many",',
        '  "pth": "a.txt"',
        "}",
    ]


@pytest.mark.parametrize("given", [[1], "text", None, 5])
def test_arguments_that_are_no_object_are_refused(given: Any) -> None:
    assert "- root: must be object" in refused({"type": "object"}, given)


def test_a_refusal_is_bounded() -> None:
    part = {"type": "array", "items": {"type": "integer"}}

    text = refused(schema(part), {"x": ["word " * 1000] * 200})

    assert len(text) < 5000
    assert "- and 190 more" in text


def test_a_remote_reference_is_never_fetched() -> None:
    parameters = schema({"$ref": "http://127.0.0.1:9/schema.json"})

    with pytest.raises(Exception, match=r"127\.0\.0\.1:9"):
        validate_tool_arguments(tool("t", parameters=parameters), {"x": 1})


VALUES = hs.recursive(
    hs.none() | hs.booleans() | hs.integers(-3, 3) | hs.sampled_from([0.5, 1.0]) | hs.text("a1", max_size=3),
    lambda inner: hs.lists(inner, max_size=3) | hs.dictionaries(hs.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)
TYPES = hs.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
SCHEMAS = hs.recursive(
    hs.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | hs.lists(TYPES, min_size=1, max_size=2, unique=True),
            "minimum": hs.integers(-2, 2),
            "maxLength": hs.integers(0, 2),
            "enum": hs.lists(hs.integers(0, 2) | hs.booleans() | hs.none(), min_size=1, max_size=2),
            "required": hs.lists(hs.sampled_from("ab"), unique=True),
        },
    ),
    lambda inner: hs.fixed_dictionaries(
        {},
        optional={
            "properties": hs.dictionaries(hs.sampled_from("ab"), inner),
            "additionalProperties": inner | hs.booleans(),
            "items": inner,
        },
    ),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None)
@given(VALUES, SCHEMAS)
def test_the_short_way_never_accepts_what_the_validator_refuses(value: Any, part: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    assert not plainly_valid(value, part) or Draft202012Validator(part).is_valid(value)


@settings(max_examples=100, deadline=None)
@given(VALUES, SCHEMAS)
def test_what_is_let_through_satisfies_the_schema(value: Any, part: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    parameters = schema(part, required=False)
    try:
        checked = validate_tool_arguments(tool("t", parameters=parameters), {"x": value})
    except ToolError:
        return

    assert Draft202012Validator(parameters).is_valid(checked)


def test_the_core_loads_no_heavy_package() -> None:
    program = (
        "import sys, agentcore_runner.core.agent\n"
        "from agentcore_runner.core.arguments import validate_tool_arguments as v\n"
        "from agentcore_runner.core.tools import AgentTool\n"
        "s = {'type': 'object', 'properties': {'n': {'type': 'integer'}}}\n"
        "v(AgentTool(name='t', description='', parameters=s, execute=None), {'n': '7'})\n"
        "print(sorted({'httpx', 'yaml', 'jinja2', 'jsonschema', 'click', 'referencing'} & set(sys.modules)))"
    )

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout == "[]\n"
