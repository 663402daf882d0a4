"""Which proxy leads to an address, as the usual variables say: for the client and for messages."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from agentcore_runner.providers.vendors import is_loopback


class Proxy(msgspec.Struct, frozen=True, kw_only=True):
    """A proxy and the variable that names it; `str()` shows both, less a password."""

    variable: str
    url: str

    @property
    def is_tls(self) -> bool:
        """Whether the proxy itself is spoken to over TLS."""
        return self.url.lower().startswith("https:")

    def __str__(self) -> str:
        scheme, separator, rest = self.url.rpartition("://")
        return f"{self.variable}={scheme}{separator}{rest.rpartition('@')[2]}"


def proxy_of(base_url: str, env: Mapping[str, str]) -> Proxy | None:
    """The proxy for an address; None for this machine's own addresses and for hosts in NO_PROXY. As usual,
    the variable in small letters counts first."""
    if is_loopback(base_url):
        return None
    for name in (f"{urlsplit(base_url).scheme}_proxy", "all_proxy"):
        variable, value = _spelt(name, env)
        if value:
            if _is_exempt(base_url, _spelt("no_proxy", env)[1]):
                return None
            return Proxy(variable=variable, url=value if "://" in value else f"http://{value}")
    return None


def _spelt(name: str, env: Mapping[str, str]) -> tuple[str, str]:
    variable = name if name in env else name.upper()
    return variable, env.get(variable, "").strip()


def _is_exempt(base_url: str, hosts: str) -> bool:
    """Whether the address is among the hosts. A name, with or without a port, stands for those below it too,
    and `*` for all."""
    parts = urlsplit(base_url)
    host = (parts.hostname or "").rstrip(".")
    names = (host, f"{host}:{parts.port}", f"[{host}]", f"[{host}]:{parts.port}")
    for each in hosts.lower().split(","):
        listed = each.strip().lstrip(".")
        if listed == "*" or (listed and any(f".{name}".endswith(f".{listed}") for name in names)):
            return True
    return False
