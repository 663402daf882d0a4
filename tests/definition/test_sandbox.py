"""Templates cannot exhaust the machine: nothing is computed while checking, and results are bounded."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agentcore_runner.definition.load import check_agent
from agentcore_runner.definition.template import Template
from agentcore_runner.errors import ConfigError

HEAD = "schema_version: 1\nname: a\nmodel: x/y\n"
HUGE = [
    "'a' * 10**9",
    "10**9 * 'a'",
    "'%999999999d' % 1",
    "'%*d' % (999999999, 1)",
    "'x' | center(10**9)",
    "'x'.center(10**9)",
    "'x'.zfill(10**9)",
    "'{:999999999d}'.format(1)",
    "'{:{}}'.format(1, 10**9)",
    "'%.999999999f' % 1",
    "'%(a)999999999d' % {'a': 1}",
    "'%999999999d' | format(1)",
    "('a' * 10**6) | replace('a', 'b' * 10**6)",
    "('a' * 10**6).replace('a', 'b' * 10**6)",
    "99999999 ** 99999999",
    "[0] * 100000000",
    "(1, 2) * 100000000",
    "[1] | batch(10**9, 0) | list",
    "1.5 | round(10**9)",
    "lipsum(n=10**9)",
    "('a' * 6000000) + ('a' * 6000000)",
    "('a' * 6000000) ~ ('a' * 6000000)",
]


@pytest.mark.parametrize(
    "form", ["{{{{ {} }}}}", "{{% if {} %}}x{{% endif %}}", "{{% set a = {} %}}", "when"]
)
@pytest.mark.parametrize("expression", HUGE)
def test_checking_computes_nothing(tmp_path: Path, expression: str, form: str) -> None:
    if form == "when":
        key = f"tools:\n- type: builtin\n  name: read\n  when: |-\n    {expression}\n"
    else:
        key = f"prompt: |-\n  {form.format(expression)}\n"
    path = tmp_path / "a.yaml"
    path.write_text(HEAD + key, encoding="utf-8")
    start = time.monotonic()

    assert check_agent(str(path), env={}).problems == ()

    assert time.monotonic() - start < 5


@pytest.mark.parametrize("expression", HUGE)
def test_results_that_are_too_large_are_errors_at_their_place(expression: str) -> None:
    template = Template(source=f"one\n{{{{ {expression} }}}}", file="a.yaml", line=3, column=1)

    with pytest.raises(
        ConfigError, match=r"^a\.yaml:4:1: error\[template-render\]: (the result|a number|a width)"
    ):
        template.render({})


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ '-' * 3 }}", "---"),
        ("{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7 // 2 }} {{ 7 - 2 }} {{ 20000000 * 3 }}", "1024 0.5 3 5 60000000"),
        ("{{ '%05d' % 7 }} {{ 20000000 | round }} {{ '%s' | format(3) }}", "00007 20000000 3"),
        ("{{ 20000000 | tojson }} {{ {'a': 1} | tojson(indent=2) }}", '20000000 {\n  "a": 1\n}'),
        ("{{ 'a-b' | replace('-', '+') }} {{ 'x'.replace('x', 'y') }} {{ '{:>3}'.format(20000000) }}",
         "a+b y 20000000"),
        ("{{ 'Order 123456789 %s 5%%' % 1 }} {{ 'Order 123456789 {}'.format(2) }}",
         "Order 123456789 1 5% Order 123456789 2"),
        ("{{ 1 ~ 'a' ~ none }}", "1aNone"),
        ("{{ [1, 2] | batch(2) | list }}", "[[1, 2]]"),
    ],
)  # fmt: skip
def test_everyday_operations_work(source: str, text: str) -> None:
    assert Template(source=source, file="a.yaml", line=1, column=1).render({}) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ inputs.q or 'none' }}", "none"),
        ("{{ inputs.q | default('') }}", ""),
        ("{{ inputs.q is defined }}", "False"),
        ("{% if inputs.q %}a{% else %}b{% endif %}", "b"),
        ("{{ args.f or 'none' }}", "none"),
        ("{{ inputs['base-ref'] or 1 }}", "1"),
        ("{{ inputs.a }}", "1"),
    ],
)
def test_what_was_not_given_is_false(source: str, text: str) -> None:
    template = Template(source=source, file="a.yaml", line=1, column=1)

    assert template.render({"inputs": {"a": 1}, "args": {}}) == text


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("{{ 1 }} {{ inputs.q }}",
         "a.yaml:1:9: error[template-render]: inputs.q is not given (use {{ inputs.q | default('') }})"),
        ("{{ inputs['base-ref'] }}",
         "a.yaml:1:1: error[template-render]: inputs['base-ref'] is not given"
         " (use {{ inputs['base-ref'] | default('') }})"),
        ("{{ args.f | upper }}",
         "a.yaml:1:1: error[template-render]: args.f is not given (use {{ args.f | default('') }})"),
        ("{{ env.f or 1 }}",
         "a.yaml:1:1: error[template-render]: env.f is not given (use {{ env.f | default('') }})"),
        ("{{ inputs.a.b or 1 }}", "a.yaml:1:1: error[template-render]: 'dict object' has no attribute 'b'"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(source: str, told: str) -> None:
    template = Template(source=source, file="a.yaml", line=1, column=1)

    with pytest.raises(ConfigError) as caught:
        template.render({"inputs": {"a": {}}, "args": {}, "env": {}})

    assert str(caught.value) == told


def test_a_failure_shows_its_line(tmp_path: Path) -> None:
    (tmp_path / "part.md").write_text("one\n  two {{ inputs.q }}\n", encoding="utf-8")
    path = tmp_path / "a.yaml"
    text = "inputs: {q: {required: false}}\n"
    text += "prompt: \"{% include 'part.md' %}\"\nsystem_prompt: a {{ inputs.q }}\n"
    path.write_text(HEAD + text, encoding="utf-8")
    definition = check_agent(str(path), env={}).definition
    assert definition is not None

    excerpts = []
    for template in (definition.prompt, definition.system_prompt):
        assert template is not None
        with pytest.raises(ConfigError) as caught:
            template.render({"inputs": {}})
        (problem,) = caught.value.problems
        excerpts.append((Path(problem.file).name, problem.line, problem.column, problem.excerpt))

    assert excerpts == [
        ("part.md", 2, 7, ("    1 | one", "    2 |   two {{ inputs.q }}", "      |       ^^")),
        ("a.yaml", 6, 18, ("    5 | prompt: \"{% include 'part.md' %}\"",
                           "    6 | system_prompt: a {{ inputs.q }}", "      |                  ^^")),
    ]  # fmt: skip
