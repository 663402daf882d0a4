"""Bytes of JSON lines → commands and mistakes."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.cli.lines import Lines
from agentcore_runner.runtime.dialogue import Command, Line, Mistake

SHAPE = 'an object like {"type": "prompt|steer|follow_up|abort", "text": "…"}'
KEYS = "its keys are type and text"
TYPE = "type: expected one of prompt, steer, follow_up, abort,"


def parsed(*chunks: bytes, most_bytes: int = 1000) -> list[Line]:
    lines = Lines(most_bytes)
    return [*[line for chunk in chunks for line in lines.feed(chunk)], *lines.flush()]


def mistake(number: int, sentence: str) -> Mistake:
    return Mistake(message=f"standard input, line {number}: {sentence}")


def test_every_kind_of_command_has_its_line() -> None:
    data = (
        b'{"type": "prompt", "text": "a"}\n{"text": "b", "type": "steer"}\n'
        b'{"type": "follow_up", "text": "c"}\n{"type": "abort"}\n{"type": "abort", "text": null}\n'
    )

    assert parsed(data) == [
        Command(kind="prompt", text="a"),
        Command(kind="steer", text="b"),
        Command(kind="follow_up", text="c"),
        Command(kind="abort"),
        Command(kind="abort"),
    ]


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_no_lines_of_their_own() -> None:
    data = b'\xef\xbb\xbf{"type": "abort"}\r\n\r\n \t\n\n{"type": "prompt", "text": "a\\r\\nb"}\r\n'

    assert parsed(data) == [Command(kind="abort"), Command(kind="prompt", text="a\r\nb")]


def test_only_a_line_feed_ends_a_line() -> None:
    text = "a\u2028b\u2029c\x85d"

    assert parsed(f'{{"type": "prompt", "text": "{text}"}}\n'.encode()) == [Command(kind="prompt", text=text)]


def test_the_last_line_needs_no_line_feed() -> None:
    assert parsed(b'\n{"type": "abort"}') == [Command(kind="abort")]
    assert parsed(b"") == parsed(b"\n") == []


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"type": "prompt", "txt": "a"}', f"a command has no key 'txt' (did you mean 'text'?); {KEYS}"),
        ('{"id": 1, "type": "abort"}', f"a command has no key 'id'; {KEYS}"),
        ('{"type": "followup", "text": "a"}', f"{TYPE} found 'followup' (did you mean 'follow_up'?)"),
        ('{"text": "a"}', f"{TYPE} found nothing"),
        ('{"type": ["prompt"]}', f"{TYPE} found a list"),
        ('{"type": "prompt"}', "text: expected a string, found nothing"),
        ('{"type": "steer", "text": 5}', "text: expected a string, found the number 5"),
        ('{"type": "abort", "text": {}}', "text: expected a string, found a map"),
        ('{"type": "steer", "text": " \\n"}', "text: expected something to say, found only white space"),
        ("[]", f"expected {SHAPE}, found an empty list"),
        ("true", f"expected {SHAPE}, found true"),
    ],
)
def test_a_mistake_names_its_line_what_was_wanted_and_what_was_found(line: str, sentence: str) -> None:
    data = f'\n{line}\n{{"type": "abort"}}\n'.encode()

    assert parsed(data) == [mistake(2, sentence), Command(kind="abort")]


def test_bytes_that_are_no_utf8_are_named_with_their_offset() -> None:
    assert parsed(b'{"\xff": 1}') == [mistake(1, "expected UTF-8, found byte 0xFF at offset 2")]


@pytest.mark.parametrize(
    "line", [b"go", b'{"type": "abo', b'{"type": "abort"} {}', b'{"text": "\\ud800"}', b"[" * 9999]
)
def test_what_is_no_json_is_a_mistake(line: bytes) -> None:
    (found,) = parsed(line, most_bytes=10_000)

    assert isinstance(found, Mistake)
    assert found.message.startswith(f"standard input, line 1: expected {SHAPE}, found no JSON: ")


def test_a_line_that_is_too_long_is_said_before_its_end_comes_and_the_next_line_counts() -> None:
    lines = Lines(most_bytes=20)
    too_long = mistake(1, "expected a line of at most 20 B, found more")

    assert lines.feed(b" " * 20) == []
    assert lines.feed(b"x") == [too_long]
    assert lines.feed(b"y" * 100) == []
    assert lines.feed(b'\n{"type": "abort"}') == []
    assert lines.flush() == [Command(kind="abort")]


COMMAND = st.fixed_dictionaries(
    {"type": st.sampled_from(["prompt", "steer", "follow_up", "abort", "promt"])},
    optional={"text": st.text(max_size=8) | st.none(), "x": st.integers()},
).map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
ODD = st.sampled_from([b"", b" \r", b"\xff", b"{", b"[1]", b"\xef\xbb\xbf", b"x" * 60, "\u2028".encode()])


@settings(max_examples=100, deadline=None)
@given(st.lists(COMMAND | ODD, max_size=8), st.sampled_from([b"\n", b"\r\n"]), st.data())
def test_the_same_commands_and_mistakes_however_the_bytes_are_cut(
    rows: list[bytes], end: bytes, data: st.DataObject
) -> None:
    body = end.join(rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    chunks = [body[start:stop] for start, stop in itertools.pairwise([0, *cuts, len(body)])]

    whole = parsed(body, most_bytes=50)

    assert parsed(*chunks, most_bytes=50) == whole
    assert parsed(*[bytes([byte]) for byte in body], most_bytes=50) == whole
    assert len(whole) <= len(rows)
