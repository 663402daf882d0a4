"""What a model is sent of each kind of message."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore_runner.core.convert import Converter, convert_to_llm, register_message_type
from agentcore_runner.core.messages import (
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    TextContent,
    ToolResultMessage,
    UserMessage,
    Value,
)
from tests.core.scripted import answer, call


def user(text: str) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), timestamp=7)


def bash(**fields: Any) -> BashExecutionMessage:
    return BashExecutionMessage(**{"command": "ls -la", "output": "a.md\n", "timestamp": 7, **fields})


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (bash(), "Ran `ls -la`\n```\na.md\n```"),
        (bash(output="a.md"), "Ran `ls -la`\n```\na.md\n```"),
        (bash(output=""), "Ran `ls -la`\n(no output)"),
        (bash(exit_code=0), "Ran `ls -la`\n```\na.md\n```"),
        (bash(exit_code=2), "Ran `ls -la`\n```\na.md\n```\n\nCommand exited with code 2"),
        (bash(exit_code=2, cancelled=True), "Ran `ls -la`\n```\na.md\n```\n\n(command cancelled)"),
        (
            bash(truncated=True, full_output_path="/tmp/x.log"),
            "Ran `ls -la`\n```\na.md\n```\n\n[Output truncated. Full output: /tmp/x.log]",
        ),
        (bash(output="```\nx\n```"), "Ran `ls -la`\n````\n```\nx\n```\n````"),
        (
            CompactionSummaryMessage(summary="We met.", tokens_before=9, timestamp=7),
            "The earlier history of this conversation was compacted into this summary:\n\n"
            "<summary>\nWe met.\n</summary>",
        ),
        (
            BranchSummaryMessage(summary="We strayed.", from_id="b", timestamp=7),
            "This summarises a branch that this conversation came back from:\n\n"
            "<summary>\nWe strayed.</summary>",
        ),
        (CustomMessage(custom_type="note", content="Mind this.", timestamp=7), "Mind this."),
    ],
)
def test_other_kinds_become_user_messages(message: Any, text: str) -> None:
    assert convert_to_llm([message]) == [user(text)]


def test_custom_blocks_are_used_as_they_are() -> None:
    blocks = (TextContent(text="see"), ImageContent(data="aGk=", mime_type="image/png"))

    (sent,) = convert_to_llm([CustomMessage(custom_type="shot", content=blocks, timestamp=7)])

    assert sent == UserMessage(content=blocks, timestamp=7)


def test_an_excluded_command_is_not_sent() -> None:
    assert convert_to_llm([bash(exclude_from_context=True), user("hi")]) == [user("hi")]


class Note(Value, frozen=True, kw_only=True):
    text: str


class LoudNote(Note, frozen=True, kw_only=True):
    pass


class Unknown(Value, frozen=True, kw_only=True):
    pass


def test_a_registered_type_is_converted_and_an_unknown_one_left_out() -> None:
    register_message_type(Note, lambda note: user(note.text))
    history: list[Any] = [Note(text="a"), Unknown(), LoudNote(text="b")]

    assert convert_to_llm(history) == [user("a"), user("b")]


def test_nothing_is_converted_twice() -> None:
    converter = Converter()
    history: list[Any] = [user("hi"), bash(), answer("ok"), bash(command="pwd")]

    first = converter(history)
    second = converter([*history, user("more")])
    shorter = converter([history[1], history[3]])

    assert [id(m) for m in second[:4]] == [id(m) for m in first]
    assert [id(m) for m in shorter] == [id(first[1]), id(first[3])]


def test_results_follow_their_calls() -> None:
    result = ToolResultMessage(tool_call_id="A", tool_name="echo", content=(), timestamp=7)
    converter = Converter()
    history: list[Any] = [user("hi"), answer(call("A")), result]

    assert converter(history) == history
    assert converter([user("summary"), result]) == [user("summary")]
