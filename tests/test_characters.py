"""Strings that UTF-8 cannot hold are made whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.characters import Halves, mend, mended

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", ""),
        ("plain", "plain"),
        ("\ufeffé😀\x00", "\ufeffé😀\x00"),
        ("\ud83d\ude00", "😀"),
        ("a\ud83db", "a\ufffdb"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_pairs_are_joined_and_lone_halves_replaced(text: str, whole: str) -> None:
    assert mend(text) == whole


@given(ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_what_is_mended_is_utf8_and_stays_as_it_is(text: str) -> None:
    whole = mend(text)

    assert whole.encode().decode() == whole == mend(whole)


def test_every_string_in_plain_data_is_mended() -> None:
    data = {"a\ud83d": ["\udc00 b", ("\ud83d\ude00", 1, None)], "n": {"x": 1.5, "y": True}}

    assert mended(data) == {"a\ufffd": ["\ufffd b", ["😀", 1, None]], "n": {"x": 1.5, "y": True}}


@given(st.lists(st.text(st.sampled_from(["a", "é", "\ud83d", "\ude00", "😀"]), max_size=3), max_size=6))
@settings(max_examples=100, deadline=None)
def test_pieces_are_mended_as_the_whole_is(pieces: list[str]) -> None:
    halves = Halves()

    given_out = "".join([halves.feed(piece) for piece in pieces])

    assert given_out + ("\ufffd" if halves.pending else "") == mend("".join(pieces))
