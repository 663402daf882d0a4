"""Which service the settings name: what it speaks, and where it is."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit, urlunsplit

from agentcore_runner.providers.apis import APIS, SCRIPTED_API
from agentcore_runner.providers.mistakes import Mistake, Mistaken, refuse
from agentcore_runner.providers.services import VENDORS, Vendor
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.words import did_you_mean


def vendor_of(settings: ModelSettings) -> Vendor:
    """The vendor that the settings name. Raises `Mistaken` for an unknown one, and for an API that it does
    not speak."""
    refuse(vendor_mistakes(settings))
    vendor = named_vendor(settings)
    assert vendor is not None
    return vendor


def named_vendor(settings: ModelSettings) -> Vendor | None:
    """One of ours, or one that the user's models file adds."""
    vendor = VENDORS.get(settings.provider)
    if vendor is None and settings.models is not None and settings.provider in settings.models.providers:
        return Vendor(name=settings.provider, title=settings.provider)
    return vendor


def vendor_mistakes(settings: ModelSettings) -> Iterator[Mistake]:
    """A provider that is none; an API that it does not speak."""
    vendor = named_vendor(settings)
    if vendor is None:
        yield Mistake(message=f"model {settings.key!r}: {_not_known(settings)}")
    elif settings.api is not None and settings.api not in apis_of(vendor):
        hint = did_you_mean(settings.api, apis_of(vendor))
        known = ", ".join(apis_of(vendor))
        message = f"model {settings.key!r}: api {settings.api!r} is not one that {vendor.name} speaks{hint}"
        yield Mistake(message=f"{message}; known are {known}", key=("api",))


def apis_of(vendor: Vendor) -> tuple[str, ...]:
    """The APIs that can be asked for: a server may speak any of them."""
    return (SCRIPTED_API,) if vendor.api == SCRIPTED_API else tuple(APIS)


def api_of(settings: ModelSettings, vendor: Vendor, base_url: str) -> str:
    """The API to speak: the settings', else the vendor's at this address."""
    if settings.api is not None:
        return settings.api
    return vendor.own_api if vendor.own_api is not None and is_own(base_url, vendor) else vendor.api


def is_own(base_url: str, vendor: Vendor) -> bool:
    """Whether the address is the vendor's own, that of one of its regions included."""
    own, host = host_of(vendor.base_url), host_of(base_url)
    return bool(own) and (host == own or host.endswith(f".{own}"))


def host_of(url: str) -> str:
    """The host's name in its usual spelling."""
    return (urlsplit(url).hostname or "").rstrip(".")


def base_url_of(settings: ModelSettings, vendor: Vendor, env: Mapping[str, str]) -> str:
    """What precedes the API's own path: the settings, else the usual variable, else the vendor's own. Raises
    `Mistaken` for what is no such address, and where there is none."""
    if settings.base_url is not None:
        return checked_address(settings.base_url, "base_url")
    value = env.get(vendor.address_env, "").strip() if vendor.address_env else ""
    if not value or vendor.address_env is None:
        if not vendor.base_url:
            raise _wrong("base_url", f"is missing: {_no_address(settings, vendor)}")
        return vendor.base_url
    if vendor.name == "ollama":
        value = _ollama(value)
    url = checked_address(value, vendor.address_env)
    return f"{url.removesuffix(vendor.path)}{vendor.path}"


def _no_address(settings: ModelSettings, vendor: Vendor) -> str:
    where = f"set {vendor.address_env} to the address of your resource" if vendor.address_env else "write one"
    return f"{vendor.title} has no usual address for {settings.key!r}; {where}"


def _not_known(settings: ModelSettings) -> str:
    known = {*VENDORS, *(settings.models.providers if settings.models else ())}
    return (
        f"{settings.provider!r} is not a provider{did_you_mean(settings.provider, known)}; known are "
        f"{', '.join(sorted(known))}. A models file (--models-file) can add others, and any "
        "OpenAI-compatible server can be named as openai/MODEL with its base_url"
    )


def is_loopback(url: str) -> bool:
    """Whether the address is this machine's own: a loopback address, also one of IPv4 in IPv6, or that of
    every interface."""
    host = host_of(url)
    if host == "localhost" or host.endswith(".localhost") or re.fullmatch(r"127[.\d]*", host):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def checked_address(value: str, origin: str) -> str:
    """The base URL without a slash at its end. Raises `Mistaken`, which names the `origin`, for what is
    none, and for one with a password, which would be shown and recorded."""
    url = value.strip().rstrip("/")
    if "@" in url:
        raise _wrong(origin, "may not hold a name or a password (an '@'): send them with model.headers")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or any(char.isspace() for char in url):
        raise _wrong(origin, f"{value!r} is no address (write for instance http://127.0.0.1:8080/v1)")
    method = method_of(url)
    if method:
        base = without_method(url)
        raise _wrong(origin, f"{value!r} goes too far: write what precedes {method}, {base!r}")
    if parts.query or parts.fragment:
        raise _wrong(origin, f"{value!r} may not have a query or a fragment")
    return url


def without_method(url: str) -> str:
    """The base URL of an address that may name the method as well, and the model where the API has it so."""
    method = method_of(url)
    base = url.partition("?")[0].removesuffix(method) if method else url
    return re.sub(r"/(models|tunedModels)/[^/]*$", "", base) if method.startswith(":") else base


def method_of(url: str) -> str:
    """The method that an address names after its base URL, if it does."""
    path = url.partition("?")[0]
    return next((kind.method for kind in APIS.values() if path.endswith(kind.method)), "")


def _wrong(origin: str, message: str) -> Mistaken:
    key = ("base_url",) if origin == "base_url" else ()
    return Mistaken([Mistake(message=f"{origin} {message}", key=key)])


def _ollama(value: str) -> str:
    """OLLAMA_HOST as Ollama reads it: scheme, host, port and path may each be left out. An address that a
    server listens at on every interface is reached by the loopback one."""
    scheme, separator, rest = value.rpartition("://")
    scheme = scheme or "http"
    usual = {"http": 80, "https": 443}.get(scheme, 11434) if separator else 11434
    if "@" in rest:
        return value  # refused as any such address is
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
