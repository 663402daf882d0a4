"""What a Chat Completions server understands, by provider and address, and what a definition says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from agentcore_runner.core.model import Model
from agentcore_runner.providers.mistakes import Mistake, flag_mistakes, with_flags
from agentcore_runner.providers.vendors import host_of


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """Flags of a server, or of a model behind it. The defaults are what any compatible server takes.

    `thinking_format` says how a level is told (see `openai_chat_thinking`), `chat_template_kwargs` what the
    server's template is given with every request; `thinking_replay` how thinking goes back: in the field it
    came in, as a chunk of the content, or never. `tool_call_ids` are at most 40 characters, or Mistral's nine
    letters and digits; `session_header` is one that names the run, for a server whose cache goes by it.
    """

    supports_store: bool = False
    supports_developer_role: bool = False
    supports_reasoning_effort: bool = False
    supports_usage_in_streaming: bool = True
    supports_finish_reason: bool = True
    supports_strict_mode: bool = False
    supports_images: bool = False
    supports_prompt_cache_key: bool = False
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    cache_control_format: Literal["none", "anthropic"] = "none"
    thinking_format: Literal[
        "openai", "openrouter", "deepseek", "zai", "qwen", "qwen-chat-template", "chat-template", "together",
        "string",
    ] = "openai"  # fmt: skip
    chat_template_kwargs: dict[str, Any] = {}
    thinking_replay: Literal["field", "chunks", "never"] = "field"
    tool_call_ids: Literal["short", "mistral"] = "short"
    session_header: str = ""
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    requires_thinking_as_text: bool = False
    requires_reasoning_content_on_assistant_messages: bool = False


REASONING_MODEL = re.compile(r"o\d|gpt-[5-9]|codex")
PLAIN_MODEL = re.compile(r"gpt-5(\.\d)?-chat")
IMAGE_MODEL = re.compile(r"o[134]|gpt-[5-9]|gpt-4o|chatgpt-4o|gpt-4\.\d|gpt-4-turbo")
CACHED_BY_MARKS = ("anthropic/", "~anthropic/")
"""Models at OpenRouter whose prompt is cached only up to marks in it."""

SERVICES = {
    "groq": Compat(supports_reasoning_effort=True, max_tokens_field="max_completion_tokens"),
    "deepseek": Compat(
        supports_reasoning_effort=True,
        thinking_format="deepseek",
        requires_reasoning_content_on_assistant_messages=True,
    ),
    "mistral": Compat(
        supports_reasoning_effort=True,
        supports_usage_in_streaming=False,
        supports_prompt_cache_key=True,
        thinking_replay="chunks",
        tool_call_ids="mistral",
    ),
    "xai": Compat(supports_reasoning_effort=True, session_header="x-grok-conv-id"),
    "together": Compat(supports_reasoning_effort=True, thinking_format="together"),
    "fireworks": Compat(supports_reasoning_effort=True),
    "cerebras": Compat(supports_reasoning_effort=True, max_tokens_field="max_completion_tokens"),
    "zai": Compat(thinking_format="zai"),
    "qwen": Compat(thinking_format="qwen"),
}
HOSTS = {
    "api.openai.com": "openai", "openrouter.ai": "openrouter", "api.groq.com": "groq",
    "api.deepseek.com": "deepseek", "api.mistral.ai": "mistral", "api.x.ai": "xai",
    "api.together.ai": "together", "api.together.xyz": "together", "api.fireworks.ai": "fireworks",
    "api.cerebras.ai": "cerebras", "api.z.ai": "zai", "open.bigmodel.cn": "zai",
    "dashscope.aliyuncs.com": "qwen", "dashscope-intl.aliyuncs.com": "qwen",
}  # fmt: skip
AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


def effective_compat(model: Model) -> Compat:
    """The flags for a model at its address. Raises `Mistaken` for keys and values that are none."""
    return with_flags(_detected(model), model.compat)


def seen_as(model: Model, *, reasoning: bool | None, inputs: tuple[str, ...] | None) -> Model:
    """The model, with what it thinks and sees decided: by its flags, else as it is known (None: it is not),
    else by what its id says at this server."""
    compat = effective_compat(model)
    service, said = _service(model), model.compat
    if reasoning is None:
        told = "thinking_format" in said or said.get("supports_reasoning_effort") is True
        reasoning = told or (compat.supports_reasoning_effort and service in TAKE_ANY_LEVEL)
    images = compat.supports_images if inputs is None or "supports_images" in said else "image" in inputs
    return msgspec.structs.replace(
        model, reasoning=reasoning, input=("text", "image") if images else ("text",)
    )


TAKE_ANY_LEVEL = ("openai", "azure", "openrouter", "deepseek")
"""Where a model that we do not know can be told a level: its id says so, or the service sees to it."""


def compat_mistakes(overrides: dict[str, Any]) -> Iterator[Mistake]:
    """The keys that are none, and the values that do not fit."""
    return flag_mistakes(overrides, Compat)


def _detected(model: Model) -> Compat:
    service = _service(model)
    if service in ("openai", "azure"):
        return _openai(model.id, itself=service == "openai")
    if service == "openrouter":
        marks = model.id.startswith(CACHED_BY_MARKS)
        return Compat(
            supports_reasoning_effort=True,
            thinking_format="openrouter",
            cache_control_format="anthropic" if marks else "none",
        )
    return SERVICES.get(service) or Compat(supports_reasoning_effort=bool(model.thinking_levels))


def _service(model: Model) -> str:
    """Who answers: the address says it best; a provider other than `openai` is one wherever it is reached."""
    host = host_of(model.base_url)
    known = next((name for own, name in HOSTS.items() if host == own or host.endswith(f".{own}")), None)
    if known is not None:
        return known
    if host.endswith(AZURE_HOSTS):
        return "azure"
    return "" if model.provider == "openai" else model.provider


def _openai(model_id: str, *, itself: bool) -> Compat:
    reasoning = bool(REASONING_MODEL.match(model_id)) and not PLAIN_MODEL.match(model_id)
    return Compat(
        supports_store=itself,
        supports_developer_role=reasoning,
        supports_reasoning_effort=reasoning,
        supports_strict_mode=True,
        supports_images=bool(IMAGE_MODEL.match(model_id)),
        supports_prompt_cache_key=True,
        max_tokens_field="max_completion_tokens",
        thinking_replay="never",
    )
