"""The first record: what decides what a run will do."""

from __future__ import annotations

from typing import Any

from agentcore_runner import __version__
from agentcore_runner.definition.problems import KeyPath
from agentcore_runner.definition.vocabulary import models_in
from agentcore_runner.runtime.limits import as_record
from agentcore_runner.runtime.plan import Plan
from agentcore_runner.transcript.records import AgentRef, ModelRef

MASK = "***"


def run_started(plan: Plan) -> dict[str, Any]:
    """The fields of `run_started`."""
    definition, model = plan.definition, plan.provider.model
    return {
        "runner": __version__,
        "agent": AgentRef(
            name=definition.name,
            version=definition.version,
            path=definition.path,
            digest=definition.digest,
            git=plan.git,
        ),
        "model": ModelRef(provider=model.provider, id=model.id, api=model.api),
        "thinking_level": plan.thinking_level.value,
        "queue_mode": {
            "steering": definition.queue_mode.steering,
            "follow_up": definition.queue_mode.follow_up,
        },
        "tools": [tool.name for tool in plan.tools],
        "mcp": [],
        "limits": as_record(plan.limits),
        "inputs": plan.inputs,
        "cwd": str(plan.cwd),
        "definition": masked(definition.resolved),
    }


def masked(resolved: dict[str, Any]) -> dict[str, Any]:
    """The definition without the values of the models' headers, which may hold a token."""
    shown = resolved
    for path, model in models_in(resolved).items():
        if isinstance(model, dict) and "headers" in model:
            hidden = {**model, "headers": dict.fromkeys(model["headers"], MASK)}
            shown = with_value(shown, path, hidden)
    return shown


def with_value(data: Any, path: KeyPath, value: Any) -> Any:
    """A copy of maps and lists with another value at the path."""
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = with_value(data[path[0]], path[1:], value)
    return copy
