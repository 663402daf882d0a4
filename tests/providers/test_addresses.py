"""Addresses: whose they are, what may stand in them, and what is advised where they are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentcore_runner.core.model import ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.catalog import ModelSettings, describe, model_mistakes, parse_model
from agentcore_runner.providers.failures import from_response
from tests.providers.doubles import context, opened

OPTIONS = StreamOptions(signal=AbortSignal(), thinking_level=ThinkingLevel.OFF)


@pytest.mark.parametrize("host", ["eu.api.openai.com", "us.api.openai.com", "EU.API.openai.com."])
def test_regions_of_openai_are_openai_at_prices_of_their_own(host: str) -> None:
    home, region = (
        opened(url, "openai/gpt-5-mini", env={"OPENAI_API_KEY": "sk-123456"}, max_output_tokens=100)
        for url in (None, f"https://{host}/v1")
    )

    assert (region.model.api, region.model.cost) == ("openai-responses", None)
    assert home.model.cost is not None
    assert region.preview(context(), OPTIONS)["body"] == home.preview(context(), OPTIONS)["body"]


def test_chat_completions_of_a_region_are_spoken_as_openais_own() -> None:
    home, region = (
        opened(url, "openai/gpt-5-mini", env={"OPENAI_API_KEY": "sk-1"}, api="openai-completions")
        for url in (None, "https://eu.api.openai.com/v1")
    )

    assert region.preview(context(), OPTIONS)["body"] == home.preview(context(), OPTIONS)["body"]


def test_host_that_only_ends_alike_is_another() -> None:
    model = describe(ModelSettings(provider="openai", id="x", base_url="https://fakeapi.openai.com.h/v1"), {})

    assert model.api == "openai-completions"


@pytest.mark.parametrize(
    "url", ["https://api.openai.com/v1/", "https://API.openai.com/v1", "https://api.openai.com:443/v1",
            "https://api.openai.com./v1", "https://eu.api.openai.com/v1"],
)  # fmt: skip
def test_key_is_demanded_at_the_vendors_own_address_however_it_is_written(url: str) -> None:
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        opened(url, "openai/gpt-5-mini", env={"OLLAMA_HOST": "127.0.0.1:1"})


@pytest.mark.parametrize(
    ("model", "wanted", "env"),
    [
        ("openai/x", "http://me:PASSWORD1@h/v1", {}),
        ("openai/x", "http:/me:PASSWORD1@h", {}),
        ("openai/x", "http://me:PASSWORD1@h/v1?x=1", {}),
        ("openai/x", None, {"OPENAI_BASE_URL": "http://me:PASSWORD1@h/v1"}),
        ("ollama/x", None, {"OLLAMA_HOST": "me:PASSWORD1@h"}),
    ],
)
def test_password_in_an_address_is_refused_and_not_repeated(
    model: str, wanted: str | None, env: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match="may not hold a name or a password") as caught:
        opened(wanted, model, env=env)

    assert "PASSWORD1" not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "advice"),
    [
        ("http://h/v1/chat/completions", "'http://h/v1'"),
        ("http://h/v1/messages", "'http://h/v1'"),
        ("http://h/v1beta/models/gemini-x:streamGenerateContent", "'http://h/v1beta'"),
        ("http://h/v1beta/models/gemini-x:streamGenerateContent?alt=sse", "'http://h/v1beta'"),
    ],
)
def test_address_that_names_the_method_is_told_what_precedes_it(base_url: str, advice: str) -> None:
    with pytest.raises(ConfigError, match="goes too far") as caught:
        describe(ModelSettings(provider="openai", id="x", base_url=base_url), {})

    assert str(caught.value).endswith(advice)


@pytest.mark.parametrize(
    ("asked", "target", "advice"),
    [
        ("http://h/v1/chat/completions", "/v2/chat/completions", "; write http://h/v2 as base_url"),
        ("http://h/v1beta/models/g:streamGenerateContent?alt=sse",
         "https://h/v1beta/models/g:streamGenerateContent?alt=sse", "; write https://h/v1beta as base_url"),
        ("http://h/v1/chat/completions", "http://h/login?next=/v1", "; is base_url right?"),
    ],
)  # fmt: skip
def test_redirection_is_told_with_the_base_url_it_means(asked: str, target: str, advice: str) -> None:
    info = from_response(302, {"location": target}, b"", now_s=0.0, mask=str, url=asked).info

    assert info.message == f"HTTP 302: the server redirects to {target}{advice}"


# Keys and headers


def test_preview_hides_every_header_that_may_hold_a_key() -> None:
    headers = {"X-Sub": "HDRSECRET1", "X-Title": "Mine", "Accept": "text/event-stream"}
    shown = opened("http://h/v1", headers=headers, env={"OPENAI_API_KEY": "sk-123456"}).preview(
        context(), OPTIONS
    )["headers"]

    assert (shown["x-sub"], shown["authorization"]) == ("***", "***")
    assert (shown["x-title"], shown["accept"]) == ("Mine", "text/event-stream")
    assert (shown["content-type"], shown["user-agent"]) == ("application/json", "agentcore-runner")


def test_variable_that_is_none_is_not_repeated_for_it_may_be_the_key(tmp_path: Path) -> None:
    wanted = ModelSettings(provider="openai", id="x", base_url="http://h/v1", api_key_env="sk-abc-def")

    (mistake,) = model_mistakes(wanted, {}, cwd=tmp_path, agent_directory=tmp_path)
    with pytest.raises(ConfigError) as caught:
        opened("http://h/v1", "openai/x", api_key_env="sk-abc-def")

    assert mistake.key == ("api_key_env",)
    assert str(caught.value) == mistake.message
    assert "sk-abc-def" not in mistake.message


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({}, ["model", "messages"]),
        ({"api": "openai-responses"}, ["model", "input"]),
        ({"api": "google-generative-ai"}, ["contents"]),
        ({"api": "anthropic-messages"}, ["model", "messages", "system"]),
    ],
)
def test_only_the_keys_of_the_api_in_force_are_the_runs_own(
    settings: dict[str, Any], refused: list[str], tmp_path: Path
) -> None:
    extra = dict.fromkeys(("model", "messages", "input", "contents", "system"))
    wanted = ModelSettings(provider="vllm", id="x", extra_body=extra, **settings)

    found = model_mistakes(wanted, {}, cwd=tmp_path, agent_directory=tmp_path)

    assert [mistake.key for mistake in found] == [("extra_body", name) for name in refused]


# The catalogue by id


def test_dated_id_with_a_price_of_its_own_has_that_price() -> None:
    may, august = (
        describe(parse_model(f"openai/gpt-4o-{date}"), {}) for date in ("2024-05-13", "2024-08-06")
    )

    assert may.cost is not None
    assert august.cost is not None
    assert (may.cost.input, may.cost.output, may.max_tokens) == (5, 15, 4096)
    assert (august.cost.input, august.cost.output, august.max_tokens) == (2.5, 10, 16384)


def test_collection_before_the_id_names_the_same_model() -> None:
    plain, named = (describe(parse_model(f"google/{name}gemini-2.5-flash"), {}) for name in ("", "models/"))

    assert (named.cost, named.context_window) == (plain.cost, plain.context_window)
    assert plain.cost is not None
    assert describe(parse_model("google/tunedModels/gemini-2.5-flash"), {}).cost is None


def test_gemini_3_6_flash_has_the_least_level() -> None:
    levels = describe(parse_model("google/gemini-3.6-flash"), {}).thinking_levels

    assert levels == {"minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
