"""An agent file becomes a definition: values, files, the project, the digest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentcore_runner.definition.load import check_agent, load_agent
from agentcore_runner.definition.types import (
    AgentDefinition,
    BuiltinToolSpec,
    CommandToolSpec,
    CostSpec,
    InputSpec,
    Limits,
    ModelSpec,
    QueueModes,
    ThinkingSpec,
    TranscriptSpec,
)
from agentcore_runner.errors import ConfigError

VALID = Path(__file__).parents[1] / "agents" / "valid"
HEAD = "schema_version: 1\nname: a\nmodel: x/y\n"


def written(folder: Path, text: str, name: str = "a.yaml") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return str(path)


def told(path: str, model_given: bool = False) -> list[tuple[str, str]]:
    loaded = check_agent(path, model_given=model_given, env={})
    return [(problem.rule, problem.message) for problem in loaded.problems]


def test_the_minimal_file_means_defaults() -> None:
    path = VALID / "minimal.yaml"

    definition = load_agent(str(path))

    assert definition == AgentDefinition(
        name="reviewer",
        inputs={"language": InputSpec(schema={"type": "string"}, required=False, default="Python")},
        model=ModelSpec(provider="anthropic", id="claude-sonnet-4-5"),
        system_prompt=definition.system_prompt,
        path=str(path),
        directory=VALID,
        project=definition.project,
        resolved=definition.resolved,
        origins=definition.origins,
        digest=definition.digest,
        files=(),
    )
    assert definition.system_prompt is not None
    assert (definition.system_prompt.line, definition.system_prompt.column) == (4, 16)


def test_every_key_arrives() -> None:
    definition = load_agent(str(VALID / "everything.yaml"), env={"CI": "1"})

    assert definition.version == "1.10"
    assert definition.metadata == {"team": "tools", "since": 2024}
    assert definition.inputs == {
        "language": InputSpec(
            schema={"type": "string"},
            required=False,
            default="Python",
            description="What the code is written in.",
        ),
        "diff": InputSpec(schema={}, required=True, from_stdin=True),
        "depth": InputSpec(schema={"type": "integer", "minimum": 1}, required=False),
        "options": InputSpec(
            schema={"type": "object", "properties": {"deep": {"type": "boolean"}}, "required": ["deep"]},
            required=False,
            default={"deep": True},
        ),
    }
    assert definition.model == ModelSpec(
        provider="openai",
        id="gpt-5-mini",
        api="openai-completions",
        base_url="http://127.0.0.1:8080/v1",
        api_key_env="LLM_API_KEY",
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=2000,
        headers={"X-Team": "tools"},
        context_window=128000,
        cost=CostSpec(input=0.25, output=2),
        compat={"max_tokens_field": "max_tokens"},
        extra_body={"seed": 7},
    )
    assert definition.thinking == ThinkingSpec(level="off")
    assert definition.queue_mode == QueueModes(steering="all")
    assert definition.tool_execution == "sequential"
    assert definition.limits == Limits(
        max_turns=10,
        max_tool_calls=20,
        timeout=300.0,
        max_tool_output=2 * 1024 * 1024,
        idle_timeout=90.0,
        max_repeated_calls=3,
        written=frozenset(
            {
                "max_turns",
                "max_tool_calls",
                "timeout",
                "max_tool_output",
                "idle_timeout",
                "max_repeated_calls",
            }
        ),
    )
    assert definition.transcript == TranscriptSpec(path="runs/", partial=True, fsync=False)
    assert "x-defaults" not in definition.resolved


def test_tools_and_context_arrive() -> None:
    definition = load_agent(str(VALID / "everything.yaml"), env={"CI": "1"})
    read, bash, command = definition.tools
    log, rules, note = definition.context

    assert read == BuiltinToolSpec(name="read", builtin="read", label="Read")
    assert isinstance(bash, BuiltinToolSpec) and bash.when is not None
    assert (bash.root, bash.when.source) == ("src", "inputs.language == 'Python'")
    assert isinstance(command, CommandToolSpec) and command.stdin is not None
    assert [item.source for item in command.command] == ["pytest", "{{ args.path }}"]
    assert (command.timeout, command.max_output, command.ok_exit_codes) == (30.0, 20480, (0, 1))
    assert command.parameters["required"] == ["path"]
    assert [item.source for item in log.command] == ["git", "log", "--author={{ env.CI }}"]
    assert [item.render({"env": {"CI": "x"}}) for item in log.command] == ["git", "log", "--author=x"]
    assert (rules.file, rules.max_tokens) == (VALID / "prompts" / "rules.md", 500)
    assert (note.text, note.untrusted, log.untrusted) == ("Costs ${nothing}.", False, True)
    assert [path.name for path in definition.files] == [
        "base.yaml",
        "rules.md",
        "style.md.j2",
        "system.md.j2",
    ]


def test_words_follow_yaml_1_2() -> None:
    metadata = load_agent(str(VALID / "words.yaml")).metadata

    assert all(isinstance(value, str) for value in metadata["texts"])
    assert repr(metadata["numbers"]) == "[1, -1, 1, 15, 31, 1.5, 0.5, 1.0, 1000.0, -0.0]"
    assert metadata["others"] == [True, False, None, None]


def test_merged_keys_arrive() -> None:
    read, ls = load_agent(str(VALID / "merged.yaml")).tools

    assert (read.timeout, read.label, read.max_output) == (1.0, "one", 2)
    assert (ls.timeout, ls.label, ls.max_output) == (3.0, None, 2)


def test_json_is_an_agent_file() -> None:
    prompt = load_agent(str(VALID / "json.yaml")).prompt

    assert prompt is not None
    assert prompt.render({}) == "A 😀 and a / and a é."


def test_a_model_may_come_from_a_flag(tmp_path: Path) -> None:
    path = written(tmp_path, "schema_version: 1\nname: a\n")

    assert told(path) == [("missing-key", "the key 'model' is missing")]
    assert load_agent(path, model_given=True).model is None


def test_loading_raises_with_every_problem(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a\.yaml has 2 errors$") as caught:
        load_agent(written(tmp_path, HEAD + "a: 1\nb: 2\n"))
    assert len(caught.value.problems) == 2

    with pytest.raises(ConfigError, match=r"a\.yaml:4:1: error\[unknown-key\]: 'a' is not a key"):
        load_agent(written(tmp_path, HEAD + "a: 1\n"))


def test_warnings_do_not_stop_a_definition(tmp_path: Path) -> None:
    loaded = check_agent(written(tmp_path, HEAD + "env: {expose: [NOPE]}\ninputs: {x: {}}\n"), env={})

    assert loaded.definition is not None
    assert [problem.rule for problem in loaded.problems] == ["env-unset", "unused-input"]
    assert {problem.severity for problem in loaded.problems} == {"warning"}


def test_others_can_report_at_a_place_of_the_file(tmp_path: Path) -> None:
    loaded = check_agent(written(tmp_path, "schema_version: 1\nname: a\nmodel:\n  id: nope/y\n"))

    problem = loaded.problem(("model", "id"), "value", "there is no provider 'nope'", "known are …")

    assert (problem.line, problem.column, problem.hint) == (4, 7, "known are …")
    assert problem.excerpt[-1] == "      |       ^^^^^^"


def test_others_can_report_when_the_short_form_was_written(tmp_path: Path) -> None:
    loaded = check_agent(written(tmp_path, HEAD))

    assert loaded.problem(("model", "id"), "value", "no").line == 3
    assert loaded.problem(("limits", "max_turns"), "value", "no").line == 1
    assert check_agent(str(tmp_path / "gone")).problem(("model",), "value", "no").line == 1


@pytest.mark.parametrize("name", ["gone.yaml", ".", "a\0b"])
def test_an_agent_file_that_cannot_be_read_is_a_problem(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    loaded = check_agent(name)

    assert loaded.definition is None
    assert [(problem.file, problem.rule) for problem in loaded.problems] == [(name, "file-missing")]


def test_a_huge_agent_file_is_refused(tmp_path: Path) -> None:
    assert told(written(tmp_path, "# " + "x" * 2_000_000)) == [
        ("yaml-limit", "the file is larger than 1 MiB")
    ]


def test_files_are_relative_to_the_file_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "Hi {{ nope }}", "agents/prompts/p.md")
    written(tmp_path, HEAD + "prompt_file: prompts/p.md\n", "agents/a.yaml")
    monkeypatch.chdir(tmp_path)

    (problem,) = check_agent("agents/a.yaml").problems

    assert (problem.file, problem.line, problem.column) == ("agents/prompts/p.md", 1, 7)


def test_the_project_is_the_nearest_folder_with_git(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    written(tmp_path, "common", "common.md")
    path = written(tmp_path, HEAD + "prompt_file: ../common.md\n", "agents/a.yaml")

    definition = load_agent(path)

    assert definition.project == tmp_path
    assert definition.directory == tmp_path / "agents"


def test_without_git_the_project_is_the_agents_folder(tmp_path: Path) -> None:
    written(tmp_path, "common", "common.md")
    path = written(tmp_path, HEAD + "prompt_file: ../common.md\n", "agents/a.yaml")

    (problem,) = check_agent(path).problems

    assert problem.rule == "file-outside-project"
    assert "'../common.md' lies outside the project" in problem.message


@pytest.mark.parametrize(
    "keys",
    [
        "prompt_file: link.md\n",
        "context: [{name: c, file: link.md, optional: true}]\n",
        "prompt: '{% include \"link.md\" %}'\n",
        "prompt: '{% include \"../secret.md\" %}'\n",
    ],
)
def test_links_out_of_the_project_are_refused(tmp_path: Path, keys: str) -> None:
    written(tmp_path, "secret", "secret.md")
    path = written(tmp_path, HEAD + keys, "project/a.yaml")
    (tmp_path / "project" / "link.md").symlink_to(tmp_path / "secret.md")

    assert [rule for rule, _ in told(path)] == ["file-outside-project"]


def test_a_pulled_in_file_with_bad_bytes_is_named_with_the_offset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.md").write_bytes(b"one\ntwo \xff")
    written(tmp_path, HEAD + "prompt_file: p.md\ncontext: [{name: c, file: p.md}]\n")

    (problem,) = check_agent("a.yaml").problems

    assert str(problem) == (
        "p.md:2:5: error[encoding]: the byte 0xFF at offset 8 is not UTF-8 (save it as UTF-8)"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_no_prompt_file_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.md")

    assert told(written(tmp_path, HEAD + "prompt_file: p.md\n")) == [
        ("file-missing", "'p.md' is no regular file")
    ]


def digest(folder: Path, text: str, prompt: str = "Hi.\n") -> str:
    written(folder, prompt, "p.md")
    return load_agent(written(folder, text), env={}).digest


def test_formatting_comments_and_the_machine_do_not_change_the_digest(tmp_path: Path) -> None:
    plain = digest(tmp_path / "one", HEAD + "prompt_file: p.md\nlimits: {max_turns: 3}\n")

    same = digest(
        tmp_path / "elsewhere" / "two",
        "# A comment.\r\nlimits:\r\n  max_turns:   3  # three\r\nx-note: ignored\r\n"
        "prompt_file: 'p.md'\r\n" + HEAD.replace("\n", "\r\n"),
        "Hi.\r\n",
    )

    assert same == plain


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        (HEAD + "prompt_file: p.md\nlimits: {max_turns: 4}\n", "Hi.\n"),
        (HEAD + "prompt_file: p.md\nlimits: {max_turns: 3}\n", "Hi!\n"),
        (HEAD + "prompt_file: p.md\n", "Hi.\n"),
    ],
)
def test_values_and_files_change_the_digest(tmp_path: Path, text: str, prompt: str) -> None:
    plain = digest(tmp_path / "one", HEAD + "prompt_file: p.md\nlimits: {max_turns: 3}\n")

    assert digest(tmp_path / "two", text, prompt) != plain


def test_an_included_file_changes_the_digest(tmp_path: Path) -> None:
    def with_part(text: str) -> str:
        written(tmp_path, text, "part.md")
        return digest(tmp_path, HEAD + "prompt_file: p.md\n", "{% include 'part.md' %}")

    assert with_part("one") != with_part("two")


def test_a_plain_file_imports_neither_jinja_nor_jsonschema(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        HEAD
        + "prompt: Hi.\ninputs: {x: {type: string, enum: [a], default: a}}\n"
        + "tools: [{type: command, name: t, command: [ls], parameters: {type: object, properties: {}}}]\n",
    )
    code = (
        "import sys; from agentcore_runner.definition.load import load_agent; load_agent(sys.argv[1]);"
        "print(sorted({'jinja2', 'jsonschema', 'httpx', 'difflib'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_resolved_data_can_be_recorded() -> None:
    resolved = load_agent(str(VALID / "everything.yaml"), env={}).resolved

    assert msgspec.json.decode(msgspec.json.encode(resolved)) == resolved


WORDS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    ":",
    " ",
    "\n",
    "\t",
    "- ",
    "&a ",
    "*a",
    "<<: ",
    "|",
    ">",
    "{{",
    "}}",
    "{%",
    "%}",
    "{% include 'a.yaml' %}",
    "null",
    "1.5",
    "!!str ",
    "\\ud83d",
    "#",
    "? ",
    "---\n",
    "${X}",
    "\u2028",
    "\x07",
    "é",
    "😀",
    "inputs",
    "tools",
    "type: command",
    "name: ",
    "default: ",
    "$ref: ",
    "'#/x'",
    ".inf",
    "prompt: ",
    "  ",
    "model: ",
    "limits:\n  ",
    "context:\n  - ",
    "prompt_file: ",
    "..",
    "parameters: ",
    "when: ",
]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(WORDS), max_size=30).map("".join) | st.text(max_size=60), st.booleans())
@example("inputs: {a: {$ref: '#/properties/a', properties: {a: {$ref: '#/properties/a'}}, default: 1}}", True)
@example("tools: [{type: comand, command: [{a: 1}], stdin: [], when: {}}]", True)
@example("prompt: '" + "{{ (" * 2000 + "'", True)
@example("tools: [{type: command, name: x, command: ['{{ args[0][1] }}', '{{ args }}'], when: '(' }]", True)
def test_no_text_makes_loading_raise(tmp_path: Path, text: str, headed: bool) -> None:
    loaded = check_agent(written(tmp_path, (HEAD if headed else "") + text), env={})

    errors = [problem for problem in loaded.problems if problem.severity == "error"]
    assert (loaded.definition is None) == bool(errors)


EVERYTHING = (VALID / "everything.yaml").read_text(encoding="utf-8")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(EVERYTHING)), st.integers(0, 12), st.sampled_from(["", *WORDS]))
def test_no_slip_of_a_hand_makes_loading_raise(tmp_path: Path, at: int, gone: int, word: str) -> None:
    path = written(tmp_path, EVERYTHING[:at] + word + EVERYTHING[at + gone :])

    loaded = check_agent(path, env={})

    problems: list[Any] = sorted(
        loaded.problems,
        key=lambda problem: (problem.file != path, problem.file, problem.line, problem.column),
    )
    assert list(loaded.problems) == problems
