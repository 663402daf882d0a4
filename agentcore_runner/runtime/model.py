"""Which model, with which settings: the file's, or the flag's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from agentcore_runner.core.model import ModelCost, ThinkingLevel
from agentcore_runner.definition.types import AgentDefinition, ModelSpec
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.catalog import ModelSettings, Provider, open_provider, parse_model
from agentcore_runner.runtime.clock import unix_ms
from agentcore_runner.runtime.options import RunOptions


def model_settings(spec: ModelSpec | None, override: str | None) -> ModelSettings:
    """Settings for the model in force. A flag replaces the model whole when it names another provider; for
    the same provider the file's other settings stay."""
    if override is not None:
        chosen = parse_model(override)
        if spec is None or spec.provider != chosen.provider:
            return chosen
        spec = msgspec.structs.replace(spec, id=chosen.id)
    if spec is None:
        raise ConfigError("no model: set `model:` in the agent file or pass --model PROVIDER/ID")
    fields = {name: getattr(spec, name) for name in spec.__struct_fields__}
    if spec.cost is not None:
        fields["cost"] = ModelCost(**msgspec.structs.asdict(spec.cost))
    return ModelSettings(**fields)


def open_models(
    definition: AgentDefinition,
    options: RunOptions,
    *,
    env: Mapping[str, str],
    cwd: Path,
    idle_timeout: float,
) -> tuple[Provider, ...]:
    """The models of a run, ready to be asked: the one that answers first, the one that writes summaries last.
    A flag's model does all the work, so that a run with a script asks nobody. Raises ConfigError for a model
    that cannot be asked."""
    settings = [model_settings(definition.model, options.model)]
    compaction = definition.compaction
    if compaction.model is not None and compaction.enabled and options.model is None:
        settings.append(model_settings(compaction.model, None))
    return tuple(
        open_provider(
            each,
            env=env,
            cwd=cwd,
            agent_directory=definition.directory,
            idle_timeout=idle_timeout,
            now=unix_ms,
        )
        for each in settings
    )


def thinking_level(definition: AgentDefinition, options: RunOptions) -> ThinkingLevel:
    """The level in force: the option's, else the file's, else off."""
    level = options.thinking_level or definition.thinking_level or "off"
    try:
        return ThinkingLevel(level)
    except ValueError as exc:
        known = ", ".join(each.value for each in ThinkingLevel)
        raise ConfigError(f"there is no thinking level {level!r} (it is one of {known})") from exc
