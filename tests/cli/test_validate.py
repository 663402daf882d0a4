"""`validate`, and the mistakes that stop a run (notes B08–B10)."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Project
from tests.runner import run

WRONG = """\
schema_version: 1
name: demo
model: scripted/script.yaml
promt: Hello
prompt: Hello {{ inputs.nam }}
inputs: {name: {type: string}}
limits:
  max_trns: 40
"""


def test_every_mistake_is_told_at_once_with_its_place(project: Project) -> None:
    (project.folder / "agent.yaml").write_text(WRONG)

    for command in (["validate", "agent.yaml"], ["agent.yaml", "go"]):
        done = run(*command, cwd=project.folder)

        assert (done.code, done.stdout) == (2, "")
        assert done.stderr == (
            "agent.yaml:4:1: error[unknown-key]: 'promt' is not a key of an agent file "
            "(did you mean 'prompt'?)\n"
            "    3 | model: scripted/script.yaml\n"
            "    4 | promt: Hello\n"
            "      | ^^^^^\n"
            "agent.yaml:5:18: error[template-undefined]: 'inputs.nam' is not declared "
            "(did you mean 'inputs.name'?)\n"
            "    4 | promt: Hello\n"
            "    5 | prompt: Hello {{ inputs.nam }}\n"
            "      |                  ^^^^^^^^^^\n"
            "agent.yaml:8:3: error[unknown-key]: 'max_trns' is not a key of limits "
            "(did you mean 'max_turns'?)\n"
            "    7 | limits:\n"
            "    8 |   max_trns: 40\n"
            "      |   ^^^^^^^^\n"
            "3 errors in 1 agent. Nothing was run.\n"
        )


def test_the_model_of_a_file_is_checked_at_its_place(project: Project) -> None:
    (project.folder / "agent.yaml").write_text("schema_version: 1\nname: demo\nmodel: olama/x\n")

    done = run("validate", "agent.yaml", cwd=project.folder)

    assert done.code == 2
    assert done.stderr.startswith("agent.yaml:3:8: error[model]: ")
    assert "did you mean 'ollama'?" in done.stderr


def test_a_script_that_is_missing_is_found(project: Project) -> None:
    (project.folder / "script.yaml").unlink()

    done = run("validate", "agent.yaml", cwd=project.folder)

    assert done.code == 2
    assert "agent.yaml:3:8: error[model]: model 'scripted/script.yaml': there is no script" in done.stderr


def test_the_key_of_a_model_service_is_never_handed_on(project: Project) -> None:
    model = "{id: openai/m, api_key_env: HOUSE_KEY, base_url: 'http://127.0.0.1:1/v1'}"
    project.agent("", base=f"schema_version: 1\nname: demo\nmodel: {model}\n"
                  "env: {expose: [HOUSE_KEY, OPENAI_API_KEY]}\n")  # fmt: skip

    done = run("agent.yaml", "go", cwd=project.folder, env={"HOUSE_KEY": "k", "OPENAI_API_KEY": "k"})

    assert done.code == 2
    assert "agent.yaml:4:16: error[key-exposed]: HOUSE_KEY holds the key of a model service" in done.stderr
    assert "agent.yaml:4:27: error[key-exposed]: OPENAI_API_KEY holds" in done.stderr


def test_problems_have_a_form_for_machines(project: Project) -> None:
    (project.folder / "agent.yaml").write_text("schema_version: 1\nname: demo\nmodel: a\n")

    done = run("validate", "--format", "json", "agent.yaml", cwd=project.folder)

    (problem,) = done.result["problems"]
    assert done.code == 2
    assert (problem["file"], problem["line"], problem["column"], problem["severity"]) == (
        "agent.yaml",
        3,
        8,
        "error",
    )


def test_warnings_do_not_fail_and_are_in_the_record_of_a_run(project: Project) -> None:
    project.agent("inputs: {spare: {type: string, default: x}}\n")

    checked = run("validate", "agent.yaml", cwd=project.folder)
    done = run("agent.yaml", "go", cwd=project.folder)

    assert checked.code == 0
    assert "warning[unused-input]: the input 'spare' is not used" in checked.stderr
    assert [r["message"] for r in done.of_type("warning")] == [
        "agent.yaml:5:10: the input 'spare' is not used in any template"
    ]


def test_a_variable_that_is_not_set_is_a_warning_first_and_an_error_in_a_run(project: Project) -> None:
    project.agent("env: {expose: [REGION]}\nprompt: In {{ env.REGION }}\n")

    checked = run("validate", "agent.yaml", cwd=project.folder)
    unset = run("agent.yaml", cwd=project.folder)
    done = run("agent.yaml", cwd=project.folder, env={"REGION": "here"})

    assert (checked.code, unset.code, done.code) == (0, 2, 0)
    assert "warning[env-unset]: REGION is not set" in checked.stderr
    assert "error[env-unset]: REGION is not set" in unset.stderr


def test_a_prompt_file_with_a_bad_byte_is_named_with_its_offset(project: Project) -> None:
    project.agent("prompt_file: prompt.md\n")
    (project.folder / "prompt.md").write_bytes(b"abc\xffdef")

    done = run("agent.yaml", cwd=project.folder)

    assert done.code == 2
    assert "prompt.md" in done.stderr
    assert "0xFF" in done.stderr
    assert "3" in done.stderr


def test_keys_of_later_versions_are_refused_not_ignored(project: Project) -> None:
    project.agent("permissions: {default: deny}\nsecrets: {}\nlimits: {max_cost_usd: 1}\n")

    done = run("agent.yaml", "go", cwd=project.folder)

    assert done.code == 2
    assert done.stderr.count("error[not-supported-yet]") == 3


def test_every_profile_is_checked_unless_one_is_chosen(project: Project) -> None:
    project.agent(
        "prompt: Hi {{ inputs.a }}\ninputs: {a: {default: x}}\nprofiles:\n"
        "  one: {prompt: 'Hi {{ inputs.b }}'}\n  two: {prompt: 'Hi {{ inputs.c }}'}\n  three: {prompt: Hi}\n"
    )

    every = run("validate", "agent.yaml", cwd=project.folder)
    two = run("validate", "--profile", "two", "agent.yaml", cwd=project.folder)
    three = run("validate", "--profile", "three", "agent.yaml", cwd=project.folder)
    set_here = run("validate", "--set", "prompt=Hi {{ inputs.a }}", "agent.yaml", cwd=project.folder)

    assert (every.code, two.code, three.code, set_here.code) == (2, 2, 0, 0)
    assert "'inputs.b' is not declared" in every.stderr and "'inputs.c' is not declared" in every.stderr
    assert "2 errors in 1 agent." in every.stderr
    assert "'inputs.b'" not in two.stderr
    assert "warning[unused-input]" in three.stderr


def test_a_run_takes_a_profile_and_settings(project: Project) -> None:
    project.agent("prompt: Hi\nprofiles: {loud: {prompt: HI, limits: {max_turns: 7}}}\n")

    done = run(
        "agent.yaml",
        "--profile",
        "loud",
        "--set",
        "limits.max_turns=5",
        "--set",
        "version=x",
        cwd=project.folder,
    )

    assert done.code == 0
    (started,) = done.of_type("run_started")
    assert started["definition"]["prompt"] == "HI"
    assert started["definition"]["limits"] == {"max_turns": 5}
    assert started["definition"]["version"] == "x"


def test_a_setting_that_loosens_a_limit_takes_a_flag_of_its_own(project: Project) -> None:
    project.agent("prompt: Hi\nlimits: {max_turns: 3}\n")
    flags = ["--set", "limits.max_turns=4"]

    refused = run("agent.yaml", *flags, cwd=project.folder)
    allowed = run("agent.yaml", *flags, "--raise-limits", cwd=project.folder)

    assert (refused.code, allowed.code) == (2, 0)
    assert "error[limit-loosened]: limits.max_turns: 4 is looser than 3 at agent.yaml:" in refused.stderr


def test_a_mistake_in_a_parent_names_the_chain_in_every_form(project: Project) -> None:
    project.agent("extends: base.yaml\nprompt: Hi\n")
    (project.folder / "base.yaml").write_text("limits: {max_trns: 3}\n")
    forms = {form: run("validate", "--format", form, "agent.yaml", cwd=project.folder)
             for form in ("text", "json", "github", "sarif")}  # fmt: skip
    lines = (project.folder / "agent.yaml").read_text().splitlines()
    chain = f"agent.yaml:{lines.index('extends: base.yaml') + 1}:10"

    assert f"      = extended at {chain}\n" in forms["text"].stderr
    (problem,) = forms["json"].result["problems"]
    assert (problem["file"], problem["line"], problem["chain"]) == ("base.yaml", 1, [chain])
    assert "::error file=base.yaml,line=1,col=10" in forms["github"].stdout
    for form in ("github", "sarif"):
        assert f"(did you mean 'max_turns'?) [extended at {chain}]" in forms[form].stdout


def test_several_files_are_checked_in_one_call(project: Project, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("schema_version: 1\nname: Other\nmodel: scripted/s.yaml\n")

    done = run("validate", "agent.yaml", "other.yaml", cwd=project.folder)

    assert done.code == 2
    assert "2 errors in 2 agents" in done.stderr


def test_a_tool_that_is_not_here_is_a_warning_first_and_an_error_in_a_run(project: Project) -> None:
    project.agent(
        "", base="schema_version: 1\nname: demo\nmodel: scripted/script.yaml\ntools:\n"
        "  - {type: command, name: a, command: [no-such-program], parameters: {type: object}}\n"
        "  - {type: builtin, name: ls, root: nowhere}\n"
    )  # fmt: skip

    checked = run("validate", "agent.yaml", cwd=project.folder)
    done = run("agent.yaml", "go", cwd=project.folder)

    assert (checked.code, done.code) == (0, 2)
    assert "agent.yaml:5:40: warning[tool-missing]: there is no program 'no-such-program'" in checked.stderr
    assert "agent.yaml:6:37: error[tool-missing]: there is no folder 'nowhere'" in done.stderr


def test_what_is_wrong_with_a_model_is_told_beside_everything_else(project: Project) -> None:
    (project.folder / "agent.yaml").write_text(
        "schema_version: 1\nname: demo\nmodel:\n  id: openai/x\n  base_url: 'http://[::1'\n"
        "  compat: {z: 1, supports_images: 2}\nprompt: hi {{ inputs.q }}\n"
    )

    done = run("validate", "--format", "json", "agent.yaml", cwd=project.folder)

    assert [(p["line"], p["column"], p["rule"]) for p in done.result["problems"]] == [
        (5, 13, "model"),
        (6, 15, "model"),
        (6, 35, "model"),
        (7, 15, "template-undefined"),
    ]


def test_mistakes_in_a_script_have_their_own_places(project: Project) -> None:
    project.script("turns:\n  - {text: ok, chunk: x}\n  - {txt: no}\n")

    done = run("validate", "agent.yaml", cwd=project.folder)

    assert done.code == 2
    assert "script.yaml:2:1: error[script]: " in done.stderr
    assert "script.yaml:3:1: error[script]: " in done.stderr
    assert "2 errors in 1 agent" in done.stderr
