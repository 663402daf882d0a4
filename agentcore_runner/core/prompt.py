"""What a caller says → messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from agentcore_runner.core.messages import (
    AgentMessage,
    ImageContent,
    TextContent,
    UserContent,
    UserMessage,
    Value,
)

PromptInput: TypeAlias = str | AgentMessage | Sequence[AgentMessage]


def normalize_prompt_input(
    prompt: PromptInput, images: Sequence[ImageContent] = (), *, timestamp: int
) -> list[AgentMessage]:
    """A text, with its images, as one user message; messages as they are. Raises ValueError for an empty
    prompt and for images beside messages, which carry their own."""
    if isinstance(prompt, str):
        text: list[UserContent] = [TextContent(text=prompt)] if prompt else []
        if not text and not images:
            raise ValueError("the prompt is empty: give a text, an image or a message")
        return [UserMessage(content=(*text, *images), timestamp=timestamp)]
    if images:
        raise ValueError("images can only stand beside a text: put them into the message's content")
    messages: list[AgentMessage] = [prompt] if isinstance(prompt, Value) else list(prompt)
    if not messages:
        raise ValueError("the prompt is empty: give at least one message")
    return messages
