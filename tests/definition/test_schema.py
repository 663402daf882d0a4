"""The schema, the types and the checks say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agentcore_runner.core.compaction import CompactionSettings
from agentcore_runner.definition import types
from agentcore_runner.definition.document import parse
from agentcore_runner.definition.schema import SCHEMA_FILE, agent_schema, value_errors
from agentcore_runner.definition.source import Source
from agentcore_runner.definition.walk import KEYWORDS, PLAIN_KEYWORDS, violations

ROOT = Path(__file__).parents[2]
SCHEMA = agent_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
# A key of the file on the left is the field on the right; None: it is not kept under a name of its own.
RENAMED: dict[str, dict[str, str | None]] = {
    "AgentDefinition": {
        "schema_version": None,
        "extends": None,
        "profiles": None,
        "env": "env_expose",
        "system_prompt_file": "system_prompt",
        "prompt_file": "prompt",
        "thinking_level": "thinking",
    },
    "FallbackSpec": {
        "thinking_level": "thinking",
        **dict.fromkeys(SCHEMA["$defs"]["model"]["properties"]),
    },
    "BuiltinToolSpec": {"type": None},
    "CommandToolSpec": {"type": None},
}
# Fields that no key stands for.
DERIVED = {
    "AgentDefinition": {"path", "directory", "project", "resolved", "origins", "digest", "files"},
    "BuiltinToolSpec": {"builtin"},
    "Limits": {"written"},
    "ModelSpec": {"provider"},
    "FallbackSpec": {"model"},
    "ThinkingSpec": {"level"},
}
PAIRS = {
    "AgentDefinition": SCHEMA,
    "ModelSpec": SCHEMA["$defs"]["model"],
    "FallbackSpec": SCHEMA["$defs"]["fallback_model"],
    "ThinkingSpec": SCHEMA["$defs"]["thinking_budget"],
    "CostSpec": SCHEMA["$defs"]["cost"],
    "ContextItem": SCHEMA["$defs"]["context_item"],
    "QueueModes": SCHEMA["$defs"]["queue_modes"],
    "BuiltinToolSpec": SCHEMA["$defs"]["builtin_tool"],
    "CommandToolSpec": SCHEMA["$defs"]["command_tool"],
    "Limits": SCHEMA["$defs"]["limits"],
    "CompactionSpec": SCHEMA["$defs"]["compaction"],
    "TranscriptSpec": SCHEMA["$defs"]["transcript"],
}


@pytest.mark.parametrize("name", PAIRS)
def test_schema_and_types_have_the_same_keys(name: str) -> None:
    renamed = RENAMED.get(name, {})
    keys = {renamed.get(key, key) for key in PAIRS[name]["properties"]} - {None}

    fields = set(getattr(types, name).__struct_fields__) - DERIVED.get(name, set())

    assert fields == keys


def test_every_type_is_compared() -> None:
    parts = {
        name
        for name, value in vars(types).items()
        if isinstance(value, type) and issubclass(value, types.Part) and value is not types.Part
    }

    assert parts - {"InputSpec", "ToolSpec"} == PAIRS.keys()


def test_choices_of_schema_and_types_are_the_same() -> None:
    properties, defs = SCHEMA["properties"], SCHEMA["$defs"]

    assert defs["thinking_level_name"]["enum"] == list(get_args(types.ThinkingLevelName))
    assert defs["fallback_reason"]["enum"] == list(get_args(types.FallbackReason))
    assert set(properties["tool_execution"]["enum"]) == set(get_args(types.ExecutionModeName))
    assert set(defs["queue_mode_name"]["enum"]) == set(get_args(types.QueueModeName))
    assert defs["limits"]["properties"]["max_turns"]["default"] == types.Limits().max_turns
    assert defs["limits"]["properties"]["max_repeated_calls"]["default"] == types.Limits().max_repeated_calls
    for name in ("enabled", "reserve_tokens", "keep_recent_tokens"):
        written = defs["compaction"]["properties"][name]["default"]
        assert written == getattr(types.CompactionSpec(), name) == getattr(CompactionSettings(), name)
    assert tuple(defs["command_tool"]["properties"]["ok_exit_codes"]["default"]) == (0,)


def test_published_and_packaged_schema_are_equal() -> None:
    assert (ROOT / "schemas" / "agent.v1.schema.json").read_bytes() == SCHEMA_FILE.read_bytes()


def test_schema_is_a_valid_schema_of_2020_12() -> None:
    Draft202012Validator.check_schema(SCHEMA)

    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["$id"] == "https://agentcore-runner.dev/schemas/agent.v1.schema.json"


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        target: Any = SCHEMA
        for part in schema["$ref"].split("/")[1:]:
            target = target[part]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema."""
    if isinstance(schema, dict):
        yield schema
        for keyword in ("properties", "patternProperties", "$defs"):
            for part in schema.get(keyword, {}).values():
                yield from parts(part)
        for keyword in ("items", "additionalProperties", "propertyNames", "not"):
            yield from parts(schema.get(keyword))
        for keyword in ("allOf", "anyOf", "oneOf"):
            for part in schema.get(keyword, ()):
                yield from parts(part)


def test_every_key_has_a_description() -> None:
    bare = [
        name
        for part in parts(SCHEMA)
        for name, value in part.get("properties", {}).items()
        if not str(resolved(value).get("description", "")).endswith((".", "`"))
    ]

    assert bare == []


def test_schema_uses_only_what_the_walk_knows() -> None:
    assert {keyword for part in parts(SCHEMA) for keyword in part} <= KEYWORDS


def test_every_json_schema_keyword_an_author_may_use_is_one() -> None:
    ours = SCHEMA["$defs"]["json_schema"]["properties"].keys()
    metaschema = Draft202012Validator.META_SCHEMA
    vocabularies = [name["$ref"] for name in metaschema["allOf"]]

    assert len(vocabularies) == 7
    assert ours >= PLAIN_KEYWORDS
    assert ours >= {"if", "then", "else", "$ref", "$defs", "dependentRequired", "unevaluatedProperties"}


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, 1, 2.0, 1.5, -3, "", "x", "30s", "50KiB", "read", "a/b", "Bad Name", "builtin", "command",
     [], {}]
)  # fmt: skip
SEEDS: list[dict[str, Any]] = []
for _file in sorted((ROOT / "tests" / "agents" / "valid").glob("*.yaml")):
    _document = parse(Source(_file.name, _file.read_text(encoding="utf-8")))
    assert _document.root is not None
    SEEDS.append(_document.root.data)


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for name, value in (
        data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    ):
        yield from paths(value, (*path, name))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(SEEDS), st.data())
def test_the_walk_and_jsonschema_agree(seed: dict[str, Any], data: st.DataObject) -> None:
    agent: Any = json.loads(json.dumps(seed))
    for _ in range(data.draw(st.integers(0, 3))):
        path: tuple[Any, ...] = ("", *data.draw(st.sampled_from(sorted(paths(agent), key=repr))))
        above, last = path[:-1], path[-1]
        owner: Any = {"": agent}
        for name in above:
            owner = owner[name]
        change = data.draw(st.sampled_from(["set", "drop", "add"]))
        if change == "set" or last == "":
            owner[last] = data.draw(VALUES)
        elif change == "drop":
            del owner[last]
        elif isinstance(owner, dict):
            owner[
                data.draw(st.sampled_from(["x-a", "zzz", "name", "type", "prompt", "text", "required"]))
            ] = 1
        agent = agent if last != "" else owner[""]

    assert (violations(agent, SCHEMA, titled=True) == []) == VALIDATOR.is_valid(agent), agent


@pytest.mark.parametrize("name", ["duration", "size"])
@pytest.mark.parametrize(
    "value",
    ["5s", " 5s ", "0s", "0.0ms", "0.1ms", "0", "0B", "0.5", "0.5B", "1.5B", "1", "007", "10KiB",
     "0KiB", "0.5KiB", "0.0001KiB", "2MiB", "9" * 400, "9" * 16, "1.", ".5s", "5 s", "-1s", "1e3", "",
     0, 0.5, 1, True, None],
)  # fmt: skip
def test_durations_and_sizes_are_the_same_to_schema_and_program(name: str, value: Any) -> None:
    schema = {**SCHEMA["$defs"][name], "$defs": SCHEMA["$defs"]}

    assert (violations(value, schema) == []) == Draft202012Validator(schema).is_valid(value)


PLAIN = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "object", ["array", "null"]]),
        "enum": st.lists(VALUES, max_size=3),
        "const": VALUES,
        "minimum": st.integers(0, 2),
        "exclusiveMinimum": st.integers(0, 2),
        "maximum": st.integers(0, 2),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 2),
        "pattern": st.sampled_from(["^a", "x$", "[0-9]"]),
        "minItems": st.integers(0, 1),
        "maxItems": st.integers(0, 1),
        "items": st.sampled_from([{"type": "string"}, True, False, {"minimum": 1}]),
        "properties": st.sampled_from([{"x": {"type": "integer"}}, {"x": False}]),
        "additionalProperties": st.sampled_from([True, False, {"type": "string"}]),
        "required": st.sampled_from([["x"], []]),
    },
)


@settings(max_examples=100, deadline=None)
@given(PLAIN, VALUES | st.lists(VALUES, max_size=3) | st.dictionaries(st.sampled_from(["x", "y"]), VALUES))
def test_plain_schemas_mean_what_jsonschema_says(schema: dict[str, Any], value: Any) -> None:
    assert (value_errors(value, schema) == []) == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("value", "schema", "errors"),
    [
        ("x", {"type": "integer"}, ["expected an integer, found 'x'"]),
        ({"a": [1, "b"]}, {"properties": {"a": {"items": {"type": "integer"}}}},
         ["a[1]: expected an integer, found 'b'"]),
        (3, {"title": "Number of rounds", "type": "string"}, ["expected a string, found the number 3"]),
        ({}, {"required": ["x"]}, ["the key 'x' is missing"]),
        ({"y": 1}, {"properties": {"x": {}}, "additionalProperties": False}, ["'y' is not a key here"]),
        (5, {"oneOf": [{"type": "integer"}, {"minimum": 2}]}, None),
        ({"a": 1}, {"properties": {"a": {"not": {}}}}, ["a: 1 should not be valid under {}"]),
    ],
)  # fmt: skip
def test_values_are_told_what_is_wrong(value: Any, schema: dict[str, Any], errors: list[str] | None) -> None:
    found = value_errors(value, schema)

    assert found == errors if errors is not None else len(found) == 1


def test_a_schema_that_cannot_be_used_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="gone"):
        value_errors(1, {"$ref": "#/gone"})


def test_a_fresh_copy_may_be_changed() -> None:
    agent_schema().clear()

    assert msgspec.json.encode(agent_schema()) == msgspec.json.encode(SCHEMA)
