"""Server-sent events from bytes."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.providers.sse import ServerEvent, SseParser


def parsed(*chunks: bytes) -> list[ServerEvent]:
    parser = SseParser()
    return [*[event for chunk in chunks for event in parser.feed(chunk)], *parser.flush()]


def test_event_has_its_name_and_its_lines_joined() -> None:
    events = parsed(b"event: delta\ndata: a\ndata:b\ndata:  c\nid: 1\n\ndata: d\n\n")

    assert events == [ServerEvent("delta", b"a\nb\n c"), ServerEvent("", b"d")]


def test_comments_bom_and_events_without_data_are_no_events() -> None:
    events = parsed(b"\xef\xbb\xbf: hello\n\nevent: ping\n\n:\n\ndata\n\ndata: x\n\n")

    assert events == [ServerEvent("", b""), ServerEvent("", b"x")]


def test_unicode_line_separators_are_part_of_the_data() -> None:
    separators = "a\u2028b\u2029c\x85d\x0be".encode()

    assert parsed(b"data: " + separators + b"\n\n") == [ServerEvent("", separators)]


def test_last_event_may_lack_its_empty_line() -> None:
    assert parsed(b"data: a\n\ndata: [DONE]") == [ServerEvent("", b"a"), ServerEvent("", b"[DONE]")]


LINE = st.sampled_from([b"data: x", b"data:y", b"event: e", b": c", b"", b"id: 1", "data: é🎉".encode()])
END = st.sampled_from([b"\n", b"\r\n", b"\r"])


@settings(max_examples=100, deadline=None)
@given(st.lists(LINE, max_size=12), END, st.data())
def test_cuts_and_line_ends_change_nothing(lines: list[bytes], end: bytes, data: st.DataObject) -> None:
    body = end.join(lines) + end
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    edges = [0, *cuts, len(body)]

    pieces = [body[start:stop] for start, stop in itertools.pairwise(edges)]

    assert parsed(*pieces) == parsed(b"\n".join(lines) + b"\n")


def test_long_line_in_many_pieces_costs_linear_time() -> None:
    piece = b"x" * 64
    parser = SseParser()
    parser.feed(b"data: ")

    for _ in range(200_000):
        parser.feed(piece)

    assert [len(event.data) for event in parser.feed(b"\n\n")] == [64 * 200_000]
