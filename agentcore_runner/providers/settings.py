"""How a run names a model and what it asks of it."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.core.model import ModelCost
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.known import ModelsFile


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`provider` and `id` are the two sides of the first slash; None means: as the provider has it. `models`
    is what the user's models file says, which counts where the settings say nothing."""

    provider: str
    id: str
    api: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    headers: dict[str, str] = {}
    context_window: int | None = None
    cost: ModelCost | None = None
    compat: dict[str, Any] = {}
    extra_body: dict[str, Any] = {}
    models: ModelsFile | None = None

    @property
    def key(self) -> str:
        """`provider/id`."""
        return f"{self.provider}/{self.id}"


def parse_model(text: str) -> ModelSettings:
    """`provider/id`; further slashes belong to the id."""
    provider, slash, model = text.strip().partition("/")
    if not slash or not provider or not model:
        raise ConfigError(f"model {text!r} is not provider/id (write for instance openai/gpt-5-mini)")
    return ModelSettings(provider=provider, id=model)
