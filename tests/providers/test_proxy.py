"""Which proxy leads to an address."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from agentcore_runner.providers.proxy import Proxy, proxy_of
from agentcore_runner.providers.retry import RetryPolicy
from tests.providers.doubles import answer, opened, stream

ADDRESS = "https://api.example.com/v1"


@pytest.mark.parametrize(
    ("env", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://p:1"}, Proxy(variable="HTTPS_PROXY", url="http://p:1")),
        ({"HTTPS_PROXY": "p:1"}, Proxy(variable="HTTPS_PROXY", url="http://p:1")),
        ({"HTTP_PROXY": "http://p:1"}, None),
        ({"ALL_PROXY": "http://p:1"}, Proxy(variable="ALL_PROXY", url="http://p:1")),
        (
            {"HTTPS_PROXY": "http://a:1", "https_proxy": "http://b:1"},
            Proxy(variable="https_proxy", url="http://b:1"),
        ),
        ({"HTTPS_PROXY": "http://a:1", "https_proxy": ""}, None),
    ],
)
def test_variable_of_the_scheme_comes_first(env: dict[str, str], proxy: Proxy | None) -> None:
    assert proxy_of(ADDRESS, env) == proxy


@pytest.mark.parametrize(
    ("hosts", "address", "exempt"),
    [
        ("example.com", ADDRESS, True),
        (".example.com", ADDRESS, True),
        ("x, API.example.com", ADDRESS, True),
        ("*", ADDRESS, True),
        ("x,*", ADDRESS, True),
        ("api.example.com:8443", "https://api.example.com:8443/v1", True),
        ("api.example.com:8443", ADDRESS, False),
        ("ample.com", ADDRESS, False),
        ("", ADDRESS, False),
        (" , ", ADDRESS, False),
        ("10.0.0.1", "https://10.0.0.1/v1", True),
        ("fd00::1", "https://[fd00::1]/v1", True),
    ],
)
def test_hosts_that_are_exempt_are_reached_without_it(hosts: str, address: str, exempt: bool) -> None:
    env = {"HTTPS_PROXY": "http://p:1", "NO_PROXY": hosts}

    assert (proxy_of(address, env) is None) is exempt


def test_password_of_a_proxy_is_not_shown() -> None:
    assert str(Proxy(variable="HTTPS_PROXY", url="http://me:secret@p:1")) == "HTTPS_PROXY=http://p:1"


@pytest.mark.parametrize(("hosts", "told"), [("", True), ("models.invalid", False)])
def test_proxy_is_named_only_where_it_was_used(hosts: str, told: bool) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        proxy = f"http://127.0.0.1:{probe.getsockname()[1]}"
    env = {"HTTP_PROXY": proxy, "NO_PROXY": hosts}

    error = answer(stream(opened("http://models.invalid/v1", env=env, retry=RetryPolicy(tries=1)))).error

    assert error is not None
    assert (f"(through HTTP_PROXY={proxy})" in error.message) is told


@pytest.mark.parametrize("proxy", ["socks4://p:1", "http://[::1", "http://p:port"])
def test_proxy_that_cannot_be_used_is_told(proxy: str) -> None:
    env = {"ALL_PROXY": proxy}

    error = answer(stream(opened("http://models.invalid/v1", env=env))).error

    assert error is not None
    assert error.message.startswith(f"the proxy in ALL_PROXY={proxy} cannot be used: ")
    assert error.attempts == 1
