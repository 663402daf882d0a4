"""History and settings become the JSON of a request."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.core.messages import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Message,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from agentcore_runner.core.model import ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.core.tools import AgentTool, text_result
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.catalog import ModelSettings, describe
from agentcore_runner.providers.openai_chat_compat import effective_compat
from agentcore_runner.providers.openai_chat_request import ChatRequest
from agentcore_runner.providers.transform import NO_RESULT, encode
from tests.core.generated import ANY_TEXTS, values
from tests.providers.doubles import context, user
from tests.providers.oracle import check_request

PNG = ImageContent(data="aGk=", mime_type="image/png")
LOCAL = "http://127.0.0.1:8080/v1"


def assistant(
    *content: AssistantContent, stop: StopReason = "done", model: str = "mock", provider: str = "openai"
) -> AssistantMessage:
    return AssistantMessage(
        content=content,
        api="openai-completions",
        provider=provider,
        model=model,
        stop_reason=stop,
        timestamp=2,
    )


def text(words: str) -> TextContent:
    return TextContent(text=words)


def result(call: str, *content: UserContent, name: str = "read") -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=call, tool_name=name, content=content, timestamp=3)


def request(model: str = "mock", base_url: str = LOCAL, **more: Any) -> ChatRequest:
    wanted = ModelSettings(
        **{"provider": "openai", "id": model, "base_url": base_url, "api": "openai-completions", **more}
    )
    described = describe(wanted, {})
    return ChatRequest(described, effective_compat(described), wanted)


def body(
    chat: ChatRequest,
    *messages: Message,
    level: ThinkingLevel = ThinkingLevel.OFF,
    tools: tuple[AgentTool, ...] = (),
) -> dict[str, Any]:
    options = StreamOptions(signal=AbortSignal(), thinking_level=level)
    decoded: dict[str, Any] = msgspec.json.decode(encode(chat.body(context(*messages, tools=tools), options)))
    return decoded


def sent(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    """The messages after the system prompt."""
    found: list[dict[str, Any]] = body(request(**more), *messages)["messages"][1:]
    return found


def called(identity: str, name: str = "read", arguments: str = '{"path":"a"}') -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


READ = ToolCall(id="c1", name="read", arguments={"path": "a"})
LIST = ToolCall(id="c2", name="ls")


def test_turn_with_tools_is_told_in_order() -> None:
    messages = sent(
        user("Go"), assistant(text("I look."), READ, LIST), result("c1", text("A")), result("c2", text("B"))
    )

    assert messages == [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": "I look.", "tool_calls": [called("c1"), called("c2", "ls", "{}")]},
        {"role": "tool", "tool_call_id": "c1", "content": "A"},
        {"role": "tool", "tool_call_id": "c2", "content": "B"},
    ]


def test_tools_are_described() -> None:
    tool = AgentTool(name="read", description="Reads.", parameters={"type": "object"}, execute=execute)

    function = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}
    assert body(request(), tools=(tool,))["tools"] == [{"type": "function", "function": function}]


def test_failed_answer_is_left_out_with_its_results() -> None:
    messages = sent(
        user("Go"), assistant(text("Oh"), READ, stop="aborted"), result("c1", text("A")), user("On")
    )

    assert messages == [{"role": "user", "content": "Go"}, {"role": "user", "content": "On"}]


def test_call_without_a_result_gets_one_and_a_result_without_a_call_is_dropped() -> None:
    messages = sent(
        assistant(READ, LIST), result("c2", text("B")), result("gone", text("?")), user("On"), assistant(READ)
    )

    missing = {"role": "tool", "tool_call_id": "c1", "content": NO_RESULT}
    assert messages == [
        {"role": "assistant", "content": None, "tool_calls": [called("c1"), called("c2", "ls", "{}")]},
        {"role": "tool", "tool_call_id": "c2", "content": "B"},
        missing,
        {"role": "user", "content": "On"},
        {"role": "assistant", "content": None, "tool_calls": [called("c1")]},
        missing,
    ]


def test_result_that_comes_later_replaces_the_stand_in() -> None:
    chat = request()
    history: list[Message] = [user("Go"), assistant(READ)]
    first = body(chat, *history)["messages"]

    second = body(chat, *history, result("c1", text("A")))["messages"]

    assert first[-1]["content"] == NO_RESULT
    assert second[-1] == {"role": "tool", "tool_call_id": "c1", "content": "A"}
    assert second[:-1] == first[:-1]


def test_malformed_call_is_sent_with_no_arguments() -> None:
    broken = ToolCall(id="c1", name="read", raw_arguments='{"path": ')

    assert sent(assistant(broken))[0]["tool_calls"] == [called("c1", arguments="{}")]


def test_thinking_goes_back_in_its_field_to_the_model_that_wrote_it() -> None:
    thought = ThinkingContent(thinking="hm", thinking_signature="reasoning")

    own = sent(assistant(thought, text("Hi")))
    foreign = sent(assistant(thought, text("Hi"), provider="ollama"))
    unsigned = sent(assistant(ThinkingContent(thinking="hm"), text("Hi")))

    assert own == [{"role": "assistant", "content": "Hi", "reasoning": "hm"}]
    assert foreign == unsigned == [{"role": "assistant", "content": "Hi"}]


def test_answer_without_text_and_calls_is_left_out() -> None:
    thought = ThinkingContent(thinking="hm", thinking_signature="reasoning")

    assert sent(assistant(thought), assistant(text("")), assistant(), user("On")) == [
        {"role": "user", "content": "On"}
    ]


def test_images_of_results_follow_in_one_message() -> None:
    messages = sent(
        assistant(READ, LIST),
        result("c1", text("A"), PNG),
        result("c2", PNG),
        compat={"supports_images": True},
    )

    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    assert [message.get("content") for message in messages[1:]] == [
        "A",
        "(the image follows below)",
        [{"type": "text", "text": "Images from the tool results above:"}, image, image],
    ]


def test_images_become_words_for_a_model_that_takes_none() -> None:
    messages = sent(UserMessage(content=(text("Look"), PNG), timestamp=1), assistant(READ), result("c1", PNG))

    assert messages[0] == {"role": "user", "content": "Look\n[image/png left out: mock takes no images]"}
    assert messages[2]["content"] == "[image/png left out: mock takes no images]"


def test_empty_result_says_so_and_may_need_its_name() -> None:
    messages = sent(assistant(READ), result("c1"), compat={"requires_tool_result_name": True})

    assert messages[1] == {"role": "tool", "tool_call_id": "c1", "content": "(no output)", "name": "read"}


def test_server_that_wants_an_answer_after_results_gets_one() -> None:
    compat = {"requires_assistant_after_tool_result": True}
    messages = sent(assistant(READ), result("c1", text("A")), user("On"), compat=compat)

    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant", "user"]


def test_half_characters_are_replaced() -> None:
    call = ToolCall(id="c1", name="read", arguments={"pa\udc00th": ["\ud83d", "ok \ud83c\udf89"]})

    messages = sent(user("a\ud83db"), assistant(call))

    assert messages[0]["content"] == "a\ufffdb"
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"pa\ufffdth":["\ufffd","ok 🎉"]}'


def test_openai_itself_is_spoken_to_in_its_own_words() -> None:
    chat = request("gpt-5-mini", "https://api.openai.com/v1", max_output_tokens=5)

    asked = body(chat, level=ThinkingLevel.MAX)

    assert asked["messages"][0]["role"] == "developer"
    assert {name: asked[name] for name in ("max_completion_tokens", "store", "reasoning_effort")} == {
        "max_completion_tokens": 5,
        "store": False,
        "reasoning_effort": "high",
    }
    assert "max_tokens" not in asked


@pytest.mark.parametrize(("own", "asked_for", "sent"), [(None, 5, 5), (7, 5, 5), (5, 7, 5), (7, None, 7)])
def test_the_smaller_cap_on_the_answer_is_sent(own: int | None, asked_for: int | None, sent: int) -> None:
    options = StreamOptions(signal=AbortSignal(), max_output_tokens=asked_for)

    asked = request(max_output_tokens=own).body(context(user("hi")), options)

    assert asked["max_tokens"] == sent


def test_compat_and_extra_body_have_the_last_word() -> None:
    compat = {"max_tokens_field": "max_completion_tokens", "supports_reasoning_effort": True,
              "supports_usage_in_streaming": False}  # fmt: skip
    asked = body(
        request(compat=compat, max_output_tokens=7, extra_body={"max_completion_tokens": 9, "top_k": 3}),
        level=ThinkingLevel.LOW,
    )

    del asked["messages"]
    assert asked == {
        "model": "mock",
        "stream": True,
        "max_completion_tokens": 9,
        "reasoning_effort": "low",
        "top_k": 3,
    }


@pytest.mark.parametrize(
    ("compat", "message"),
    [
        (
            {"supports_stor": True},
            "'supports_stor' is not a key of model.compat (did you mean 'supports_store'?)",
        ),
        ({"supports_store": "yes"}, "model.compat.supports_store: expected true or false, found 'yes'"),
    ],
)
def test_mistake_in_compat_is_named(compat: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        request(compat=compat)

    assert str(caught.value) == message


def test_message_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = request()
    history: list[Message] = [user("Go")]
    for turn in range(400):
        call = ToolCall(id=f"c{turn}", name="read", arguments={"path": "a" * 2000})
        history += [assistant(call), result(call.id, text("x" * 2000))]
    options = StreamOptions(signal=AbortSignal())
    started = time.perf_counter()
    first = encode(chat.body(context(*history), options))
    cold = time.perf_counter() - started

    warm = []
    for _ in range(5):
        started = time.perf_counter()
        assert encode(chat.body(context(*history), options)) == first
        warm.append(time.perf_counter() - started)

    assert min(warm) < cold / 2


def test_other_beginning_is_made_anew() -> None:
    chat = request()
    body(chat, user("One"), assistant(text("Two")))

    assert body(chat, user("Summary"), user("Three"))["messages"][1:] == [
        {"role": "user", "content": "Summary"},
        {"role": "user", "content": "Three"},
    ]


# Any conversation

IDS = st.sampled_from(["", "a", "call_1", "x" * 40, "x" * 70, "x" * 71, "a b|c", "é\ud83d"])
SIGNATURES = st.sampled_from([None, "", "reasoning", "reasoning_content", "msg_1"]) | ANY_TEXTS
ARGUMENTS = st.dictionaries(ANY_TEXTS, st.none() | ANY_TEXTS | st.integers(), max_size=2)
CONTENT = st.lists(st.builds(TextContent, text=ANY_TEXTS) | values(ImageContent), max_size=3).map(tuple)
BLOCKS = (
    st.builds(TextContent, text=ANY_TEXTS, text_signature=SIGNATURES)
    | st.builds(ThinkingContent, thinking=ANY_TEXTS, thinking_signature=SIGNATURES)
    | st.builds(
        ToolCall,
        id=IDS,
        name=st.sampled_from(["read", ""]),
        arguments=ARGUMENTS,
        raw_arguments=st.none() | ANY_TEXTS,
        thought_signature=SIGNATURES,
    )
)


def distinct(block: AssistantContent) -> object:
    """Ids of calls are unique in an answer: the core sees to it."""
    return block.id if isinstance(block, ToolCall) else object()


MESSAGES = (
    st.builds(UserMessage, content=CONTENT, timestamp=st.just(1))
    | st.builds(
        AssistantMessage,
        content=st.lists(BLOCKS, max_size=4, unique_by=distinct).map(tuple),
        api=st.sampled_from(["openai-completions", "anthropic-messages"]),
        provider=st.sampled_from(["openai", "anthropic"]),
        model=st.sampled_from(["gpt-5.1", "gpt-4o", "other"]),
        stop_reason=st.sampled_from(["done", "done", "length", "refused", "error", "aborted"]),
        timestamp=st.just(2),
    )
    | st.builds(
        ToolResultMessage, tool_call_id=IDS, tool_name=st.just("read"), content=CONTENT, timestamp=st.just(3)
    )
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(MESSAGES, max_size=8),
    st.sampled_from(ThinkingLevel),
    st.sampled_from(["gpt-5.1", "gpt-6.2-sol", "gpt-4o", "gpt-3.5-turbo"]),
    st.booleans(),
    st.none() | st.integers(0, 30_000),
)
def test_every_request_to_openai_is_one_that_the_official_sdk_allows(
    messages: list[Message], level: ThinkingLevel, model: str, tools: bool, budget: int | None
) -> None:
    chat = request(model, "https://api.openai.com/v1", temperature=0.5, top_p=0.5, max_output_tokens=1)
    tool = AgentTool(name="read", description="", parameters={"type": "object"}, execute=execute)
    options = StreamOptions(
        signal=AbortSignal(), thinking_level=level, thinking_budget=budget, session_id="s" * 99
    )
    given_tools = (tool,) if tools else ()

    asked = msgspec.json.decode(encode(chat.body(context(*messages, tools=given_tools), options)))

    check_request("openai-chat", asked)
    calls = [call["id"] for item in asked["messages"] for call in item.get("tool_calls", ())]
    results = [item["tool_call_id"] for item in asked["messages"] if item["role"] == "tool"]
    assert sorted(calls) == sorted(results)
    assert all(0 < len(identity) <= 40 for identity in calls)


async def execute(*_: object) -> Any:
    return text_result("")
