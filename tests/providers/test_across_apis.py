"""A conversation that began on one API goes on with any other, and comes back."""

from __future__ import annotations

import itertools
import json

import pytest

from agentcore_runner.core.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
)
from agentcore_runner.core.model import ThinkingLevel
from agentcore_runner.providers.transform import NO_RESULT
from tests.providers.doubles import answer, context, stream, user
from tests.providers.every_api import APIS, CHAT, EVERY, SCRIPTED, Dialect, Says, Stage, playing

PNG = ImageContent(data="aGkx", mime_type="image/png")
ODD_IDS = ("call/é 1|a", "call/é 1|b", "x" * 90 + "1", "x" * 90 + "2")
"""Ids that most rules make the same two."""
HALF = "Half of an answer."


def thought(dialect: Dialect) -> str:
    """What only this model thinks."""
    return f"Thoughts of {dialect.name}."


def turn(dialect: Dialect) -> Says:
    """An answer with all that an answer can have."""
    calls = [ToolCall(id=f"{dialect.name}{call_id}", name="read", arguments={"n": 1}) for call_id in ODD_IDS]
    words = TextContent(text=f"Words of {dialect.name}.")
    return Says(content=(ThinkingContent(thinking=thought(dialect)), words, *calls))


def failing() -> Says:
    """An answer that fails for good when a call of it is there."""
    call = ToolCall(id="call_lost", name="read")
    return Says(content=(TextContent(text=HALF), call), fault="bad_request", in_the_middle=True)


def asked(stage: Stage, *messages: Message) -> AssistantMessage:
    return answer(stream(stage.provider, context(*messages), thinking_level=ThinkingLevel.LOW))


def results_of(message: AssistantMessage) -> list[Message]:
    """A result with an image, a failure with another, a plain one; the last call was left without."""
    told: list[tuple[UserContent, ...]] = [
        (TextContent(text="a shot"), PNG),
        (PNG,),
        (TextContent(text="ok"),),
    ]
    return [
        ToolResultMessage(
            tool_call_id=call.id, tool_name=call.name, content=content, is_error=at == 1, timestamp=3
        )
        for at, (call, content) in enumerate(zip(message.tool_calls, told, strict=False))
    ]


@pytest.mark.parametrize(
    ("begun", "other"), list(itertools.permutations(EVERY, 2)), ids=lambda dialect: dialect.name
)
def test_a_conversation_goes_on_with_another_api_and_comes_back(begun: Dialect, other: Dialect) -> None:
    with (
        playing(begun, turn(begun), failing(), Says()) as here,
        playing(other, turn(other)) as there,
    ):
        first = asked(here, user())
        history = [user(), first, *results_of(first)]
        failed = asked(here, *history)
        history += [failed, user("Go on.")]
        second = asked(there, *history)
        asked(here, *history, second, *results_of(second), user("And back."))

    assert failed.stop_reason == "error"
    assert [call.name for call in second.tool_calls] == ["read"] * len(ODD_IDS)
    if other is not SCRIPTED:
        sent = accepted(other, there.bodies[0], answers=1)
        assert [mark for mark in (*begun.marks, thought(begun)) if mark in sent] == []
    if begun is not SCRIPTED:
        sent = accepted(begun, here.bodies[2], answers=2)
        assert [mark for mark in (*begun.marks, thought(begun)) if mark not in sent] == []
        assert [mark for mark in (*other.marks, thought(other)) if mark in sent] == []


@pytest.mark.parametrize("dialect", APIS, ids=repr)
def test_another_model_of_the_same_api_gets_no_signature_and_thinking_only_if_it_is_not_signed(
    dialect: Dialect,
) -> None:
    with playing(dialect, turn(dialect), turn(dialect)) as stage:
        first = asked(stage, user())
        assert stage.server is not None
        other = dialect.open(stage.server, dialect.sibling)
        stream(other, context(user(), first, *results_of(first), user("Go on.")))

    sent = accepted(dialect, stage.bodies[1], answers=1)
    found = [mark for mark in (*dialect.marks, thought(dialect)) if mark in sent]
    assert found == (["reasoning_content", thought(dialect)] if dialect is CHAT else [])


def accepted(dialect: Dialect, body: object, *, answers: int) -> str:
    """The request's JSON, when it is one that the API takes and in which nothing is missing."""
    sent = json.dumps(dialect.checked(body), ensure_ascii=False)
    calls, results = dialect.ids(body)
    assert calls == results
    assert len(calls) == len(set(calls)) == answers * len(ODD_IDS)
    assert [call for call in calls if not dialect.takes_id.fullmatch(call)] == []
    assert [sent.count(text) for text in (PNG.data, "a shot", "Words of", NO_RESULT)] == [
        2 * answers, answers, answers, answers,
    ]  # fmt: skip
    assert (HALF in sent, "call_lost" in sent) == (False, False)
    return sent
