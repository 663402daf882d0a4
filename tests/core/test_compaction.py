"""Where a conversation is cut, and what becomes of the part that stays."""

from __future__ import annotations

from itertools import accumulate

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.core.compaction import (
    CompactionSettings,
    Cut,
    files_of,
    find_cut,
    fit_tail,
    is_overflow,
    room_for,
)
from agentcore_runner.core.estimate import message_tokens
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    CompactionDetails,
    CompactionSummaryMessage,
    ErrorInfo,
    ImageContent,
    TextContent,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tests.core.scripted import answer, call

SUMMARY = CompactionSummaryMessage(summary="before", tokens_before=1, timestamp=0)


def user(text: str = "q") -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), timestamp=0)


def result(id: str, text: str = "ok") -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=id, tool_name="echo", content=(TextContent(text=text),), timestamp=0
    )


def cut(messages: list[AgentMessage], keep: float) -> Cut | None:
    sums = list(accumulate(map(message_tokens, messages), initial=0.0))
    return find_cut(messages, sums, keep)


def place(found: Cut | None) -> tuple[int, int, int] | None:
    return None if found is None else (found.begin, found.turn, found.end)


def test_the_settings_are_scaled_to_a_window_that_is_too_small_for_them() -> None:
    large, small = room_for(CompactionSettings(), 200_000), room_for(CompactionSettings(), 8_000)

    assert (large.threshold, large.reserve, large.keep) == (183_616, 16_384, 20_000)
    assert (small.threshold, small.reserve, small.keep) == (4_000, 4_000, 2_000)


def test_a_cut_keeps_the_newest_messages_of_about_the_wanted_size() -> None:
    messages: list[AgentMessage] = [user("a" * 400), answer("b" * 400), user("c" * 400), answer("d" * 400)]

    assert place(cut(messages, 150)) == (0, 2, 2)


def test_a_cut_inside_a_turn_says_where_the_turn_began() -> None:
    messages: list[AgentMessage] = [
        user("first"),
        answer("x" * 400),
        user("second"),
        answer(call("1")),
        result("1", "y" * 400),
        answer(call("2")),
        result("2", "z" * 400),
    ]

    assert place(cut(messages, 50)) == (0, 2, 5)


def test_row_21_where_the_newest_results_are_too_large_the_cut_is_at_the_call_that_owns_them() -> None:
    messages: list[AgentMessage] = [
        user("first"),
        answer("fine"),
        user("second"),
        answer(call("1"), call("2")),
        result("1", "y" * 40_000),
        result("2", "z" * 40_000),
    ]

    assert place(cut(messages, 100)) == (0, 2, 3)


def test_the_summary_of_the_last_compaction_is_where_the_next_one_goes_on_from() -> None:
    messages: list[AgentMessage] = [SUMMARY, user("a" * 400), answer("b" * 400), user("c"), answer("d")]

    assert cut(messages, 8) == Cut(begin=1, turn=3, end=3, previous=SUMMARY)


def test_an_oldest_message_that_is_too_large_alone_is_what_is_cut_off() -> None:
    huge, small = user("a" * 4000), user("a" * 400)

    assert place(cut([huge, answer("b"), user("c")], 500)) == (0, 0, 1)
    assert place(cut([SUMMARY, huge, answer("b"), user("c")], 500)) == (1, 1, 2)
    assert cut([small, answer("b"), user("c")], 500) is None


@pytest.mark.parametrize(
    "messages",
    [[], [user()], [SUMMARY], [SUMMARY, user("a" * 4000)], [answer(call("1")), result("1", "y" * 4000)]],
    ids=["none", "one", "only a summary", "one after a summary", "one batch"],
)
def test_there_is_nothing_to_cut_where_nothing_is_older(messages: list[AgentMessage]) -> None:
    assert cut(messages, 10) is None


def test_an_overflow_is_what_the_service_says_or_an_answer_cut_at_the_end_of_the_window() -> None:
    refused = answer(stop="error", error=ErrorInfo(kind="overflow", message="too long"))
    other = answer(stop="error", error=ErrorInfo(kind="server", message="down"))
    at_the_window = msgspec.structs.replace(answer("a", stop="length"), usage=Usage(input=990, output=10))
    at_its_own_cap = msgspec.structs.replace(answer("a", stop="length"), usage=Usage(input=500, output=500))

    assert is_overflow(refused, 10**6, 500)
    assert not is_overflow(other, 10, 500)
    assert is_overflow(at_the_window, 1000, 500)
    assert not is_overflow(at_its_own_cap, 1000, 500)
    assert not is_overflow(msgspec.structs.replace(at_the_window, stop_reason="done"), 1000, 500)


def test_row_22_a_tail_that_is_too_large_loses_the_middle_of_its_results() -> None:
    tail: list[AgentMessage] = [
        answer(call("1"), call("2")),
        result("1", "BEGIN " + "y" * 60_000 + " END"),
        result("2", "short"),
        user("go on"),
    ]

    replaced = fit_tail(tail, 1500)

    assert list(replaced) == [1]
    text = replaced[1].content[0]
    assert isinstance(text, TextContent)
    assert text.text.startswith("BEGIN") and text.text.endswith("END")
    assert sum(message_tokens(replaced.get(n, m)) for n, m in enumerate(tail)) <= 1500


def test_a_tail_that_fits_stays_as_it_is() -> None:
    assert fit_tail([answer(call("1")), result("1", "y" * 600)], 1500) == {}


def test_an_image_in_a_result_that_is_too_large_gives_way_to_a_note() -> None:
    image = ImageContent(data="QUJD", mime_type="image/png")
    big = msgspec.structs.replace(result("1"), content=(image, TextContent(text="seen")))

    replaced = fit_tail([answer(call("1")), big], 50)

    assert replaced[1].content == (TextContent(text="[an image was left out]\nseen"),)


def test_files_are_those_that_calls_name_and_a_changed_one_is_not_only_read() -> None:
    known = CompactionDetails(read_files=("old.py", "b.py"), modified_files=("done.py",))
    messages: list[AgentMessage] = [
        answer(call("1", "read", path="a.py"), call("2", "edit", path="b.py", edits=[])),
        answer(call("3", "write", path="c.py", content=""), call("4", "bash", command="cat d.py")),
        answer(call("5", "read", path=7), call("6", "read", path="a.py")),
    ]

    assert files_of(messages, known) == CompactionDetails(
        read_files=("old.py", "a.py"), modified_files=("done.py", "b.py", "c.py")
    )


lengths = st.integers(0, 3000)


@st.composite
def conversations(draw: st.DrawFn) -> list[AgentMessage]:
    """Whole turns of any size, from a summary or from nothing."""
    messages: list[AgentMessage] = [SUMMARY] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(0, 6))):
        opening = draw(st.sampled_from(("user", "bash", "none")))
        if opening == "user":
            messages.append(user("q" * draw(lengths)))
        elif opening == "bash":
            messages.append(BashExecutionMessage(command="ls", output="o" * draw(lengths), timestamp=0))
        for round in range(draw(st.integers(0, 3))):
            ids = [f"{turn}.{round}.{n}" for n in range(draw(st.integers(1, 3)))]
            messages.append(answer("t" * draw(lengths), *map(call, ids)))
            messages += [result(id, "r" * draw(lengths)) for id in ids]
        messages.append(answer("a" * draw(lengths)))
    return messages


@given(conversations(), st.integers(1, 3000))
@settings(max_examples=200, deadline=None)
def test_invariant_9_a_tail_begins_at_a_valid_cut_point_and_no_result_loses_its_call(
    messages: list[AgentMessage], keep: int
) -> None:
    found = cut(messages, keep)

    if found is None:
        new = messages[1:] if messages[:1] == [SUMMARY] else messages
        points = [message for message in new[1:] if not isinstance(message, ToolResultMessage)]
        assert not points or max(message_tokens(new[0]), sum(map(message_tokens, new[1:]))) < keep
        return
    tail = messages[found.end :]
    assert found.begin <= found.turn <= found.end and found.begin < found.end
    assert tail and not isinstance(tail[0], ToolResultMessage)
    called = [each.id for m in tail if isinstance(m, AssistantMessage) for each in m.tool_calls]
    assert called == [m.tool_call_id for m in tail if isinstance(m, ToolResultMessage)]
    if found.turn < found.end:
        assert isinstance(tail[0], AssistantMessage)
        assert not isinstance(messages[found.turn], AssistantMessage | ToolResultMessage)
    following = next((n for n, m in enumerate(tail[1:], 1) if not isinstance(m, ToolResultMessage)), None)
    if following is not None:
        assert sum(map(message_tokens, tail[following:])) < keep
