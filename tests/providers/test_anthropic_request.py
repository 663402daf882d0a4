"""History and settings become the JSON of a request to the Messages API."""

from __future__ import annotations

import re
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
from agentcore_runner.providers.anthropic import AnthropicApi
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.transform import NO_RESULT, encode
from tests.core.generated import ANY_TEXTS
from tests.providers.doubles import context, user
from tests.providers.oracle import check_request

HOME = "https://api.anthropic.com"
SONNET, BINDING = "claude-sonnet-4-5", "claude-sonnet-5-5"
SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"
PNG = ImageContent(data="aGk=", mime_type="image/png")
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
READ = ToolCall(id="c1", name="read", arguments={"path": "a"})
LIST = ToolCall(id="c2", name="ls")
CACHED = {"cache_control": {"type": "ephemeral"}}
DROP_BLOCK = {"prefix_mismatch_behavior": "drop_block"}


def api(
    model: str = SONNET,
    base_url: str = HOME,
    *,
    images: bool = True,
    compat: dict[str, Any] | None = None,
    **wanted: Any,
) -> AnthropicApi:
    described = Model(
        id=model,
        name=model,
        api="anthropic-messages",
        provider="anthropic",
        base_url=base_url,
        reasoning=True,
        max_tokens=64_000,
        input=("text", "image") if images else ("text",),
        compat=compat or {},
    )
    return AnthropicApi(described, ModelSettings(provider="anthropic", id=model, **wanted))


def body(
    anthropic: AnthropicApi,
    *messages: Message,
    system: str = "",
    tools: tuple[AgentTool, ...] = (),
    level: ThinkingLevel = ThinkingLevel.OFF,
    **options: Any,
) -> dict[str, Any]:
    asked = StreamOptions(signal=AbortSignal(), thinking_level=level, **options)
    found: dict[str, Any] = msgspec.json.decode(
        encode(anthropic.body(context(*messages, system=system, tools=tools), asked))
    )
    checked(found)
    return found


def checked(found: dict[str, Any]) -> None:
    """The official types know the block binding only among those of betas, and are of a version of the API
    that takes no sampling."""
    plain = {name: value for name, value in found.items() if name not in ("temperature", "top_p")}
    if "thinking" in found:
        plain["thinking"] = dict(found["thinking"])
        assert plain["thinking"].pop("block_binding", DROP_BLOCK) == DROP_BLOCK
    check_request("anthropic", plain)


def turns(*messages: Message, **wanted: Any) -> list[dict[str, Any]]:
    """The messages without their marks."""
    found: list[dict[str, Any]] = body(api(**wanted), *messages)["messages"]
    for block in [block for turn in found for block in turn["content"]]:
        block.pop("cache_control", None)
    return found


def assistant(
    *content: AssistantContent,
    model: str = SONNET,
    provider: str = "anthropic",
    written_by: str = "anthropic-messages",
    stop: StopReason = "done",
) -> AssistantMessage:
    return AssistantMessage(
        content=content, api=written_by, provider=provider, model=model, stop_reason=stop, timestamp=2
    )


def result(call: str, *content: UserContent, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call, tool_name="shot", content=content, is_error=is_error, timestamp=3
    )


def text(words: str) -> TextContent:
    return TextContent(text=words)


def said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def asks(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def answers(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def used(call_id: str, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments or {}}


def came(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


GOES_ON = asks(said("(The conversation goes on.)"))
HI = asks(said("Hi"))


async def nothing(*_: Any) -> Any:
    return text_result("")


def tool(name: str = "read", **schema: Any) -> AgentTool:
    return AgentTool(name=name, description="Read.", parameters=schema, execute=nothing)


def test_request_says_what_was_asked() -> None:
    schema = {
        "type": "object",
        "properties": {"path": {"$ref": "#/$defs/path"}},
        "required": ["path"],
        "additionalProperties": False,
        "$defs": {"path": {"type": "string", "pattern": "^/", "const": "/a"}},
    }
    anthropic = api(temperature=0.5, max_output_tokens=99, extra_body={"metadata": {"user_id": "u"}})
    tools = (tool("ls"), tool("read", **schema))

    asked = body(anthropic, user(), system="Be brief.", tools=tools, max_output_tokens=50)

    assert asked == {
        "model": SONNET,
        "max_tokens": 50,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", **CACHED}],
        "tools": [
            {"name": "ls", "description": "Read.", "input_schema": {"type": "object"}},
            {"name": "read", "description": "Read.", "input_schema": schema, **CACHED},
        ],
        "messages": [asks({"type": "text", "text": "Hi", **CACHED})],
        "temperature": 0.5,
        "metadata": {"user_id": "u"},
    }
    assert anthropic.url == f"{HOME}/v1/messages"


def test_longest_answer_is_asked_for_where_nothing_is_said() -> None:
    assert body(api(), user())["max_tokens"] == 64_000


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        (HOME, f"{HOME}/v1/messages"),
        (f"{HOME}/v1", f"{HOME}/v1/messages"),
        ("https://api.deepseek.com/anthropic", "https://api.deepseek.com/anthropic/v1/messages"),
        ("http://localhost:8080/api/v2", "http://localhost:8080/api/v2/messages"),
    ],
)
def test_address_has_one_version(base_url: str, url: str) -> None:
    assert api(base_url=base_url).url == url


def test_versions_are_named_and_betas_only_where_they_are_needed() -> None:
    interleaved, binding = "interleaved-thinking-2025-05-14", "thinking-binding-controls-2026-08-01"
    betas = {
        model: api(model).headers.get("anthropic-beta")
        for model in ("claude-opus-4-1", SONNET, "claude-opus-4-6", "claude-opus-5", BINDING, "glm-5")
    }

    assert betas == {
        "claude-opus-4-1": interleaved,
        SONNET: interleaved,
        "claude-opus-4-6": None,
        "claude-opus-5": None,
        BINDING: binding,
        "glm-5": None,
    }
    assert api().headers["anthropic-version"] == "2023-06-01"


def test_keys_of_the_output_config_are_joined() -> None:
    wanted = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    anthropic = api("claude-opus-4-6", extra_body={"output_config": wanted, "service_tier": "auto"})

    asked = body(anthropic, user(), level=ThinkingLevel.LOW)

    assert asked["output_config"] == {"effort": "low", **wanted}
    assert asked["service_tier"] == "auto"


def test_user_messages_that_follow_each_other_are_one_turn_and_empty_texts_are_none() -> None:
    look = UserMessage(content=(text("Look"), text(""), PNG, text(" \n")), timestamp=1)

    assert turns(look, user("\u2028"), user("And?")) == [asks(said("Look"), IMAGE, said("And?"))]
    assert turns(user(" "), assistant(text("A")), user()) == [GOES_ON, answers(said("A")), HI]


def test_images_that_cannot_be_sent_are_named() -> None:
    odd = ImageContent(data="aGk=", mime_type="image/tiff")
    jpg = ImageContent(data="aGk=", mime_type="image/jpg")
    message = UserMessage(content=(odd, jpg), timestamp=1)

    seeing, blind = turns(message)[0], turns(message, images=False)[0]

    source = {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}
    left_out = "[image/tiff left out: only JPEG, PNG, GIF and WebP can be sent]"
    assert seeing == asks(said(left_out), {"type": "image", "source": source})
    assert blind == asks(
        said(f"[image/tiff left out: {SONNET} takes no images]"),
        said(f"[image/jpg left out: {SONNET} takes no images]"),
    )


def test_own_thinking_goes_back_as_it_came() -> None:
    own = assistant(
        ThinkingContent(thinking="Hm \n", thinking_signature=SIGNATURE),
        ThinkingContent(thinking="", thinking_signature="EmwK", redacted=True),
        ThinkingContent(thinking="", thinking_signature="omitted"),
        ThinkingContent(thinking="unsigned"),
        text("\n\n"),
        text("Say"),
        READ,
    )

    assert turns(user(), own)[1] == answers(
        {"type": "thinking", "thinking": "Hm \n", "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "thinking", "thinking": "", "signature": "omitted"},
        said("Say"),
        used("c1", "read", {"path": "a"}),
    )


def test_thinking_without_signature_goes_back_where_a_flag_says_so() -> None:
    own = assistant(ThinkingContent(thinking="Hm"), ThinkingContent(thinking=""), text("Say"), model="m2")

    model = turns(user(), own, user(), model="m2", compat={"allows_empty_signature": True})[1]

    assert model == answers({"type": "thinking", "thinking": "Hm", "signature": ""}, said("Say"))


def test_foreign_answer_loses_its_thinking_and_its_ids_become_ours() -> None:
    foreign = assistant(
        ThinkingContent(thinking="Hm", thinking_signature="reasoning_content"),
        TextContent(text="Say", text_signature="{}"),
        ToolCall(id="call_1|fc_2", name="read", arguments={}, thought_signature="s"),
        ToolCall(id="call_1/fc_2", name="ls"),
        provider="openai",
        written_by="openai-responses",
        model="gpt-6",
    )

    found = turns(user(), foreign, result("call_1/fc_2", text("two")), result("call_1|fc_2", text("one")))

    other = found[1]["content"][2]["id"]
    assert re.fullmatch(r"[0-9a-f]{64}", other)
    assert found[1:] == [
        answers(said("Say"), used("call_1_fc_2", "read"), used(other, "ls")),
        asks(came(other, "two"), came("call_1_fc_2", "one")),
    ]


def test_results_stand_first_in_one_turn_and_every_call_has_one() -> None:
    found = turns(
        user(),
        assistant(READ, LIST),
        result("c2", text("two"), text("lines")),
        user("Go on"),
        assistant(ToolCall(id="c3", name="now")),
        result("lost", text("x")),
    )

    assert found[2:] == [
        asks(came("c2", "two\nlines"), came("c1", NO_RESULT, is_error=True), said("Go on")),
        answers(used("c3", "now")),
        asks(came("c3", NO_RESULT, is_error=True)),
    ]


def test_images_stand_inside_results_but_behind_those_of_failures() -> None:
    found = turns(
        user(),
        assistant(READ, LIST, ToolCall(id="c3", name="now"), ToolCall(id="c4", name="now")),
        result("c1", PNG, is_error=True),
        result("c2", text("Look"), PNG, PNG),
        result("c3", PNG),
        result("c4", text(" ")),
        user(),
    )

    assert found[2] == asks(
        came("c1", "(the image follows below)", is_error=True),
        came("c2", [said("Look"), IMAGE, IMAGE]),
        came("c3", [said("(the image is attached)"), IMAGE]),
        came("c4", "(no output)"),
        said("From the result of shot:"),
        IMAGE,
        said("Hi"),
    )


def test_conversation_begins_and_ends_with_the_user() -> None:
    found = turns(assistant(text("A")), assistant(text("B")))

    assert found == [GOES_ON, answers(said("A")), GOES_ON, answers(said("B")), GOES_ON]
    assert turns(assistant(text("A"), stop="error"), result("lost", text("x"))) == [GOES_ON]


def test_calls_of_malformed_arguments_and_odd_names_can_be_sent() -> None:
    broken = ToolCall(id="", name="multi tool/use\n", raw_arguments='{"a')
    nameless = ToolCall(id="é" * 99, name="", arguments={"half": "\ud83d"})

    found = turns(
        user(), assistant(broken, nameless), result("", text("cut")), result("é" * 99, text("what?"))
    )

    assert found[1:] == [
        answers(used("call", "multi_tool_use_"), used("_" * 64, "_", {"half": "\ufffd"})),
        asks(came("call", "cut"), came("_" * 64, "what?")),
    ]


def marks(found: dict[str, Any]) -> list[Any]:
    """Where marks are: in the system, in the tools, or at a turn and block."""
    at: list[Any] = [name for name in ("system", "tools") if "cache_control" in found.get(name, [{}])[-1]]
    for number, turn in enumerate(found["messages"]):
        for place, block in enumerate(turn["content"]):
            if "cache_control" in block:
                at.append((number, place, len(turn["content"])))
    return at


def test_marks_move_with_the_conversation_and_everything_else_stays() -> None:
    anthropic = api()
    wanted: dict[str, Any] = {"system": "Be brief.", "tools": (tool(),)}
    messages: list[Message] = [user(), user("There")]

    first = body(anthropic, *messages, **wanted)
    messages += [assistant(READ, LIST), result("c1", PNG), result("c2", text("two"))]
    second = body(anthropic, *messages, **wanted)
    messages += [assistant(text("Done")), user("And?")]
    third = body(anthropic, *messages, **wanted)

    assert marks(first) == ["system", "tools", (0, 1, 2)]
    assert marks(second) == ["system", "tools", (0, 1, 2), (2, 1, 2)]
    assert marks(third) == ["system", "tools", (2, 1, 2), (4, 0, 1)]
    assert without_marks(third["messages"][:3]) == without_marks(second["messages"])
    assert without_marks(second["messages"][:1]) == without_marks(first["messages"])


def without_marks(messages: list[Any]) -> list[Any]:
    return [
        [
            {name: value for name, value in block.items() if name != "cache_control"}
            for block in turn["content"]
        ]
        for turn in messages
    ]


def test_marks_may_last_longer_or_be_left_out() -> None:
    hour = body(api(compat={"cache_ttl": "1h"}), user(), system="S", tools=(tool(),))
    none = body(api(compat={"supports_cache_control": False}), user(), system="S", tools=(tool(),))

    lasting = {"type": "ephemeral", "ttl": "1h"}
    assert hour["system"][-1]["cache_control"] == hour["tools"][-1]["cache_control"] == lasting
    assert hour["messages"][-1]["content"][-1]["cache_control"] == lasting
    assert marks(none) == []


def thinking_in(found: dict[str, Any]) -> list[str]:
    return [
        block["thinking"]
        for turn in found["messages"]
        for block in turn["content"]
        if block["type"] == "thinking"
    ]


def thought(words: str, model: str = BINDING) -> AssistantMessage:
    return assistant(ThinkingContent(thinking=words, thinking_signature="s"), text(words), model=model)


def test_thinking_that_no_longer_fits_is_dropped_by_the_service_where_it_can_be_told() -> None:
    asked = body(api(BINDING), user(), thought("A"), user(), level=ThinkingLevel.LOW)

    assert thinking_in(asked) == ["A"]
    assert asked["thinking"] == {
        "type": "adaptive",
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }


def test_thinking_that_may_no_longer_fit_stays_behind_where_it_cannot_be_told() -> None:
    anthropic = api(BINDING)
    history: list[Message] = [user(), thought("A"), user()]

    found = [thinking_in(body(anthropic, *history))]
    for level, system, more in [
        (ThinkingLevel.OFF, "", [thought("B"), user()]),
        (ThinkingLevel.OFF, "", [thought("C"), user()]),
        (ThinkingLevel.HIGH, "", [thought("D"), user()]),
        (ThinkingLevel.OFF, "", [thought("E"), user()]),
        (ThinkingLevel.OFF, "", [thought("F"), user()]),
        (ThinkingLevel.OFF, "Other", [thought("G"), user()]),
        (ThinkingLevel.OFF, "Other", [thought("H"), user()]),
    ]:
        history += more
        found.append(thinking_in(body(anthropic, *history, level=level, system=system)))
    compacted = thinking_in(body(anthropic, user("Summary"), *history[-6:], system="Other"))

    assert found == [[], ["B"], ["B", "C"], ["A", "B", "C", "D"], [], ["F"], [], ["H"]]
    assert compacted == []


def test_header_of_the_settings_decides_what_the_service_can_be_told() -> None:
    anthropic = api(BINDING, headers={"Anthropic-Beta": "context-1m-2025-08-07"})

    asked = body(anthropic, user(), thought("A"), user(), level=ThinkingLevel.LOW)

    assert asked["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert thinking_in(asked) == []


def test_models_that_do_not_bind_keep_their_thinking() -> None:
    anthropic = api("claude-opus-5")

    asked = body(anthropic, user(), thought("A", "claude-opus-5"), user())

    assert (thinking_in(asked), asked["thinking"]) == (["A"], {"type": "disabled"})


def test_request_costs_what_is_new_in_it() -> None:
    anthropic = api()
    history: list[Message] = []
    for number in range(10_000):
        history += [user("x" * 100), assistant(text(str(number)))]
    body(anthropic, *history, user())
    options = StreamOptions(signal=AbortSignal())

    started = time.perf_counter()
    for number in range(20):
        history += [user(), assistant(LIST), result("c2", text(str(number)))]
        anthropic.body(context(*history), options)

    assert time.perf_counter() - started < 2


IDS = st.sampled_from(["", "a", "b", "call|fc_1", "é", "x" * 80]) | ANY_TEXTS
SIGNATURES = st.none() | st.sampled_from([SIGNATURE, "reasoning_content", ""]) | ANY_TEXTS
ARGUMENTS = st.dictionaries(ANY_TEXTS, st.none() | ANY_TEXTS | st.integers(), max_size=2)
TYPES = st.sampled_from(["image/png", "image/jpg", "image/webp", "image/tiff", ""])
IMAGES = st.builds(ImageContent, data=st.sampled_from(["aGk=", "AAAA"]), mime_type=TYPES | ANY_TEXTS)
CONTENT = st.lists(st.builds(TextContent, text=ANY_TEXTS) | IMAGES, max_size=3).map(tuple)
BLOCKS = (
    st.builds(TextContent, text=ANY_TEXTS, text_signature=SIGNATURES)
    | st.builds(ThinkingContent, thinking=ANY_TEXTS, thinking_signature=SIGNATURES, redacted=st.booleans())
    | st.builds(
        ToolCall,
        id=IDS,
        name=st.sampled_from(["read", "", "y" * 200]) | ANY_TEXTS,
        arguments=ARGUMENTS,
        raw_arguments=st.none() | ANY_TEXTS,
        thought_signature=SIGNATURES,
    )
)
MODELS = [SONNET, "claude-opus-4-6", "claude-opus-4-8", BINDING, "claude-haiku-5-5", "claude-fable-5-2",
          "claude-3-5-haiku-latest", "MiniMax-M2"]  # fmt: skip


def distinct(block: AssistantContent) -> object:
    """Ids of calls are unique in an answer: the core sees to it."""
    return block.id if isinstance(block, ToolCall) else object()


MESSAGES = (
    st.builds(UserMessage, content=CONTENT, timestamp=st.just(1))
    | st.builds(
        AssistantMessage,
        content=st.lists(BLOCKS, max_size=4, unique_by=distinct).map(tuple),
        api=st.sampled_from(["anthropic-messages", "anthropic-messages", "openai-completions"]),
        provider=st.sampled_from(["anthropic", "anthropic", "openai"]),
        model=st.sampled_from([SONNET, BINDING, "MiniMax-M2"]),
        stop_reason=st.sampled_from(["done", "done", "length", "refused", "error", "aborted"]),
        timestamp=st.just(2),
    )
    | st.builds(
        ToolResultMessage,
        tool_call_id=IDS,
        tool_name=st.sampled_from(["read", ""]),
        content=CONTENT,
        is_error=st.booleans(),
        timestamp=st.just(3),
    )
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(MESSAGES, max_size=8),
    st.integers(0, 8),
    st.sampled_from(ThinkingLevel),
    st.sampled_from(MODELS),
    st.booleans(),
    st.none() | st.integers(0, 90_000),
    st.none() | st.integers(1, 70_000),
)
def test_every_request_is_one_that_the_official_sdk_allows(
    messages: list[Message],
    cut: int,
    level: ThinkingLevel,
    model: str,
    images: bool,
    budget: int | None,
    cap: int | None,
) -> None:
    anthropic = api(model, images=images, temperature=0.5, top_p=0.9, max_output_tokens=cap)

    body(anthropic, *messages[:cut], level=level, system="\ud83d", tools=(tool(),))
    asked = body(anthropic, *messages, level=level, thinking_budget=budget, system="\ud83d", tools=(tool(),))

    ids = [call.id for each in messages if isinstance(each, AssistantMessage) for call in each.tool_calls]
    check_turns(asked["messages"], unique=len(ids) == len({*ids}))
    check_thinking(asked, model)
    assert len(marks(asked)) <= 4
    anthropic.warnings(level)


def check_turns(messages: list[Any], *, unique: bool) -> None:
    """What the service demands beyond the types: turns by turns, beginning and ending with the user; results
    first, one for each call of the answer before; no empty text; no image in a failure; names and ids, which
    the core keeps `unique`."""
    asked: list[str] = []
    assert [turn["role"] for turn in messages] == [
        "user" if number % 2 == 0 else "assistant" for number in range(len(messages))
    ]
    assert len(messages) % 2 == 1
    seen: set[str] = set()
    for turn in messages:
        kinds = [block["type"] for block in turn["content"]]
        results = [block for block in turn["content"] if block["type"] == "tool_result"]
        assert kinds
        assert sorted(block["tool_use_id"] for block in results) == sorted(asked)
        assert kinds[: len(results)] == ["tool_result"] * len(results)
        for block in results:
            assert block["content"]
            assert isinstance(block["content"], str) or not block.get("is_error")
        for block in turn["content"]:
            assert block["type"] != "text" or block["text"].strip()
        calls = [block for block in turn["content"] if block["type"] == "tool_use"]
        asked = [call["id"] for call in calls]
        assert not unique or not seen & {*asked}
        seen |= {*asked}
        for call in calls:
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,128}", call["name"])
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["id"])


def check_thinking(asked: dict[str, Any], model: str) -> None:
    """What goes together: budgets and caps, thinking and sampling."""
    thinking = asked.get("thinking", {"type": "none"})
    if thinking["type"] == "enabled":
        assert 1024 <= thinking["budget_tokens"] <= asked["max_tokens"] - 1024
    if thinking["type"] in ("enabled", "adaptive") and "claude" in model:
        assert "temperature" not in asked
        assert "top_p" not in asked
    assert model.startswith("MiniMax") or not {"temperature", "top_p"} <= asked.keys() or "3-5" in model
    assert ("output_config" in asked) == (thinking["type"] == "adaptive")


HAIKU = "claude-haiku-4-5"
FOREIGN = {"model": "gpt-5-mini", "provider": "openai", "written_by": "openai-responses"}
CALL = ToolCall(id="c1", name="read")
THOUGHT = ThinkingContent(thinking="hm", thinking_signature="sig")


def next_call(identity: str, *before: AssistantContent, **by: Any) -> list[Message]:
    call = ToolCall(id=identity, name="read")
    return [assistant(*before, call, **{"model": HAIKU, **by}), result(identity, text("r"))]


@pytest.mark.parametrize(
    ("history", "thinks"),
    [
        ([user()], True),
        ([user(), assistant(CALL, **FOREIGN), result("c1", text("r"))], False),
        ([user(), assistant(CALL, **FOREIGN)], False),
        ([user(), assistant(THOUGHT, CALL, **FOREIGN), result("c1", text("r"))], False),
        ([user(), *next_call("c1")], False),
        ([user(), *next_call("c1", THOUGHT)], True),
        ([user(), *next_call("c1", THOUGHT), *next_call("c2")], True),
        ([user(), *next_call("c1", THOUGHT), *next_call("c2", **FOREIGN)], False),
        ([user(), *next_call("c1", **FOREIGN), *next_call("c2")], False),
        ([user(), *next_call("c1", **FOREIGN), assistant(text("done"), **FOREIGN), user()], True),
        ([user(), *next_call("c1", **FOREIGN), user(), *next_call("c2", THOUGHT)], True),
    ],
)
def test_budget_is_told_only_where_the_calls_that_go_on_came_about_with_thinking(
    history: list[Message], thinks: bool
) -> None:
    found = body(api(HAIKU), *history, level=ThinkingLevel.LOW)

    assert found.get("thinking") == ({"type": "enabled", "budget_tokens": 2048} if thinks else None)


def test_adaptive_thinking_and_other_models_need_no_thinking_before() -> None:
    history = [user(), assistant(CALL, **FOREIGN), result("c1", text("r"))]

    adaptive = body(api("claude-opus-4-6"), *history, level=ThinkingLevel.LOW)
    local = body(api("qwen3"), *history, level=ThinkingLevel.LOW)

    assert (adaptive["thinking"]["type"], local["thinking"]["type"]) == ("adaptive", "enabled")


def test_temperature_is_sent_where_the_calls_that_go_on_keep_the_model_from_thinking() -> None:
    haiku = api(HAIKU, temperature=0.5)
    history = [user(), assistant(CALL, **FOREIGN), result("c1", text("r"))]

    assert body(haiku, *history, level=ThinkingLevel.LOW)["temperature"] == 0.5
