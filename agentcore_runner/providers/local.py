"""Looks for model servers at their usual ports on this machine, for the message of a run that has none."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.services import VENDORS, Vendor
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.vendors import base_url_of, is_loopback

PROBE_SECONDS = 0.5
MAX_LISTING = 1 << 20


class LocalServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server that answered, and the ids of the models it lists."""

    provider: str
    base_url: str
    models: tuple[str, ...]

    def sentence(self) -> str:
        """What the reader can do with it."""
        title = VENDORS[self.provider].title
        chat = [model for model in self.models if "embed" not in model.lower()]
        model = chat[0] if chat else "MODEL"
        return f"{title} answers at {self.base_url}: use --model {self.provider}/{model}"


def usual_addresses(env: Mapping[str, str]) -> dict[str, str]:
    """The base URL of each local provider, on this machine."""
    found = {}
    for vendor in VENDORS.values():
        if vendor.start is not None:
            try:
                url = base_url_of(ModelSettings(provider=vendor.name, id=""), vendor, env)
            except ConfigError:
                url = vendor.base_url
            if is_loopback(url):
                found[vendor.name] = url
    return found


def find_local_servers(addresses: Mapping[str, str], seconds: float = PROBE_SECONDS) -> list[LocalServer]:
    """Ask all addresses at once for their models; those that answer in time, in the order given."""
    answers: dict[str, LocalServer] = {}
    threads = [
        threading.Thread(target=_ask, args=(provider, url, seconds, answers), daemon=True)
        for provider, url in addresses.items()
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    answered = dict(answers)
    return [answered[provider] for provider in addresses if provider in answered]


def local_hint(env: Mapping[str, str], *, but: str | None = None) -> str:
    """A sentence that names the local servers that answer, or nothing; `but` is an address not to ask."""
    addresses = {name: url for name, url in usual_addresses(env).items() if url != but}
    return "; ".join([server.sentence() for server in find_local_servers(addresses)])


def refused_hint(provider: str, base_url: str, env: Mapping[str, str]) -> str:
    """What to do about a server that does not run."""
    vendor = VENDORS.get(provider) or Vendor(name=provider, title=provider)
    start = (
        f"Start {vendor.title} with `{vendor.start}`"
        if vendor.start
        else f"Start the server of that address, or correct {vendor.address_env or 'base_url'}"
    )
    found = local_hint(env, but=base_url)
    return f"{start}. {found}" if found else start


def _ask(provider: str, base_url: str, seconds: float, answers: dict[str, LocalServer]) -> None:
    """GET /models; whatever goes wrong means that no such server is there."""
    import http.client

    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request("GET", f"{parts.path}/models")
        with connection.getresponse() as response:
            listing = msgspec.json.decode(response.read(MAX_LISTING), type=_Listing)
        if response.status == 200:
            models = tuple([entry.id for entry in listing.data])
            answers[provider] = LocalServer(provider=provider, base_url=base_url, models=models)
    except (OSError, http.client.HTTPException, msgspec.DecodeError):
        pass
    finally:
        connection.close()


class _Entry(msgspec.Struct):
    id: str


class _Listing(msgspec.Struct):
    data: list[_Entry]
