"""Templates: what they give, where their mistakes are, what they cannot do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentcore_runner.definition.load import load_agent
from agentcore_runner.definition.template import Template, evaluate
from agentcore_runner.definition.types import AgentDefinition
from agentcore_runner.errors import ConfigError

HEAD = "schema_version: 1\nname: a\nmodel: x/y\n"
INPUT = "inputs: {x: {default: {}}}\n"


def template(source: str) -> Template:
    return Template(source=source, file="a.yaml", line=7, column=9)


def agent(folder: Path, text: str, **files: str) -> AgentDefinition:
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content, encoding="utf-8")
    (folder / "a.yaml").write_text(HEAD + text, encoding="utf-8")
    return load_agent(str(folder / "a.yaml"), env={})


def test_plain_text_is_itself_and_needs_no_jinja() -> None:
    code = (
        "import sys; from agentcore_runner.definition.template import Template;"
        "t = Template(source='a } b\\n', file='f', line=1, column=1);"
        "print([t.render({})], 'jinja2' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "['a } b\\n'] False\n"


def test_the_last_line_feed_stays() -> None:
    assert template("{{ inputs.x }}\n").render({"inputs": {"x": 1}}) == "1\n"


def test_an_input_may_be_called_like_a_method() -> None:
    assert template("{{ inputs.items }} {{ inputs.keys() | list }}").render({"inputs": {"items": 3}}) == (
        "3 ['items']"
    )


def test_json_in_a_prompt_is_not_escaped_for_html() -> None:
    assert template("{{ inputs.x | tojson }}").render({"inputs": {"x": {"é": "<&'>"}}}) == '{"é": "<&\'>"}'


@pytest.mark.parametrize(
    "source",
    [
        "{{ inputs.x }}",
        "{{ inputs.__class__.__mro__ }}",
        "{{ inputs.update({'a': 1}) }}",
        "{{ 1 / 0 }}",
        "{% include '/etc/hosts' %}",
        "{{ ''.format.__globals__ }}",
        "{{ inputs is nonsense }}",
    ],
)
def test_failures_are_config_errors_with_their_place(source: str) -> None:
    with pytest.raises(ConfigError) as caught:
        template(f"one\ntwo {source}").render({"inputs": {}})

    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.column, problem.rule) == ("a.yaml", 8, 5, "template-render")
    assert str(caught.value) == str(problem)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("prompt: |\n  One\n\n    {{ inputs.x.y }}\n", (7, 5)),
        ("prompt: >\n  One\n  two\n  {{ inputs.x.y }}\n  three\n", (7, 3)),
        ("prompt: >-\n\n  One\n\n  two\n  three {{ inputs.x.y }}\n", (9, 9)),
        ('prompt: "One\n\n  t\\"wo\n  {{ inputs.x.y }}"\n', (7, 3)),
        ("prompt: One\n  two\n  {{ inputs.x.y }}\n", (6, 3)),
        ("prompt: 'It''s {{ inputs.x.y }}'\n", (4, 16)),
        ("prompt: One {{ inputs.x.y }}\n", (4, 13)),
        ("prompt: &p !!str One {{ inputs.x.y }}\n", (4, 22)),
    ],
)
def test_lines_of_yaml_blocks_are_those_of_the_file(
    tmp_path: Path, text: str, place: tuple[int, int]
) -> None:
    prompt = agent(tmp_path, text + INPUT).prompt
    assert prompt is not None

    with pytest.raises(ConfigError) as caught:
        prompt.render({"inputs": {"x": {}}})

    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == place


def test_included_files_are_read_once_and_kept(tmp_path: Path) -> None:
    text = "prompt_file: p__md\n".replace("__", ".") + INPUT
    files = {
        "p__md": "{% extends 'base.md' %}{% block b %}{% from 'm.md' import m %}{{ m(3) }}{% endblock %}",
        "base__md": "[{% block b %}{% endblock %}|{% include 'part.md' %}]",
        "part__md": "{{ inputs.x.y }}\n",
        "m__md": "{% macro m(n) %}<{{ n }}>{% endmacro %}",
    }
    definition = agent(tmp_path, text, **files)
    assert definition.prompt is not None
    for file in definition.files:
        file.unlink()

    rendered = definition.prompt.render({"inputs": {"x": {"y": 5}}})

    assert rendered == "[<3>|5\n]"
    assert [file.name for file in definition.files] == ["base.md", "m.md", "p.md", "part.md"]


def test_a_failure_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    definition = agent(
        tmp_path, "prompt: '{% include \"part.md\" %}'\n" + INPUT, part__md="one\n{{ inputs.x.y }}\n"
    )
    assert definition.prompt is not None

    with pytest.raises(ConfigError) as caught:
        definition.prompt.render({"inputs": {"x": {}}})

    (problem,) = caught.value.problems
    assert (Path(problem.file).name, problem.line) == ("part.md", 2)


def test_a_file_that_includes_itself_is_an_error_and_not_a_hang(tmp_path: Path) -> None:
    definition = agent(tmp_path, "prompt: '{% include \"p.md\" %}'\n", p__md="{% include 'p.md' %}")
    assert definition.prompt is not None

    with pytest.raises(ConfigError, match="template-render"):
        definition.prompt.render({})


def test_local_names_are_seen_by_included_files_and_not_by_imported_ones(tmp_path: Path) -> None:
    text = "prompt: \"{% for row in inputs.x %}{% include 'row.md' %}{% endfor %}\"\n" + INPUT
    assert agent(tmp_path, text, row__md="{{ row.a }}").prompt is not None

    with pytest.raises(ConfigError, match="'inputs' is not declared"):
        agent(tmp_path, "prompt: \"{% import 'm.md' as m %}\"\n", m__md="{{ inputs.x }}")


@pytest.mark.parametrize(
    ("source", "variables", "value"),
    [
        ("inputs.mode == 'fix'", {"inputs": {"mode": "fix"}}, True),
        ("env.CI is defined", {"env": {}}, False),
        ("[1, 2] | length", {}, 2),
        ("inputs.gone", {"inputs": {}}, None),
        ("not inputs.gone or inputs.gone == 1", {"inputs": {}}, True),
    ],
)
def test_expressions_have_values(source: str, variables: dict[str, Any], value: object) -> None:
    assert evaluate(template(source), variables) == value


@pytest.mark.parametrize("source", ["inputs.a.gone", "env.gone", "1 +", "", "a b", "1 / 0"])
def test_expressions_fail_at_their_place(source: str) -> None:
    with pytest.raises(ConfigError, match=r"^a\.yaml:7:9: error\[template-render\]"):
        evaluate(template(source), {"inputs": {"a": {}}, "env": {}})


def test_checking_runs_none_of_the_authors_arithmetic(tmp_path: Path) -> None:
    assert agent(tmp_path, "prompt: '{{ 9 ** 9 ** 9 ** 9 }}'\n").prompt is not None
