"""What a template names: the roots it uses and their parts, filters, tests, and the files it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec
from jinja2 import nodes

Reading: TypeAlias = nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends

METHODS = {"items", "keys", "values", "get"}
# Filters that take the name of another filter or test, and which argument it is.
BY_NAME: dict[str, tuple[Literal["filter", "test"], int]] = {
    "map": ("filter", 0), "select": ("test", 0), "reject": ("test", 0),
    "selectattr": ("test", 1), "rejectattr": ("test", 1),
}  # fmt: skip


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """A name in a template: `root.name`, or `root` alone. `own`: it is one that the template defines."""

    root: str
    name: str | None
    line: int
    own: bool = False


class Helper(msgspec.Struct, frozen=True, kw_only=True):
    """A filter or test that a template calls."""

    kind: Literal["filter", "test"]
    name: str
    line: int


def helpers(tree: nodes.Template) -> Iterator[Helper]:
    """The filters and tests of a template, also those named in a text: `map("upper")`."""
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        yield Helper(
            kind="test" if isinstance(node, nodes.Test) else "filter", name=node.name, line=node.lineno
        )
        kind, index = BY_NAME.get(node.name, ("filter", len(node.args)))
        given = node.args[index] if index < len(node.args) and isinstance(node, nodes.Filter) else None
        if isinstance(given, nodes.Const) and isinstance(given.value, str):
            yield Helper(kind=kind, name=given.value, line=given.lineno)


def uses(
    node: nodes.Node,
    free: frozenset[str],
    roots: Mapping[str, frozenset[str]],
    own: frozenset[str] = frozenset(),
) -> Iterator[Use]:
    """Every use of a `free` name, which the template does not define itself, the longest form once; and of
    its `own` names where they hide a free one."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in METHODS:
        owner = node.node.node
        if isinstance(owner, nodes.Name) and node.node.attr not in roots.get(owner.name, ()):
            yield from uses(owner, free, roots, own)
            for part in node.iter_child_nodes(exclude=("node",)):
                yield from uses(part, free, roots, own)
            return
    if isinstance(node, nodes.Getattr | nodes.Getitem) and isinstance(node.node, nodes.Name):
        root = node.node.name
        if root in free and root in roots:
            name = node.attr if isinstance(node, nodes.Getattr) else _constant(node)
            yield Use(root=root, name=name, line=node.lineno)
            if isinstance(node, nodes.Getitem):
                yield from uses(node.arg, free, roots, own)
            return
    if isinstance(node, nodes.Name) and node.ctx == "load" and (node.name in free or node.name in own):
        yield Use(root=node.name, name=None, line=node.lineno, own=node.name in own)
    defined, inside = _own_names(node)
    for field, value in node.iter_fields():
        hides = field in inside and not defined.isdisjoint(free)
        seen, hidden = (free - defined, own | (defined & free)) if hides else (free, own)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, nodes.Node):
                yield from uses(child, seen, roots, hidden)


def _own_names(node: nodes.Node) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names that a tag defines for parts of itself, and those parts."""
    if isinstance(node, nodes.For):
        return _stored([node.target]) | {"loop"}, ("body", "test")
    if isinstance(node, nodes.Macro | nodes.CallBlock):
        return frozenset(arg.name for arg in node.args) | {"caller", "varargs", "kwargs"}, ("body",)
    if isinstance(node, nodes.With):
        return _stored(node.targets), ("body",)
    return frozenset(), ()


def _stored(targets: list[nodes.Expr] | list[nodes.Node]) -> frozenset[str]:
    names = [name.name for target in targets for name in target.find_all(nodes.Name)]
    return frozenset([*names, *(target.name for target in targets if isinstance(target, nodes.Name))])


def _constant(node: nodes.Getitem) -> str | None:
    arg = node.arg
    return arg.value if isinstance(arg, nodes.Const) and isinstance(arg.value, str) else None


def reading_tags(tree: nodes.Template) -> list[Reading]:
    """The tags of a template that read files."""
    kinds = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    return [node for node in tree.find_all(kinds) if isinstance(node, kinds)]


def referenced(node: Reading) -> list[str]:
    """The names of the files that a tag reads, as far as they are written out."""
    name = node.template
    parts = name.items if isinstance(name, nodes.List | nodes.Tuple) else [name]
    return [part.value for part in parts if isinstance(part, nodes.Const) and isinstance(part.value, str)]
