"""How a Chat Completions model is told to think: each server has its own words for it."""

from __future__ import annotations

from typing import Any

from agentcore_runner.core.model import Model, ThinkingLevel, nearest_level
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.providers.openai_chat_compat import Compat

ONLY_ON_OR_OFF = ("deepseek", "zai", "qwen", "qwen-chat-template", "together")
"""Formats that switch thinking on, and say how hard only where the server takes an effort as well."""


def thinking_keys(model: Model, compat: Compat, options: StreamOptions) -> dict[str, Any]:
    """The keys of the request's body that say how hard to think, and what the server's template is given."""
    keys = _said(model, compat, options) if model.reasoning else {}
    if compat.thinking_format != "chat-template" and compat.chat_template_kwargs:
        return keys | {
            "chat_template_kwargs": compat.chat_template_kwargs | keys.get("chat_template_kwargs", {})
        }
    return keys


def _said(model: Model, compat: Compat, options: StreamOptions) -> dict[str, Any]:
    word, tokens = _told(model, options)
    on = word not in (None, model.thinking_levels.get("off")) or bool(tokens)
    effort = {"reasoning_effort": word} if compat.supports_reasoning_effort and word else {}
    match compat.thinking_format:
        case "openai":
            return effort
        case "openrouter":
            if tokens is not None:
                return {"reasoning": {"max_tokens": tokens}}
            return {"reasoning": {"effort": word}} if word else {}
        case "string":
            return {"thinking": word or "none"}
        case "chat-template":
            return _template(compat, {"enabled": on, "effort": word, "budget": tokens})
        case "deepseek" | "zai":
            return {"thinking": {"type": "enabled" if on else "disabled"}} | (effort if on else {})
        case "together":
            return {"reasoning": {"enabled": on}} | (effort if on else {})
        case "qwen":
            budget = {"thinking_budget": tokens} if tokens is not None else {}
            return {"enable_thinking": on} | budget
        case _:
            return {"chat_template_kwargs": {"enable_thinking": on}}


def level_warnings(model: Model, compat: Compat, level: ThinkingLevel) -> list[str]:
    """A level that is not sent, or sent as another; a sentence each."""
    unsaid = compat.thinking_format == "openai" and not compat.supports_reasoning_effort
    if not model.reasoning or unsaid:
        what = f"thinking_level {level.value!r} is not sent: {model.key} is not known to take one"
        advice = f"{what} (model.compat: {{supports_reasoning_effort: true}} sends it)"
        return [] if level is ThinkingLevel.OFF else [advice]
    nearest = nearest_level(model, level)
    if nearest is not level:
        return [f"thinking_level {level.value!r} is sent as {nearest.value!r}, the nearest that there is"]
    word = model.thinking_levels.get(level.value)
    if word in list(ThinkingLevel) and word != level.value and compat.supports_reasoning_effort:
        return [f"thinking_level {level.value!r} is sent as {word!r}"]
    on_or_off = compat.thinking_format in ONLY_ON_OR_OFF and not compat.supports_reasoning_effort
    if on_or_off and level is not ThinkingLevel.OFF:
        return [f"thinking_level {level.value!r} only switches thinking on: {model.key} is told no more"]
    return []


def _told(model: Model, options: StreamOptions) -> tuple[str | None, int | None]:
    """The word and the tokens for the level in force, or for the nearest that the model has. There is no word
    for `off` unless the model has one."""
    level = nearest_level(model, options.thinking_level)
    usual = None if level is ThinkingLevel.OFF else level.value
    told = model.thinking_levels.get(level.value, usual)
    tokens = told if isinstance(told, int) else None
    if options.thinking_budget is not None:
        tokens = options.thinking_budget
    return (told if isinstance(told, str) else usual), tokens


def _template(compat: Compat, values: dict[str, Any]) -> dict[str, Any]:
    """The template's arguments; `$enabled`, `$effort` and `$budget` stand for what is in force, and one that
    stands for nothing is left out."""
    given = {}
    for name, value in compat.chat_template_kwargs.items():
        stands_for = isinstance(value, str) and value.startswith("$") and value[1:] in values
        value = values[value[1:]] if stands_for else value
        if not (stands_for and value is None):
            given[name] = value
    return {"chat_template_kwargs": given} if given else {}
