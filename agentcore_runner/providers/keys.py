"""The headers of a request that the settings and the environment give: the key among them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentcore_runner.core.model import Model
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.apis import APIS
from agentcore_runner.providers.local import local_hint
from agentcore_runner.providers.services import Vendor
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.vendors import is_own

OWN_HEADERS = ("accept-encoding", "connection", "content-length", "host", "transfer-encoding")
"""What the request itself stands on; the settings cannot replace it."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
    return is_own(model.base_url, vendor) or not vendor.base_url


def _no_key(settings: ModelSettings, variables: list[str], env: Mapping[str, str]) -> str:
    found = local_hint(env)
    advice = found or "without a key, start a local server (`ollama serve`) and use --model ollama/NAME"
    wanted = f"set {' or '.join(variables)}. {advice[0].upper()}{advice[1:]}"
    return f"model {settings.key!r} needs an API key: {wanted}"


def header_mistake(name: str, value: str) -> str | None:
    """What is wrong with a header of the settings, as what is said of it; its value may be a key."""
    if not (name and sendable(name) and " " not in name and sendable(value)):
        return "holds characters that cannot be sent"
    return "is set by the connection itself; remove it" if name.lower() in OWN_HEADERS else None


def key_mistake(variable: str | None) -> str | None:
    """What is wrong with `api_key_env`. It is not quoted: it may be the key."""
    if variable is None or VARIABLE.fullmatch(variable):
        return None
    return "api_key_env is not the name of a variable: name the one that holds the key, not the key itself"


def sendable(text: str) -> bool:
    """Whether the text may stand in a header."""
    return text.isascii() and text.isprintable()
