"""Values of the vocabulary, made and changed as they cannot be."""

from typing import assert_never

from agentcore_runner.core import (
    AgentMessage,
    AgentToolResult,
    AssistantMessage,
    BudgetLimits,
    CompactionSettings,
    Model,
    StopReason,
    TextContent,
    ToolCall,
    UserMessage,
    text_result,
)

TEXT = TextContent("Hello")  # error: mypy, pyright
TIMELESS = UserMessage(content=(TextContent(text="Hello"),))  # error: mypy, pyright
BARE = UserMessage(content="Hello", timestamp=0)  # error: mypy, pyright
MISSPELT = UserMessage(contents=(), content=(), timestamp=0)  # error: mypy, pyright
CALLING = UserMessage(content=(ToolCall(id="1", name="n"),), timestamp=0)  # error: mypy, pyright
NAMELESS = Model(id="m", api="a", provider="p")  # error: mypy, pyright
DEAR = BudgetLimits(max_turns="ten")  # error: mypy, pyright
WIDE = CompactionSettings(reserve_tokens=0.5)  # error: mypy, pyright
REASON: StopReason = "stop"  # error: mypy, pyright
RESULT: AgentToolResult = text_result("no", None, True)  # error: mypy, pyright


def rewrite(message: UserMessage) -> None:
    message.content = ()  # error: mypy, pyright
    message.timestamp += 1  # error: mypy, pyright


def said(message: AgentMessage) -> str:
    return message.text  # error: mypy, pyright


def kind_of(message: AgentMessage) -> str:
    match message:
        case UserMessage() | AssistantMessage():
            return "spoken"
        case _:
            assert_never(message)  # error: mypy, pyright


def first(message: AssistantMessage) -> str:
    return message.content[0].text  # error: mypy, pyright
