"""The wire formats by name: where requests go, how the key is sent, which module speaks it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from agentcore_runner.core.model import Model
from agentcore_runner.providers.mistakes import Mistake
from agentcore_runner.providers.settings import ModelSettings

if TYPE_CHECKING:
    from agentcore_runner.providers.remote import Api

CHAT_API = "openai-completions"
RESPONSES_API = "openai-responses"
ANTHROPIC_API = "anthropic-messages"
GOOGLE_API = "google-generative-ai"
SCRIPTED_API = "scripted"


class ApiKind(msgspec.Struct, frozen=True, kw_only=True):
    """A wire format. `method` is what its addresses end with, which a base URL must not; `key_header` carries
    the key, after `Bearer` where it is `authorization`; `own_keys` are the keys of a request's body that the
    run itself sends. `adapter` names the module and the class."""

    method: str
    key_header: str
    own_keys: tuple[str, ...]
    adapter: tuple[str, str]


APIS = {
    CHAT_API: ApiKind(
        method="/chat/completions",
        key_header="authorization",
        own_keys=("messages", "model", "stream", "tools"),
        adapter=("openai_chat", "ChatApi"),
    ),
    RESPONSES_API: ApiKind(
        method="/responses",
        key_header="authorization",
        own_keys=("input", "instructions", "model", "stream", "tools"),
        adapter=("openai_responses", "ResponsesApi"),
    ),
    ANTHROPIC_API: ApiKind(
        method="/messages",
        key_header="x-api-key",
        own_keys=("messages", "model", "stream", "system", "tools"),
        adapter=("anthropic", "AnthropicApi"),
    ),
    GOOGLE_API: ApiKind(
        method=":streamGenerateContent",
        key_header="x-goog-api-key",
        own_keys=("contents", "systemInstruction", "tools"),
        adapter=("google", "GoogleApi"),
    ),
}


def adapter_for(model: Model, settings: ModelSettings) -> Api:
    """What speaks the model's API; only that module is imported."""
    module, name = APIS[model.api].adapter
    new: Callable[[Model, ModelSettings], Api] = getattr(
        import_module(f"agentcore_runner.providers.{module}"), name
    )
    return new(model, settings)


def compat_mistakes(api: str, overrides: dict[str, Any]) -> list[Mistake]:
    """What is wrong with the flags of a model that speaks this API. The API's flags are imported only where
    there are any to look at."""
    if not overrides:
        return []
    module = import_module(f"agentcore_runner.providers.{APIS[api].adapter[0]}_compat")
    return list(module.compat_mistakes(overrides))
