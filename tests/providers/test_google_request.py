"""History and settings become the JSON of a request to generateContent."""

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
from agentcore_runner.providers.google import GoogleApi
from agentcore_runner.providers.settings import ModelSettings
from agentcore_runner.providers.transform import NO_RESULT, encode
from tests.core.generated import ANY_TEXTS
from tests.providers.doubles import context, user
from tests.providers.oracle import check_request

GOOGLE = "https://generativelanguage.googleapis.com"
PNG = ImageContent(data="aGk=", mime_type="image/png")
OLD, NEW = "gemini-2.5-flash", "gemini-3.5-flash"
SIGNATURE = "CiQB0e2Kb3Rlc3Q="
SKIP = "skip_thought_signature_validator"
READ = ToolCall(id="c1", name="read", arguments={"path": "a"}, thought_signature=SIGNATURE)
LIST = ToolCall(id="c2", name="ls")
GOES_ON = {"role": "user", "parts": [{"text": "(The conversation goes on.)"}]}
HI = {"role": "user", "parts": [{"text": "Hi"}]}


def api(
    model: str = NEW,
    base_url: str = GOOGLE,
    *,
    reasoning: bool = True,
    images: bool = True,
    compat: dict[str, Any] | None = None,
    **wanted: Any,
) -> GoogleApi:
    described = Model(
        id=model,
        name=model,
        api="google-generative-ai",
        provider="google",
        base_url=base_url,
        reasoning=reasoning,
        input=("text", "image") if images else ("text",),
        compat=compat or {},
    )
    return GoogleApi(described, ModelSettings(provider="google", id=model, **wanted))


def body(
    google: GoogleApi,
    *messages: Message,
    system: str = "",
    tools: tuple[AgentTool, ...] = (),
    level: ThinkingLevel = ThinkingLevel.OFF,
    **options: Any,
) -> dict[str, Any]:
    asked = StreamOptions(signal=AbortSignal(), thinking_level=level, **options)
    found: dict[str, Any] = msgspec.json.decode(
        encode(google.body(context(*messages, system=system, tools=tools), asked))
    )
    check_request("gemini", found)
    return found


def turns(*messages: Message, **wanted: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body(api(**wanted), *messages)["contents"]
    return found


def assistant(
    *content: AssistantContent,
    model: str = NEW,
    provider: str = "google",
    written_by: str = "google-generative-ai",
    stop: StopReason = "done",
) -> AssistantMessage:
    return AssistantMessage(
        content=content, api=written_by, provider=provider, model=model, stop_reason=stop, timestamp=2
    )


def result(call: str, *content: UserContent, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call, tool_name="any", content=content, is_error=is_error, timestamp=3
    )


def text(words: str) -> TextContent:
    return TextContent(text=words)


def response(name: str, words: str, call_id: str | None = None, **more: Any) -> dict[str, Any]:
    ids = {} if call_id is None else {"id": call_id}
    return {"functionResponse": {**ids, "name": name, "response": {"output": words}, **more}}


async def nothing(*_: Any) -> Any:
    return text_result("")


def test_request_says_what_was_asked() -> None:
    schema = {
        "type": "object",
        "properties": {"path": {"$ref": "#/$defs/path"}},
        "required": ["path"],
        "additionalProperties": False,
        "$defs": {"path": {"type": "string", "pattern": "^/", "const": "/a"}},
    }
    tool = AgentTool(name="read", description="Read.", parameters=schema, execute=nothing)
    google = api(
        temperature=0.5, top_p=0.9, max_output_tokens=99, extra_body={"generationConfig": {"seed": 1}}
    )

    asked = body(google, user(), system="Be brief.", tools=(tool,), max_output_tokens=50)

    assert asked == {
        "contents": [HI],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read", "description": "Read.", "parametersJsonSchema": schema}
                ]
            }
        ],
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "maxOutputTokens": 50,
            "thinkingConfig": {"thinkingLevel": "MINIMAL"},
            "seed": 1,
        },
    }


def test_keys_that_the_settings_add_are_sent_as_they_are() -> None:
    extra = {"cachedContent": "cachedContents/a", "generationConfig": {"thinkingConfig": {}}}

    asked = body(api(extra_body=extra), user())

    assert asked == {"contents": [HI], **extra}


@pytest.mark.parametrize(
    ("base_url", "model", "path"),
    [
        (GOOGLE, "gemini-3.5-flash", "/v1beta/models/gemini-3.5-flash"),
        (f"{GOOGLE}/v1beta", "gemini-3.5-flash", "/v1beta/models/gemini-3.5-flash"),
        (f"{GOOGLE}/v1", "models/gemini-3.5-flash", "/v1/models/gemini-3.5-flash"),
        (f"{GOOGLE}/v1alpha", "x", "/v1alpha/models/x"),
        (f"{GOOGLE}/proxy/v1/gemini", "x", "/proxy/v1/gemini/v1beta/models/x"),
        (GOOGLE, "tunedModels/my model-1", "/v1beta/tunedModels/my%20model-1"),
        (GOOGLE, "a:b?c#d/é", "/v1beta/models/a%3Ab%3Fc%23d/%C3%A9"),
    ],
)
def test_address_names_version_and_model(base_url: str, model: str, path: str) -> None:
    assert api(model, base_url).url == f"{GOOGLE}{path}:streamGenerateContent?alt=sse"


def test_user_message_becomes_parts() -> None:
    message = UserMessage(content=(text("Look"), text(""), PNG), timestamp=1)
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    left_out = {"text": f"[image/png left out: {NEW} takes no images]"}

    assert turns(message) == [{"role": "user", "parts": [{"text": "Look"}, image]}]
    assert turns(message, images=False) == [{"role": "user", "parts": [{"text": "Look"}, left_out]}]
    assert turns(user("")) == [{"role": "user", "parts": [{"text": "(no text)"}]}]


def test_own_answer_goes_back_with_its_signatures() -> None:
    answer = assistant(
        ThinkingContent(thinking="Hm", thinking_signature=SIGNATURE),
        ThinkingContent(thinking="", thinking_signature=SIGNATURE),
        ThinkingContent(thinking="Aha"),
        TextContent(text="Say", text_signature=SIGNATURE),
        TextContent(text="", text_signature=SIGNATURE),
        TextContent(text=""),
        READ,
        LIST,
    )

    model = turns(user(), answer)[1]

    assert model == {
        "role": "model",
        "parts": [
            {"text": "Hm", "thought": True, "thoughtSignature": SIGNATURE},
            {"text": "", "thought": True, "thoughtSignature": SIGNATURE},
            {"text": "Aha", "thought": True},
            {"text": "Say", "thoughtSignature": SIGNATURE},
            {"text": "", "thoughtSignature": SIGNATURE},
            {
                "functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}},
                "thoughtSignature": SIGNATURE,
            },
            {"functionCall": {"id": "c2", "name": "ls", "args": {}}},
        ],
    }


@pytest.mark.parametrize("signature", ["reasoning_content", "AAA", "AA=A", "AAé=", "{}", "AAAA\n", "===="])
def test_signature_that_is_no_base64_stays_behind(signature: str) -> None:
    answer = assistant(
        ThinkingContent(thinking="Hm", thinking_signature=signature),
        TextContent(text="Hi", text_signature=signature),
    )

    model = turns(user(), answer)[1]

    assert model["parts"] == [{"text": "Hm", "thought": True}, {"text": "Hi"}]


@pytest.mark.parametrize(
    "other",
    [
        {"model": "gemini-3.1-pro-preview"},
        {"provider": "openai"},
        {"written_by": "anthropic-messages", "model": "claude-opus-4-6", "provider": "anthropic"},
    ],
)
def test_foreign_answer_loses_thinking_and_signatures(other: dict[str, str]) -> None:
    answer = assistant(
        ThinkingContent(thinking="Hm", thinking_signature=SIGNATURE),
        TextContent(text="Say", text_signature=SIGNATURE),
        ToolCall(id="call|fc_1", name="read", arguments={}, thought_signature=SIGNATURE),
        LIST,
        **other,  # type: ignore[arg-type]
    )

    found = turns(user(), answer, result("call|fc_1", text("one")), result("c2", text("two")))

    first, second = {"id": "call_fc_1", "name": "read", "args": {}}, {"id": "c2", "name": "ls", "args": {}}
    signed = {"functionCall": first, "thoughtSignature": SKIP}
    assert found[1:] == [
        {"role": "model", "parts": [{"text": "Say"}, signed, {"functionCall": second}]},
        {"role": "user", "parts": [response("read", "one", "call_fc_1"), response("ls", "two", "c2")]},
    ]


def test_older_models_are_sent_neither_ids_nor_the_sign_of_a_missing_signature() -> None:
    found = turns(user(), assistant(LIST, model=OLD), result("c2", text("two")), model=OLD)

    assert found[1:] == [
        {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
        {"role": "user", "parts": [response("ls", "two")]},
    ]


def test_results_are_one_turn_in_the_order_of_the_calls() -> None:
    third = ToolCall(id="c3", name="now")

    found = turns(
        user(),
        assistant(READ, LIST, third),
        result("c2", text("two"), text("lines")),
        result("c1", text("no"), is_error=True),
        user("Go on"),
        assistant(LIST),
    )

    error = {"id": "c1", "name": "read", "response": {"error": "no"}}
    missing = {"id": "c3", "name": "now", "response": {"error": NO_RESULT}}
    last = {"id": "c2", "name": "ls", "response": {"error": NO_RESULT}}
    assert [turn["parts"] for turn in found[2:4]] == [
        [
            {"functionResponse": error},
            response("ls", "two\nlines", "c2"),
            {"functionResponse": missing},
        ],
        [{"text": "Go on"}],
    ]
    assert found[5:] == [{"role": "user", "parts": [{"functionResponse": last}]}]


def test_images_of_results_stand_inside_them() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}

    found = turns(
        user(), assistant(READ, LIST), result("c1", text("one"), PNG), result("c2", PNG, PNG), user()
    )

    assert found[2:] == [
        {
            "role": "user",
            "parts": [
                response("read", "one", "c1", parts=[image]),
                response("ls", "(the image is attached)", "c2", parts=[image, image]),
            ],
        },
        HI,
    ]


def test_images_of_results_follow_them_for_older_models() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    answer = assistant(READ, LIST, model=OLD)

    found = turns(user(), answer, result("c2", PNG), result("c1", text("one"), PNG), model=OLD)
    blind = turns(user(), answer, result("c2", PNG), result("c1"), model=OLD, images=False)

    assert found[2:] == [
        {
            "role": "user",
            "parts": [response("read", "one"), response("ls", "(the image follows below)")],
        },
        {"role": "user", "parts": [{"text": "Images from the tool results above:"}, image, image]},
    ]
    left_out = f"[image/png left out: {OLD} takes no images]"
    assert blind[2:] == [
        {"role": "user", "parts": [response("read", "(no output)"), response("ls", left_out)]}
    ]


def test_answer_follows_a_turn_of_the_user() -> None:
    found = turns(assistant(text("A")), assistant(text("B")), user(), assistant(LIST))

    answers = [{"role": "model", "parts": [{"text": words}]} for words in "AB"]
    assert found[:5] == [GOES_ON, answers[0], GOES_ON, answers[1], HI]


def test_request_without_a_message_that_counts_still_has_a_turn() -> None:
    assert turns(assistant(text("A"), stop="error"), result("lost", text("x"))) == [GOES_ON]


def test_calls_of_malformed_arguments_and_odd_names_can_be_sent() -> None:
    broken = ToolCall(id="", name="multi tool/use\n", raw_arguments='{"a')
    nameless = ToolCall(id="é" * 99, name="", arguments={"half": "\ud83d"})

    model, results = turns(
        user(), assistant(broken, nameless), result("", text("cut")), result("é" * 99, text("what?"))
    )[1:]

    assert [part["functionCall"] for part in model["parts"]] == [
        {"id": "call", "name": "multi_tool_use_", "args": {}},
        {"id": "_" * 64, "name": "_", "args": {"half": "\ufffd"}},
    ]
    assert results["parts"] == [
        response("multi_tool_use_", "cut", "call"),
        response("_", "what?", "_" * 64),
    ]


def test_beginning_of_a_conversation_stays_the_same_bytes() -> None:
    google = api()
    messages: list[Message] = [user(), assistant(LIST, provider="openai"), result("c2", text("two"))]

    first = body(google, *messages)["contents"]
    second = body(google, *messages, assistant(text("Done")), user("And?"))["contents"]

    assert second[: len(first)] == first


def test_every_flag_can_be_set() -> None:
    flags = {
        "supports_images_in_results": True,
        "supports_call_ids": True,
        "requires_thought_signature": True,
        "supports_thinking": False,
        "supports_images": False,
    }
    google = api(OLD, compat=flags)

    asked = body(google, user(), assistant(LIST), result("c2", PNG), level=ThinkingLevel.HIGH)

    assert "generationConfig" not in asked
    call = {"functionCall": {"id": "c2", "name": "ls", "args": {}}, "thoughtSignature": SKIP}
    left_out = f"[image/png left out: {OLD} takes no images]"
    assert asked["contents"][1:] == [
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [response("ls", left_out, "c2")]},
    ]


def test_request_costs_what_is_new_in_it() -> None:
    google = api()
    history: list[Message] = [user("x" * 100) for _ in range(20_000)]
    body(google, *history)
    options = StreamOptions(signal=AbortSignal())

    started = time.perf_counter()
    for number in range(20):
        history += [assistant(LIST), result("c2", text(str(number)))]
        google.body(context(*history), options)

    assert time.perf_counter() - started < 2


IDS = st.sampled_from(["", "a", "b", "call|fc_1", "é", "x" * 80]) | ANY_TEXTS
SIGNATURES = st.none() | st.sampled_from([SIGNATURE, "AAAA", "reasoning", "{}"]) | ANY_TEXTS
ARGUMENTS = st.dictionaries(ANY_TEXTS, st.none() | ANY_TEXTS | st.integers(), max_size=2)
IMAGES = st.builds(ImageContent, data=st.sampled_from(["aGk=", "AAAA"]), mime_type=ANY_TEXTS)
CONTENT = st.lists(st.builds(TextContent, text=ANY_TEXTS) | IMAGES, max_size=3).map(tuple)
BLOCKS = (
    st.builds(TextContent, text=ANY_TEXTS, text_signature=SIGNATURES)
    | st.builds(ThinkingContent, thinking=ANY_TEXTS, thinking_signature=SIGNATURES, redacted=st.booleans())
    | st.builds(
        ToolCall,
        id=IDS,
        name=st.sampled_from(["read", ""]) | ANY_TEXTS,
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
        api=st.sampled_from(["google-generative-ai", "anthropic-messages"]),
        provider=st.sampled_from(["google", "anthropic"]),
        model=st.sampled_from([NEW, OLD]),
        stop_reason=st.sampled_from(["done", "done", "length", "refused", "error", "aborted"]),
        timestamp=st.just(2),
    )
    | st.builds(
        ToolResultMessage,
        tool_call_id=IDS,
        tool_name=st.just("read"),
        content=CONTENT,
        is_error=st.booleans(),
        timestamp=st.just(3),
    )
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(MESSAGES, max_size=8),
    st.sampled_from(ThinkingLevel),
    st.sampled_from([NEW, OLD, "gemini-2.5-pro", "gemma-4-31b", "gemini-3-pro-preview"]),
    st.booleans(),
    st.none() | st.integers(-1, 40_000),
)
def test_every_request_is_one_that_the_official_sdk_allows(
    messages: list[Message], level: ThinkingLevel, model: str, images: bool, budget: int | None
) -> None:
    google = api(model, images=images, temperature=0.5, max_output_tokens=1)

    asked = body(google, *messages, level=level, thinking_budget=budget, system="\ud83d")

    check_turns(asked["contents"], strict=model in (NEW, "gemini-3-pro-preview"))
    told = asked["generationConfig"].get("thinkingConfig")
    off = level is ThinkingLevel.OFF if budget is None else budget < 1
    unasked = model.startswith("gemma") and off
    assert (told is None) == unasked
    assert told is None or len(told.keys() - {"includeThoughts"}) == 1
    google.warnings(level)


def check_turns(contents: list[Any], *, strict: bool) -> None:
    """What the service demands beyond the types: calls follow the user, results their calls, one for each and
    in order; no part is empty; a `strict` model's calls are signed."""
    previous: dict[str, Any] = {"role": "model", "parts": []}
    for turn in contents:
        calls = [part["functionCall"] for part in turn["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in turn["parts"] if "functionResponse" in part]
        asked = [part["functionCall"] for part in previous["parts"] if "functionCall" in part]
        assert turn["parts"]
        assert turn["role"] != "model" or previous["role"] == "user"
        assert [(each["name"], each.get("id")) for each in results] == [
            (each["name"], each.get("id")) for each in asked
        ]
        assert not results or len(results) == len(turn["parts"])
        for part in turn["parts"]:
            assert part.get("text") != "" or "thoughtSignature" in part
        for call in calls:
            assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}", call["name"])
        if calls and strict:
            assert next(part for part in turn["parts"] if "functionCall" in part)["thoughtSignature"]
        previous = turn
    assert not [part for part in previous["parts"] if "functionCall" in part]
