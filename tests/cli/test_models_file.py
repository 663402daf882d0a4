"""`--models-file`: models, prices and providers of one's own, seen from the shell."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Project
from tests.runner import run
from tests.servers.chat_server import DONE, ChatServer, Reply, chunk, usage

MODELS = """\
providers:
  house:
    base_url: URL
    api_key_env: HOUSE_KEY
    models:
      big: {context_window: 9000, cost: {input: 1, output: 4, cache_read: 0.1}}
"""
BASE = "schema_version: 1\nname: demo\nmodel: house/big\n"


def test_own_provider_answers_and_its_price_is_the_cost(project: Project) -> None:
    project.agent("", base=BASE)
    numbers = {
        "prompt_tokens": 1000,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 400},
    }
    reply = Reply([chunk({"content": "Hi"}), chunk({}, "stop"), usage(numbers), DONE])
    with ChatServer([reply]) as server:
        (project.folder / "models.yaml").write_text(MODELS.replace("URL", server.url))
        done = run(
            "agent.yaml", "go", "--models-file", "models.yaml", "--format", "json",
            cwd=project.folder, env={"HOUSE_KEY": "sk-house-1"},
        )  # fmt: skip

    assert (done.code, done.result["answer"]) == (0, "Hi")
    assert done.result["cost_known"] is True
    assert done.result["cost_usd"] == pytest.approx((600 * 1 + 400 * 0.1 + 10 * 4) / 1e6)


def test_validate_knows_the_providers_of_the_file(project: Project) -> None:
    project.agent("", base=BASE)
    (project.folder / "models.yaml").write_text(MODELS.replace("URL", "http://h/v1"))

    with_file = run("validate", "agent.yaml", "--models-file", "models.yaml", cwd=project.folder)
    without = run("validate", "agent.yaml", cwd=project.folder)

    assert (with_file.code, with_file.stderr) == (0, "1 agent is valid.\n")
    assert without.code == 2
    assert "'house' is not a provider" in without.stderr


@pytest.mark.parametrize("command", [["agent.yaml", "go"], ["validate", "agent.yaml"]])
def test_mistake_in_the_file_ends_the_run_before_it_begins(project: Project, command: list[str]) -> None:
    project.agent("", base=BASE)
    (project.folder / "models.yaml").write_text(MODELS.replace("cost", "costs"))

    done = run(*command, "--models-file", "models.yaml", cwd=project.folder)

    assert done.code == 2
    assert "models.yaml:3: providers.house.base_url: base_url 'URL' is no address" in done.stderr
    assert "models.yaml:6: providers.house.models.big.costs: no such key here" in done.stderr


def test_key_of_an_own_provider_is_not_given_to_tools(project: Project) -> None:
    project.agent("env: {expose: [HOUSE_KEY]}\n", base=BASE)
    (project.folder / "models.yaml").write_text(MODELS.replace("URL", "http://h/v1"))

    done = run("validate", "agent.yaml", "--models-file", "models.yaml", cwd=project.folder)

    assert done.code == 2
    assert "error[key-exposed]: HOUSE_KEY holds the key of a model service" in done.stderr
