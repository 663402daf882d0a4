"""The providers by name: where each is found, which key it wants, how its server is started."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit, urlunsplit

import msgspec

from agentcore_runner.providers.mistakes import Mistake, Mistaken, refuse
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.words import did_you_mean

CHAT_API = "openai-completions"
SCRIPTED_API = "scripted"


class Vendor(msgspec.Struct, frozen=True, kw_only=True):
    """A provider. `address_env` and `key_env` name the usual variables; `start` is the command that starts a
    local server, `title` its name in a sentence."""

    name: str
    title: str
    api: str = CHAT_API
    base_url: str = ""
    address_env: str | None = None
    key_env: str | None = None
    start: str | None = None


VENDORS = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            name="openai",
            title="OpenAI",
            base_url="https://api.openai.com/v1",
            address_env="OPENAI_BASE_URL",
            key_env="OPENAI_API_KEY",
        ),
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

LATER = frozenset(
    (
        "anthropic", "azure", "cerebras", "deepseek", "fireworks", "google", "groq", "mistral", "openrouter",
        "together", "xai",
    )
)  # fmt: skip
"""Providers that a later version will know."""

KEY_VARIABLES = frozenset(
    f"{name}_API_KEY"
    for name in (
        "AI_GATEWAY", "ANTHROPIC", "AZURE_OPENAI", "CEREBRAS", "DEEPSEEK", "FIREWORKS", "GEMINI", "GOOGLE",
        "GROQ", "MISTRAL", "MOONSHOT", "OLLAMA", "OPENAI", "OPENROUTER", "TOGETHER", "XAI", "ZAI",
    )
) | {"ANTHROPIC_AUTH_TOKEN", "HF_TOKEN"}  # fmt: skip
"""Variables in which keys of model services are kept, whether we speak to that service or not."""


def vendor_of(settings: ModelSettings) -> Vendor:
    """The vendor that the settings name. Raises `Mistaken` for an unknown one, and for an API that it does
    not speak."""
    refuse(vendor_mistakes(settings))
    return VENDORS[settings.provider]


def vendor_mistakes(settings: ModelSettings) -> Iterator[Mistake]:
    """A provider that is none, or none yet; an API that it does not speak."""
    vendor = VENDORS.get(settings.provider)
    if vendor is None:
        yield Mistake(message=f"model {settings.key!r}: {_not_known(settings.provider)}")
    elif settings.api not in (None, vendor.api):
        hint = did_you_mean(settings.api or "", [vendor.api])
        message = (
            f"model {settings.key!r}: api {settings.api!r} is not supported yet{hint}; "
            f"{vendor.name} speaks {vendor.api}"
        )
        yield Mistake(message=message, key=("api",))


def _not_known(provider: str) -> str:
    if provider in LATER:
        return (
            f"provider {provider!r} is not supported yet; where it offers an OpenAI-compatible address, "
            "name the model as openai/MODEL with that address as base_url, and its key's variable as "
            "api_key_env"
        )
    return (
        f"{provider!r} is not a provider{did_you_mean(provider, VENDORS)}; known are "
        f"{', '.join(sorted(VENDORS))}. Any OpenAI-compatible server can be named as openai/MODEL "
        "with its base_url"
    )


def base_url_of(settings: ModelSettings, vendor: Vendor, env: Mapping[str, str]) -> str:
    """What precedes `/chat/completions`: the settings, else the usual variable, else the vendor's own. Raises
    `Mistaken` for what is no such address."""
    if settings.base_url is not None:
        return _checked(settings.base_url, "base_url")
    value = env.get(vendor.address_env, "").strip() if vendor.address_env else ""
    if not value or vendor.address_env is None:
        return vendor.base_url
    return _checked(_ollama(value) if vendor.name == "ollama" else value, vendor.address_env)


def is_loopback(url: str) -> bool:
    """Whether the address is this machine's own: a loopback address, also one of IPv4 in IPv6, or that of
    every interface."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost") or re.fullmatch(r"127[.\d]*", host):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def _checked(value: str, origin: str) -> str:
    url = value.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or any(char.isspace() for char in url):
        raise _wrong(origin, f"{value!r} is no address (write for instance http://127.0.0.1:8080/v1)")
    if parts.path.endswith("/chat/completions"):
        base = without_method(url)
        raise _wrong(origin, f"{value!r} goes too far: write what precedes /chat/completions, {base!r}")
    if parts.query or parts.fragment:
        raise _wrong(origin, f"{value!r} may not have a query or a fragment")
    return url


def without_method(url: str) -> str:
    """The base URL of an address that names the method as well."""
    return url.removesuffix("/chat/completions")


def _wrong(origin: str, message: str) -> Mistaken:
    key = ("base_url",) if origin == "base_url" else ()
    return Mistaken([Mistake(message=f"{origin} {message}", key=key)])


def _ollama(value: str) -> str:
    """OLLAMA_HOST as Ollama reads it: scheme, host, port and path may each be left out. An address that a
    server listens at on every interface is reached by the loopback one."""
    scheme, separator, rest = value.rpartition("://")
    scheme = scheme or "http"
    usual = {"http": 80, "https": 443}.get(scheme, 11434) if separator else 11434
    parts = urlsplit(f"{scheme}://{rest}")
    host = parts.hostname or "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    shown = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/")
    path = path if path.endswith("/v1") else f"{path}/v1"
    try:
        port = parts.port or usual
    except ValueError:
        message = f"{value!r} is no address (write for instance 127.0.0.1:11434)"
        raise _wrong("OLLAMA_HOST", message) from None
    return urlunsplit((scheme, f"{shown}:{port}", path, "", ""))
