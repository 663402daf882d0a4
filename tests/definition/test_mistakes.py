"""One mistake gives one message, at its own place, and checking takes no longer than reading."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from agentcore_runner.definition.load import Loaded, check_agent
from agentcore_runner.definition.source import Source

HEAD = "schema_version: 1\nname: a\nmodel: x/y\n"


def checked(folder: Path, text: str, head: str = HEAD, **files: str) -> Loaded:
    for name, content in files.items():
        (folder / f"{name}.md").write_text(content, encoding="utf-8")
    (folder / "a.yaml").write_text(head + text, encoding="utf-8")
    return check_agent(str(folder / "a.yaml"), env={})


def told(loaded: Loaded) -> list[str]:
    return [
        f"{problem.line}:{problem.column} {problem.rule}: {problem.message}"
        + (f" ({problem.hint})" if problem.hint else "")
        for problem in loaded.problems
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('inputs: {a: {"$ref": "#"}}',
         "4:22 input-schema: inputs.a.$ref: '#' refers to itself, so that no value could ever be checked"),
        ('inputs: {a: {"$ref": "#", default: 1}}',
         "4:22 input-schema: inputs.a.$ref: '#' refers to itself, so that no value could ever be checked"),
        ('inputs: {a: {properties: {b: {$ref: "#/properties/b"}}}}',
         "4:37 input-schema: inputs.a.properties.b.$ref: '#/properties/b' refers to itself,"
         " so that no value could ever be checked"),
        ('inputs: {a: {anyOf: [{type: string}, {not: {$ref: "#"}}]}}',
         "4:51 input-schema: inputs.a.anyOf[1].not.$ref: '#' refers to itself,"
         " so that no value could ever be checked"),
        ('inputs: {a: {$defs: {x: {$ref: "#/$defs/y"}, y: {$ref: "#/$defs/x"}}}}',
         "4:56 input-schema: inputs.a.$defs.y.$ref: '#/$defs/x' refers to itself,"
         " so that no value could ever be checked"),
        ('inputs: {a: {patternProperties: {"(": {}}}}',
         "4:34 input-schema: inputs.a.patternProperties.(: '(' is no regular expression"),
        ('inputs: {a: {$ref: "#name"}}',
         "4:20 input-schema: inputs.a.$ref: '#name' points to nothing in this schema"),
        ('inputs: {a: {enum: [x], items: {$ref: "#/enum"}}}',
         "4:39 input-schema: inputs.a.items.$ref: '#/enum' points to nothing in this schema"),
        ('tools: [{type: command, name: t, command: [ls], parameters: {type: object, properties:'
         ' {a: {$ref: "#/properties/a"}}}}]',
         "4:99 input-schema: tools[0].parameters.properties.a.$ref: '#/properties/a' refers to itself,"
         " so that no value could ever be checked"),
    ],
)  # fmt: skip
def test_schemas_that_cannot_be_used_are_errors(tmp_path: Path, text: str, problem: str) -> None:
    unused = "prompt: '{{ inputs }}'\n" if text.startswith("inputs") else ""

    assert told(checked(tmp_path, f"{text}\n{unused}")) == [problem]


def test_schemas_may_refer_to_themselves_deeper_down(tmp_path: Path) -> None:
    text = """\
inputs:
  tree: {type: object, properties: {children: {type: array, items: {$ref: "#"}}}, default: {children: [{}]}}
  two: {$defs: {n: {type: integer}}, anyOf: [{$ref: "#/$defs/n"}, {items: {$ref: "#/$defs/n"}}], default: 1}
prompt: "{{ inputs }}"
"""

    assert told(checked(tmp_path, text)) == []


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("prompt: see x and x {{ x }}", ["4:24 template-undefined: 'x' is not declared"]),
        ("prompt: \"x {{ 'x' }} {# x #} {% raw %}{{ x }}{% endraw %} {{ x }}\"",
         ["4:62 template-undefined: 'x' is not declared"]),
        ("prompt: '{{ x }} {{ 1.x }} {{ x }}'",
         ["4:13 template-undefined: 'x' is not declared", "4:31 template-undefined: 'x' is not declared"]),
        ("prompt: 'zzzz {{ 1 | zzzz }} {{ 1 is not zzzz }}'",
         ["4:22 template-filter: there is no filter 'zzzz'",
          "4:42 template-filter: there is no test 'zzzz'"]),
        ("prompt: '{{ inputs.a }} {{ inputs[\"a\"] }}'",
         ["4:13 template-undefined: 'inputs.a' is not declared",
          "4:28 template-undefined: 'inputs.a' is not declared"]),
        ("prompt: |\n  a {{ 1 }}\n    {% if %}x{% endif %}",
         ["6:5 template-syntax: Expected an expression, got 'end of statement block'"]),
        ("prompt: |\n  {%- filter zzzz -%}\n  a {% endfilter %} {{ 1 +\n  zzz }}",
         ["5:14 template-filter: there is no filter 'zzzz'",
          "7:3 template-undefined: 'zzz' is not declared"]),
        ("prompt: '{{ [] | map(\"zzzz\") }} {{ [] | selectattr(\"a\", \"zzzz\") }}'",
         ["4:22 template-filter: there is no filter 'zzzz'",
          "4:57 template-filter: there is no test 'zzzz'"]),
        ("prompt: '{{ [] | map(\"upper\") }} {{ [] | reject(\"none\") }} {{ [] | map(attribute=\"a\") }}'",
         []),
        ("prompt: '{% for a in [1] %}{{ loop.index }}{% endfor %}{{ loop.index }}'",
         ["4:59 template-undefined: 'loop' means nothing here (it is known inside {% for %})"]),
        ("prompt: '{% macro m() %}{{ caller() }}{% endmacro %}{{ caller() }}'",
         ["4:56 template-undefined: 'caller' means nothing here"
          " (it is known inside a macro that {% call %} calls)"]),
        ("prompt: '{% block b %}{{ super() }}{% endblock %}'",
         ["4:26 template-undefined: 'super' means nothing here"
          " (it is known inside a {% block %} of a template that extends another)"]),
        ("prompt: '{{ inputs }}{% for inputs in [1] %}{{ inputs.z }}{% endfor %}'", []),
        ("prompt: '{{ inputs }}{% macro m(inputs) %}{{ inputs.z }}{% endmacro %}'", []),
        ("prompt: '{{ inputs }}{% with inputs = 1 %}{{ inputs.z }}{% endwith %}'", []),
    ],
)  # fmt: skip
def test_template_mistakes_stand_where_they_are(tmp_path: Path, text: str, problems: list[str]) -> None:
    assert told(checked(tmp_path, text + "\n")) == problems


def test_super_and_loop_may_be_used_across_files(tmp_path: Path) -> None:
    text = "prompt_file: p.md\n"
    page = "{% extends 'base.md' %}{% block b %}{{ super() }}{% endblock %}"
    base = "{% block b %}{% for a in [1] %}{{ loop.last }}{% include 'row.md' %}{% endfor %}{% endblock %}"

    loaded = checked(tmp_path, text, p=page, base=base, row="{{ loop.index }}{{ a }}")

    assert told(loaded) == []
    assert loaded.definition is not None and loaded.definition.prompt is not None
    assert loaded.definition.prompt.render({}) == "True11"


def test_an_import_is_told_to_take_the_context(tmp_path: Path) -> None:
    text = "inputs: {a: {}}\nprompt: \"{% import 'm.md' as m %}{{ inputs.a }}\"\n"

    loaded = checked(tmp_path, text, m="{% macro f() %}{{ inputs.a }}{% endmacro %}")

    assert told(loaded) == [
        "1:19 template-undefined: 'inputs' is not declared (add 'with context' to the import)"
    ]


SUBSTITUTED = [
    "name", "version", "thinking_level", "tool_execution", "queue_mode", "model.temperature",
    "model.api_key_env", "model.max_output_tokens", "model.base_url", "limits.max_turns", "limits.timeout",
    "limits.max_tool_output", "transcript.path", "transcript.fsync", "prompt_file",
]  # fmt: skip


@pytest.mark.parametrize("mark", ["${X}", "$$"])
@pytest.mark.parametrize("key", SUBSTITUTED)
def test_substitution_is_told_to_come_later_wherever_it_stands(tmp_path: Path, key: str, mark: str) -> None:
    data: dict[str, Any] = {"schema_version": 1, "name": "a", "model": {"id": "x/y"}}
    *above, last = key.split(".")
    owner = data
    for name in above:
        owner = owner.setdefault(name, {})
    owner[last] = mark
    shown = "${…}" if mark == "${X}" else mark

    import json

    loaded = checked(tmp_path, json.dumps(data), head="")

    assert [(problem.rule, problem.message) for problem in loaded.problems] == [
        ("not-supported-yet", f"{key}: '{shown}' is not supported yet")
    ]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("tools: [{type: '${T}', name: t, command: [ls]}]",
         ["4:16 not-supported-yet: tools[0].type: '${…}' is not supported yet (write the value itself)"]),
        ("tools: [{type: command, name: t, timeout: '${T}', command: [echo, '${HOME} $$ {{ env }}']}]",
         ["4:43 not-supported-yet: tools[0].timeout: '${…}' is not supported yet (write the value itself)"]),
        ("env: {expose: ['${E}']}\nprompt: '{{ env.FOO }}'",
         ["4:16 not-supported-yet: env.expose[0]: '${…}' is not supported yet (write the value itself)"]),
        ("nme: '${E}'", ["4:1 unknown-key: 'nme' is not a key of an agent file (did you mean 'name'?)"]),
        ("context: [{name: x, cmd: [ls]}]",
         ["4:21 unknown-key: 'cmd' is not a key of context[0] (did you mean 'command'?)"]),
        ("inputs: {a: {}}\ninstructions: '{{ inputs.a }}'",
         ["5:1 unknown-key: 'instructions' is not a key of an agent file (did you mean 'system_prompt'?)"]),
        ("context: [{name: a, file: x, text: y}]", ["4:30 value: 'text' cannot stand beside 'file'"]),
        ("limits: {max_turns: 0755}",
         ["4:21 type: limits.max_turns: expected an integer, found '0755'"
          " (write 755, without the leading zero)"]),
        ("limits: {max_turns: '755'}",
         ["4:21 type: limits.max_turns: expected an integer, found '755' (remove the quotes)"]),
        ("inputs: {a: {enum: [true, null, 1, x], default: 2}}\nprompt: '{{ inputs }}'",
         ["4:49 input-default: inputs.a.default: expected one of true, null, 1, x, found the number 2"]),
        ("metadata: !!seq x", ["4:11 yaml-syntax: the value does not fit its tag '!!seq' (remove the tag)",
                               "4:11 type: metadata: expected a map, found 'x'"]),
        ("metadata: {a: !!int x}",
         ["4:15 yaml-syntax: the value does not fit its tag '!!int' (remove the tag)"]),
        ("metadata: {a: !!bool 1}",
         ["4:15 yaml-syntax: the value does not fit its tag '!!bool' (remove the tag)"]),
        ("metadata: {a: !!map [1]}",
         ["4:15 yaml-syntax: the value does not fit its tag '!!map' (remove the tag)"]),
        ("metadata: !!map {a: !!seq [!!int 1, !!float 1, !!bool true, !!null '', !!str 1, ! x, ! []]}", []),
    ],
)  # fmt: skip
def test_one_mistake_gives_one_message(tmp_path: Path, text: str, problems: list[str]) -> None:
    assert told(checked(tmp_path, text + "\n")) == problems


def test_the_yaml_of_old_is_an_error(tmp_path: Path) -> None:
    assert told(checked(tmp_path, "", head="%YAML 1.1\n---\n" + HEAD)) == [
        "1:1 yaml-syntax: an agent file is YAML 1.2 (remove the %YAML line)"
    ]
    assert told(checked(tmp_path, "", head="%YAML 1.2\n---\n" + HEAD)) == []


@pytest.mark.parametrize(
    ("text", "column", "width", "carets"),
    [("日本 x: 1", 4, 1, "     ^"), ("a: 日本", 4, 2, "   ^^^^"), ("e\u0301 x", 4, 1, "  ^")],
)
def test_carets_stand_under_what_they_mean(text: str, column: int, width: int, carets: str) -> None:
    problem = Source("a.yaml", text).problem(1, column, "value", "no", width=width)

    assert problem.excerpt == (f"    1 | {text}", f"      | {carets}")


@pytest.mark.parametrize(
    "text",
    [
        "follow_ups: [" + ", ".join(["'{{ env }} it''s'"] * 6000) + "]\n",
        "follow_ups: [" + ", ".join(["'{{ zzz }}'"] * 6000) + "]\n",
        "prompt: |\n" + "  {{ zzz }} {{ inputs.q }} {{ 1 | qqq }}\n" * 4000,
        "prompt: |\n  " + "{{ zzz }} {{ inputs.q }} {{ 1 is qqq }} " * 4000 + "\n",
        "prompt: |\n" + "".join(f"  {{{{ z{number} }}}} {{{{ 1 | q{number} }}}}\n" for number in range(4000)),
        "inputs: {" + ", ".join(f"i{number}: {{}}" for number in range(6000)) + "}\n"
        "follow_ups:\n" + "- '{{ inputs.i1 }}'\n" * 6000,
    ],
    ids=["one line", "one line of mistakes", "lines", "one template", "many names", "many inputs"],
)
def test_large_files_are_checked_in_time(tmp_path: Path, text: str) -> None:
    start = time.monotonic()

    checked(tmp_path, text)

    assert time.monotonic() - start < 15


def test_a_project_that_is_the_working_directory_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    (message,) = told(checked(tmp_path, "prompt_file: ../p.md\n"))

    assert message.startswith("4:14 file-outside-project: '../p.md' lies outside the project (")
