"""What a Responses server understands, by address and model, and what a definition says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from agentcore_runner.core.model import Model
from agentcore_runner.providers.mistakes import Mistake, flag_mistakes, with_flags
from agentcore_runner.providers.vendors import host_of


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """Flags of a server, or of a model behind it. The defaults are what any compatible server takes.
    `supports_effort_none`: thinking can be switched off with the effort `none`; `supports_temperature` and
    `supports_temperature_when_reasoning` stand for `top_p` as well."""

    supports_store: bool = True
    supports_strict_mode: bool = True
    supports_images: bool = True
    supports_prompt_cache_key: bool = True
    supports_reasoning_effort: bool = True
    supports_reasoning_summary: bool = True
    supports_encrypted_reasoning: bool = True
    supports_effort_none: bool = False
    supports_temperature: bool = True
    supports_temperature_when_reasoning: bool = True


OPENAI_HOSTS = (
    ".api.openai.com",
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".services.ai.azure.com",
)
"""Ends of the host names at which OpenAI's service is offered beside its own address."""
PLAIN_MODEL = re.compile(r"(chat)?gpt-[34]|gpt-5(\.\d)?-chat")
"""OpenAI's models that do not reason; they refuse to be told how."""


def effective_compat(model: Model) -> Compat:
    """The flags for a model at its address. Raises `Mistaken` for keys and values that are none."""
    openai = _is_openai(model.base_url)
    guessed = model.reasoning and not (openai and PLAIN_MODEL.match(model.id))
    reasoning = model.compat.get("supports_reasoning_effort", guessed)
    detected = Compat(
        supports_images="image" in model.input,
        supports_reasoning_effort=reasoning,
        supports_encrypted_reasoning=reasoning,
        supports_effort_none=openai,
        supports_temperature_when_reasoning=not openai,
    )
    return with_flags(detected, model.compat)


def as_flagged(model: Model, compat: Compat) -> Model:
    """The model as its flags have it, whatever was known of it before."""
    kinds = ("text", "image") if compat.supports_images else ("text",)
    reasoning = model.reasoning or compat.supports_reasoning_effort
    return msgspec.structs.replace(model, input=kinds, reasoning=reasoning)


def compat_mistakes(overrides: dict[str, Any]) -> Iterator[Mistake]:
    """The keys that are none, and the values that do not fit."""
    return flag_mistakes(overrides, Compat)


def _is_openai(base_url: str) -> bool:
    host = host_of(base_url)
    return host == "api.openai.com" or host.endswith(OPENAI_HOSTS)
