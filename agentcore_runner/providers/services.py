"""The services by name: where each is found, which key it wants, how a local one is started."""

from __future__ import annotations

import msgspec

from agentcore_runner.providers.apis import ANTHROPIC_API, CHAT_API, GOOGLE_API, RESPONSES_API, SCRIPTED_API


class Vendor(msgspec.Struct, frozen=True, kw_only=True):
    """A provider. It speaks `api`, but `own_api` at its own address, if that is another.

    `address_env` and `key_envs` name the usual variables, the first that is set counts; `path` follows the
    address of the variable. The key goes where the API wants it, or into `key_header`; `bearer_env` holds a
    token that is sent as `Authorization: Bearer` instead. `start` is the command that starts a local server,
    `title` its name in a sentence, `catalogue` the provider whose models it serves.
    """

    name: str
    title: str
    api: str = CHAT_API
    own_api: str | None = None
    base_url: str = ""
    address_env: str | None = None
    path: str = ""
    key_envs: tuple[str, ...] = ()
    key_header: str | None = None
    bearer_env: str | None = None
    start: str | None = None
    catalogue: str | None = None


def _hosted(name: str, title: str, base_url: str) -> Vendor:
    """A service that speaks Chat Completions."""
    return Vendor(name=name, title=title, base_url=base_url, key_envs=(f"{name.upper()}_API_KEY",))


VENDORS = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            name="openai",
            title="OpenAI",
            own_api=RESPONSES_API,
            base_url="https://api.openai.com/v1",
            address_env="OPENAI_BASE_URL",
            key_envs=("OPENAI_API_KEY",),
        ),
        Vendor(
            name="anthropic",
            title="Anthropic",
            api=ANTHROPIC_API,
            base_url="https://api.anthropic.com",
            address_env="ANTHROPIC_BASE_URL",
            key_envs=("ANTHROPIC_API_KEY",),
            bearer_env="ANTHROPIC_AUTH_TOKEN",
        ),
        Vendor(
            name="google",
            title="Google",
            api=GOOGLE_API,
            base_url="https://generativelanguage.googleapis.com",
            address_env="GOOGLE_GEMINI_BASE_URL",
            key_envs=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
        Vendor(
            name="azure",
            title="Azure OpenAI",
            address_env="AZURE_OPENAI_ENDPOINT",
            path="/openai/v1",
            key_envs=("AZURE_OPENAI_API_KEY",),
            key_header="api-key",
            catalogue="openai",
        ),
        _hosted("openrouter", "OpenRouter", "https://openrouter.ai/api/v1"),
        _hosted("groq", "Groq", "https://api.groq.com/openai/v1"),
        _hosted("deepseek", "DeepSeek", "https://api.deepseek.com"),
        _hosted("mistral", "Mistral", "https://api.mistral.ai/v1"),
        _hosted("xai", "xAI", "https://api.x.ai/v1"),
        _hosted("together", "Together", "https://api.together.ai/v1"),
        _hosted("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1"),
        _hosted("cerebras", "Cerebras", "https://api.cerebras.ai/v1"),
        Vendor(
            name="ollama",
            title="Ollama",
            base_url="http://127.0.0.1:11434/v1",
            address_env="OLLAMA_HOST",
            start="ollama serve",
        ),
        Vendor(
            name="llamacpp",
            title="llama.cpp",
            base_url="http://127.0.0.1:8080/v1",
            start="llama-server -m MODEL.gguf --port 8080",
        ),
        Vendor(name="vllm", title="vLLM", base_url="http://127.0.0.1:8000/v1", start="vllm serve MODEL"),
        Vendor(
            name="lmstudio", title="LM Studio", base_url="http://127.0.0.1:1234/v1", start="lms server start"
        ),
        Vendor(name="scripted", title="a script", api=SCRIPTED_API),
    )
}

OTHER_KEYS = ("AI_GATEWAY_API_KEY", "MOONSHOT_API_KEY", "OLLAMA_API_KEY", "ZAI_API_KEY", "HF_TOKEN")
"""Keys of services that are none of ours."""
KEY_VARIABLES = frozenset(
    [name for vendor in VENDORS.values() for name in (*vendor.key_envs, vendor.bearer_env) if name]
).union(OTHER_KEYS)
"""Variables in which keys of model services are kept, whether we speak to that service or not."""
