"""Agent files that build on others: what is merged how, whose place a value keeps, what is refused."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcore_runner.definition.document import parse
from agentcore_runner.definition.load import check_agent, load_agent
from agentcore_runner.definition.merge import beside, merged
from agentcore_runner.definition.source import Source
from agentcore_runner.definition.types import AgentDefinition, BuiltinToolSpec, CommandToolSpec, ModelSpec

HEAD = "schema_version: 1\nname: a\nmodel: x/y\n"
COMMAND = "{type: command, name: t, command: [ls], timeout: 5s, env: {A: a}}"


def project(folder: Path, **files: str) -> str:
    """Write NAME.yaml for each file; the path of `a.yaml`."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return str(folder / "a.yaml")


def told(path: str) -> list[str]:
    return [
        f"{Path(problem.file).name}:{problem.line}:{problem.column} {problem.rule}: {problem.message}"
        for problem in check_agent(path, env={}).problems
    ]


def loaded(folder: Path, **files: str) -> AgentDefinition:
    return load_agent(project(folder, **files), env={})


def test_maps_merge_deeply_and_everything_else_is_replaced(tmp_path: Path) -> None:
    definition = loaded(
        tmp_path,
        base="metadata: {one: {a: 1, b: [1, 2]}, two: 2}\nfollow_ups: [A, B]\nthinking_level: low\n",
        a=HEAD + "extends: base.yaml\nmetadata: {one: {b: [3]}, two: {c: 4}}\nfollow_ups: [C]\n",
    )

    assert definition.metadata == {"one": {"a": 1, "b": [3]}, "two": {"c": 4}}
    assert [template.source for template in definition.follow_ups] == ["C"]
    assert definition.resolved["thinking_level"] == "low"
    assert "extends" not in definition.resolved


def test_later_parents_win_and_the_file_wins_over_all(tmp_path: Path) -> None:
    definition = loaded(
        tmp_path,
        grand="version: grand\ndescription: grand\nmetadata: {by: grand}\nprompt: grand\n",
        one="extends: grand.yaml\nversion: one\ndescription: one\nmetadata: {by: one}\n",
        two="version: two\ndescription: two\n",
        a=HEAD + "extends: [one.yaml, two.yaml]\nversion: a\n",
    )

    assert (definition.version, definition.description, definition.metadata) == ("a", "two", {"by": "one"})
    assert definition.prompt is not None and definition.prompt.source == "grand"
    assert [file.name for file in definition.files] == ["grand.yaml", "one.yaml", "two.yaml"]


@pytest.mark.parametrize(
    ("base", "over", "model"),
    [
        ("x/y", "{temperature: 1}", ModelSpec(provider="x", id="y", temperature=1)),
        ("{id: x/y, top_p: 1}", "{temperature: 1}", ModelSpec(provider="x", id="y", top_p=1, temperature=1)),
        ("{id: x/y, top_p: 1}", "z/y", ModelSpec(provider="z", id="y")),
        ("{id: x/y, headers: {A: a, B: a}}", "{headers: {B: b}}",
         ModelSpec(provider="x", id="y", headers={"A": "a", "B": "b"})),
    ],
)  # fmt: skip
def test_a_model_is_refined_or_replaced(tmp_path: Path, base: str, over: str, model: ModelSpec) -> None:
    definition = loaded(
        tmp_path,
        base=f"model: {base}\n",
        a=f"schema_version: 1\nname: a\nextends: base.yaml\nmodel: {over}\n",
    )

    assert definition.model == model


def test_tools_merge_by_name(tmp_path: Path) -> None:
    read, t, bash, ls, grep = loaded(
        tmp_path,
        base=f"tools: [read, {COMMAND}, {{type: builtin, name: bash, root: src}}, {{type: command, name: ls,"
        " command: [ls]}]\n",
        a=HEAD + "extends: base.yaml\ntools:\n  - grep\n  - {name: t, timeout: 7s, env: {B: b}}\n  - bash\n"
        "  - ls\n  - {name: read, root: docs}\n",
    ).tools

    assert read == BuiltinToolSpec(name="read", builtin="read", root="docs")
    assert isinstance(t, CommandToolSpec)
    assert (t.timeout, t.env, [item.source for item in t.command]) == (7.0, {"A": "a", "B": "b"}, ["ls"])
    assert bash == BuiltinToolSpec(name="bash", builtin="bash", root="src")
    assert ls == BuiltinToolSpec(name="ls", builtin="ls")
    assert grep == BuiltinToolSpec(name="grep", builtin="grep")


def test_a_prompt_takes_the_place_of_a_parents_prompt_file(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("From a file.")
    definition = loaded(
        tmp_path,
        base="prompt_file: p.md\nsystem_prompt: text\n",
        a=HEAD + "extends: base.yaml\nprompt: Hi.\nsystem_prompt_file: p.md\n",
    )

    assert definition.prompt is not None and definition.prompt.source == "Hi."
    assert definition.system_prompt is not None and definition.system_prompt.source == "From a file."


def test_files_are_relative_to_the_parent_that_names_them(tmp_path: Path) -> None:
    folder = tmp_path / "common" / "prompts"
    folder.mkdir(parents=True)
    (folder / "p.md").write_text("Hi. {% include 'part.md' %}")
    (folder / "part.md").write_text("There.")
    (tmp_path / "common" / "base.yaml").write_text(
        "prompt_file: prompts/p.md\ncontext: [{name: c, file: prompts/part.md}]\n"
        "system_prompt: \"{% include 'prompts/part.md' %}\"\n"
    )

    definition = loaded(tmp_path, a=HEAD + "extends: common/base.yaml\n")

    assert definition.prompt is not None and definition.prompt.render({}) == "Hi. There."
    assert definition.system_prompt is not None and definition.system_prompt.render({}) == "There."
    assert definition.context[0].file == folder / "part.md"


def test_of_the_limits_of_two_parents_the_tighter_one_holds(tmp_path: Path) -> None:
    files = {
        "one": "limits: {max_turns: 5, timeout: 1m}\n",
        "two": "limits: {max_turns: 9, timeout: 30, max_tool_calls: 3}\n",
    }

    limits = loaded(tmp_path, **files, a=HEAD + "extends: [one.yaml, two.yaml]\n").limits

    assert (limits.max_turns, limits.timeout, limits.max_tool_calls) == (5, 30.0, 3)
    assert told(project(tmp_path, a=HEAD + "extends: [one.yaml, two.yaml]\nlimits: {max_turns: 6}\n")) == [
        f"a.yaml:5:21 limit-loosened: limits.max_turns: 6 is looser than 5 at {tmp_path / 'one.yaml'}:1:21"
    ]


def test_a_refusal_of_a_parent_stays() -> None:
    base, over = (
        parse(Source(name, text)).root
        for name, text in (
            ("base.yaml", "permissions: {deny: [bash, write], allow: [read]}"),
            ("a.yaml", "permissions: {deny: [edit, bash], allow: [ls]}"),
        )
    )
    assert base is not None and over is not None

    assert merged(base, over).data == {"permissions": {"deny": ["bash", "write", "edit"], "allow": ["ls"]}}


@pytest.mark.parametrize("written", ["../outside.yaml", "link.yaml", "folder/inside.yaml"])
def test_parents_outside_the_project_are_refused(tmp_path: Path, written: str) -> None:
    inside, outside = tmp_path / "project", tmp_path / "elsewhere"
    inside.mkdir()
    outside.mkdir()
    for file in (tmp_path / "outside.yaml", outside / "inside.yaml"):
        file.write_text("version: x\n")
    (inside / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (inside / "folder").symlink_to(outside)

    assert told(project(inside, a=HEAD + f"extends: {written}\n")) == [
        f"a.yaml:4:10 file-outside-project: {written!r} lies outside the project {inside}"
    ]


def test_parents_that_are_no_files_are_refused_and_do_not_hang(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "large.yaml").write_text("# " + "x" * 2_000_000)

    looped, *others = told(
        project(tmp_path, a=HEAD + 'extends: [loop.yaml, pipe.yaml, large.yaml, "a\\0b"]\n')
    )

    assert looped.startswith("a.yaml:4:11 file-missing: cannot read 'loop.yaml': ")
    assert others == [
        "a.yaml:4:22 file-missing: 'pipe.yaml' is no regular file",
        "a.yaml:4:33 file-missing: 'large.yaml' is larger than 1 MiB",
        "a.yaml:4:45 value: 'a\\x00b' is no path",
    ]


def test_a_parent_has_no_other_project_than_the_agent(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "base.yaml").write_text("extends: ../two/base.yaml\n")
    (tmp_path / "two" / "base.yaml").write_text("version: two\nextends: ../../outside.yaml\n")

    (problem,) = told(project(tmp_path, a=HEAD + "extends: one/base.yaml\n"))

    assert problem.startswith("base.yaml:2:10 file-outside-project: '../../outside.yaml' lies outside")


def test_a_chain_may_be_long_and_not_endless(tmp_path: Path) -> None:
    chain = {f"p{number}": f"extends: p{number + 1}.yaml\n" for number in range(15)}
    end = {"p15": "version: last\n", "p16": "version: beyond\n"}

    assert loaded(tmp_path, **chain, **end, a=HEAD + "extends: p0.yaml\n").version == "last"
    assert told(project(tmp_path, p15="extends: p16.yaml\n")) == [
        "p15.yaml:1:10 extends: the chain of parents is longer than 16 files"
    ]


def test_many_parents_are_refused_in_time(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(12)]
    files = {
        name: f"extends: [{', '.join(f'{other}.yaml' for other in names[index + 1 :])}]\n"
        for index, name in enumerate(names[:-1])
    }
    start = time.monotonic()

    problems = told(project(tmp_path, **files, p11="version: x\n", a=HEAD + "extends: p0.yaml\n"))

    assert problems and {problem.partition(" ")[2] for problem in problems} == {
        "extends: the agent's files name more than 64 parents"
    }
    assert time.monotonic() - start < 5


def test_large_families_are_refused_in_time(tmp_path: Path) -> None:
    large = "metadata: {" + ", ".join(f"k{number}: 1" for number in range(20_000)) + "}\n"
    files = {f"p{number}": large for number in range(9)}
    start = time.monotonic()

    problems = told(
        project(tmp_path, **files, a=HEAD + f"extends: [{', '.join(f'{name}.yaml' for name in files)}]\n")
    )

    assert [problem.partition(" ")[2] for problem in problems] == [
        "yaml-limit: the agent's files hold more than 100000 values"
    ] * 4
    assert time.monotonic() - start < 15


WORDS = st.sampled_from(["a", "b", "c"])
MAPS = st.recursive(st.just({}), lambda part: st.dictionaries(WORDS, part, max_size=3), max_leaves=8)
LEAVES = st.integers(0, 9) | st.lists(st.integers(0, 9), max_size=2)
TOOLS = st.lists(
    st.sampled_from(["read", "ls", {"type": "builtin", "name": "read", "root": "x"},
                     {"type": "builtin", "name": "ls", "label": "L"}, {"type": "command", "name": "t"}]),
    max_size=3, unique_by=lambda tool: tool["name"] if isinstance(tool, dict) else tool,
)  # fmt: skip
FILES = st.fixed_dictionaries(
    {},
    optional={
        "version": LEAVES,
        "metadata": MAPS,
        "compaction": st.dictionaries(WORDS, LEAVES, max_size=3),
        "follow_ups": st.lists(WORDS, max_size=2),
        "tools": TOOLS,
        "permissions": st.fixed_dictionaries({"deny": st.lists(WORDS, max_size=3, unique=True)}),
        "prompt": WORDS,
        "prompt_file": WORDS,
        "limits": st.dictionaries(
            st.sampled_from(["max_turns", "max_tool_calls"]), st.integers(1, 9), max_size=2
        ),
    },
)


def node(data: Any) -> Any:
    return parse(Source("a.yaml", yaml.safe_dump(data, sort_keys=False))).root


@settings(max_examples=100, deadline=None)
@given(FILES, FILES, FILES)
def test_merging_is_associative(one: Any, two: Any, three: Any) -> None:
    a, b, c = node(one), node(two), node(three)

    for merge in (merged, beside):
        assert merge(merge(a, b), c).data == merge(a, merge(b, c)).data


@settings(max_examples=50, deadline=None)
@given(FILES)
def test_merging_with_itself_or_nothing_changes_nothing(one: Any) -> None:
    for merge in (merged, beside):
        assert merge(node(one), node(one)).data == merge(node(one), node({})).data == one
        assert merge(node({}), node(one)).data == one


def test_of_limits_beside_each_other_the_order_means_nothing() -> None:
    one, two = node({"limits": {"max_turns": 3}}), node({"limits": {"max_turns": 5, "timeout": "1m"}})

    assert beside(one, two).data == beside(two, one).data == {"limits": {"max_turns": 3, "timeout": "1m"}}


META = st.dictionaries(WORDS, st.integers(0, 9) | st.text("xyz", max_size=3), max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(META, META, st.integers(1, 9), st.booleans(), st.booleans())
def test_the_digest_ignores_formatting_and_comments_only(
    tmp_path: Path, base: Any, own: Any, turns: int, flow: bool, commented: bool
) -> None:
    def digest(base: Any, own: Any, *, flow: bool | None = False, commented: bool = False) -> str:
        comment = "# A comment.\n\n" if commented else ""
        lines = [
            comment + yaml.safe_dump(data, default_flow_style=flow, sort_keys=commented)
            for data in (
                {"metadata": base, "limits": {"max_turns": turns}},
                {"schema_version": 1, "name": "a", "model": "x/y", "extends": "base.yaml", "metadata": own},
            )
        ]
        return loaded(tmp_path, base=lines[0], a=lines[1]).digest

    plain = digest(base, own)

    assert digest(base, own, flow=flow, commented=commented) == plain
    assert digest({**base, "d": 1}, own) != plain
    assert digest(base, {**own, "d": 1}) != plain
    assert (digest({**base, "a": "changed"}, own) == plain) == ("a" in own)


def test_the_digest_is_that_of_the_same_agent_in_one_file(tmp_path: Path) -> None:
    several = loaded(
        tmp_path, base="limits: {max_turns: 3}\nx-note: 1\n", a=HEAD + "extends: base.yaml\nversion: x\n"
    )
    one = loaded(tmp_path, a=HEAD + "version: x\nlimits: {max_turns: 3}\n")

    assert msgspec.json.encode(several.resolved, order="sorted") == msgspec.json.encode(
        one.resolved, order="sorted"
    )
    assert several.digest == one.digest
