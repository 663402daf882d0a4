"""What is wrong with the shape of the user's models file: every mistake at its place, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from agentcore_runner.core.model import ThinkingLevel
from agentcore_runner.providers.known import Count, KnownModel, KnownProvider, Price, Prices, Tier, Tokens
from agentcore_runner.words import did_you_mean

Place: TypeAlias = tuple[str | int, ...]
Found: TypeAlias = tuple[Place, str]

KEYS = tuple(
    dict.fromkeys(
        name for kind in (KnownProvider, KnownModel, Prices, Tier) for name in kind.__struct_fields__
    )
)


def shape_mistakes(value: Any, kind: Any, place: Place = ()) -> list[Found]:
    """Where plain data is not of this type; none hides another."""
    found = list(_inside(value, kind, place))
    if not found:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            found.append((place, f"expected {_wanted(kind)}, found {_shown(value, kind)}"))
    return found


def _inside(value: Any, kind: Any, place: Place) -> Iterator[Found]:
    """The mistakes in what a map or a list holds."""
    for each in _choices(kind):
        plain = get_args(each)[0] if get_origin(each) is Annotated else each
        if isinstance(value, dict) and _is_struct(plain):
            yield from _in_struct(value, plain, place)
        elif isinstance(value, dict) and get_origin(plain) is dict:
            names, values = get_args(plain)
            for key, item in value.items():
                wrong = shape_mistakes(key, names, (*place, key))
                yield from wrong or shape_mistakes(item, values, (*place, key))
        elif isinstance(value, list) and get_origin(plain) is tuple:
            for index, item in enumerate(value):
                yield from shape_mistakes(item, get_args(plain)[0], (*place, index))


def _in_struct(value: dict[str, Any], kind: type[msgspec.Struct], place: Place) -> Iterator[Found]:
    hints = get_type_hints(kind, include_extras=True)
    for key, item in value.items():
        if key in hints:
            yield from shape_mistakes(item, hints[key], (*place, key))
        else:
            yield (*place, key), f"no such key here{did_you_mean(key, KEYS)}"
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in value:
            yield place, f"{field.name!r} is missing"


def _choices(kind: Any) -> tuple[Any, ...]:
    """The types that a value may have, null aside."""
    if get_origin(kind) in (Union, UnionType):
        return tuple(each for each in get_args(kind) if each is not NoneType)
    return (kind,)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _wanted(kind: Any) -> str:
    """The type in words."""
    return " or ".join([_named(each) for each in _choices(kind)])


def _named(kind: Any) -> str:
    words: dict[Any, str] = {
        str: "a string", bool: "true or false", Price: "a number of at least 0",
        Count: "a whole number of at least 1", Tokens: "tokens of at least 0",
        ThinkingLevel: f"one of {', '.join(ThinkingLevel)}",
    }  # fmt: skip
    if kind in words:
        return words[kind]
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(plain) is tuple:
        return f"a list of {_wanted(get_args(plain)[0])}" if plain is not kind else "a list"
    return "a map"


def _shown(value: Any, kind: Any) -> str:
    """The value in few words; where a text belongs it is not quoted, for it may be a key."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if str in _choices(kind) and not (isinstance(value, int) and len(_choices(kind)) > 1):
        return "true or false" if isinstance(value, bool) else "a number"
    return str(value).lower() if isinstance(value, bool) else repr(value)
