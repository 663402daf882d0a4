"""Message types whose converters do not fit."""

from agentcore_runner.core import (
    AgentMessage,
    AssistantMessage,
    CompactionNote,
    CustomMessage,
    UserMessage,
    register_message_type,
)


class Weather(CustomMessage, frozen=True, kw_only=True):
    """What it is like outside."""

    custom_type: str = "weather"
    celsius: float


class Loose:
    """No message at all."""


def loose(message: Loose) -> UserMessage:
    return UserMessage(content=(), timestamp=0)


def words(message: Weather) -> str:
    return message.content if isinstance(message.content, str) else ""


def answer(message: AssistantMessage) -> AssistantMessage:
    return message


register_message_type(Weather, words)  # error: mypy, pyright
register_message_type(Weather, answer)  # error: mypy, pyright
register_message_type("weather", words)  # error: mypy, pyright

UNMEASURED = Weather(content="", timestamp=0)  # error: mypy, pyright
LISTED: list[AgentMessage] = [Loose()]  # error: mypy, pyright


def note(about: CompactionNote) -> int:
    return about.attempt  # error: mypy, pyright
