"""The core as a library: its names, their documentation, and what using them loads."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from agentcore_runner import core

FOLDER = Path(core.__file__).parent
PUBLIC = {name: getattr(core, name) for name in core.__all__}


def test_the_public_names_are_those_that_type_checkers_see() -> None:
    tree = ast.parse((FOLDER / "public.py").read_text(encoding="utf-8"))
    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom)]

    seen = {alias.asname: (node.module, alias.name) for node in lines for alias in node.names}

    assert core.__all__ == sorted(core.__all__)
    assert list(PUBLIC) == sorted(str(name) for name in seen)
    for name, (module, original) in seen.items():
        assert name == original
        assert PUBLIC[name] is getattr(import_module(module or ""), name)


def test_no_public_name_is_the_name_of_a_module() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py")}

    assert modules & PUBLIC.keys() == set()


def test_a_star_import_gives_the_public_names() -> None:
    names: dict[str, object] = {}

    exec("from agentcore_runner.core import *", names)

    assert {name: value for name, value in names.items() if name != "__builtins__"} == PUBLIC


def test_dir_shows_the_public_names() -> None:
    assert dir(core) == core.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError) as raised:
        core.Agnet  # noqa: B018 - it is the look-up that is tested

    assert str(raised.value) == "module 'agentcore_runner.core' has no attribute 'Agnet'"
    with pytest.raises(ImportError):
        exec("from agentcore_runner.core import Agnet")


def functions_of(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What a user may call or read of a class of ours, by its full name."""
    for ours in [each for each in cls.__mro__ if each.__module__.startswith("agentcore_runner.")]:
        for name, member in vars(ours).items():
            function = member.fget if isinstance(member, property) else member
            if inspect.isfunction(function) and (
                not name.startswith("_") or name in ("__init__", "__call__")
            ):
                yield f"{cls.__name__}.{name}", function


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_says_what_its_user_gets(name: str) -> None:
    value = PUBLIC[name]
    parts = dict(functions_of(value)) if inspect.isclass(value) else {}

    silent = [part for part, function in parts.items() if "__" not in part and not function.__doc__]

    assert silent == []
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__


@pytest.mark.parametrize("name", PUBLIC)
def test_every_type_that_a_public_name_speaks_of_is_public(name: str) -> None:
    value = PUBLIC[name]
    speakers = [value, *dict(functions_of(value)).values()] if inspect.isclass(value) else [value]

    hints = [hint for each in speakers for hint in hints_of(each)]

    assert {cls for cls in classes_in(hints) if cls not in PUBLIC.values()} == set()


def hints_of(value: Any) -> list[Any]:
    if inspect.isclass(value) or inspect.isfunction(value):
        return list(get_type_hints(value, localns=PUBLIC).values())
    return [value]


def classes_in(hint: Any) -> Iterator[type]:
    """Our classes within a type, however deep."""
    if isinstance(hint, type) and hint.__module__.startswith("agentcore_runner."):
        yield hint
    for part in hint if isinstance(hint, list) else get_args(hint):
        yield from classes_in(part)


USE_EVERY_NAME = "from agentcore_runner.core import *"
RUN_AN_AGENT = """
from agentcore_runner.core import Agent, AgentTool, Model, text_result
from tests.core.scripted import Script, call, says

async def execute(call_id, params, signal, on_update, context):
    return text_result("noon")

clock = AgentTool(name="clock", description="The time", parameters={"type": "object"}, execute=execute)
script = Script(says(call("A", "clock")), says("It is noon."))
agent = Agent(
    model=Model(id="m", name="M", api="a", provider="p"), stream_fn=script, now=lambda: 0, tools=[clock]
)
assert agent.prompt_sync("What time is it?")[-1].text == "It is noon."
"""
VALIDATE = """
from agentcore_runner.core import AgentTool, validate_tool_arguments

tool = AgentTool(name="t", description="t", parameters={"type": "object", "minProperties": 1}, execute=None)
assert validate_tool_arguments(tool, {"a": 1}) == {"a": 1}
"""


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded in a fresh interpreter once it has run this code."""
    command = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"]
    child = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=FOLDER.parents[1]
    )
    assert child.returncode == 0, child.stderr
    return set(child.stdout.split())


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} - sys.stdlib_module_names


def test_importing_the_core_loads_nothing() -> None:
    loaded = loaded_by("import agentcore_runner.core") - loaded_by("")

    assert {name for name in loaded if name.startswith("agentcore_runner")} == {
        "agentcore_runner",
        "agentcore_runner.core",
    }
    assert packages(loaded) == {"agentcore_runner"}


def test_a_module_can_be_imported_from_the_core_without_the_others() -> None:
    loaded = loaded_by("from agentcore_runner.core import state")

    assert "agentcore_runner.core.state" in loaded
    assert "agentcore_runner.core.public" not in loaded


@pytest.mark.parametrize("code", [USE_EVERY_NAME, RUN_AN_AGENT], ids=["every name", "a run"])
def test_the_core_needs_nothing_but_msgspec(code: str) -> None:
    loaded = packages(loaded_by(code)) - packages(loaded_by("import msgspec"))

    assert loaded - {"tests"} == {"agentcore_runner"}


def test_jsonschema_is_loaded_when_arguments_need_it() -> None:
    assert "jsonschema" in loaded_by(VALIDATE)
