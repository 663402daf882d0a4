"""The named services, each in the words that it wants: fields, thinking, ids, marks for its cache."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentcore_runner.core.messages import (
    AssistantContent,
    AssistantMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
)
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import StreamOptions
from agentcore_runner.core.tools import AgentTool, text_result
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.catalog import ModelSettings, describe
from agentcore_runner.providers.openai_chat import ChatApi
from agentcore_runner.providers.openai_chat_messages import at_most_forty, nine_characters
from agentcore_runner.providers.openai_chat_stream import ChatDecoder
from agentcore_runner.providers.sse import ServerEvent
from agentcore_runner.providers.transform import encode
from tests.providers.doubles import context, user

ENV = {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com"}


def api(model: str, **settings: Any) -> ChatApi:
    provider, _, name = model.partition("/")
    wanted = ModelSettings(provider=provider, id=name, **{"api": "openai-completions", **settings})
    return ChatApi(describe(wanted, ENV), wanted)


def body(
    chat: ChatApi,
    *messages: Message,
    level: ThinkingLevel = ThinkingLevel.OFF,
    budget: int | None = None,
    tools: tuple[AgentTool, ...] = (),
) -> dict[str, Any]:
    options = StreamOptions(
        signal=AbortSignal(), thinking_level=level, thinking_budget=budget, session_id="run-" + "1" * 90
    )
    decoded: dict[str, Any] = msgspec.json.decode(encode(chat.body(context(*messages, tools=tools), options)))
    return decoded


def told(model: str, level: str = "off", budget: int | None = None, **settings: Any) -> dict[str, Any]:
    """What the request says beside model, messages and stream."""
    found = body(api(model, **settings), level=ThinkingLevel(level), budget=budget)
    return {key: found[key] for key in found if key not in ("model", "messages", "stream")}


USAGE = {"stream_options": {"include_usage": True}}
KEY = {"prompt_cache_key": "run-" + "1" * 60}


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("openai/gpt-4.1", {**USAGE, **KEY, "store": False, "max_completion_tokens": 9}),
        ("azure/gpt-4.1", {**USAGE, **KEY, "max_completion_tokens": 9}),
        ("openrouter/meta-llama/x", {**USAGE, "max_tokens": 9}),
        ("groq/llama-3.1-8b-instant", {**USAGE, "max_completion_tokens": 9}),
        ("deepseek/deepseek-v4-pro", {**USAGE, "max_tokens": 9, "thinking": {"type": "disabled"}}),
        ("mistral/devstral-2512", {**KEY, "max_tokens": 9}),
        ("xai/grok-4.7", {**USAGE, "max_tokens": 9, "reasoning_effort": "low"}),
        ("together/x", {**USAGE, "max_tokens": 9}),
        ("fireworks/x", {**USAGE, "max_tokens": 9}),
        ("cerebras/x", {**USAGE, "max_completion_tokens": 9}),
        ("ollama/x", {**USAGE, "max_tokens": 9}),
    ],
)
def test_service_is_told_only_what_it_knows(model: str, sent: dict[str, Any]) -> None:
    assert told(model, max_output_tokens=9) == sent


@pytest.mark.parametrize(
    ("model", "level", "sent"),
    [
        ("openai/gpt-5", "off", {"reasoning_effort": "minimal"}),
        ("openai/gpt-5", "max", {"reasoning_effort": "high"}),
        ("openai/gpt-5.1", "off", {"reasoning_effort": "none"}),
        ("openai/gpt-5.1", "minimal", {"reasoning_effort": "low"}),
        ("openai/gpt-5.2", "xhigh", {"reasoning_effort": "xhigh"}),
        ("azure/gpt-5", "low", {"reasoning_effort": "low"}),
        ("openai/gpt-4.1", "high", {}),
        ("openrouter/unknown/x", "off", {}),
        ("openrouter/unknown/x", "low", {"reasoning": {"effort": "low"}}),
        ("openrouter/anthropic/claude-haiku-5.5", "off", {"reasoning": {"effort": "none"}}),
        ("openrouter/anthropic/claude-opus-5.5", "off", {"reasoning": {"effort": "minimal"}}),
        ("openrouter/anthropic/claude-opus-5.5", "max", {"reasoning": {"effort": "xhigh"}}),
        ("groq/openai/gpt-oss-120b", "minimal", {"reasoning_effort": "low"}),
        ("groq/qwen/qwen3.8-27b", "off", {"reasoning_effort": "none"}),
        ("groq/qwen/qwen3.8-27b", "high", {"reasoning_effort": "default"}),
        ("groq/unknown", "high", {}),
        ("deepseek/deepseek-v4-pro", "off", {"thinking": {"type": "disabled"}}),
        ("deepseek/deepseek-v4-pro", "minimal", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("deepseek/deepseek-v4-pro", "low", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("deepseek/deepseek-v4-pro", "medium", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("deepseek/deepseek-v4-pro", "max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ("mistral/mistral-medium-3-5", "off", {"reasoning_effort": "none"}),
        ("mistral/mistral-medium-3-5", "low", {"reasoning_effort": "high"}),
        ("xai/grok-4.7", "off", {"reasoning_effort": "low"}),
        ("xai/grok-4.7", "xhigh", {"reasoning_effort": "xhigh"}),
        ("together/openai/gpt-oss-120b", "low", {"reasoning_effort": "low"}),
        ("fireworks/accounts/fireworks/models/glm-5p3", "max", {"reasoning_effort": "max"}),
        ("cerebras/gpt-oss-120b", "medium", {"reasoning_effort": "medium"}),
        ("ollama/x", "high", {}),
    ],
)
def test_each_service_is_told_to_think_in_its_words(model: str, level: str, sent: dict[str, Any]) -> None:
    found = told(model, level)

    thinking = ("reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs")
    assert {key: found[key] for key in found if key in thinking} == sent


FORMATS: list[tuple[str, str, int | None, dict[str, Any]]] = [
    ("openai", "low", None, {}),
    ("openrouter", "low", 3000, {"reasoning": {"max_tokens": 3000}}),
    ("deepseek", "low", None, {"thinking": {"type": "enabled"}}),
    ("zai", "off", None, {"thinking": {"type": "disabled"}}),
    ("qwen", "off", None, {"enable_thinking": False}),
    ("qwen", "low", 3000, {"enable_thinking": True, "thinking_budget": 3000}),
    ("qwen-chat-template", "low", None, {"chat_template_kwargs": {"enable_thinking": True}}),
    ("together", "off", None, {"reasoning": {"enabled": False}}),
    ("string", "low", None, {"thinking": "low"}),
    ("string", "off", None, {"thinking": "none"}),
    ("chat-template", "low", None, {}),
]


@pytest.mark.parametrize(("form", "level", "budget", "sent"), FORMATS)
def test_any_format_can_be_chosen(form: str, level: str, budget: int | None, sent: dict[str, Any]) -> None:
    assert told("vllm/x", level, budget, compat={"thinking_format": form}) == {**USAGE, **sent}


def test_template_of_the_server_is_given_what_the_file_says() -> None:
    kwargs = {"think": "$enabled", "effort": "$effort", "budget": "$budget", "style": "short", "cost": "$5"}
    compat = {"thinking_format": "chat-template", "chat_template_kwargs": kwargs}

    on = told("vllm/x", "high", 500, compat=compat)["chat_template_kwargs"]
    off = told("vllm/x", compat=compat)["chat_template_kwargs"]
    fixed = told("vllm/x", compat={"chat_template_kwargs": {"a": 1}})["chat_template_kwargs"]

    assert on == {"think": True, "effort": "high", "budget": 500, "style": "short", "cost": "$5"}
    assert off == {"think": False, "style": "short", "cost": "$5"}
    assert fixed == {"a": 1}


@pytest.mark.parametrize(
    ("model", "level", "compat", "warnings"),
    [
        ("openai/gpt-5", "low", {}, []),
        ("openai/gpt-5", "off", {}, ["thinking_level 'off' is sent as 'minimal', the nearest that there is"]),
        ("openai/gpt-5", "max", {}, ["thinking_level 'max' is sent as 'high', the nearest that there is"]),
        ("deepseek/deepseek-v4-pro", "low", {}, []),
        ("deepseek/deepseek-v4-pro", "medium", {}, ["thinking_level 'medium' is sent as 'high'"]),
        ("vllm/x", "low", {"thinking_format": "qwen"},
         ["thinking_level 'low' only switches thinking on: vllm/x is told no more"]),
        ("vllm/x", "off", {}, []),
        ("vllm/x", "off", {"thinking_format": "qwen"}, []),
        ("vllm/x", "low", {},
         ["thinking_level 'low' is not sent: vllm/x is not known to take one "
          "(model.compat: {supports_reasoning_effort: true} sends it)"]),
    ],
)  # fmt: skip
def test_level_that_is_not_told_as_it_stands_is_warned_of(
    model: str, level: str, compat: dict[str, Any], warnings: list[str]
) -> None:
    assert api(model, compat=compat).warnings(ThinkingLevel(level)) == warnings


@pytest.mark.parametrize(
    ("base_url", "key"),
    [
        ("https://api.deepseek.com/v1", "thinking"),
        ("https://openrouter.ai/api/v1", "reasoning"),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "enable_thinking"),
        ("https://api.z.ai/api/paas/v4", "thinking"),
    ],
)
def test_service_is_known_by_its_address_too(base_url: str, key: str) -> None:
    compat = {"supports_reasoning_effort": True}

    assert key in told("openai/x", "high", base_url=base_url, compat=compat)


# History


def assistant(*content: AssistantContent, chat: ChatApi | None = None) -> AssistantMessage:
    model = chat.model if chat else Model(id="other", name="", api="anthropic-messages", provider="anthropic")
    return AssistantMessage(
        content=content, api=model.api, provider=model.provider, model=model.id, stop_reason="done",
        timestamp=2,
    )  # fmt: skip


def result(call: str) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=call, tool_name="a", content=(TEXT,), timestamp=3)


THOUGHT = ThinkingContent(thinking="hm", thinking_signature="reasoning_content")
TEXT = TextContent(text="Hi")


@pytest.mark.parametrize(
    ("model", "compat", "item"),
    [
        ("openai/gpt-5", {}, {"content": "Hi"}),
        ("vllm/x", {}, {"content": "Hi", "reasoning_content": "hm"}),
        ("vllm/x", {"requires_thinking_as_text": True}, {"content": "hm\n\nHi"}),
        ("vllm/x", {"thinking_replay": "never"}, {"content": "Hi"}),
        ("mistral/mistral-medium-3-5", {}, {"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "Hi"},
        ]}),
    ],
)  # fmt: skip
def test_thinking_goes_back_as_the_service_takes_it(
    model: str, compat: dict[str, Any], item: dict[str, Any]
) -> None:
    chat = api(model, compat=compat)

    assert body(chat, assistant(THOUGHT, TEXT, chat=chat))["messages"][1:] == [{"role": "assistant", **item}]


def test_service_that_wants_thinking_in_every_answer_gets_it() -> None:
    chat = api("deepseek/deepseek-v4-pro")

    messages = body(chat, assistant(TEXT), assistant(THOUGHT, TEXT, chat=chat))["messages"][1:]

    assert [message["reasoning_content"] for message in messages] == ["", "hm"]


@pytest.mark.parametrize(
    ("identity", "sent"),
    [
        ("call_1", "call_1"),
        ("functions.read:0", "functions.read:0"),
        ("call_1|fc_2", "call_1"),
        ("x" * 40, "x" * 40),
    ],
)
def test_id_that_is_right_stays(identity: str, sent: str) -> None:
    assert at_most_forty(identity) == sent


def test_ids_of_other_apis_are_made_to_fit_and_stay_apart() -> None:
    long = ["x" * 70, "x" * 71, "", "|a"]
    calls = [ToolCall(id=identity, name="read") for identity in [*long, "abcDEF123", "toolu_1"]]
    results = [result(call.id) for call in calls]

    for model in ("openai/gpt-5", "mistral/x"):
        messages = body(api(model), assistant(*calls), *results)["messages"][1:]
        sent = [call["id"] for call in messages[0]["tool_calls"]]
        assert sent == [message["tool_call_id"] for message in messages[1:]]
        assert len(set(sent)) == len(calls)
        if model == "mistral/x":
            assert all(len(identity) == 9 and identity.isalnum() for identity in sent)
            assert sent[4] == "abcDEF123" == nine_characters("abcDEF123")
        else:
            assert all(0 < len(identity) <= 40 for identity in sent)


async def execute(*_: object) -> Any:
    return text_result("")


def test_marks_for_the_cache_stand_at_system_prompt_last_tool_and_last_message() -> None:
    chat = api("openrouter/anthropic/claude-haiku-5.5")
    tools = tuple(
        AgentTool(name=name, description="", parameters={"type": "object"}, execute=execute) for name in "ab"
    )
    call = ToolCall(id="c1", name="a")
    first = body(chat, user("Go"), tools=tools)
    second = body(chat, user("Go"), assistant(call), result("c1"), tools=tools)

    mark = {"cache_control": {"type": "ephemeral"}}
    assert first["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief.", **mark}]},
        {"role": "user", "content": [{"type": "text", "text": "Go", **mark}]},
    ]
    assert ["cache_control" in tool for tool in first["tools"]] == [False, True]
    assert second["messages"][1] == {"role": "user", "content": "Go"}
    assert second["messages"][-1]["content"] == [{"type": "text", "text": "Hi", **mark}]
    assert encode(second).count(b"cache_control") == 3


def test_header_that_names_the_run_is_sent_to_whom_wants_it() -> None:
    first, second = api("xai/grok-4.7"), api("xai/grok-4.7")

    assert list(first.headers) == ["x-grok-conv-id"]
    assert first.headers != second.headers
    assert api("groq/x").headers == {}


def test_thinking_of_mistral_is_read_from_its_chunks() -> None:
    decoder = ChatDecoder(Model(id="m", name="m", api="openai-completions", provider="mistral"))
    parts = b'[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hi"}]'

    events = decoder.feed(ServerEvent("", b'{"choices":[{"delta":{"content":' + parts + b"}}]}"))

    deltas = [(event.__struct_config__.tag, event.delta) for event in events if hasattr(event, "delta")]
    assert deltas == [("thinking_delta", "hm"), ("text_delta", "Hi")]


@pytest.mark.parametrize(
    ("compat", "message"),
    [
        ({"thinking_format": "opneai"}, "model.compat.thinking_format: expected 'openai' or 'openrouter' or"),
        ({"chat_template_kwargs": 1}, "model.compat.chat_template_kwargs: expected a map, found 1"),
        ({"session_header": True}, "model.compat.session_header: expected a string, found True"),
        ({"cache_control_format": 1}, "expected 'none' or 'anthropic', found 1"),
    ],
)
def test_mistake_in_a_flag_says_what_it_can_be(compat: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        api("vllm/x", compat=compat)

    assert message in str(caught.value)
