"""The forms in which problems are printed."""

from __future__ import annotations

from agentcore_runner.definition.problems import Problem, render_text, to_github, to_json, to_sarif
from agentcore_runner.definition.source import Source

SOURCE = Source("agents/reviewer.yaml", "limits:\n  max_trns: 40\n\ttab\x1b[31m: " + "long " * 60)
ERROR = SOURCE.problem(
    2, 3, "unknown-key", "'max_trns' is not a key of limits", hint="did you mean 'max_turns'?", width=8
)
WARNING = Problem(
    file="a,b:c.yaml", line=1, column=2, rule="env-unset", severity="warning", message="100% unset\r\nnow"
)


def test_text_shows_the_line_and_counts() -> None:
    assert render_text([ERROR, ERROR, WARNING], agents=2) == (
        "agents/reviewer.yaml:2:3: error[unknown-key]: 'max_trns' is not a key of limits"
        " (did you mean 'max_turns'?)\n"
        "    1 | limits:\n"
        "    2 |   max_trns: 40\n"
        "      |   ^^^^^^^^\n"
    ) * 2 + (
        "a,b:c.yaml:1:2: warning[env-unset]: 100% unset\r\nnow\n"
        "2 errors and 1 warning in 2 agents. Nothing was run.\n"
    )


def test_warnings_alone_do_not_say_that_nothing_was_run() -> None:
    assert render_text([WARNING]).endswith("\n1 warning in 1 agent.\n")
    assert render_text([]) == ""


def test_excerpt_holds_no_control_characters_and_fits_a_line() -> None:
    problem = SOURCE.problem(3, 200, "value", "far away", width=500)

    assert all(character.isprintable() for line in problem.excerpt for character in line)
    assert max(map(len, problem.excerpt)) < 120
    assert len(problem.excerpt[-1]) <= len(problem.excerpt[-2])


def test_json_has_every_field() -> None:
    assert to_json([WARNING]) == {
        "problems": [
            {
                "file": "a,b:c.yaml",
                "line": 1,
                "column": 2,
                "rule": "env-unset",
                "severity": "warning",
                "message": "100% unset\r\nnow",
                "hint": None,
                "chain": [],
            }
        ]
    }


def test_github_commands_are_escaped() -> None:
    assert to_github([ERROR, WARNING]) == (
        "::error file=agents/reviewer.yaml,line=2,col=3,title=unknown-key::"
        "'max_trns' is not a key of limits (did you mean 'max_turns'?)\n"
        "::warning file=a%2Cb%3Ac.yaml,line=1,col=2,title=env-unset::100%25 unset%0D%0Anow\n"
    )


def test_sarif_lists_rules_and_places() -> None:
    log = to_sarif([ERROR, WARNING])

    assert log == {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "agentcore-runner",
                        "rules": [
                            {
                                "id": "env-unset",
                                "shortDescription": {
                                    "text": "An environment variable that the agent names is not set."
                                },
                            },
                            {
                                "id": "unknown-key",
                                "shortDescription": {"text": "A key is not known at its place."},
                            },
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    {
                        "ruleId": "unknown-key",
                        "ruleIndex": 1,
                        "level": "error",
                        "message": {"text": "'max_trns' is not a key of limits (did you mean 'max_turns'?)"},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {"uri": "agents/reviewer.yaml"},
                                    "region": {"startLine": 2, "startColumn": 3},
                                }
                            }
                        ],
                    },
                    {
                        "ruleId": "env-unset",
                        "ruleIndex": 0,
                        "level": "warning",
                        "message": {"text": "100% unset\r\nnow"},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {"uri": "a%2Cb%3Ac.yaml"},
                                    "region": {"startLine": 1, "startColumn": 2},
                                }
                            }
                        ],
                    },
                ],
            }
        ],
    }


def test_sarif_of_nothing_is_a_whole_log() -> None:
    assert to_sarif([])["runs"][0]["results"] == []
