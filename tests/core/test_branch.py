"""The summary of a branch that a conversation comes back from."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from agentcore_runner.core.branch import BranchSummary, newest, summarise_branch
from agentcore_runner.core.compaction import CompactionSettings
from agentcore_runner.core.estimate import message_tokens
from agentcore_runner.core.messages import (
    AgentMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.errors import CompactionError
from tests.core.scripted import MODEL, Script, answer, call, now, run, says

WINDOW = msgspec.structs.replace(MODEL, context_window=4000)


def user(text: str) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), timestamp=0)


def result(id: str, text: str) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=id, tool_name="echo", content=(TextContent(text=text),), timestamp=0
    )


BRANCH: list[AgentMessage] = [
    user("Fix the parser"),
    answer("Looking.", call("A", "read", path="parser.py"), call("B", "edit", path="lexer.py")),
    result("A", "the whole parser"),
    result("B", "edited"),
    answer("It was the lexer."),
]


def summarised(path: list[AgentMessage], script: Script, **fields: Any) -> BranchSummary:
    return run(
        summarise_branch(
            path,
            from_id="17",
            model=WINDOW,
            stream_fn=script,
            now=now,
            settings=CompactionSettings(reserve_tokens=1000, keep_recent_tokens=800),
            **fields,
        )
    )


def questions(script: Script) -> list[str]:
    return [
        block.text
        for context in script.contexts
        for block in context.messages[0].content
        if isinstance(block, TextContent)
    ]


def test_a_branch_becomes_one_message_with_its_files() -> None:
    script = Script(says("## Goal\nA parser that works."))

    summary = summarised(BRANCH, script)

    assert summary.message == BranchSummaryMessage(
        summary="## Goal\nA parser that works.\n\n<read-files>\nparser.py\n</read-files>\n\n"
        "<modified-files>\nlexer.py\n</modified-files>",
        from_id="17",
        timestamp=1000,
    )


def test_the_question_has_the_branch_without_its_tool_results() -> None:
    script = Script(says("ok"))

    summarised(BRANCH, script, instructions="the lexer")

    (text,) = questions(script)
    assert text.startswith(
        "<conversation>\n[User]: Fix the parser\n\n[Assistant]: Looking.\n\n[Assistant tool calls]: "
        f"read(path={json.dumps('parser.py')}); edit(path={json.dumps('lexer.py')})\n\n"
        "[Assistant]: It was the lexer.\n</conversation>"
    )
    assert text.endswith("Additional focus: the lexer")
    assert "## Next Steps" in text
    assert "## Critical Context" not in text
    (options,) = script.options
    assert options.max_output_tokens == 1000  # a quarter of the window is less than 2,048


def test_only_the_newest_messages_that_fit_are_looked_at() -> None:
    script = Script(says("ok"))
    long = [
        message for n in range(10) for message in (user(f"question {n} {'word ' * 600}"), answer(f"a{n}"))
    ]

    summarised(long, script)

    text = "".join(questions(script))
    assert "[Assistant]: a9" in text
    assert [n for n in range(10) if f"question {n} " in text] == [7, 8, 9]


@pytest.mark.parametrize(
    "kind",
    [
        CompactionSummaryMessage(summary="before " * 100, tokens_before=9, timestamp=0),
        BranchSummaryMessage(summary="before " * 100, from_id="3", timestamp=0),
    ],
    ids=["compaction", "branch"],
)
def test_a_summary_on_the_path_may_be_larger_than_what_is_left(kind: AgentMessage) -> None:
    last = user("word " * 40)
    room = message_tokens(last)

    assert newest([user("old"), kind, last], room / 0.89) == [kind, last]
    assert newest([user("old"), kind, last], room / 0.91) == [last]
    assert newest([user("old"), user("word " * 100), last], room / 0.89) == [last]
    assert newest([kind, last], 1) == [last]


def test_a_newest_message_that_is_too_large_is_looked_at_in_pieces() -> None:
    script = Script(*[says(f"part {n}") for n in range(99)])

    summary = summarised([user("start"), user("x" * 40_000)], script)

    assert len(script.contexts) > 3
    assert summary.message.summary == f"part {len(script.contexts) - 1}"


def test_an_empty_branch_and_a_failed_request_say_so() -> None:
    with pytest.raises(CompactionError, match="there is nothing to compact"):
        summarised([], Script())
    with pytest.raises(CompactionError, match="the summary is empty"):
        summarised(BRANCH, Script(says(" ")))


def test_an_abort_ends_the_summary() -> None:
    signal = AbortSignal()

    async def stopped(model: object, context: object, options: StreamOptions) -> Any:
        options.signal.abort()
        for event in says("late"):
            yield event

    with pytest.raises(CompactionError, match="aborted"):
        summarised(BRANCH, Script(stopped), signal=signal)
