"""One JSON text → a message or an event."""

from __future__ import annotations

import msgspec
import pytest

from agentcore_runner.core import events as ev
from agentcore_runner.core.convert import convert_to_llm, register_message_type
from agentcore_runner.core.decode import decode_event, decode_message
from agentcore_runner.core.messages import (
    CustomMessage,
    Diagnostic,
    DiagnosticError,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from tests.core.scripted import answer, call


class Note(CustomMessage, frozen=True, kw_only=True):
    """A kind with a field of its own."""

    custom_type: str = "tests.note"
    content: str = ""
    author: str


register_message_type(
    Note,
    lambda note: UserMessage(
        content=(TextContent(text=f"{note.author}: {note.content}"),), timestamp=note.timestamp
    ),
)

NOTE = Note(author="Ada", content="look", timestamp=1)
USER = UserMessage(content=(TextContent(text="hi"),), timestamp=1)
FULL = msgspec.structs.replace(
    answer("so", call("A", path="x")),
    diagnostics=(Diagnostic(type="odd", timestamp=1, error=DiagnosticError(name="E", message="m")),),
)
RESULT = ToolResultMessage(tool_call_id="A", tool_name="echo", content=(), timestamp=1)


@pytest.mark.parametrize("message", [USER, FULL, RESULT, NOTE])
def test_a_message_is_read_back_as_it_was(message: object) -> None:
    assert decode_message(msgspec.json.encode(message)) == message


@pytest.mark.parametrize(
    "event",
    [
        ev.AgentStartEvent(),
        ev.MessageStartEvent(message=NOTE),
        ev.MessageEndEvent(message=NOTE),
        ev.AgentEndEvent(messages=(USER, NOTE)),
        ev.TurnEndEvent(message=FULL, tool_results=(RESULT,)),
    ],
)
def test_an_event_is_read_back_as_it_was(event: ev.AgentEvent) -> None:
    assert decode_event(msgspec.json.encode(event)) == event


def test_a_kind_that_is_read_back_is_sent_by_its_own_converter() -> None:
    back = decode_message(msgspec.json.encode(NOTE))

    assert convert_to_llm([back]) == [UserMessage(content=(TextContent(text="Ada: look"),), timestamp=1)]


def test_a_kind_that_nobody_knows_keeps_what_the_model_reads() -> None:
    back = decode_message(msgspec.json.encode(msgspec.structs.replace(NOTE, custom_type="tests.other")))

    assert back == CustomMessage(custom_type="tests.other", content="look", timestamp=1)


def test_unknown_fields_are_ignored() -> None:
    assert decode_message(b'{"role":"user","content":[],"timestamp":1,"mood":"good"}') == UserMessage(
        content=(), timestamp=1
    )


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ('{"role":"user","content":[{"type":"text"}],"timestamp":1}', r"\$\.content\[0\]"),
        ('{"role":"user","content":[{"type":"sound"}],"timestamp":1}', r"\$\.content\[0\]\.type"),
        ('{"role":"robot"}', r"\$\.role"),
        ('{"role":"user","content":[],"timestamp":"now"}', r"\$\.timestamp"),
        ('{"role":"custom","custom_type":"tests.note","timestamp":1}', "author"),
        ("[]", "object"),
    ],
)
def test_what_is_wrong_is_refused_with_its_path(data: str, path: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=path):
        decode_message(data)


def test_what_is_wrong_in_an_event_is_refused_with_its_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.message\.role"):
        decode_event('{"type":"message_end","message":{"role":"robot"}}')
