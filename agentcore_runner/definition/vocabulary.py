"""The words authors try: keys of later versions, usual aliases, keys at the wrong level, near misses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agentcore_runner.definition.problems import KeyPath
from agentcore_runner.words import nearest, plain

CAREFUL = 0.7
"""The likeness from which a name is offered: an author may well have meant something that does not exist."""

MOST_GUESSES = 100
"""How many wrong names get a guess: guessing takes a while, and whoever has more has another problem."""

# Keys of the format that this version does not act on, by the place they belong to.
LATER = {
    "": "secrets permissions output gates hooks",
    "model": "retry",
    "fallback[]": "retry",
    "inputs.*": "secret",
    "limits": "max_tokens max_cost_usd scope unpriced_model on_limit",
    "transcript": "redact",
    "tools[]": "sandbox",
}
MODEL: KeyPath = ("model",)
SUMMARY_MODEL: KeyPath = ("compaction", "model")
LATER_TOOL_TYPES = ("python", "http", "mcp", "agent")

# Other tools' words for our keys, by the place they are written at. A dot names a key at another level.
ALIASES = {
    "": {
        "system_prompt": "instructions system system_message role persona",
        "prompt": "prompt_template user_prompt user_message task message",
        "tools": "tools_allowed allowed_tools tool functions",
        "thinking_level": "thinking reasoning reasoning_effort effort",
        "limits": "limit budget",
        "limits.max_turns": "max_steps max_iterations max_rounds steps",
        "limits.timeout": "max_time deadline time_limit",
        "model.max_output_tokens": "max_tokens",
        "model.base_url": "api_base endpoint",
        "model.api_key_env": "api_key",
        "model": "provider llm model_name model_id",
        "env.expose": "environment env_vars",
        "inputs": "parameters params variables vars args arguments input",
        "name": "id title agent",
        "schema_version": "schema apiversion api_version",
        "context.text": "documents",
        "transcript": "log logging record",
        "compaction": "compact auto_compact compression summarization summarisation context_management",
        "fallback": "fallbacks fallback_models models",
        "model.context_window": "context_length context_size num_ctx",
    },
    "limits": {
        "max_turns": "max_steps max_iterations max_rounds turns steps",
        "timeout": "max_time deadline time_limit duration",
        "max_tool_calls": "max_calls tool_calls",
    },
    "model": {
        "id": "name model model_id provider",
        "max_output_tokens": "max_tokens max_completion_tokens",
        "api_key_env": "api_key key token",
        "base_url": "url endpoint api_base",
        "context_window": "context_length context_size num_ctx",
        "thinking_level (at the top level)": "thinking reasoning reasoning_effort",
    },
    "fallback[]": {
        "id": "name model model_id provider",
        "max_output_tokens": "max_tokens max_completion_tokens",
        "api_key_env": "api_key key token",
        "base_url": "url endpoint api_base",
        "context_window": "context_length context_size num_ctx",
        "thinking_level": "thinking reasoning reasoning_effort effort",
        "on": "when if reasons",
    },
    "inputs.*": {
        "enum": "choices options values", "default": "value", "required": "optional", "description": "help",
    },
    "context[]": {"command": "cmd run exec shell argv", "file": "path", "text": "content value"},
    "tools[]": {
        "command": "cmd run exec shell argv args",
        "parameters": "input_schema schema inputs arguments params",
        "env": "environment",
        "cwd": "working_directory workdir dir",
        "when": "if condition enabled",
        "name": "id tool",
    },
    "compaction": {
        "enabled": "enable auto on",
        "reserve_tokens": "reserve reserved_tokens buffer_tokens",
        "keep_recent_tokens": "keep keep_tokens recent_tokens keep_recent",
        "model": "summary_model llm",
    },
    "env": {"expose": "allow names pass variables"},
    "transcript": {"path": "file output"},
}  # fmt: skip


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What to say about an unknown key; `suggestion` is the key that was probably meant."""

    message: str
    suggestion: str | None = None
    others: str | None = None

    @property
    def hint(self) -> str | None:
        """The next step."""
        return f"did you mean {self.suggestion!r}?" if self.suggestion else self.others


def unsupported(data: Any) -> dict[KeyPath, str]:
    """The paths of everything in a file that only a later version supports, and what it is."""
    found: dict[KeyPath, str] = {}
    for path, value in _maps(data):
        for name in LATER.get(place_of(path), "").split():
            if name in value:
                found[(*path, name)] = f"'{written((*path, name))}'"
    tools = data.get("tools") if isinstance(data, dict) else None
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and tool.get("type") in LATER_TOOL_TYPES:
            found[("tools", index)] = f"the tool type '{tool['type']}'"
    profiles = data.get("profiles") if isinstance(data, dict) else None
    for profile, part in profiles.items() if isinstance(profiles, dict) else ():
        for path in unsupported({key: value for key, value in part.items() if key != "profiles"}
                                if isinstance(part, dict) else None):  # fmt: skip
            whole: KeyPath = ("profiles", profile, *path)
            kind = part["tools"][path[1]]["type"] if path[:1] == ("tools",) and len(path) == 2 else None
            found[whole] = f"the tool type '{kind}'" if kind else f"'{written(whole)}'"
    return found


def models_in(data: Any) -> dict[KeyPath, Any]:
    """The models that a file names, in either form, by their places."""
    if not isinstance(data, dict):
        return {}
    compaction = data.get("compaction")
    places = {MODEL: data, SUMMARY_MODEL: compaction if isinstance(compaction, dict) else {}}
    found = {path: parent["model"] for path, parent in places.items() if "model" in parent}
    fallback = data.get("fallback")
    for index, model in enumerate(fallback if isinstance(fallback, list) else ()):
        found["fallback", index] = model
    return found


def _maps(data: Any) -> Iterable[tuple[KeyPath, dict[str, Any]]]:
    """The maps that `LATER` has places for."""
    if not isinstance(data, dict):
        return
    yield (), data
    for name in ("limits", "transcript"):
        if isinstance(data.get(name), dict):
            yield (name,), data[name]
    for path, model in models_in(data).items():
        if isinstance(model, dict):
            yield path, model
    inputs, tools = data.get("inputs"), data.get("tools")
    for name, spec in inputs.items() if isinstance(inputs, dict) else ():
        if isinstance(spec, dict):
            yield ("inputs", name), spec
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict):
            yield ("tools", index), tool


def advise(
    key: str, path: KeyPath, known: Iterable[str], levels: dict[str, tuple[str, ...]], *, guess: bool = True
) -> Advice:
    """What to say about an unknown key in the map at `path`, whose keys are `known`; `levels` holds the keys
    of every other place. Without `guess` there is no suggestion."""
    names = list(known)
    where = written(path) if path else "an agent file"
    others = f"its keys are {', '.join(names)}" if 0 < len(names) <= 8 else None
    if place_of(path) == "tools[].parameters":
        others = "arguments stand under 'properties'"
    suggestion = _suggestion(plain(key), place_of(path), names, levels) if guess else None
    if suggestion == key:
        suggestion, others = None, f"{key!r} stands at the top level of the file"
    message = f"{key!r} is not a key of {where}"
    return Advice(message=message, suggestion=suggestion, others=others)


def _suggestion(word: str, place: str, names: list[str], levels: dict[str, tuple[str, ...]]) -> str | None:
    if word in names:
        return word
    for ours, theirs in ALIASES.get(place, {}).items():
        if word in theirs.split():
            return ours
    elsewhere = {
        (f"{level}.{name}" if level else name): name for level, keys in levels.items() for name in keys
    }
    exact = next((ours for ours, name in elsewhere.items() if name == word), None)
    if exact or (close := nearest(word, names, CAREFUL)):
        return exact or close
    close = nearest(word, elsewhere.values(), CAREFUL)
    return next((ours for ours, name in elsewhere.items() if name == close), None)


def place_of(path: KeyPath) -> str:
    """The kind of place a path is: `tools[]`, `inputs.*`, `limits`."""
    path = within_profile(path)
    if path == SUMMARY_MODEL:
        return "model"
    if len(path) == 2 and path[0] == "inputs":
        return "inputs.*"
    return "".join("[]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def within_profile(path: KeyPath) -> KeyPath:
    """A path in a profile as if it stood in the file itself."""
    return path[2:] if path[:1] == ("profiles",) and len(path) > 1 else path


def written(path: KeyPath) -> str:
    """A path as an author writes it: `tools[0].timeout`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")
