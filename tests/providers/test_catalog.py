"""Names become models and adapters, or a message that says what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentcore_runner.core.model import Model, ModelCost
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.definition.schema import agent_schema
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.apis import APIS, SCRIPTED_API
from agentcore_runner.providers.catalog import (
    Mistake,
    ModelSettings,
    Provider,
    describe,
    model_mistakes,
    parse_model,
)
from agentcore_runner.providers.keys import headers_of
from agentcore_runner.providers.local import find_local_servers, usual_addresses
from agentcore_runner.providers.vendors import is_loopback, vendor_of
from tests.providers.doubles import context, opened
from tests.servers.chat_server import ChatServer


def headers(provider: Provider) -> dict[str, Any]:
    found: dict[str, Any] = provider.preview(context(), StreamOptions(signal=AbortSignal()))["headers"]
    return found


def test_model_is_named_by_provider_and_id() -> None:
    assert parse_model("ollama/hf.co/a/b:q4") == ModelSettings(provider="ollama", id="hf.co/a/b:q4")


@pytest.mark.parametrize("text", ["gpt-5", "/x", "openai/", ""])
def test_other_name_is_a_mistake(text: str) -> None:
    with pytest.raises(ConfigError, match="is not provider/id"):
        parse_model(text)


@pytest.mark.parametrize(
    ("model", "env", "base_url"),
    [
        ("openai/x", {}, "https://api.openai.com/v1"),
        ("openai/x", {"OPENAI_BASE_URL": " http://h:1/v1/ "}, "http://h:1/v1"),
        ("openai/x", {"OPENAI_BASE_URL": ""}, "https://api.openai.com/v1"),
        ("ollama/x", {"OPENAI_BASE_URL": "http://h:1/v1"}, "http://127.0.0.1:11434/v1"),
        ("ollama/x", {"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434/v1"),
        ("ollama/x", {"OLLAMA_HOST": "box:99"}, "http://box:99/v1"),
        ("ollama/x", {"OLLAMA_HOST": ":99"}, "http://127.0.0.1:99/v1"),
        ("ollama/x", {"OLLAMA_HOST": "https://box/ollama/"}, "https://box:443/ollama/v1"),
        ("ollama/x", {"OLLAMA_HOST": "[::]:99"}, "http://[::1]:99/v1"),
        ("llamacpp/x", {}, "http://127.0.0.1:8080/v1"),
        ("vllm/x", {}, "http://127.0.0.1:8000/v1"),
        ("lmstudio/x", {}, "http://127.0.0.1:1234/v1"),
        ("anthropic/x", {"ANTHROPIC_BASE_URL": "http://h/"}, "http://h"),
        (
            "azure/x",
            {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/"},
            "https://r.openai.azure.com/openai/v1",
        ),
        (
            "azure/x",
            {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/openai/v1/"},
            "https://r.openai.azure.com/openai/v1",
        ),
        ("openrouter/a/b", {}, "https://openrouter.ai/api/v1"),
        ("groq/x", {}, "https://api.groq.com/openai/v1"),
        ("deepseek/x", {}, "https://api.deepseek.com"),
        ("mistral/x", {}, "https://api.mistral.ai/v1"),
        ("xai/x", {}, "https://api.x.ai/v1"),
        ("together/x", {}, "https://api.together.ai/v1"),
        ("fireworks/x", {}, "https://api.fireworks.ai/inference/v1"),
        ("cerebras/x", {}, "https://api.cerebras.ai/v1"),
    ],
)
def test_provider_has_its_usual_address(model: str, env: dict[str, str], base_url: str) -> None:
    assert describe(parse_model(model), env).base_url == base_url


def test_description_needs_no_key_and_unknown_models_have_usual_values() -> None:
    assert describe(parse_model("openai/gpt-99"), {}) == Model(
        id="gpt-99",
        name="gpt-99",
        api="openai-responses",
        provider="openai",
        base_url="https://api.openai.com/v1",
        reasoning=True,
        input=("text", "image"),
        cost=None,
        context_window=128_000,
        max_tokens=16_384,
    )


def test_settings_are_taken_over() -> None:
    cost = ModelCost(input=1.0)
    model = describe(
        ModelSettings(
            provider="vllm", id="m", base_url="http://h/v1", context_window=9, max_output_tokens=5, cost=cost
        ),
        {},
    )

    assert (model.base_url, model.context_window, model.max_tokens, model.cost) == ("http://h/v1", 9, 5, cost)


@pytest.mark.parametrize(
    ("model", "base_url", "api"),
    [
        ("openai/x", None, "openai-responses"),
        ("openai/x", "https://api.openai.com/v1/", "openai-responses"),
        ("openai/x", "http://h/v1", "openai-completions"),
        ("anthropic/x", "http://h", "anthropic-messages"),
        ("google/x", None, "google-generative-ai"),
        ("azure/x", "https://r.openai.azure.com/openai/v1", "openai-completions"),
        ("groq/x", None, "openai-completions"),
        ("ollama/x", None, "openai-completions"),
    ],
)
def test_provider_speaks_its_api(model: str, base_url: str | None, api: str) -> None:
    settings = msgspec.structs.replace(parse_model(model), base_url=base_url)

    assert describe(settings, {}).api == api
    for other in ("openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"):
        assert describe(msgspec.structs.replace(settings, api=other), {}).api == other


def test_address_that_only_a_variable_gives_may_be_missing_while_a_file_is_checked(tmp_path: Path) -> None:
    assert mistakes(tmp_path, "azure/gpt") == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"provider": "openia"}, "'openia' is not a provider (did you mean 'openai'?)"),
        (
            {"provider": "antropic"},
            "'antropic' is not a provider (did you mean 'anthropic'?); known are anthropic, azure, cerebras, "
            "deepseek, fireworks, google, groq, llamacpp, lmstudio, mistral, ollama, openai, openrouter, "
            "scripted, together, vllm, xai. A models file (--models-file) can add others",
        ),
        ({"api": "openai-response"}, "is not one that openai speaks (did you mean 'openai-responses'?)"),
        (
            {"provider": "azure"},
            "base_url is missing: Azure OpenAI has no usual address for 'azure/x'; set "
            "AZURE_OPENAI_ENDPOINT to the address of your resource",
        ),
        ({"base_url": "localhost:8080"}, "base_url 'localhost:8080' is no address"),
        ({"base_url": "http://h:port/v1"}, "is no address"),
        (
            {"base_url": "http://h/v1/chat/completions"},
            "write what precedes /chat/completions, 'http://h/v1'",
        ),
        ({"compat": {"x": 1}}, "'x' is not a key of model.compat"),
    ],
)
def test_mistake_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        describe(ModelSettings(**{"provider": "openai", "id": "x", **settings}), {})

    assert message in str(caught.value)


def mistakes(folder: Path, model: str = "openai/x", **settings: Any) -> list[Mistake]:
    provider, _, name = model.partition("/")
    return model_mistakes(
        ModelSettings(provider=provider, id=name, **settings), {}, cwd=folder, agent_directory=folder
    )


def test_all_mistakes_are_told_at_once_with_their_places(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        api="x",
        base_url="h",
        compat={"supports_store": 1, "supports_imagse": True, "max_tokens_field": "x"},
        headers={"x y": "a", "Host": "h", "ok": "ok"},
        extra_body={"messages": [], "seed": 1, "stream": False},
    )

    assert [mistake.key for mistake in found] == [
        ("api",),
        ("compat", "supports_store"),
        ("compat", "supports_imagse"),
        ("compat", "max_tokens_field"),
        ("base_url",),
        ("headers", "x y"),
        ("headers", "Host"),
        ("extra_body", "messages"),
        ("extra_body", "stream"),
    ]
    assert found[2] == Mistake(
        message="'supports_imagse' is not a key of model.compat (did you mean 'supports_images'?)",
        key=("compat", "supports_imagse"),
    )


def test_mistakes_beside_an_unknown_provider_are_told_too(tmp_path: Path) -> None:
    found = mistakes(tmp_path, "grok/x", base_url="h", compat={"x": 1})

    assert [mistake.key for mistake in found] == [(), ("compat", "x"), ("base_url",)]


def test_mistakes_of_a_script_have_its_file_and_lines(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("turns:\n  - txt: a\n  - text: '{{ x }}'\nturn: 1\n")

    found = mistakes(tmp_path, "scripted/s.yaml")

    assert [(mistake.file, mistake.line, mistake.key) for mistake in found] == [
        ("s.yaml", 4, ()),
        ("s.yaml", 2, ()),
        ("s.yaml", 3, ()),
    ]
    assert found[1].message == "turns[0]: 'txt' is not a key here (did you mean 'text'?)"


def test_script_that_is_missing_or_no_yaml_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("turns: [\n")

    (missing,) = mistakes(tmp_path, "scripted/x.yaml")
    (broken,) = mistakes(tmp_path, "scripted/s.yaml")

    assert (missing.file, missing.key) == (None, ())
    assert (broken.file, broken.line) == ("s.yaml", 2)
    assert broken.message.startswith("not YAML: ")


def test_a_model_without_mistakes_has_none_and_all_others_are_told(tmp_path: Path) -> None:
    fine, wrong = ModelSettings(provider="vllm", id="x"), {"a": 1, "b": 2}

    assert model_mistakes(fine, {}, cwd=tmp_path, agent_directory=tmp_path) == []
    found = model_mistakes(
        msgspec.structs.replace(fine, compat=wrong), {}, cwd=tmp_path, agent_directory=tmp_path
    )
    assert [(mistake.key, mistake.message) for mistake in found] == [
        (("compat", "a"), "'a' is not a key of model.compat"),
        (("compat", "b"), "'b' is not a key of model.compat"),
    ]


@pytest.mark.parametrize(
    "name", ["accept-encoding", "Connection", "content-length", "Host", "Transfer-Encoding"]
)
def test_header_of_the_connection_cannot_be_replaced(name: str) -> None:
    with pytest.raises(ConfigError, match=f"header '{name}' is set by the connection itself") as caught:
        opened("http://h/v1", headers={name: "x"})

    assert caught.value.key == ("headers", name)


@pytest.mark.parametrize("name", ["messages", "model", "stream", "tools"])
def test_body_of_the_run_cannot_be_replaced(name: str) -> None:
    with pytest.raises(ConfigError, match=f"extra_body may not replace '{name}'") as caught:
        opened("http://h/v1", extra_body={name: "x"})

    assert caught.value.key == ("extra_body", name)


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True), ("a.localhost", True), ("127.0.0.1", True), ("127.1", True), ("[::1]", True),
        ("0.0.0.0", True), ("[::]", True), ("[::ffff:127.0.0.1]", True), ("[::ffff:10.0.0.1]", False),
        ("10.0.0.1", False), ("127.example.com", False), ("localhost.example.com", False),
    ],
)  # fmt: skip
def test_addresses_of_this_machine_are_known(host: str, own: bool) -> None:
    assert is_loopback(f"http://{host}:1/v1") is own


def test_missing_key_names_the_variable_and_a_server_that_answers() -> None:
    with (
        ChatServer([], models=["nomic-embed-text", "qwen3:8b"]) as server,
        pytest.raises(ConfigError) as caught,
    ):
        opened(None, "openai/gpt-5", env={"OLLAMA_HOST": f"127.0.0.1:{server.port}"})

    message = str(caught.value)
    assert message.startswith("model 'openai/gpt-5' needs an API key: set OPENAI_API_KEY. ")
    assert f"Ollama answers at {server.url}: use --model ollama/qwen3:8b" in message


@pytest.mark.parametrize(
    ("model", "env", "header", "text"),
    [
        ("openai/x", {"OPENAI_API_KEY": "k"}, "authorization", "Bearer k"),
        ("anthropic/x", {"ANTHROPIC_API_KEY": "k"}, "x-api-key", "k"),
        ("anthropic/x", {"ANTHROPIC_AUTH_TOKEN": "t"}, "authorization", "Bearer t"),
        ("anthropic/x", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}, "x-api-key", "k"),
        ("google/x", {"GEMINI_API_KEY": "k", "GOOGLE_API_KEY": "no"}, "x-goog-api-key", "k"),
        ("google/x", {"GOOGLE_API_KEY": "k"}, "x-goog-api-key", "k"),
        ("azure/x", {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://r"}, "api-key", "k"),
        ("groq/x", {"GROQ_API_KEY": "k"}, "authorization", "Bearer k"),
        ("xai/x", {"XAI_API_KEY": "k"}, "authorization", "Bearer k"),
    ],
)
def test_key_goes_where_the_service_wants_it(model: str, env: dict[str, str], header: str, text: str) -> None:
    settings = parse_model(model)

    assert key_headers(settings, env) == {header: text}
    assert key_headers(msgspec.structs.replace(settings, headers={header: "own"}), env) == {header: "own"}


def key_headers(settings: ModelSettings, env: dict[str, str]) -> dict[str, str]:
    return headers_of(settings, vendor_of(settings), describe(settings, env), env)


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("google/x", "set GEMINI_API_KEY or GOOGLE_API_KEY. "),
        ("anthropic/x", "set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN. "),
        ("cerebras/x", "set CEREBRAS_API_KEY. "),
    ],
)
def test_every_variable_that_a_key_may_be_in_is_named(model: str, wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted):
        key_headers(parse_model(model), {"OLLAMA_HOST": "127.0.0.1:1"})


def test_agent_files_can_name_every_api() -> None:
    assert agent_schema()["$defs"]["model"]["properties"]["api"]["enum"] == [*APIS, SCRIPTED_API]


def test_missing_key_of_the_settings_is_named() -> None:
    with pytest.raises(ConfigError, match="set MY_KEY"):
        opened("http://h/v1", api_key_env="MY_KEY", env={"OPENAI_API_KEY": "x"})


def test_key_is_sent_where_there_is_one() -> None:
    key = {"OPENAI_API_KEY": "sk-secret-1"}

    assert "authorization" in headers(opened(None, env=key))
    assert "authorization" not in headers(opened("http://h/v1"))
    assert "authorization" not in headers(opened("http://h/v1", "ollama/x", env=key))
    assert "authorization" in headers(opened("http://h/v1", "ollama/x", env={"K": "k"}, api_key_env="K"))
    assert headers(opened(None, headers={"Authorization": "Basic x"}))["authorization"] == "***"


@pytest.mark.parametrize(
    "settings",
    [{"headers": {"x": "a\nb"}}, {"headers": {"x y": "a"}}, {"env": {"OPENAI_API_KEY": "sk-\n-x"}}],
)
def test_header_that_cannot_be_sent_is_a_mistake(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="characters"):
        opened("http://h/v1", **settings)


def test_servers_on_this_machine_are_found_together() -> None:
    with ChatServer([], models=["a"]) as one, ChatServer([], models=[]) as two:
        found = find_local_servers({"ollama": one.url, "vllm": two.url, "llamacpp": "http://127.0.0.1:1/v1"})

    assert [(server.provider, server.models) for server in found] == [("ollama", ("a",)), ("vllm", ())]
    assert found[1].sentence() == f"vLLM answers at {two.url}: use --model vllm/MODEL"


def test_only_addresses_of_this_machine_are_asked() -> None:
    assert "ollama" not in usual_addresses({"OLLAMA_HOST": "https://ollama.example"})
    assert list(usual_addresses({})) == ["ollama", "llamacpp", "vllm", "lmstudio"]


def test_catalog_does_without_httpx_and_httpx_without_its_command_line() -> None:
    code = (
        "import sys, agentcore_runner.providers.catalog as c; assert 'httpx' not in sys.modules;"
        "from agentcore_runner.providers.http import import_httpx; m = import_httpx();"
        "assert m.AsyncClient and 'rich' not in sys.modules and 'httpx._main' not in sys.modules"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )

    assert (done.returncode, done.stderr) == (0, "")
