"""What is said of a thinking level that a model does not have."""

from __future__ import annotations

from agentcore_runner.core.model import Model, ThinkingLevel, nearest_level


def asked_for(level: ThinkingLevel) -> str:
    """A level as warnings name it."""
    return f"thinking_level {level.value!r}"


def missing_level(model: Model, level: ThinkingLevel) -> list[str] | None:
    """What becomes of a level that the model does not have, a sentence each; None where it has the level."""
    if not model.reasoning:
        if level is ThinkingLevel.OFF:
            return []
        return [
            f"{asked_for(level)} is not sent: {model.key} is not known to think"
            " (model.compat: {supports_thinking: true} sends it)"
        ]
    nearest = nearest_level(model, level)
    if nearest is not level:
        return [f"{asked_for(level)} is sent as {nearest.value!r}, the nearest that there is"]
    return None
