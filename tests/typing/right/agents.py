"""An agent's life: built, asked, spoken to while it runs, looked at, stopped."""

import time
from contextlib import aclosing

from agentcore_runner import core
from agentcore_runner.core import (
    Agent,
    AgentMessage,
    AgentState,
    AgentTool,
    AssistantMessage,
    Disposition,
    ImageContent,
    MessageQueue,
    Model,
    QueueItem,
    QueueMode,
    StreamFn,
    TextContent,
    ThinkingLevel,
    ToolExecutionMode,
    UserMessage,
)


def now() -> int:
    return int(time.time() * 1000)


def build(model: Model, stream_fn: StreamFn, tools: list[AgentTool]) -> Agent:
    return Agent(
        model=model,
        stream_fn=stream_fn,
        now=now,
        system_prompt="Be brief.",
        tools=tools,
        messages=[UserMessage(content=(TextContent(text="Hello"),), timestamp=now())],
        thinking_level=ThinkingLevel.HIGH,
        tool_execution=ToolExecutionMode.SEQUENTIAL,
        steering_mode="all",
        follow_up_mode=QueueMode.ONE_AT_A_TIME,
        sink=lambda event: None,
        abort_grace_s=2,
        deadline=None,
    )


def ask(agent: Agent, image: ImageContent) -> str:
    added: list[AgentMessage] = agent.prompt_sync("What is this?", [image])
    last = added[-1]
    return last.text if isinstance(last, AssistantMessage) else ""


async def live(agent: Agent, message: UserMessage) -> list[AgentMessage]:
    begun: Disposition = agent.submit("Begin")
    if begun.status == "started":
        steered = agent.steer("Not so fast", ())
        later = agent.submit(message, kind="follow_up")
        print(steered.id, later.id, begun.id or "none")
    agent.abort("enough")
    await agent.wait_for_idle()
    added = await agent.prompt([message])
    added += await agent.continue_()
    agent.reset()
    return added


def look(agent: Agent) -> list[str]:
    state: AgentState = agent.state
    state.tools = [*state.tools]
    state.messages = tuple(state.messages)
    state.model = state.model
    state.thinking_level = ThinkingLevel.OFF
    partial = state.streaming_message
    running: set[str] = state.pending_tool_calls if state.is_streaming else set()
    return [*running, partial.text if partial else "", state.error_message or ""]


def queues(agent: Agent) -> list[str]:
    queue: MessageQueue = agent.steering
    queue.mode = QueueMode.ALL
    waiting: tuple[QueueItem, ...] = agent.queued
    gone = agent.clear_queues()
    return [item.id for item in (*waiting, *gone, *queue.items)]


async def until_a_tool_runs(agent: Agent) -> None:
    async with aclosing(agent.events("Begin")) as events:
        async for event in events:
            if isinstance(event, core.ToolExecutionStartEvent):
                break
