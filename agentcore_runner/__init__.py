"""Run LLM agents defined in YAML, and keep the definitions in git like code.

    from agentcore_runner import run

    result = run("agents/explain.yaml", inputs={"file": "setup.py"})
    print(result.answer)

Importing this package does nothing but define names; what they need is loaded when they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentcore_runner.definition.load import load_agent
    from agentcore_runner.definition.types import AgentDefinition
    from agentcore_runner.errors import ConfigError, ExitCode, ProviderError, RunnerError, TranscriptError
    from agentcore_runner.report.result import RunResult
    from agentcore_runner.runtime.api import run, run_async, stream

__version__ = "0.1.0"

HOMES = {
    "AgentDefinition": "definition.types",
    "ConfigError": "errors",
    "ExitCode": "errors",
    "ProviderError": "errors",
    "RunResult": "report.result",
    "RunnerError": "errors",
    "TranscriptError": "errors",
    "load_agent": "definition.load",
    "run": "runtime.api",
    "run_async": "runtime.api",
    "stream": "runtime.api",
}

__all__ = [
    "AgentDefinition",
    "ConfigError",
    "ExitCode",
    "ProviderError",
    "RunResult",
    "RunnerError",
    "TranscriptError",
    "__version__",
    "load_agent",
    "run",
    "run_async",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
