"""A checked document → the frozen definition. Nothing here can fail: every value has been looked at."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.definition.files import Project
from agentcore_runner.definition.inputs import value_schema
from agentcore_runner.definition.problems import KeyPath
from agentcore_runner.definition.scalars import parse_duration, parse_size
from agentcore_runner.definition.template import Template
from agentcore_runner.definition.types import (
    USUAL_REASONS,
    AgentDefinition,
    BuiltinToolSpec,
    CommandToolSpec,
    CompactionSpec,
    ContextItem,
    CostSpec,
    FallbackSpec,
    InputSpec,
    Limits,
    ModelSpec,
    QueueModes,
    ThinkingSpec,
    TranscriptSpec,
)

LIMIT_PARSERS = {
    "timeout": parse_duration,
    "idle_timeout": parse_duration,
    "max_tool_output": parse_size,
}

FALLBACK_KEYS = ("on", "thinking_level")


def definition_of(
    path: str,
    data: dict[str, Any],
    templates: Mapping[KeyPath, Template],
    files: Mapping[KeyPath, Path],
    project: Project,
    origins: dict[KeyPath, str],
) -> AgentDefinition:
    """The definition that a valid file means; `templates` and `files` by the paths that hold or name them."""
    resolved = {key: value for key, value in data.items() if not key.startswith("x-")}
    texts = {pulled.path: pulled.source.text for pulled in project.pulled.values()}
    return AgentDefinition(
        name=data["name"],
        version=data.get("version"),
        description=data.get("description"),
        metadata=data.get("metadata", {}),
        inputs={name: input_spec(spec) for name, spec in data.get("inputs", {}).items()},
        model=model_spec(data["model"]) if "model" in data else None,
        thinking=thinking_spec(data.get("thinking_level")),
        thinking_unsupported=data.get("thinking_unsupported", "clamp"),
        fallback=tuple(fallback_spec(each) for each in data.get("fallback", ())),
        env_expose=tuple(data.get("env", {}).get("expose", ())),
        context=tuple(
            context_item(item, ("context", index), templates, files)
            for index, item in enumerate(data.get("context", ()))
        ),
        system_prompt=templates.get(("system_prompt",)) or templates.get(("system_prompt_file",)),
        prompt=templates.get(("prompt",)) or templates.get(("prompt_file",)),
        follow_ups=_templates(data.get("follow_ups", ()), ("follow_ups",), templates),
        queue_mode=queue_modes(data.get("queue_mode", {})),
        tool_execution=data.get("tool_execution", "parallel"),
        tools=tuple(
            tool_spec(tool, ("tools", index), templates) for index, tool in enumerate(data.get("tools", ()))
        ),
        limits=limits(data.get("limits", {})),
        compaction=compaction_spec(data.get("compaction", {})),
        transcript=TranscriptSpec(**data.get("transcript", {})),
        path=path,
        directory=project.directory,
        project=project.root,
        resolved=resolved,
        origins=origins,
        digest=digest(resolved, texts, project.directory),
        files=tuple(sorted({*texts, *project.parents})),
    )


def input_spec(spec: dict[str, Any]) -> InputSpec:
    """One input. It is required, unless it says otherwise, when there is no default."""
    required = spec.get("required")
    return InputSpec(
        schema=value_schema(spec),
        required=required if isinstance(required, bool) else "default" not in spec,
        default=spec.get("default", msgspec.UNSET),
        from_stdin=spec.get("source") == "stdin",
        description=spec.get("description"),
    )


def model_spec(model: str | dict[str, Any]) -> ModelSpec:
    """The model, from either form; what only a fallback says of one is left out."""
    written = {"id": model} if isinstance(model, str) else model
    settings: dict[str, Any] = {key: value for key, value in written.items() if key not in FALLBACK_KEYS}
    settings["provider"], _, settings["id"] = settings["id"].partition("/")
    if "cost" in settings:
        settings["cost"] = CostSpec(**settings["cost"])
    for name in ("max_output_tokens", "context_window"):
        if name in settings:
            settings[name] = int(settings[name])
    return ModelSpec(**settings)


def thinking_spec(written: str | dict[str, Any] | None) -> ThinkingSpec | None:
    """How much a model may think, from either form."""
    if isinstance(written, dict):
        return ThinkingSpec(budget_tokens=int(written["budget_tokens"]))
    return None if written is None else ThinkingSpec(level=written)  # type: ignore[arg-type]


def fallback_spec(written: str | dict[str, Any]) -> FallbackSpec:
    """A model that may go on, from either form."""
    if isinstance(written, str):
        return FallbackSpec(model=model_spec(written))
    return FallbackSpec(
        model=model_spec(written),
        thinking=thinking_spec(written.get("thinking_level")),
        on=frozenset(written.get("on", USUAL_REASONS)),
    )


def context_item(
    item: dict[str, Any], path: KeyPath, templates: Mapping[KeyPath, Template], files: Mapping[KeyPath, Path]
) -> ContextItem:
    """One context item."""
    fields = dict(item)
    if "command" in item:
        fields["command"] = _templates(item["command"], (*path, "command"), templates)
    if "file" in item:
        fields["file"] = files[(*path, "file")]
    if "max_tokens" in item:
        fields["max_tokens"] = int(item["max_tokens"])
    return ContextItem(**fields)


def queue_modes(mode: str | dict[str, Any]) -> QueueModes:
    """The modes of both queues."""
    return QueueModes(steering=mode, follow_up=mode) if isinstance(mode, str) else QueueModes(**mode)  # type: ignore[arg-type]


def tool_spec(
    tool: str | dict[str, Any], path: KeyPath, templates: Mapping[KeyPath, Template]
) -> BuiltinToolSpec | CommandToolSpec:
    """One tool, from a bare name or a map."""
    if isinstance(tool, str):
        return BuiltinToolSpec(name=tool, builtin=tool)
    fields = {key: value for key, value in tool.items() if key != "type"}
    if "timeout" in fields:
        fields["timeout"] = parse_duration(fields["timeout"])
    if "max_output" in fields:
        fields["max_output"] = parse_size(fields["max_output"])
    if "when" in fields:
        fields["when"] = templates[(*path, "when")]
    if tool["type"] == "builtin":
        return BuiltinToolSpec(**fields, builtin=tool["name"])
    fields["command"] = _templates(tool["command"], (*path, "command"), templates)
    fields["parameters"] = {"type": "object", "properties": {}} | tool.get("parameters", {})
    if "stdin" in fields:
        fields["stdin"] = templates[(*path, "stdin")]
    if "ok_exit_codes" in fields:
        fields["ok_exit_codes"] = tuple(int(code) for code in fields["ok_exit_codes"])
    return CommandToolSpec(**fields)


def limits(written: dict[str, Any]) -> Limits:
    """The limits in seconds and bytes, with the names that stand in the file."""
    values: dict[str, Any] = {name: LIMIT_PARSERS.get(name, int)(value) for name, value in written.items()}
    return Limits(**values, written=frozenset(written))


def compaction_spec(written: dict[str, Any]) -> CompactionSpec:
    """How a conversation that grows too long is made shorter."""
    fields: dict[str, Any] = {
        name: int(value) if name.endswith("_tokens") else value for name, value in written.items()
    }
    if "model" in fields:
        fields["model"] = model_spec(fields["model"])
    return CompactionSpec(**fields)


def _templates(
    items: list[Any] | tuple[Any, ...], path: KeyPath, templates: Mapping[KeyPath, Template]
) -> tuple[Template, ...]:
    return tuple(templates[(*path, index)] for index in range(len(items)))


def digest(resolved: Mapping[str, Any], texts: Mapping[Path, str], directory: Path) -> str:
    """SHA-256, in hexadecimal, of the merged definition and of the files it pulled in by their names from the
    agent's folder. Order of keys, formatting, comments and machine do not change it."""
    files = {
        Path(os.path.relpath(file, directory)).as_posix(): hashlib.sha256(text.encode()).hexdigest()
        for file, text in texts.items()
    }
    canonical = msgspec.json.encode({"definition": resolved, "files": files}, order="sorted")
    return hashlib.sha256(canonical).hexdigest()
