"""What a Chat Completions server understands, by provider and address, and what a definition says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from agentcore_runner.providers.mistakes import Mistake, refuse
from agentcore_runner.words import did_you_mean

MaxTokensField: TypeAlias = Literal["max_tokens", "max_completion_tokens"]
CHOICES = ("max_tokens", "max_completion_tokens")


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """Flags of a server, or of a model behind it. The defaults are what any compatible server takes."""

    supports_store: bool = False
    supports_developer_role: bool = False
    supports_reasoning_effort: bool = False
    supports_usage_in_streaming: bool = True
    supports_finish_reason: bool = True
    supports_strict_mode: bool = False
    supports_images: bool = False
    max_tokens_field: MaxTokensField = "max_tokens"
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False


REASONING_MODEL = re.compile(r"o\d|gpt-5|codex")
IMAGE_MODEL = re.compile(r"o[134]|gpt-5|gpt-4o|chatgpt-4o|gpt-4\.\d|gpt-4-turbo")


def effective_compat(base_url: str, model_id: str, overrides: dict[str, Any]) -> Compat:
    """The flags for a model at an address. Raises `Mistaken` for keys and values that are none."""
    refuse(compat_mistakes(overrides))
    detected = msgspec.structs.asdict(_openai(model_id) if is_openai(base_url) else Compat())
    return msgspec.convert(detected | overrides, Compat)


def compat_mistakes(overrides: dict[str, Any]) -> Iterator[Mistake]:
    """The keys that are none, and the values that do not fit."""
    for name, value in overrides.items():
        key = ("compat", name)
        if name not in Compat.__struct_fields__:
            hint = did_you_mean(name, Compat.__struct_fields__)
            yield Mistake(message=f"{name!r} is not a key of model.compat{hint}", key=key)
            continue
        try:
            msgspec.convert({name: value}, Compat)
        except msgspec.ValidationError:
            wanted = " or ".join(map(repr, CHOICES)) if name == "max_tokens_field" else "true or false"
            yield Mistake(message=f"model.compat.{name}: expected {wanted}, found {value!r}", key=key)


def is_openai(base_url: str) -> bool:
    """Whether the address is OpenAI's own."""
    return urlsplit(base_url).hostname == "api.openai.com"


def _openai(model_id: str) -> Compat:
    reasoning = bool(REASONING_MODEL.match(model_id))
    return Compat(
        supports_store=True,
        supports_developer_role=reasoning,
        supports_reasoning_effort=reasoning,
        supports_strict_mode=True,
        supports_images=bool(IMAGE_MODEL.match(model_id)),
        max_tokens_field="max_completion_tokens",
    )
