"""What a run is: messages, events, the loop. No I/O, no YAML, no HTTP. Agents are built in code with it.

    from agentcore_runner.core import Agent, AgentTool, Model, text_result

`public.py` lists the names. Importing this package loads nothing; the first name that is used loads them all.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentcore_runner.core.public import *  # noqa: F403 - its names are ours
else:
    # Hidden from type checkers: to them, a module with `__getattr__` has every name that is asked for.

    def __getattr__(name: str) -> Any:
        # Python looks here before it imports a module of ours, as ours do of each other: that loads no names.
        if find_spec(f"{__name__}.{name}") is None:
            public = vars(import_module(f"{__name__}.public"))
            names = sorted(each for each in public if not each.startswith("_"))
            globals().update({each: public[each] for each in names}, __all__=names)
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __getattr__("__all__")
