"""Numbers, sizes and near misses in words."""

from __future__ import annotations

import pytest

from agentcore_runner.words import counted, did_you_mean, nearest, size_text


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 bytes"), (1, "1 byte"), (2, "2 bytes"), (2000, "2,000 bytes")]
)
def test_a_noun_follows_its_number(number: int, words: str) -> None:
    assert counted(number, "byte") == words


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (51_200, "50.0 KB"),
        (4_718_592, "4.5 MB"),
        (3 * 1024**3, "3.0 GB"),
    ],
)
def test_a_size_has_the_unit_that_suits_it(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize("word", ["max_turn", "maxTurns", "Max-Turns", "max_turns"])
def test_a_near_miss_is_found_whatever_its_spelling(word: str) -> None:
    assert nearest(word, ["timeout", "max_turns"]) == "max_turns"


def test_a_hint_follows_a_sentence_or_is_nothing() -> None:
    assert did_you_mean("opnai", ["ollama", "openai"]) == " (did you mean 'openai'?)"
    assert did_you_mean("zzz", ["ollama", "openai"]) == ""
    assert did_you_mean("x" * 1_000_000, ["ollama"]) == ""
