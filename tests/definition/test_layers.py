"""Profiles and settings on top of a file, and where each value comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcore_runner.definition.layers import Overrides
from agentcore_runner.definition.load import check_agent, load_agent
from agentcore_runner.definition.types import BuiltinToolSpec, CommandToolSpec, ModelSpec
from agentcore_runner.errors import ConfigError

AGENT = """\
schema_version: 1
name: a
model: x/y
tools:
  - read
  - {type: command, name: t, command: [ls, -l], env: {A: a}}
context: [{name: note, text: one}, {name: other, text: two}]
follow_ups: [first, second]
limits: {max_turns: 20, timeout: 5m}
profiles:
  fast: {model: {temperature: 0}, limits: {max_turns: 40}, tools: [{name: t, timeout: 7s}, ls],
         follow_ups: []}
  other: {model: z/y, prompt: Other.}
"""


@pytest.fixture
def agent(tmp_path: Path) -> str:
    (tmp_path / "a.yaml").write_text(AGENT)
    return str(tmp_path / "a.yaml")


def told(path: str, *texts: str, profile: str | None = None, raise_limits: bool = False) -> list[str]:
    overrides = Overrides(profile=profile, settings=texts, raise_limits=raise_limits)
    return [problem.message for problem in check_agent(path, env={}, overrides=overrides).problems]


def test_a_profile_is_merged_into_the_file(agent: str) -> None:
    definition = load_agent(agent, profile="fast")

    assert definition.model == ModelSpec(provider="x", id="y", temperature=0)
    assert (definition.limits.max_turns, definition.limits.timeout) == (40, 300.0)
    read, t, ls = definition.tools
    assert (read.name, t.timeout, ls.name, definition.follow_ups) == ("read", 7.0, "ls", ())
    assert "profiles" not in definition.resolved


def test_without_a_profile_nothing_of_them_is_there(agent: str) -> None:
    definition = load_agent(agent)

    assert definition.model == ModelSpec(provider="x", id="y")
    assert (definition.limits.max_turns, len(definition.tools), definition.prompt) == (20, 2, None)


def test_a_profile_that_is_not_there_is_a_config_error(agent: str) -> None:
    with pytest.raises(ConfigError, match=r"'fsat' is not a profile of .*a\.yaml \(did you mean 'fast'\?\)"):
        load_agent(agent, profile="fsat")


def test_profiles_of_parents_are_there_and_merge_with_those_of_the_file(agent: str, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(
        "extends: a.yaml\nprofiles: {fast: {model: {top_p: 1}, tools: [{name: t, label: T}]}}\n"
    )

    fast, other = (load_agent(tmp_path / "b.yaml", profile=name) for name in ("fast", "other"))

    assert fast.model == ModelSpec(provider="x", id="y", temperature=0, top_p=1)
    assert (fast.tools[1].timeout, fast.tools[1].label) == (7.0, "T")
    assert other.model == ModelSpec(provider="z", id="y")


def test_profiles_are_free_within_their_file_and_bound_by_its_parents(agent: str, tmp_path: Path) -> None:
    child = tmp_path / "b.yaml"
    child.write_text("extends: a.yaml\nlimits: {max_turns: 5}\nprofiles: {deep: {limits: {max_turns: 20}}}\n")

    assert load_agent(child, profile="deep").limits.max_turns == 20
    child.write_text("extends: a.yaml\nlimits: {max_turns: 5}\nprofiles: {deep: {limits: {max_turns: 21}}}\n")
    assert told(str(child)) == [f"limits.max_turns: 21 is looser than 20 at {agent}:9:21"]


def test_settings_win_over_the_profile_and_later_ones_over_earlier_ones(agent: str) -> None:
    texts = ["limits.max_turns=30", "model.temperature=0.5", "limits.max_turns=10"]

    definition = load_agent(agent, profile="fast", settings=texts)

    assert definition.limits.max_turns == 10
    assert definition.model == ModelSpec(provider="x", id="y", temperature=0.5)


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("version=x", ["version"], "x"),
        ("version=", ["version"], ""),
        ("version=a=b: c # d", ["version"], "a=b: c # d"),
        ('version="1.10"', ["version"], "1.10"),
        ("metadata.a.b=off", ["metadata"], {"a": {"b": "off"}}),
        ("metadata.a=true", ["metadata"], {"a": True}),
        ("metadata.a=null", ["metadata"], {"a": None}),
        ("metadata.a=0x10", ["metadata"], {"a": 16}),
        ('metadata={"a": [1, {"b": "c"}]}', ["metadata"], {"a": [1, {"b": "c"}]}),
        ("metadata={a: [x, 'y']}", ["metadata"], {"a": ["x", "y"]}),
        ("metadata.a-b_c=1", ["metadata"], {"a-b_c": 1}),
        ("prompt={{ env }} and more", ["prompt"], "{{ env }} and more"),
        ("prompt={% if env %}x{% endif %}", ["prompt"], "{% if env %}x{% endif %}"),
        ("follow_ups[1]=changed", ["follow_ups"], ["first", "changed"]),
        ("follow_ups=[only]", ["follow_ups"], ["only"]),
        ("context[1].text=x", ["context", 1], {"name": "other", "text": "x"}),
        ("context.other.text=x", ["context", 1], {"name": "other", "text": "x"}),
        ("tools[1].command[1]=-a", ["tools", 1, "command"], ["ls", "-a"]),
        ("tools.t.env.B=b", ["tools", 1, "env"], {"A": "a", "B": "b"}),
        ("model=z/y", ["model"], "z/y"),
    ],
)  # fmt: skip
def test_a_setting_is_yaml_at_a_path(agent: str, text: str, path: list[Any], value: Any) -> None:
    found: Any = load_agent(agent, settings=[text], env={}).resolved
    for name in path:
        found = found[name]

    assert found == value


def test_a_setting_may_refine_a_tool_by_its_name(agent: str) -> None:
    texts = ["tools.read.timeout=5s", "tools=[{name: t, timeout: 2}, bash]"]

    read, t, bash = load_agent(agent, settings=texts).tools

    assert read == BuiltinToolSpec(name="read", builtin="read", timeout=5.0)
    assert isinstance(t, CommandToolSpec) and t.timeout == 2.0
    assert bash.name == "bash"


def test_a_setting_may_loosen_a_limit_only_where_that_is_allowed(agent: str) -> None:
    loose = "limits.max_turns: 21 is looser than 20"

    assert told(agent, "limits.max_turns=21") == [f"{loose} at {agent}:9:21"]
    assert told(agent, "limits.max_turns=21", raise_limits=True) == []
    assert told(agent, "limits.max_tool_calls=1000") == []


def test_mistakes_in_settings_of_several_lines_stand_where_they_are(agent: str) -> None:
    overrides = Overrides(settings=("version=x", "prompt=a\n b {{ inputs.c }}", 'metadata={"a":\n {"b": 1_}}',
                                    "limits={max_turns: 3,\n max_trns: 3}"))  # fmt: skip

    problems = check_agent(agent, env={}, overrides=overrides).problems

    assert [(problem.file, problem.line, problem.column, problem.rule) for problem in problems] == [
        ("--set", 3, 7, "template-undefined"),
        ("--set", 7, 2, "unknown-key"),
    ]
    assert problems[0].excerpt == (
        "    2 | prompt=a", "    3 |  b {{ inputs.c }}", "      |       ^^^^^^^^"
    )  # fmt: skip


def test_settings_on_a_family_that_is_broken_are_checked_all_the_same(agent: str, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("extends: [gone.yaml]\n")

    assert told(str(tmp_path / "b.yaml"), "limits.max_trns=3", "a=1", profile="p") == [
        "there is no file 'gone.yaml'",
        f"{tmp_path / 'b.yaml'} has no profiles",
        "'max_trns' is not a key of limits",
        "'a' is not a key of an agent file",
    ]


@pytest.mark.parametrize("text", ["- a", "3", "", "text"])
def test_no_setting_makes_an_agent_of_what_is_no_map(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text + "\n")
    alone = told(str(tmp_path / "a.yaml"))

    assert len(alone) == 1
    assert told(str(tmp_path / "a.yaml"), "schema_version=1", "name=a", "model=x/y", profile="p") == alone


def test_a_setting_adds_to_what_is_denied_and_replaces_none_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("schema_version: 1\nname: a\nmodel: x/y\npermissions: {deny: [bash]}\n")

    assert "what is denied stays denied" in told(str(tmp_path / "a.yaml"), "permissions.deny[0]=ls")
    assert "what is denied stays denied" not in told(str(tmp_path / "a.yaml"), "permissions.deny=[ls]")


def test_files_of_a_setting_are_relative_to_the_working_directory(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "p.md").write_text("From here.")
    monkeypatch.chdir(tmp_path / "here")

    prompt = load_agent(agent, settings=["prompt_file=p.md"]).prompt

    assert prompt is not None and prompt.source == "From here."


def test_every_value_has_an_origin(agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.yaml").write_text(
        "extends: a.yaml\nname: b\nx-note: {a: 1}\nlimits: {timeout: 1m}\nmetadata: {}\n"
    )

    origins = load_agent("b.yaml", profile="fast", settings=["version=x", "metadata.a=[1, 2]"]).origins

    assert origins == {
        ("schema_version",): "a.yaml:1:17",
        ("name",): "b.yaml:2:7",
        ("model", "id"): "a.yaml:3:8",
        ("model", "temperature"): "a.yaml:11:31 (profile fast)",
        ("tools", 0): "a.yaml:5:5",
        ("tools", 1, "type"): "a.yaml:6:12",
        ("tools", 1, "name"): "a.yaml:11:75 (profile fast)",
        ("tools", 1, "command", 0): "a.yaml:6:40",
        ("tools", 1, "command", 1): "a.yaml:6:44",
        ("tools", 1, "env", "A"): "a.yaml:6:58",
        ("tools", 1, "timeout"): "a.yaml:11:87 (profile fast)",
        ("tools", 2): "a.yaml:11:92 (profile fast)",
        ("context", 0, "name"): "a.yaml:7:18",
        ("context", 0, "text"): "a.yaml:7:30",
        ("context", 1, "name"): "a.yaml:7:43",
        ("context", 1, "text"): "a.yaml:7:56",
        ("follow_ups",): "a.yaml:12:22 (profile fast)",
        ("limits", "max_turns"): "a.yaml:11:55 (profile fast)",
        ("limits", "timeout"): "b.yaml:4:19",
        ("version",): "--set version=x",
        ("metadata", "a", 0): "--set metadata.a=[1, 2]",
        ("metadata", "a", 1): "--set metadata.a=[1, 2]",
    }


def test_the_digest_tells_profiles_and_settings_apart_and_not_how_they_were_given(
    agent: str, tmp_path: Path
) -> None:
    plain, other = load_agent(agent).digest, load_agent(agent, profile="other").digest
    (tmp_path / "b.yaml").write_text(AGENT.replace("model: x/y", "model: z/y\nprompt: Other."))

    assert plain != other
    assert load_agent(tmp_path / "b.yaml").digest == other
    assert load_agent(agent, settings=["model=z/y", "prompt=Other."]).digest == other


PARTS = st.sampled_from(
    ["limits", "max_turns", "tools", "t", "[0]", "[7]", ".", "=", "[", "]", "{a", "}", "'", "1", "\n",
     "context", "model", "x-a", "é", " ", "&a", "*a", "{{", "<<", "name"]
)  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(PARTS, max_size=8).map("".join), max_size=3),
    st.sampled_from([None, "fast", "", "x\ny"]),
)
def test_no_setting_makes_loading_raise(agent: str, texts: list[str], profile: str | None) -> None:
    overrides = Overrides(profile=profile, settings=tuple(texts))

    loaded = check_agent(agent, env={}, overrides=overrides)

    errors = [problem for problem in loaded.problems if problem.severity == "error"]
    assert (loaded.definition is None) == bool(errors)
