"""Agents, hooks, listeners and models that do not fit."""

from collections.abc import AsyncIterator, Callable

from agentcore_runner.core import (
    Agent,
    AgentEvent,
    AgentMessage,
    BeforeToolCall,
    Budget,
    LlmContext,
    Model,
    NextTurn,
    Start,
    StreamOptions,
    ToolExecutionStartEvent,
    TurnContext,
    UserMessage,
)


async def model_of_words(model: Model, context: LlmContext, options: StreamOptions) -> AsyncIterator[str]:
    yield context.system_prompt


async def no_stream(model: Model, context: LlmContext, options: StreamOptions) -> Start:
    return Start()


def yes(call: BeforeToolCall) -> bool:
    return call.tool_call.name != "rm"


async def go_on(turn: TurnContext) -> NextTurn:
    return NextTurn(thinking_level="deep")  # error: mypy, pyright


def only_tools(event: ToolExecutionStartEvent) -> None:
    print(event.tool_name)


def build(model: Model, now: Callable[[], int], clock: Callable[[], float]) -> None:
    Agent(model=model, stream_fn=model_of_words, now=now)  # error: mypy, pyright
    Agent(model=model, stream_fn=no_stream, now=now)  # error: mypy, pyright
    Agent(model, stream_fn=model_of_words, now=now)  # error: mypy, pyright
    Agent(model=model, now=now)  # error: mypy, pyright
    Agent(model=model.id, stream_fn=print, now=clock)  # error: mypy, pyright


async def use(agent: Agent, model: Model) -> list[AgentMessage]:
    agent.before_tool_call = yes  # error: mypy, pyright
    agent.before_tool_call = go_on  # error: mypy, pyright
    agent.prepare_next_turn = yes  # error: mypy, pyright
    agent.subscribe(only_tools)  # error: mypy, pyright
    agent.steering.mode = "everything"  # error: mypy, pyright
    agent.state.thinking_level = 3  # error: mypy, pyright
    agent.state.tools = ["read"]  # error: mypy, pyright
    agent.submit("Hello", kind="later")  # error: mypy, pyright
    agent.steer(["one", "two"])  # error: mypy, pyright
    agent.queued.clear()  # error: mypy, pyright
    agent.follow_ups = []  # error: mypy, pyright
    for _ in agent.events("Hello"):  # error: mypy, pyright
        break
    return agent.prompt("Hello")  # error: mypy, pyright


def count(budget: Budget, event: AgentEvent, message: UserMessage) -> None:
    budget.on_event(message)  # error: mypy, pyright
    print(event.message)  # error: mypy, pyright
