"""The adapter against llama.cpp's own server."""

from __future__ import annotations

from typing import Any

from agentcore_runner.core.messages import Message, TextContent, ToolCall, ToolResultMessage
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
        first = answer(stream(connected(server), context(*history, tools=(LOOK_UP,))))
        call = first.tool_calls[0]
        content = (TextContent(text="It is 'demo'."),)
        history += [
            first,
            ToolResultMessage(tool_call_id=call.id, tool_name="look_up", content=content, timestamp=3),
        ]
        second = answer(stream(connected(server), context(*history, tools=(LOOK_UP,))))

    assert first.content == (ToolCall(id=call.id, name="look_up", arguments={"word": "demo"}),)
    assert (second.text, second.stop_reason) == ("The tool has answered; done!", "done")
    assert first.usage.output > 0


def connected(server: LlamaServer) -> Any:
    return opened(server.url, f"llamacpp/{server.model}")
