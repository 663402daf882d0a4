"""A message type of one's own, with a converter, with its place in a conversation."""

from agentcore_runner.core import (
    Agent,
    AgentMessage,
    BashExecutionMessage,
    CustomMessage,
    TextContent,
    UserMessage,
    convert_to_llm,
    register_message_type,
)


class Weather(CustomMessage, frozen=True, kw_only=True):
    """What it is like outside."""

    custom_type: str = "weather"
    celsius: float


class Private(CustomMessage, frozen=True, kw_only=True):
    """Never sent."""

    custom_type: str = "private"


def weather(message: Weather) -> UserMessage:
    text = TextContent(text=f"It is {message.celsius} degrees. {message.content}")
    return UserMessage(content=(text,), timestamp=message.timestamp)


def nothing(message: CustomMessage) -> None:
    return None


register_message_type(Weather, weather)
register_message_type(Private, nothing)
register_message_type(Private, lambda message: None)
register_message_type(CustomMessage)
register_message_type(BashExecutionMessage, lambda message: None if message.cancelled else hidden(message))


def hidden(message: BashExecutionMessage) -> UserMessage:
    return UserMessage(content=(TextContent(text=message.command),), timestamp=message.timestamp)


async def tell(agent: Agent) -> list[float]:
    news = Weather(celsius=3.5, content="Wind from the west.", timestamp=0)
    messages: list[AgentMessage] = [news, *convert_to_llm([news])]
    messages += await agent.prompt([news, Private(content="?", timestamp=0)])
    agent.steer(news)
    return [message.celsius for message in messages if isinstance(message, Weather)]
