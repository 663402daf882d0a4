"""The user's models file: own models, prices and providers, and what is said of its mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentcore_runner.core.messages import UsageCost
from agentcore_runner.core.model import CostTier, Model, ModelCost
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.catalog import (
    ModelSettings,
    describe,
    model_mistakes,
    open_provider,
    parse_model,
    read_models,
)
from agentcore_runner.providers.services import VENDORS
from tests.providers.doubles import QUICK, answer, context, stream
from tests.servers.chat_server import ChatServer, text_reply

HOUSE = """\
# Our own gateway.
providers:
  house:
    base_url: http://llm.example/v1/
    api_key_env: HOUSE_KEY
    headers: {X-Team: review}
    compat: {supports_store: true}
    models:
      big:
        context_window: 9000
        max_tokens: 500
        inputs: [text, image]
        reasoning: true
        thinking_levels: {"off": none, low: gentle, xhigh: null}
        compat: {max_tokens_field: max_completion_tokens}
        cost:
          input: 1
          output: 4
          cache_read: 0.1
          tiers: [{input_tokens_above: 5000, input: 2, output: 8}]
      plain:
      claude: {api: anthropic-messages}
"""


def settings(folder: Path, text: str, model: str, **more: Any) -> ModelSettings:
    (folder / "models.yaml").write_text(text, encoding="utf-8")
    own = read_models(folder / "models.yaml")
    return msgspec.structs.replace(parse_model(model), models=own, **more)


def test_model_of_an_own_provider_is_what_the_file_says(tmp_path: Path) -> None:
    assert describe(settings(tmp_path, HOUSE, "house/big"), {}) == Model(
        id="big",
        name="big",
        api="openai-completions",
        provider="house",
        base_url="http://llm.example/v1",
        reasoning=True,
        input=("text", "image"),
        cost=ModelCost(
            input=1,
            output=4,
            cache_read=0.1,
            cache_write=1,
            tiers=(CostTier(input_tokens_above=5000, input=2, output=8, cache_read=2, cache_write=2),),
        ),
        context_window=9000,
        max_tokens=500,
        thinking_levels={"off": "none", "low": "gentle", "xhigh": None},
        compat={"supports_store": True, "max_tokens_field": "max_completion_tokens"},
    )
    plain = describe(settings(tmp_path, HOUSE, "house/plain"), {})
    assert (plain.cost, plain.context_window, plain.compat) == (None, 128_000, {"supports_store": True})


def test_agent_file_wins_over_the_models_file_and_that_over_the_catalogue(tmp_path: Path) -> None:
    entry = {"context_window": 7, "cost": {"input": 9, "output": 9}}
    text = json.dumps({"providers": {"openai": {"models": {"gpt-5": entry}}}})

    ours = describe(settings(tmp_path, text, "openai/gpt-5"), {})
    wins = describe(settings(tmp_path, text, "openai/gpt-5", context_window=5), {})

    shipped = describe(parse_model("openai/gpt-5"), {})
    cost = ModelCost(input=9, output=9, cache_read=9, cache_write=9)
    assert ours == msgspec.structs.replace(shipped, context_window=7, cost=cost)
    assert wins.context_window == 5


def test_price_of_the_file_holds_at_any_address(tmp_path: Path) -> None:
    text = "providers: {openai: {base_url: 'http://h/v1', models: {gpt-5: {cost: {input: 1, output: 2}}}}}"

    model = describe(settings(tmp_path, text, "openai/gpt-5"), {"OPENAI_BASE_URL": "http://no/v1"})

    assert (model.base_url, model.api) == ("http://h/v1", "openai-completions")
    assert model.cost == ModelCost(input=1, output=2, cache_read=1, cache_write=1)


def test_own_provider_is_asked_with_its_key_and_headers(tmp_path: Path) -> None:
    with ChatServer([text_reply("Hi")]) as server:
        text = HOUSE.replace("http://llm.example/v1/", server.url)
        provider = open_provider(
            settings(tmp_path, text, "house/big", headers={"X-More": "y"}),
            env={"HOUSE_KEY": "sk-house-1"},
            cwd=tmp_path,
            agent_directory=tmp_path,
            idle_timeout=5,
            now=lambda: 0,
            retry=QUICK,
        )
        message = answer(stream(provider, context()))

    request = server.requests[0]
    sent = {name.lower(): value for name, value in request.headers.items()}
    assert (sent["authorization"], sent["x-team"], sent["x-more"]) == ("Bearer sk-house-1", "review", "y")
    assert (message.text, message.provider) == ("Hi", "house")
    assert message.usage.cost != UsageCost()


def test_missing_key_of_an_own_provider_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set HOUSE_KEY"):
        open_provider(
            settings(tmp_path, HOUSE, "house/big"),
            env={"OLLAMA_HOST": "127.0.0.1:1"},
            cwd=tmp_path,
            agent_directory=tmp_path,
            idle_timeout=5,
            now=lambda: 0,
        )


def test_models_of_an_own_provider_may_speak_another_api(tmp_path: Path) -> None:
    assert describe(settings(tmp_path, HOUSE, "house/claude"), {}).api == "anthropic-messages"
    chosen = describe(settings(tmp_path, HOUSE, "house/big", api="openai-responses"), {})
    assert chosen.api == "openai-responses"


def test_flags_are_for_the_api_that_they_were_written_for(tmp_path: Path) -> None:
    assert describe(settings(tmp_path, HOUSE, "house/claude"), {}).compat == {}
    assert describe(settings(tmp_path, HOUSE, "house/big", api="openai-responses"), {}).compat == {}
    named = describe(settings(tmp_path, HOUSE, "house/plain", api="openai-completions"), {})
    assert named.compat == {"supports_store": True}


def test_unknown_provider_is_told_those_of_the_file_too(tmp_path: Path) -> None:
    wanted = settings(tmp_path, HOUSE, "huose/big")

    (mistake,) = model_mistakes(wanted, {}, cwd=tmp_path, agent_directory=tmp_path)

    assert "'huose' is not a provider (did you mean 'house'?)" in mistake.message
    assert (
        model_mistakes(settings(tmp_path, HOUSE, "house/x"), {}, cwd=tmp_path, agent_directory=tmp_path) == []
    )


WRONG = """\
providers:
  house:
    api: openai-complet
    models:
      a: {context_window: many, max_tokens: 0, cost: {input: 1}}
      b: {reasonin: true}
      c:
        cost: {input: 1, output: -1}
      d: {thinking_levels: {huge: x, low: -1}}
      e: {compat: {supports_stor: true}}
      f:
        cost:
          input: 1
          output: 1
          tiers:
            - {input_tokens_above: 5, input: 1, output: 1}
            - {input_tokens_above: 5, input: 1, output: 1}
      g: {inputs: [text, video]}
      h: {api: smoke}
      123: {inputs: []}
      "": {}
  openai: {base_url: localhost}
  groq: {headers: {"X Y": z}, modles: {}}
  mistral: {headers: {Host: z}, compat: {x: 1}}
  scripted: {base_url: 'http://h'}
  xai: {api_key_env: sk-abc-def, headers: {X-Key: 12345678}}
"""


def test_every_mistake_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(tmp_path, WRONG, "house/x")

    file = tmp_path / "models.yaml"
    assert str(caught.value).splitlines() == [
        f"{file}:{line}: providers.{rest}"
        for line, rest in [
            (2, "house: a provider that is none of ours needs its base_url"),
            (3, "house.api: 'openai-complet' is no API (did you mean 'openai-completions'?); known are "
                "openai-completions, openai-responses, anthropic-messages, google-generative-ai"),
            (5, "house.models.a.context_window: expected a whole number of at least 1, found 'many'"),
            (5, "house.models.a.max_tokens: expected a whole number of at least 1, found 0"),
            (5, "house.models.a.cost: 'output' is missing"),
            (6, "house.models.b.reasonin: no such key here (did you mean 'reasoning'?)"),
            (8, "house.models.c.cost.output: expected a number of at least 0, found -1"),
            (9, "house.models.d.thinking_levels.huge: expected one of off, minimal, low, medium, high, "
                "xhigh, max, found 'huge'"),
            (9, "house.models.d.thinking_levels.low: expected a string or tokens of at least 0, found -1"),
            (10, "house.models.e.compat.supports_stor: 'supports_stor' is not a key of model.compat "
                 "(did you mean 'supports_store'?)"),
            (15, "house.models.f.cost.tiers: input_tokens_above must rise from tier to tier"),
            (18, "house.models.g.inputs.1: expected 'text' or 'image', found 'video'"),
            (19, "house.models.h.api: 'smoke' is no API; known are openai-completions, openai-responses, "
                 "anthropic-messages, google-generative-ai"),
            (20, "house.models.123.inputs: expected a list of 'text' or 'image', found an empty list"),
            (21, "house.models.: a model's id cannot be empty"),
            (22, "openai.base_url: base_url 'localhost' is no address (write for instance "
                 "http://127.0.0.1:8080/v1)"),
            (23, "groq.modles: no such key here (did you mean 'models'?)"),
            (23, "groq.headers.X Y: holds characters that cannot be sent"),
            (24, "mistral.headers.Host: is set by the connection itself; remove it"),
            (24, "mistral.compat.x: 'x' is not a key of model.compat"),
            (25, "scripted.base_url: means nothing for a script, which answers from a file"),
            (26, "xai.headers.X-Key: expected a string, found a number"),
            (26, "xai.api_key_env: api_key_env is not the name of a variable: name the one that holds the "
                 "key, not the key itself"),
        ]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "models.yaml:1: a models file is a map with the one key 'providers', which is a map"),
        ("models: {}", "models.yaml:1: a models file is a map with the one key 'providers'"),
        ("providers: [a]", "models.yaml:1: a models file is a map with the one key 'providers'"),
        ("providers: {a: [b]}", "models.yaml:1: providers.a: expected a map, found a list"),
        (
            "providers: {groq: {models: [b]}}",
            "models.yaml:1: providers.groq.models: expected a map of models",
        ),
        ("a: b: c", "models.yaml:1: not YAML"),
        (
            "providers:\\n  a/b: {base_url: 'http://h'}",
            "models.yaml:2: providers.a/b: a provider's name has no '/'",
        ),
    ],
)
def test_what_is_no_models_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(tmp_path, text.replace("\\n", "\n"), "a/b")

    assert message in str(caught.value)


def test_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"models\.json: cannot be read: No such file"):
        read_models(tmp_path / "models.json")


def test_example_in_the_documentation_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(providers:.*?)^```$", page, re.MULTILINE | re.DOTALL)

    house = describe(settings(tmp_path, example, "house/big"), {})
    ours = describe(settings(tmp_path, example, "openai/gpt-5-mini"), {})

    assert (house.api, house.context_window, house.reasoning) == ("openai-completions", 200_000, True)
    assert ours.cost is not None
    assert (ours.cost.input, ours.cost.output) == (0.2, 1.6)


def test_every_service_of_the_documentation_is_one_of_ours() -> None:
    page = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `([\w-]+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE)

    told = {name: (api, address, key) for name, api, address, key in rows if name in VENDORS}

    assert list(told) == list(VENDORS)
    for name, vendor in VENDORS.items():
        api, address, key = told[name]
        assert api == vendor.own_api or api == vendor.api
        assert not vendor.base_url or address == f"`{vendor.base_url}`"
        assert set(re.findall(r"[A-Z_]{5,}", key)) == {*vendor.key_envs, *filter(None, [vendor.bearer_env])}
