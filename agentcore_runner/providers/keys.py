"""The headers of a request that the settings and the environment give: the key among them."""

from __future__ import annotations

from collections.abc import Mapping

from agentcore_runner.core.model import Model
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.apis import APIS
from agentcore_runner.providers.local import local_hint
from agentcore_runner.providers.services import Vendor
from agentcore_runner.providers.settings import ModelSettings


def headers_of(
    settings: ModelSettings, vendor: Vendor, model: Model, env: Mapping[str, str]
) -> dict[str, str]:
    """The settings' own headers and the key. A key is demanded at the vendor's own address and where the
    settings name its variable; elsewhere none is sent when there is none."""
    headers = {name.lower(): value for name, value in settings.headers.items()}
    key_header = vendor.key_header or APIS[model.api].key_header
    if "authorization" in headers or key_header in headers:
        return headers
    variables = [settings.api_key_env] if settings.api_key_env else [*vendor.key_envs]
    if vendor.bearer_env and not settings.api_key_env:
        variables.append(vendor.bearer_env)
    variable = next((name for name in variables if env.get(name, "").strip()), None)
    if variable is None:
        if variables and (settings.api_key_env or _wants_key(model, vendor)):
            raise ConfigError(_no_key(settings, variables, env))
        return headers
    key = env[variable].strip()
    if not sendable(key):
        raise ConfigError(f"{variable} holds characters that cannot be in an API key")
    if variable == vendor.bearer_env:
        key_header = "authorization"
    return headers | {key_header: f"Bearer {key}" if key_header == "authorization" else key}


def _wants_key(model: Model, vendor: Vendor) -> bool:
    """At its own address, and where each customer has one of theirs."""
    return model.base_url == vendor.base_url or not vendor.base_url


def _no_key(settings: ModelSettings, variables: list[str], env: Mapping[str, str]) -> str:
    found = local_hint(env)
    advice = found or "without a key, start a local server (`ollama serve`) and use --model ollama/NAME"
    wanted = f"set {' or '.join(variables)}. {advice[0].upper()}{advice[1:]}"
    return f"model {settings.key!r} needs an API key: {wanted}"


def sendable(text: str) -> bool:
    """Whether the text may stand in a header."""
    return text.isascii() and text.isprintable()
