"""Templates in a script: strings that quote what the tools and the user said."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from agentcore_runner.core.messages import Message, TextContent, ToolResultMessage, UserMessage
from agentcore_runner.words import did_you_mean

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

NAMES = ("results", "prompt", "turn", "messages")
MARKED = re.compile(r"\{[{%#]")


def template_fault(text: str) -> str | None:
    """What is wrong with a string as a template, or None."""
    if not MARKED.search(text):
        return None
    from jinja2 import TemplateSyntaxError, meta

    try:
        tree = _environment().parse(text)
    except TemplateSyntaxError as exc:
        return f"template: {exc.message}"
    for name in sorted(meta.find_undeclared_variables(tree) - set(NAMES)):
        return (
            f"template: {name!r} is not known here{did_you_mean(name, NAMES)}; known are {', '.join(NAMES)}"
        )
    return None


def rendered(value: Any, variables: dict[str, Any]) -> Any:
    """The value with every string in it rendered. Raises what a template raises."""
    if isinstance(value, str):
        return _environment().from_string(value).render(variables) if MARKED.search(value) else value
    if isinstance(value, dict):
        return {key: rendered(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [rendered(item, variables) for item in value]
    return value


def variables_of(messages: list[Message], turn: int) -> dict[str, Any]:
    """What templates can use: the tool results since the last answer, the last thing the user said, the turn
    (from 0) and the number of messages."""
    results = []
    for message in reversed(messages):
        if not isinstance(message, ToolResultMessage):
            break
        results.append(
            {
                "name": message.tool_name,
                "text": _text(message),
                "is_error": message.is_error,
                "details": message.details,
            }
        )
    user = next((message for message in reversed(messages) if isinstance(message, UserMessage)), None)
    return {
        "results": results[::-1],
        "prompt": _text(user) if user else "",
        "turn": turn,
        "messages": len(messages),
    }


def _text(message: UserMessage | ToolResultMessage) -> str:
    return "\n".join([block.text for block in message.content if isinstance(block, TextContent)])


@functools.cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
