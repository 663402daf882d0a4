"""A value against a schema: one violation per mistake, in words for an author.

It knows the part of JSON Schema that our own schema and everyday input schemas use (`KEYWORDS`); a test holds
its verdicts against jsonschema's. It exists because importing jsonschema takes longer than everything else
that happens to an agent file, and because an author needs the one branch that was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias

import msgspec

from agentcore_runner.definition.kinds import FORMATS, TYPE_WORDS, compiled, equal, repeats, shown, type_words
from agentcore_runner.definition.problems import KeyPath
from agentcore_runner.json_schema import has_type, pointed

Schema: TypeAlias = "dict[str, Any]"

ANNOTATIONS = {"$schema", "$id", "$comment", "$defs", "title", "description", "default", "examples", "format"}
KEYWORDS = ANNOTATIONS | {
    "$ref", "type", "const", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "items", "minItems", "maxItems", "uniqueItems", "properties", "patternProperties",
    "additionalProperties", "propertyNames", "required", "allOf", "anyOf", "oneOf", "not",
}  # fmt: skip

# Of these, an author's schema may use all at once without a difference to jsonschema.
PLAIN_KEYWORDS = ANNOTATIONS - {"$defs", "$schema", "$id"} | {
    "type", "const", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
    "items", "minItems", "maxItems", "properties", "additionalProperties", "required",
}  # fmt: skip


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake at a path. `wanted` is what should stand there, `found` what does; `at_key`: the key is
    wrong, not its value. `known` are the keys that would be right, `choices` the values; `message` replaces
    the sentence made of them."""

    path: KeyPath
    rule: str
    wanted: str = ""
    found: Any = None
    at_key: bool = False
    known: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    message: str | None = None


def violations(
    value: Any, schema: Schema, *, skip: Collection[KeyPath] = (), titled: bool = False
) -> list[Violation]:
    """What is wrong with a value. Paths in `skip` are not looked at; with `titled` a schema's title is the
    phrase for what is wanted, as in our own schema."""
    return list(_Walk(schema, skip, titled).check(value, schema, ()))


class _Walk:
    def __init__(self, root: Schema, skip: Collection[KeyPath], titled: bool) -> None:
        self.root, self.skip, self.titled = root, skip, titled

    def check(self, value: Any, schema: Any, path: KeyPath) -> Iterator[Violation]:
        if path in self.skip or schema is True:
            return
        if schema is False:
            yield Violation(path=path, rule="value", wanted="no value here", found=value)
            return
        schema = self.resolved(schema)
        if (parse := FORMATS.get(schema.get("format", ""))) is not None:
            if not parse(value):
                kind = "value" if has_type(value, ["string", "number"]) else "type"
                yield self._wrong(value, schema, path, kind)
            return
        own = list(self._own(value, schema, path))
        yield from own
        if own:
            return
        yield from self._combined(value, schema, path)
        if isinstance(value, dict):
            yield from self._map(value, schema, path)
        elif isinstance(value, list):
            yield from self._list(value, schema, path)

    def resolved(self, schema: Schema) -> Schema:
        """The schema that `$ref` names, with what stands beside `$ref` on top."""
        while "$ref" in schema:
            beside = {key: entry for key, entry in schema.items() if key != "$ref"}
            schema = {**pointed(self.root, schema["$ref"]), **beside}
        return schema

    def _own(self, value: Any, schema: Schema, path: KeyPath) -> Iterator[Violation]:
        """What can be said of the value by itself."""
        if "const" in schema and not equal(value, schema["const"]):
            yield self._wrong(value, schema, path, "value", shown(schema["const"]))
        elif "enum" in schema and not any(equal(value, choice) for choice in schema["enum"]):
            choices = tuple(choice if isinstance(choice, str) else shown(choice) for choice in schema["enum"])
            wanted = (
                f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0] if choices else "no value"
            )
            yield Violation(path=path, rule="value", wanted=wanted, found=value, choices=choices)
        elif "type" in schema and not has_type(value, schema["type"]):
            yield self._wrong(value, schema, path, "type")
        elif isinstance(value, str):
            yield from self._text(value, schema, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from self._number(value, schema, path)

    def _text(self, value: str, schema: Schema, path: KeyPath) -> Iterator[Violation]:
        if "pattern" in schema and not compiled(schema["pattern"]).search(value):
            wanted = None if self.titled and "title" in schema else f"a text that matches {schema['pattern']}"
            yield self._wrong(value, schema, path, "value", wanted)
        elif len(value) < schema.get("minLength", 0):
            least = schema["minLength"]
            wanted = "a text that is not empty" if least == 1 else f"at least {least} characters"
            yield Violation(path=path, rule="value", wanted=wanted, found=value)
        elif len(value) > schema.get("maxLength", len(value)):
            yield Violation(
                path=path, rule="value", wanted=f"at most {schema['maxLength']} characters", found=value
            )

    def _number(self, value: float, schema: Schema, path: KeyPath) -> Iterator[Violation]:
        word = "an integer" if schema.get("type") == "integer" else "a number"
        for keyword, fits, relation in BOUNDS:
            if keyword in schema and not fits(value, schema[keyword]):
                wanted = f"{word} {relation} {schema[keyword]}"
                yield Violation(path=path, rule="value", wanted=wanted, found=value)
                return

    def _combined(self, value: Any, schema: Schema, path: KeyPath) -> Iterator[Violation]:
        """`allOf`, `anyOf`, `oneOf` and `not`; of several branches only the one that was meant is told of."""
        for part in schema.get("allOf", ()):
            yield from self.check(value, part, path)
        if "not" in schema and not list(self.check(value, schema["not"], path)):
            yield self._forbidden(schema["not"], path)
        for keyword in ("oneOf", "anyOf"):
            branches = [self.resolved(branch) for branch in schema.get(keyword, ())]
            if not branches:
                continue
            if isinstance(value, dict) and all(set(branch) == {"required"} for branch in branches):
                names = [branch["required"][0] for branch in branches]
                yield from self._one_of(value, names, path, alone=keyword == "oneOf")
                continue
            meant = meant_branches(value, branches)
            if not meant:
                yield self._wrong(value, schema, path, "type")
            elif len(meant) == 1:
                yield from self.check(value, meant[0], path)
            else:
                yield from self._discriminated(value, meant, schema, path)

    def _discriminated(
        self, value: Any, branches: list[Schema], schema: Schema, path: KeyPath
    ) -> Iterator[Violation]:
        """Several branches fit: for maps that a constant `type` tells apart, that key is what is missing or
        wrong; else the value has to satisfy one of them."""
        kinds = tuple(branch.get("properties", {}).get("type", {}).get("const") for branch in branches)
        if isinstance(value, dict) and all(isinstance(kind, str) for kind in kinds):
            if "type" not in value:
                yield Violation(path=path, rule="missing-key", wanted="type", choices=kinds)
            else:
                wanted = f"one of {', '.join(kinds)}"
                yield Violation(
                    path=(*path, "type"), rule="value", wanted=wanted, found=value["type"], choices=kinds
                )
        elif all(list(self.check(value, branch, path)) for branch in branches):
            yield self._wrong(value, schema, path, "value")

    def _one_of(
        self, value: dict[str, Any], names: list[str], path: KeyPath, *, alone: bool
    ) -> Iterator[Violation]:
        there = [name for name in value if name in names]
        if not there:
            yield Violation(path=path, rule="missing-key", wanted=f"one of {', '.join(names)}")
        for name in there[1:] if alone else ():
            message = f"{name!r} cannot stand beside {there[0]!r}"
            yield Violation(path=(*path, name), rule="value", at_key=True, message=message)

    def _forbidden(self, schema: Schema, path: KeyPath) -> Violation:
        names = schema.get("required", ())
        if len(names) != 2:
            return Violation(path=path, rule="value", message="the value is of a kind that is not allowed")
        message = f"{names[1]!r} cannot stand beside {names[0]!r}"
        return Violation(path=(*path, names[1]), rule="value", at_key=True, message=message)

    def _map(self, value: dict[str, Any], schema: Schema, path: KeyPath) -> Iterator[Violation]:
        known = schema.get("properties", {})
        patterns = [(compiled(text), part) for text, part in schema.get("patternProperties", {}).items()]
        others = schema.get("additionalProperties", True)
        names = schema.get("propertyNames")
        for key, entry in value.items():
            here = (*path, key)
            if here in self.skip:
                continue
            if names is not None and list(self.check(key, names, here)):
                yield Violation(
                    path=here, rule="value", wanted=names.get("title", "another key"), found=key, at_key=True
                )
                continue
            parts = [part for pattern, part in patterns if pattern.search(key)]
            parts += [known[key]] if key in known else []
            if not parts and others is False:
                yield Violation(path=here, rule="unknown-key", found=key, at_key=True, known=tuple(known))
            for part in parts or ([others] if others is not False else []):
                yield from self.check(entry, part, here)
        for name in schema.get("required", ()):
            if name not in value:
                yield Violation(path=path, rule="missing-key", wanted=name)

    def _list(self, value: list[Any], schema: Schema, path: KeyPath) -> Iterator[Violation]:
        count = len(value)
        if count < schema.get("minItems", 0):
            wanted = "a list that is not empty" if count == 0 else f"at least {schema['minItems']} items"
            yield self._wrong(value, schema, path, "value", wanted)
        elif count > schema.get("maxItems", count):
            yield self._wrong(value, schema, path, "value", f"at most {schema['maxItems']} items")
        elif schema.get("uniqueItems") and repeats(value):
            yield self._wrong(value, schema, path, "value", "a list without repetitions")
        if "items" in schema:
            for index, item in enumerate(value):
                yield from self.check(item, schema["items"], (*path, index))

    def _wrong(
        self, value: Any, schema: Schema, path: KeyPath, rule: str, wanted: str | None = None
    ) -> Violation:
        if wanted is None:
            wanted = (self.titled and schema.get("title")) or type_words(schema)
        return Violation(path=path, rule=rule, wanted=wanted, found=value)


def meant_branches(value: Any, branches: list[Schema]) -> list[Schema]:
    """The branches whose type fits, and among maps those whose constants fit, if there are any."""
    fitting = [branch for branch in branches if has_type(value, branch.get("type", list(TYPE_WORDS)))]
    if not isinstance(value, dict) or len(fitting) < 2:
        return fitting
    exact = [branch for branch in fitting if _constants_fit(value, branch)]
    return exact if len(exact) == 1 else fitting


def _constants_fit(value: dict[str, Any], branch: Schema) -> bool:
    constants = {
        name: part["const"]
        for name, part in branch.get("properties", {}).items()
        if isinstance(part, dict) and "const" in part
    }
    return all(name in value and equal(value[name], constant) for name, constant in constants.items())


BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minimum", lambda value, bound: value >= bound, "of at least"),
    ("maximum", lambda value, bound: value <= bound, "of at most"),
    ("exclusiveMinimum", lambda value, bound: value > bound, "above"),
)
