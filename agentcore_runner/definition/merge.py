"""Two versions of a value → one: maps merge deeply, tools by name, anything else is replaced."""

from __future__ import annotations

from collections.abc import Iterator

from agentcore_runner.definition.compose import Node
from agentcore_runner.definition.convert import LIMIT_PARSERS
from agentcore_runner.definition.problems import KeyPath
from agentcore_runner.definition.vocabulary import within_profile
from agentcore_runner.errors import ConfigError

MODELS: tuple[KeyPath, ...] = (("model",), ("compaction", "model"))
ALTERNATIVES = {
    "prompt": "prompt_file", "prompt_file": "prompt",
    "system_prompt": "system_prompt_file", "system_prompt_file": "system_prompt",
}  # fmt: skip


def merged(base: Node, over: Node, path: KeyPath = ()) -> Node:
    """`over` on top of `base`, two values that stand at `path` of an agent file; neither is changed. Every
    value of the result keeps its place."""
    local = within_profile(path)
    if local in MODELS and isinstance(over.data, dict):
        base = long_model(base)
    if isinstance(base.data, dict) and isinstance(over.data, dict):
        return _maps(base, over, path)
    if isinstance(base.data, list) and isinstance(over.data, list):
        if local == ("tools",):
            return _tools(base, over)
        if local == ("permissions", "deny"):
            return _union(base, over)
    return over


def beside(first: Node, second: Node) -> Node:
    """Two parents of one file as one: the second on top of the first, but of each limit the tighter one."""
    both = merged(first, second)
    limits = dict(both.children["limits"].children) if "limits" in both.children else {}
    for name, _, tighter in loosened(first, second):
        limits[name] = tighter
    if not limits:
        return both
    owner = both.children["limits"]
    children = {**both.children, "limits": owner.with_children(limits, owner.keys)}
    return both.with_children(children, both.keys)


def loosened(base: Node, over: Node) -> Iterator[tuple[str, Node, Node]]:
    """The limits of `over` that allow more than those of `base`: the name and both values, `over`'s first."""
    limits, others = over.children.get("limits"), base.children.get("limits")
    if limits is None or others is None:
        return
    for name, value in limits.children.items():
        other = others.children.get(name)
        most, amount = (_amount(name, node) for node in (other, value))
        if other is not None and most is not None and amount is not None and amount > most:
            yield str(name), value, other


def long_model(node: Node) -> Node:
    """A model in its long form."""
    return node.with_children({"id": node}, {}) if isinstance(node.data, str) else node


def long_tool(node: Node) -> Node:
    """An entry of `tools` in its long form."""
    if not isinstance(node.data, str):
        return node
    kind = node.with_children({})
    kind.data = "builtin"
    return node.with_children({"type": kind, "name": node}, {})


def _maps(base: Node, over: Node, path: KeyPath) -> Node:
    children, keys = dict(base.children), dict(base.keys)
    for name in over.children:
        if within_profile((*path, name)) == (name,) and name in ALTERNATIVES:
            # A child's prompt stands for its parent's, in whichever form.
            children.pop(ALTERNATIVES[str(name)], None)
    for name, value in over.children.items():
        there = children.get(name)
        children[name] = value if there is None else merged(there, value, (*path, name))
    keys.update(over.keys)
    return over.with_children(children, {name: keys[name] for name in keys if name in children})


def _tools(base: Node, over: Node) -> Node:
    """Tools of the same name are one; new ones follow."""
    tools = list(base.children.values())
    places: dict[str | int, int] = {}
    for index, tool in enumerate(tools):
        places.setdefault(_name(tool), index)
    for tool in over.children.values():
        name = _name(tool)
        # A second entry of the same name is a mistake, and stays to be found.
        if name in places:
            index = places.pop(name)
            tools[index] = _tool(tools[index], tool)
        else:
            tools.append(tool)
    return over.with_children(dict(enumerate(tools)))


def _name(tool: Node) -> str | int:
    """What tools are told apart by; an entry without a name is told apart from all others."""
    name = tool.data.get("name") if isinstance(tool.data, dict) else tool.data
    return name if isinstance(name, str) else id(tool)


def _tool(base: Node, over: Node) -> Node:
    """An entry on top of another of the same name. One of another type replaces it, and a bare name adds
    nothing to a builtin tool."""
    kinds = [node.data.get("type") if isinstance(node.data, dict) else "builtin" for node in (base, over)]
    if kinds[1] is not None and kinds[0] != kinds[1]:
        return over
    if isinstance(over.data, str):
        return base
    return merged(long_tool(base), over, ("tools", 0))


def _union(base: Node, over: Node) -> Node:
    entries = list(base.children.values())
    entries += [entry for entry in over.children.values() if entry.data not in base.data]
    return over.with_children(dict(enumerate(entries)))


def _amount(name: str | int, node: Node | None) -> float | None:
    """A limit as a number; None for one that is not there or is no limit."""
    if node is None:
        return None
    try:
        return float(LIMIT_PARSERS.get(str(name), float)(node.data))
    except (ConfigError, ValueError, TypeError):
        return None
