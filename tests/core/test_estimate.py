from typing import Any

import msgspec
import pytest

from agentcore_runner.core.estimate import Meter, message_tokens, text_tokens
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    CompactionSummaryMessage,
    ImageContent,
    TextContent,
    Usage,
    UserMessage,
)
from agentcore_runner.core.tools import AgentContext
from tests.core.scripted import answer, call, tool


def user(text: str) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), timestamp=0)


def answered(text: str, at: int = 1, **counts: Any) -> AssistantMessage:
    return msgspec.structs.replace(answer(text), usage=Usage(**counts), timestamp=at)


def context(*messages: AgentMessage, system_prompt: str = "") -> AgentContext:
    return AgentContext(system_prompt=system_prompt, messages=list(messages), tools=())


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("The quick brown fox jumps over the lazy dog near the river bank today.", 15),
        ("人工智能正在改变我们的工作方式和日常生活。", 19),
        ("人工知能は私たちの働き方と日常生活を変えつつあります。", 27),
        ("인공지능은 우리의 업무 방식과 일상생활을 바꾸고 있습니다.", 30),
        ("Искусственный интеллект меняет нашу работу и повседневную жизнь.", 32),
    ],
    ids=["English", "Chinese", "Japanese", "Korean", "Russian"],
)
def test_row_27_an_estimate_is_near_the_count_of_a_tokenizer_in_every_script(text: str, counted: int) -> None:
    """`counted` is what OpenAI's cl100k_base makes of the text."""
    estimate = text_tokens(text)

    assert 0.8 * counted <= estimate <= 1.3 * counted


def test_an_estimate_holds_for_any_text_a_message_can_hold() -> None:
    assert text_tokens("\ud800 \0") == pytest.approx(1 + 2 / 4)


def test_what_a_model_does_not_get_counts_nothing() -> None:
    hidden = BashExecutionMessage(command="ls", output="x" * 400, exclude_from_context=True, timestamp=0)
    shown = msgspec.structs.replace(hidden, exclude_from_context=False)

    assert message_tokens(hidden) == 0.0
    assert message_tokens(shown) > 100


def test_images_calls_and_tools_have_a_size_too() -> None:
    image = UserMessage(content=(ImageContent(data="QUJD", mime_type="image/png"),), timestamp=0)
    calls = answer(call("1", "write", path="a", content="y" * 4000))
    bare, with_tools = context(), AgentContext(system_prompt="", messages=[], tools=(tool("echo"),))

    assert message_tokens(image) > 1000
    assert message_tokens(calls) > 1000
    assert Meter().measure(with_tools) > Meter().measure(bare) == 0


def test_reported_usage_replaces_the_estimate_and_corrects_what_comes_after() -> None:
    meter = Meter()
    first = context(user("q" * 4000), answered("a" * 400, input=2000, output=200))

    reported = meter.measure(first)
    more = meter.measure(context(*first.messages, user("q" * 4000)))

    assert reported == 2200
    assert meter.ratio == pytest.approx(2000 / 1004)
    assert more == pytest.approx(2200 + 2000, abs=2)


def test_usage_of_failed_and_of_silent_answers_says_nothing() -> None:
    failed = msgspec.structs.replace(answered("", input=9000), stop_reason="error")
    silent = answered("a")

    assert Meter().measure(context(user("q" * 400), failed, silent)) == pytest.approx(100 + 3 * 4, abs=1)


def test_usage_from_before_a_compaction_says_nothing_about_what_is_left() -> None:
    summary = CompactionSummaryMessage(summary="short", tokens_before=90_000, timestamp=50)
    old, new = answered("a" * 40, at=40, input=90_000), answered("b" * 40, at=60, input=500, output=10)

    before = Meter().measure(context(summary, old))
    after = Meter().measure(context(summary, old, new))

    assert before < 100
    assert after == 510


def test_a_report_that_leaves_out_what_was_cached_says_nothing() -> None:
    meter = Meter()

    measured = meter.measure(context(user("q" * 4000), answered("a" * 400, input=3, output=100)))

    assert meter.ratio == 1.0
    assert measured == 1108


def test_what_is_added_to_the_offer_counts_beside_what_was_reported() -> None:
    meter = Meter()
    messages = (user("q" * 4000), answered("a", input=1000, output=10))

    before = meter.measure(context(*messages))
    after = meter.measure(msgspec.structs.replace(context(*messages), system_prompt="s" * 4000))

    assert (before, after - before) == (1010, round(1000 * meter.ratio))


def test_after_a_compaction_of_its_own_a_meter_needs_no_clock() -> None:
    meter = Meter()
    summary = CompactionSummaryMessage(summary="short", tokens_before=90_000, timestamp=0)
    old, new = answered("a" * 4000, input=9000), answered("b", input=1500, output=10)

    meter.restart((summary, old))
    meter.measure(context(summary, old))
    unreported = meter.reported
    meter.measure(context(summary, old, new))

    assert (unreported, meter.reported) == (0, 1510)


def test_a_report_that_counts_something_else_corrects_only_so_far() -> None:
    meter = Meter()

    meter.measure(context(user("q" * 4000), answered("a", input=90_000)))

    assert meter.ratio == 4.0


def test_a_growing_conversation_is_measured_like_a_fresh_one_and_looked_at_once() -> None:
    messages: list[AgentMessage] = []
    meter = Meter()

    for number in range(40):
        messages.append(user(f"question {number} " * number))
        if number % 3 == 0:
            messages.append(answered(f"answer {number}", at=number + 1, input=50 * number + 1, output=3))
        grown = meter.measure(context(*messages, system_prompt="be good"))
        assert grown == Meter().measure(context(*messages, system_prompt="be good"))

    fresh = Meter()
    for each in (meter, fresh):
        each.measure(context(*messages[:5]))
    assert (meter.sums, meter.reported) == (fresh.sums, fresh.reported)
