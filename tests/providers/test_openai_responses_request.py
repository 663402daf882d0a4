"""History and settings become the JSON of a request to the Responses API."""

from __future__ import annotations

import json
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
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.core.tools import AgentTool, text_result
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.openai_responses import ResponsesApi
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.transform import NO_RESULT, encode
from tests.core.generated import ANY_TEXTS, values
from tests.providers.doubles import context, user
from tests.providers.oracle import check_request

PNG = ImageContent(data="aGk=", mime_type="image/png")
OPENAI = "https://api.openai.com/v1"
LOCAL = "http://127.0.0.1:8080/v1"
ITEM = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "gAAA",
}
THOUGHT = ThinkingContent(thinking="hm", thinking_signature=json.dumps({**ITEM, "status": None, "new": 1}))
READ = ToolCall(id="c1", name="read", arguments={"path": "a"})
LIST = ToolCall(id="c2", name="ls", thought_signature="fc_2")
LEVELS: dict[str, str | int | None] = {"off": None, "xhigh": "xhigh"}


def api(
    model: str = "mock",
    base_url: str = LOCAL,
    *,
    reasoning: bool = True,
    images: bool = True,
    levels: dict[str, str | int | None] | None = None,
    compat: dict[str, Any] | None = None,
    **wanted: Any,
) -> ResponsesApi:
    described = Model(
        id=model,
        name=model,
        api="openai-responses",
        provider="openai",
        base_url=base_url,
        reasoning=reasoning,
        input=("text", "image") if images else ("text",),
        thinking_levels=levels or {},
        compat=compat or {},
    )
    return ResponsesApi(described, ModelSettings(provider="openai", id=model, **wanted))


def body(
    responses: ResponsesApi,
    *messages: Message,
    level: ThinkingLevel = ThinkingLevel.OFF,
    tools: tuple[AgentTool, ...] = (),
    **options: Any,
) -> dict[str, Any]:
    asked = StreamOptions(signal=AbortSignal(), thinking_level=level, **options)
    made: dict[str, Any] = msgspec.json.decode(encode(responses.body(context(*messages, tools=tools), asked)))
    check_request("openai-responses", made)
    return made


def sent(*messages: Message, **described: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body(api(**described), *messages)["input"]
    return found


def assistant(
    *content: AssistantContent, stop: StopReason = "done", model: str = "mock", provider: str = "openai"
) -> AssistantMessage:
    return AssistantMessage(
        content=content,
        api="openai-responses",
        provider=provider,
        model=model,
        stop_reason=stop,
        timestamp=2,
    )


def text(words: str, signature: str | None = None) -> TextContent:
    return TextContent(text=words, text_signature=signature)


def result(call: str, *content: UserContent) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=call, tool_name="read", content=content, timestamp=3)


def called(identity: str, name: str = "read", arguments: str = '{"path":"a"}', **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": identity, "name": name, "arguments": arguments, **more}


def output(identity: str, what: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": identity, "output": what}


def message(identity: str, words: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": words, "annotations": []}]
    head = {"type": "message", "id": identity, "role": "assistant", "status": "completed"}
    return {**head, "content": content, **more}


# The conversation


def test_turn_goes_back_as_it_came() -> None:
    said = text("I look.", "msg_1|commentary")
    items = sent(
        user("Go"), assistant(THOUGHT, said, READ, LIST), result("c1", text("A")), result("c2", text("B"))
    )

    assert items == [
        {"role": "user", "content": "Go"},
        ITEM,
        message("msg_1", "I look.", phase="commentary"),
        called("c1"),
        called("c2", "ls", "{}", id="fc_2"),
        output("c1", "A"),
        output("c2", "B"),
    ]


@pytest.mark.parametrize("wrote", [{"model": "other"}, {"provider": "azure"}])
def test_what_another_model_wrote_goes_on_without_its_thinking_and_ids(wrote: dict[str, str]) -> None:
    answer = assistant(THOUGHT, text("I look.", "msg_1|commentary"), LIST, **wrote)  # type: ignore[arg-type]

    assert sent(user("Go"), answer, result("c2", text("B")))[1:] == [
        {"role": "assistant", "content": "I look."},
        called("c2", "ls", "{}"),
        output("c2", "B"),
    ]


def test_conversation_that_began_on_another_api_goes_on() -> None:
    foreign = AssistantMessage(
        content=(
            ThinkingContent(thinking="hm", thinking_signature="c2ln"),
            text("I look."),
            ToolCall(id="toolu:01/x", name="read", thought_signature="c2ln"),
            ToolCall(id="x" * 80, name="ls"),
        ),
        api="anthropic-messages",
        provider="anthropic",
        model="claude",
        stop_reason="done",
        timestamp=2,
    )

    items = sent(foreign, result("x" * 80, text("B")), result("toolu:01/x", text("A")))

    assert items == [
        {"role": "assistant", "content": "I look."},
        called("toolu_01_x", arguments="{}"),
        called("x" * 64, "ls", "{}"),
        output("x" * 64, "B"),
        output("toolu_01_x", "A"),
    ]


@pytest.mark.parametrize("left", [(), (text(""),)])
def test_reasoning_of_which_nothing_came_is_left_out(left: tuple[TextContent, ...]) -> None:
    assert sent(user("Go"), assistant(text("Hi", "msg_1"), THOUGHT, *left), user("On")) == [
        {"role": "user", "content": "Go"},
        message("msg_1", "Hi"),
        {"role": "user", "content": "On"},
    ]


@pytest.mark.parametrize(
    "signature",
    [
        None,
        "",
        "reasoning_content",
        "[1]",
        '{"type":"reasoning","id":"rs_1","summary":[]}',
        '{"type":"reasoning","id":"rs_1","summary":[{"type":"other"}],"encrypted_content":"g"}',
        '{"type":"message","id":"rs_1","summary":[],"encrypted_content":"g"}',
    ],
)
def test_items_that_have_lost_their_reasoning_go_without_ids(signature: str | None) -> None:
    thought = ThinkingContent(thinking="hm", thinking_signature=signature)

    items = sent(assistant(thought, text("Hi", "msg_1|final_answer"), LIST))

    assert items == [
        {"role": "assistant", "content": "Hi", "phase": "final_answer"},
        called("c2", "ls", "{}"),
        output("c2", NO_RESULT),
    ]


def test_reasoning_that_is_not_encrypted_goes_back_in_words() -> None:
    item = {
        "type": "reasoning",
        "id": "rs",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}],
    }
    thought = ThinkingContent(
        thinking="hm", thinking_signature=json.dumps({**item, "encrypted_content": "", "status": "completed"})
    )

    assert sent(assistant(thought, text("Hi", "msg_1"))) == [item, message("msg_1", "Hi")]


def test_ids_that_are_too_long_become_short_or_go() -> None:
    long = "msg_" + "x" * 100
    items = sent(
        assistant(text("Hi", long), msgspec.structs.replace(LIST, thought_signature="fc_" + "x" * 62))
    )

    assert items[0]["id"].startswith("msg_")
    assert len(items[0]["id"]) == 64
    assert items[1] == called("c2", "ls", "{}")


def test_failed_answer_is_left_out_with_its_results() -> None:
    answer = assistant(text("Oh"), READ, stop="aborted")

    assert sent(user("Go"), answer, result("c1", text("A")), user("On")) == [
        {"role": "user", "content": "Go"},
        {"role": "user", "content": "On"},
    ]


def test_malformed_call_is_sent_with_no_arguments() -> None:
    broken = ToolCall(id="c1", name="read", raw_arguments='{"path": ')

    assert sent(assistant(broken), result("c1", text("No JSON"))) == [
        called("c1", arguments="{}"),
        output("c1", "No JSON"),
    ]


def test_images_stand_where_they_belong() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}
    asked = UserMessage(content=(text("Look"), PNG), timestamp=1)

    assert sent(asked, assistant(READ), result("c1", text("A"), PNG)) == [
        {"role": "user", "content": [{"type": "input_text", "text": "Look"}, image]},
        called("c1"),
        output("c1", [{"type": "input_text", "text": "A"}, image]),
    ]


@pytest.mark.parametrize("told", [{"images": False}, {"compat": {"supports_images": False}}])
def test_images_become_words_for_a_model_that_takes_none(told: dict[str, Any]) -> None:
    items = sent(
        UserMessage(content=(text("Look"), PNG), timestamp=1), assistant(READ), result("c1", PNG), **told
    )

    assert items[0]["content"] == "Look\n[image/png left out: mock takes no images]"
    assert items[2] == output("c1", "[image/png left out: mock takes no images]")


def test_empty_result_says_so() -> None:
    assert sent(assistant(READ), result("c1"))[1] == output("c1", "(no output)")


def test_half_characters_are_replaced() -> None:
    call = ToolCall(id="c1", name="read", arguments={"pa\udc00th": ["\ud83d", "ok \ud83c\udf89"]})

    items = sent(user("a\ud83db"), assistant(call))

    assert items[0]["content"] == "a\ufffdb"
    assert items[1]["arguments"] == '{"pa\ufffdth":["\ufffd","ok 🎉"]}'


def test_next_request_begins_as_the_last_one_did() -> None:
    responses = api()
    history: list[Message] = [user("Go"), assistant(THOUGHT, READ, LIST), result("c1", text("A"))]
    first = body(responses, *history)

    second = body(responses, *history, result("c2", text("B")), user("On"))

    assert first["input"][-1] == output("c2", NO_RESULT)
    assert second["input"] == [*first["input"][:-1], output("c2", "B"), {"role": "user", "content": "On"}]
    assert {**second, "input": None} == {**first, "input": None}


def test_message_is_encoded_once() -> None:
    responses = api()
    history: list[Message] = [user("Go")]
    for turn in range(400):
        call = ToolCall(id=f"c{turn}", name="read", arguments={"path": "a" * 2000})
        history += [assistant(THOUGHT, call), result(call.id, text("x" * 2000))]
    options = StreamOptions(signal=AbortSignal())
    started = time.perf_counter()
    first = encode(responses.body(context(*history), options))
    cold = time.perf_counter() - started

    warm = []
    for _ in range(5):
        started = time.perf_counter()
        assert encode(responses.body(context(*history), options)) == first
        warm.append(time.perf_counter() - started)

    assert min(warm) < cold / 2


# What else is said


def test_server_is_told_no_more_than_it_needs() -> None:
    async def execute(*_: object) -> Any:
        return text_result("")

    tool = AgentTool(name="read", description="Reads.", parameters={"type": "object"}, execute=execute)

    assert body(api(reasoning=False), user("Hi"), tools=(tool,)) == {
        "model": "mock",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "store": False,
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Reads.",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
    }


def test_settings_and_extra_body_have_their_say() -> None:
    asked = body(
        api(
            reasoning=False,
            max_output_tokens=3000,
            temperature=0.5,
            top_p=0.9,
            extra_body={"truncation": "auto"},
        ),
        session_id="s" * 65,
        max_output_tokens=5,
    )

    assert (asked["max_output_tokens"], asked["temperature"], asked["top_p"], asked["truncation"]) == (
        16,
        0.5,
        0.9,
        "auto",
    )
    assert len(asked["prompt_cache_key"]) == 64
    assert body(api(), session_id="s1")["prompt_cache_key"] == "s1"


@pytest.mark.parametrize(
    ("model", "levels", "options", "reasoning"),
    [
        ("gpt-5.1", {}, {"level": ThinkingLevel.OFF}, {"effort": "none"}),
        ("gpt-5.1", {}, {"level": ThinkingLevel.LOW}, {"effort": "low", "summary": "auto"}),
        ("gpt-5", {"off": None}, {"level": ThinkingLevel.OFF}, {"effort": "minimal", "summary": "auto"}),
        ("o3", {"off": None, "minimal": None}, {}, {"effort": "low", "summary": "auto"}),
        ("gpt-5.1", {}, {"level": ThinkingLevel.MAX}, {"effort": "high", "summary": "auto"}),
        (
            "gpt-5.2",
            {"xhigh": "xhigh"},
            {"level": ThinkingLevel.XHIGH},
            {"effort": "xhigh", "summary": "auto"},
        ),
        ("gpt-5.1", {}, {"thinking_budget": 9000}, {"effort": "high", "summary": "auto"}),
        ("gpt-5.1", {}, {"thinking_budget": 0, "level": ThinkingLevel.HIGH}, {"effort": "none"}),
        ("gpt-4.1", {}, {"level": ThinkingLevel.HIGH}, None),
    ],
)
def test_level_is_told_in_the_words_of_the_model(
    model: str, levels: dict[str, Any], options: dict[str, Any], reasoning: Any
) -> None:
    asked = body(api(model, OPENAI, levels=levels), **options)

    assert asked.get("reasoning") == reasoning
    assert asked.get("include") == (None if reasoning is None else ["reasoning.encrypted_content"])


def test_servers_other_than_openai_are_not_told_to_think_of_nothing() -> None:
    assert "reasoning" not in body(api())
    assert body(api(levels={"off": "none"}))["reasoning"] == {"effort": "none"}
    assert body(api(compat={"supports_effort_none": True}))["reasoning"] == {"effort": "none"}
    assert body(api(), level=ThinkingLevel.HIGH)["reasoning"] == {"effort": "high", "summary": "auto"}


@pytest.mark.parametrize(
    ("model", "level", "takes"),
    [
        ("gpt-4.1", ThinkingLevel.OFF, True),
        ("gpt-5.1", ThinkingLevel.OFF, True),
        ("gpt-5.1", ThinkingLevel.LOW, False),
    ],
)
def test_temperature_is_sent_only_where_the_model_takes_it(
    model: str, level: ThinkingLevel, takes: bool
) -> None:
    responses = api(model, OPENAI, temperature=0.5)

    asked = body(responses, level=level)

    warned = [warning for warning in responses.warnings(level) if "temperature" in warning]
    assert ("temperature" in asked, not warned) == (takes, takes)


def test_what_is_not_sent_as_it_was_asked_for_is_said() -> None:
    assert api("gpt-5.1", OPENAI).warnings(ThinkingLevel.LOW) == []
    assert api("gpt-5.1", OPENAI).warnings(ThinkingLevel.MAX) == [
        "thinking_level 'max' is sent as 'high', the nearest that there is"
    ]
    assert api("gpt-5", OPENAI, levels={"off": None}, top_p=1.0).warnings(ThinkingLevel.OFF) == [
        "thinking_level 'off' is sent as 'minimal', the nearest that there is",
        "top_p not sent: openai/gpt-5 takes none when it reasons"
        " (model.compat: {supports_temperature_when_reasoning: true} sends it)",
    ]
    assert api(reasoning=False).warnings(ThinkingLevel.OFF) == []
    assert api(reasoning=False).warnings(ThinkingLevel.LOW) == [
        "thinking_level 'low' is not sent: openai/mock is not known to take one"
        " (model.compat: {supports_reasoning_effort: true} sends it)"
    ]


def test_compat_has_the_last_word() -> None:
    off = dict.fromkeys(
        ["supports_store", "supports_prompt_cache_key", "supports_reasoning_summary",
         "supports_encrypted_reasoning", "supports_temperature"],
        False,
    )  # fmt: skip
    compat = {**off, "supports_reasoning_effort": True}

    asked = body(
        api(reasoning=False, compat=compat, temperature=1.0),
        user("Hi"),
        level=ThinkingLevel.LOW,
        session_id="s",
    )

    assert asked == {
        "model": "mock",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "reasoning": {"effort": "low"},
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
        api(compat=compat)

    assert str(caught.value) == message


# Any conversation

IDS = st.sampled_from(["", "a", "b", "call_1", "x" * 70, "x" * 71, "a b|c", "é\ud83d"])
SIGNATURES = (
    st.sampled_from(
        [
            None,
            "",
            "msg_1",
            "msg_1|final_answer",
            "m" * 70,
            "a|b|c",
            "fc_1",
            json.dumps(ITEM),
            "{}",
            "reasoning",
        ]
    )
    | ANY_TEXTS
)
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
        api=st.sampled_from(["openai-responses", "openai-completions"]),
        provider=st.just("openai"),
        model=st.sampled_from(["mock", "other"]),
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
    st.sampled_from([OPENAI, LOCAL]),
    st.booleans(),
    st.none() | st.integers(0, 30_000),
)
def test_every_request_is_one_that_the_official_sdk_allows(
    messages: list[Message], level: ThinkingLevel, base_url: str, images: bool, budget: int | None
) -> None:
    responses = api(base_url=base_url, images=images, levels=LEVELS, temperature=0.5, max_output_tokens=1)

    asked = body(responses, *messages, level=level, thinking_budget=budget, session_id="s")

    items = asked["input"]
    for at, item in enumerate(items):
        kind = item.get("type")
        if kind == "reasoning":
            assert items[at + 1].get("type") in ("reasoning", "message", "function_call")
        for name in ("id", "call_id"):
            assert kind == "reasoning" or len(item.get(name, "")) <= 64
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert sorted(calls) == sorted(results)
