"""The Responses adapter against a real server: what is sent, what comes back, what goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentcore_runner.core.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UsageCost,
)
from agentcore_runner.core.model import CostTier, Model, ModelCost, ThinkingLevel
from agentcore_runner.core.tools import AgentTool, text_result
from agentcore_runner.providers.openai_responses import ResponsesApi
from agentcore_runner.providers.remote import RemoteModel
from agentcore_runner.providers.settings import ModelSettings
from tests.providers.doubles import NOW_MS, QUICK, answer, context, stream, told, user
from tests.providers.oracle import check_request
from tests.servers.chat_server import ChatServer, Drop, Hang, Reply, Step, error_reply, json_reply, sse
from tests.servers.llama import LlamaServer

WIRE = Path(__file__).parent / "wire" / "openai_responses"
TIER = CostTier(input_tokens_above=100, input=2, output=20, cache_read=0.25, cache_write=4)
COST = ModelCost(input=1, output=10, cache_read=0.1, tiers=(TIER,))


def connected(base_url: str, name: str = "mock", idle_timeout: float = 5.0, **compat: bool) -> RemoteModel:
    model = Model(
        id=name,
        name=name,
        api="openai-responses",
        provider="openai",
        base_url=base_url,
        reasoning=True,
        cost=COST,
        compat=compat,
    )
    return RemoteModel(
        model,
        ResponsesApi(model, ModelSettings(provider="openai", id=name)),
        headers={"authorization": "Bearer sk-secret-1"},
        env={},
        idle_timeout=idle_timeout,
        now=lambda: NOW_MS,
        retry=QUICK,
        refused_hint=lambda: "",
    )


def recorded(name: str, *more: Step) -> Reply:
    """The stream, event by event."""
    body = (WIRE / f"{name}.sse").read_bytes()
    return Reply([*[event + b"\n\n" for event in body.split(b"\n\n") if event], *more])


async def execute(*_: object) -> Any:
    return text_result("")


def tool(name: str) -> AgentTool:
    parameters = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    return AgentTool(name=name, description="Look up", parameters=parameters, execute=execute)


def result(call: ToolCall, words: str) -> ToolResultMessage:
    content = (TextContent(text=words),)
    return ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=content, timestamp=3)


def test_answer_is_streamed_and_its_price_known() -> None:
    with ChatServer([recorded("text")]) as server:
        events = stream(connected(server.url))

    assert told(events) == ["start", "text_start", "Hel", "lo\u2028", "wörld 😀", "text_end", "done"]
    message = answer(events)
    cost = UsageCost(input=0.00008, output=0.0008, cache_read=0.000016, cache_write=0.000064)
    assert message == AssistantMessage(
        content=(TextContent(text="Hello\u2028wörld 😀", text_signature="msg_1|final_answer"),),
        api="openai-responses",
        provider="openai",
        model="mock",
        usage=Usage(input=40, output=40, cache_read=64, cache_write=16, reasoning=24, cost=cost),
        stop_reason="done",
        timestamp=NOW_MS,
        raw_stop_reason="completed",
        response_model="gpt-5.1-2025-11-13",
        response_id="resp_0a1",
    )
    assert (server.requests[0].path, server.requests[0].headers["authorization"]) == (
        "/v1/responses",
        "Bearer sk-secret-1",
    )


def test_conversation_with_tools_goes_back_whole() -> None:
    history: list[Message] = [user("Go")]
    with ChatServer([recorded("thinking_text_parallel_calls"), recorded("text")]) as server:
        first = answer(stream(connected(server.url), context(*history, tools=(tool("read"), tool("ls")))))
        history += [first, *[result(call, call.name) for call in first.tool_calls]]
        stream(connected(server.url), context(*history), thinking_level=ThinkingLevel.HIGH)

    assert [type(block) for block in first.content] == [ThinkingContent, TextContent, ToolCall, ToolCall]
    asked = server.bodies[1]
    check_request("openai-responses", asked)
    assert [(item.get("type"), item.get("id") or item.get("call_id")) for item in asked["input"][1:]] == [
        ("reasoning", "rs_1"),
        ("message", "msg_1"),
        ("function_call", "fc_1"),
        ("function_call", "fc_2"),
        ("function_call_output", "call_a"),
        ("function_call_output", "call_b"),
    ]
    assert asked["reasoning"] == {"effort": "high", "summary": "auto"}


def test_answer_does_not_wait_for_the_server_to_close() -> None:
    with ChatServer([recorded("text", Hang())]) as server:
        assert answer(stream(connected(server.url))).stop_reason == "done"


def test_answer_as_one_document_is_taken() -> None:
    item = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}]}
    whole = {"object": "response", "status": "completed", "model": "mock", "output": [item]}
    with ChatServer([json_reply(whole)]) as server:
        assert told(stream(connected(server.url))) == ["start", "text_start", "Hi", "text_end", "done"]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("failed_server_error", 500),
        ("failed_silently", None),
        ("error_flat", 503),
        ("no_last_event", None),
        ("only_done", None),
        ("not_json", None),
        ("no_index_no_id_mixed", None),
    ],
)
def test_answer_that_breaks_off_is_asked_for_again(name: str, status: int | None) -> None:
    with ChatServer([recorded(name), recorded("text")]) as server:
        events = stream(connected(server.url))

    assert ("retry", 1, status) in told(events)
    assert answer(events).text == "Hello\u2028wörld 😀"


def test_pause_that_the_server_asks_for_is_kept() -> None:
    with ChatServer([recorded("error_nested"), recorded("text")]) as server:
        events = stream(connected(server.url))

    assert [getattr(event, "delay_s", None) for event in events][1] == 0.657


@pytest.mark.parametrize(("name", "kind"), [("failed_overflow", "overflow"), ("failed_policy", "refused")])
def test_failure_that_stays_is_asked_once(name: str, kind: str) -> None:
    with ChatServer([recorded(name)] * 2) as server:
        error = answer(stream(connected(server.url))).error

    assert error is not None
    assert (error.kind, error.attempts, len(server.requests)) == (kind, 1, 1)


def test_nothing_is_repeated_once_a_call_is_complete() -> None:
    body = (WIRE / "thinking_text_parallel_calls.sse").read_bytes()
    broken = Reply([body[: body.rindex(b"event: response.completed")], Drop()])
    with ChatServer([broken] * 2) as server:
        message = answer(stream(connected(server.url)))

    assert (message.stop_reason, len(message.tool_calls), len(server.requests)) == ("error", 2, 1)


def test_silence_ends_as_a_failure_and_status_is_looked_at_first() -> None:
    begun = sse({"type": "response.created", "response": {"id": "r"}})
    with ChatServer([Reply([begun, Hang()]), error_reply(401, "bad key")]) as server:
        events = stream(connected(server.url, idle_timeout=0.2))

    assert told(events) == ["start", ("retry", 1, None), "error"]
    error = answer(events).error
    assert error is not None
    assert (error.kind, error.status) == ("auth", 401)


# llama.cpp's own server


def test_real_server_thinks_calls_a_tool_and_answers_its_result() -> None:
    history: list[Message] = [user("[think] What is the word?")]
    tools = (tool("look_up"),)
    with LlamaServer.scripted() as server:
        first = answer(stream(connected(server.url, server.model), context(*history, tools=tools)))
        history += [first, *[result(call, "It is 'demo'.") for call in first.tool_calls]]
        second = answer(stream(connected(server.url, server.model), context(*history, tools=tools)))
        said = answer(
            stream(
                connected(server.url, server.model),
                context(user("[think] Hi")),
                thinking_level=ThinkingLevel.LOW,
            )
        )

    thinking, call = first.content
    assert isinstance(thinking, ThinkingContent)
    assert isinstance(call, ToolCall)
    assert (thinking.thinking, call.name, call.arguments) == (
        "\nI had better look it up …",
        "look_up",
        {"word": "demo"},
    )
    assert (second.text, second.stop_reason) == ("The tool has answered; done!", "done")
    assert [block.__struct_config__.tag for block in said.content] == ["thinking", "text"]
    assert said.text == "Hello from a tiny local model."
    assert first.usage.output > 0
