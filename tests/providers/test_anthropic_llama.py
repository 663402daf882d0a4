"""The adapter against llama.cpp's own server, which speaks the Messages API as well."""

from __future__ import annotations

from typing import Any

from agentcore_runner.core.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
)
from agentcore_runner.core.tools import AgentTool, text_result
from tests.providers.doubles import answer, context, opened, stream, user
from tests.servers.llama import LlamaServer


async def execute(*_: object) -> Any:
    return text_result("")


LOOK_UP = AgentTool(
    name="look_up",
    description="Look something up",
    parameters={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    execute=execute,
)


def test_real_server_calls_a_tool_and_answers_its_result() -> None:
    history: list[Message] = [user("What is the word?")]
    with LlamaServer.scripted() as server:
        first = asked(server, history)
        call = first.tool_calls[0]
        content = (TextContent(text="It is 'demo'."),)
        history += [
            first,
            ToolResultMessage(tool_call_id=call.id, tool_name="look_up", content=content, timestamp=3),
        ]
        second = asked(server, history)

    assert first.content == (ToolCall(id=call.id, name="look_up", arguments={"word": "demo"}),)
    assert (first.stop_reason, first.raw_stop_reason) == ("done", "tool_use")
    assert (second.text, second.raw_stop_reason) == ("The tool has answered; done!", "end_turn")
    assert first.usage.input > 0
    assert first.usage.output > 0


def asked(server: LlamaServer, history: list[Message]) -> AssistantMessage:
    provider = opened(server.url, f"llamacpp/{server.model}", api="anthropic-messages")
    return answer(stream(provider, context(*history, tools=(LOOK_UP,))))
