"""Which model, with which settings: the file's, or the flag's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec

from agentcore_runner.core.model import ModelCost, ThinkingLevel, level_of_budget
from agentcore_runner.definition.types import AgentDefinition, CostSpec, ModelSpec, ThinkingSpec
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.catalog import (
    ModelSettings,
    ModelsFile,
    Provider,
    open_provider,
    parse_model,
    read_models,
)
from agentcore_runner.runtime.clock import unix_ms
from agentcore_runner.runtime.options import RunOptions
from agentcore_runner.runtime.route import Choice


def model_settings(
    spec: ModelSpec | None, override: str | None, models: ModelsFile | None = None
) -> ModelSettings:
    """Settings for the model in force. A flag replaces the model whole when it names another provider; for
    the same provider the file's other settings stay. `models` is the user's models file."""
    if override is not None:
        chosen = parse_model(override)
        if spec is None or spec.provider != chosen.provider:
            return msgspec.structs.replace(chosen, models=models)
        spec = msgspec.structs.replace(spec, id=chosen.id)
    if spec is None:
        raise ConfigError("no model: set `model:` in the agent file or pass --model PROVIDER/ID")
    fields = {name: getattr(spec, name) for name in spec.__struct_fields__}
    if spec.cost is not None:
        fields["cost"] = cost_of(spec.cost)
    return ModelSettings(**fields, models=models)


def cost_of(spec: CostSpec) -> ModelCost:
    """The prices that stand in a file."""
    given = {name: price for name, price in msgspec.structs.asdict(spec).items() if price is not None}
    return ModelCost(**{"cache_read": spec.input, "cache_write": spec.input, **given})


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """The models of a run, ready to be asked: those that answer, in the order in which they go on, and the
    one that writes summaries, where that is another. `warnings` says, a sentence each, what of their settings
    they will not be told."""

    choices: tuple[Choice, ...]
    writer: Provider | None
    warnings: tuple[str, ...]

    @property
    def providers(self) -> tuple[Provider, ...]:
        """All of them, the first to answer first."""
        others = () if self.writer is None else (self.writer,)
        return (*[choice.provider for choice in self.choices], *others)


def open_models(
    definition: AgentDefinition,
    options: RunOptions,
    *,
    env: Mapping[str, str],
    cwd: Path,
    idle_timeout: float,
) -> Models:
    """The models of a run. A flag's model does all the work, so that a run with a script asks nobody. Raises
    ConfigError for a model that cannot be asked, and for a thinking level that one does not have where the
    file wants no other."""
    new = partial(
        open_provider,
        env=env,
        cwd=cwd,
        agent_directory=definition.directory,
        idle_timeout=idle_timeout,
        now=unix_ms,
    )
    own = read_models(options.models_file) if options.models_file else None
    level, budget = thinking_of(definition, options)
    first = new(model_settings(definition.model, options.model, own))
    choices = [Choice(provider=first, level=level, budget=budget)]
    writer = None
    if options.model is None:
        for spec in definition.fallback:
            level, budget = told(spec.thinking) if spec.thinking else (choices[0].level, choices[0].budget)
            other = new(model_settings(spec.model, None, own))
            choices.append(Choice(provider=other, level=level, budget=budget, on=spec.on))
        compaction = definition.compaction
        if compaction.model is not None and compaction.enabled:
            writer = new(model_settings(compaction.model, None, own))
    warnings = [text for choice in choices for text in choice.provider.warnings(choice.level)]
    about_thinking = [text for text in warnings if text.startswith("thinking_level ")]
    if definition.thinking is None and options.thinking_level is None:
        # Nobody asked for anything: that a model thinks all the same is no news.
        warnings = [text for text in warnings if text not in about_thinking]
    elif about_thinking and definition.thinking_unsupported == "error":
        raise ConfigError(f"{about_thinking[0]}, and thinking_unsupported is 'error'")
    return Models(choices=tuple(choices), writer=writer, warnings=tuple(warnings))


def thinking_of(definition: AgentDefinition, options: RunOptions) -> tuple[ThinkingLevel, int | None]:
    """The level and the budget in tokens in force: the option's, else the file's, else off."""
    if options.thinking_level is None:
        return told(definition.thinking or ThinkingSpec(level="off"))
    try:
        return ThinkingLevel(options.thinking_level), None
    except ValueError as exc:
        known = ", ".join(each.value for each in ThinkingLevel)
        message = f"there is no thinking level {options.thinking_level!r} (it is one of {known})"
        raise ConfigError(message) from exc


def told(thinking: ThinkingSpec) -> tuple[ThinkingLevel, int | None]:
    """The level and the budget; for models that know no budget, a budget comes with the level that thinks so
    much or more."""
    budget = thinking.budget_tokens
    if budget is None:
        return ThinkingLevel(thinking.level or "off"), None
    return level_of_budget(budget), budget
