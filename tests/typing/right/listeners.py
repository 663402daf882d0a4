"""Events, matched by their types; listeners and sinks that are plain, async, or objects."""

from typing import assert_never

from agentcore_runner.core import (
    Agent,
    AgentEndEvent,
    AgentEvent,
    AgentMessage,
    AgentStartEvent,
    AssistantMessage,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    Sink,
    TextDelta,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
    TurnEndEvent,
    TurnStartEvent,
)


def show(event: AgentEvent) -> None:
    match event:
        case AgentStartEvent() | TurnStartEvent():
            print(type(event).__name__)
        case MessageUpdateEvent(assistant_message_event=TextDelta(delta=text)):
            print(text, end="")
        case MessageUpdateEvent(assistant_message_event=piece):
            print(type(piece).__name__)
        case MessageStartEvent(message=message):
            print(message.timestamp)
        case MessageEndEvent(message=AssistantMessage(usage=usage)):
            print(usage.total_tokens)
        case MessageEndEvent():
            print(event.message.timestamp)
        case ToolExecutionStartEvent():
            print(event.tool_name, event.args)
        case ToolExecutionUpdateEvent(partial_result=result) | ToolExecutionEndEvent(result=result):
            print(result.content)
        case TurnEndEvent(tool_results=results):
            print([result.is_error for result in results])
        case AgentEndEvent(messages=messages):
            print(len(messages))
        case _:
            assert_never(event)


async def store(event: AgentEvent) -> None:
    print(event)


class Kept:
    """Keeps the events."""

    def __init__(self) -> None:
        self.events: list[AgentEvent] = []

    def __call__(self, event: AgentEvent) -> None:
        self.events.append(event)


def listen(agent: Agent) -> None:
    sinks: list[Sink] = [show, store, Kept()]
    for sink in sinks:
        unsubscribe = agent.subscribe(sink)
        unsubscribe()
    agent.subscribe(lambda event: None)


async def watch(agent: Agent) -> list[AgentMessage]:
    async for event in agent.events("Hello"):
        if isinstance(event, AgentEndEvent):
            return list(event.messages)
    return []
