"""One JSON text → a message or an event, custom types included."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.core.events import AgentEndEvent, AgentEvent, TurnEndEvent
from agentcore_runner.core.messages import AgentMessage, CustomMessage


def decode_message(data: str | bytes) -> AgentMessage:
    """The message that one line of JSON stands for. Unknown fields are ignored. Raises
    `msgspec.ValidationError` with the path of what is wrong, `msgspec.DecodeError` for what is no JSON."""
    return message_from(_PLAIN.decode(data))


def decode_event(data: str | bytes) -> AgentEvent:
    """The event that one line of JSON stands for; raises like `decode_message`."""
    plain = _PLAIN.decode(data)
    event: AgentEvent = msgspec.convert(plain, AgentEvent)
    if not _TYPES or event.__struct_config__.tag not in _WITH_MESSAGES:
        return event
    if isinstance(event, AgentEndEvent):
        return AgentEndEvent(messages=tuple(map(message_from, plain["messages"])))
    assert not isinstance(event, TurnEndEvent)
    return msgspec.structs.replace(event, message=message_from(plain["message"]))


def message_from(plain: Any) -> AgentMessage:
    """The message that plain data, as JSON decodes to, stands for."""
    kind = plain.get("custom_type") if isinstance(plain, dict) and plain.get("role") == "custom" else None
    if isinstance(kind, str) and kind in _TYPES:
        return msgspec.convert(plain, _TYPES[kind])
    message: AgentMessage = msgspec.convert(plain, AgentMessage)
    return message


def remember_type(cls: type[CustomMessage]) -> None:
    """Have messages whose `custom_type` is the default of this class be read as instances of it."""
    kind = next(field for field in msgspec.structs.fields(cls) if field.name == "custom_type").default
    if isinstance(kind, str):
        _TYPES[kind] = cls


_PLAIN = msgspec.json.Decoder()
_TYPES: dict[str, type[CustomMessage]] = {}
_WITH_MESSAGES = frozenset({"agent_end", "message_start", "message_end"})
