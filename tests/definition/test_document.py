"""YAML 1.2 as authors write it: scalars, places, odd characters, limits."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.definition.document import parse
from agentcore_runner.definition.load import parse_duration, parse_scalar
from agentcore_runner.definition.scalars import parse_size, resolve
from agentcore_runner.definition.source import Mistake, Source, decode
from agentcore_runner.errors import ConfigError


def data_of(text: str) -> Any:
    document = parse(Source("a.yaml", text))
    assert document.root is not None and document.problems == []
    return document.root.data


def messages(text: str) -> list[str]:
    return [problem.message for problem in parse(Source("a.yaml", text)).problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"), ("no", "no"), ("on", "on"), ("yes", "yes"), ("0755", "0755"), ("12:30", "12:30"),
        ("1_000", "1_000"), ("2024-01-01", "2024-01-01"), ("0o17", 15), ("0x1F", 31), ("+1", 1), ("-0", 0),
        ("1.10", 1.1), (".5", 0.5), ("1.", 1.0), ("1e3", 1000.0), ("-", "-"), (".", "."), ("", None),
        ("~", None), ("Null", None), ("true", True), ("FALSE", False), ("tRue", "tRue"), ("1.2.3", "1.2.3"),
    ],
)  # fmt: skip
def test_bare_words_follow_yaml_1_2(text: str, value: object) -> None:
    assert repr(parse_scalar(text)) == repr(value)
    assert repr(data_of(f"[{text}, x]")[0] if text else data_of("[~]")[0]) == repr(value)


def test_flags_take_whole_values() -> None:
    assert parse_scalar("[a, {b: 1}]") == ["a", {"b": 1}]
    assert parse_scalar('"3"') == "3"


@pytest.mark.parametrize("text", [".inf", "1e999", "9" * 5000, "[1", "a: b: c", "--- 1\n--- 2"])
def test_flags_refuse_what_is_no_value(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_scalar(text)


def test_places_are_those_of_keys_and_values() -> None:
    document = parse(
        Source("a.yaml", "limits:\n  max_turns: 40\ntools:\n  - read\n  - {name: é😀, type: x}\n")
    )

    assert document.place(("limits", "max_turns")) == (document.source, 2, 14, 2)
    assert document.place(("limits", "max_turns"), at_key=True) == (document.source, 2, 3, 9)
    assert document.place(("tools", 1, "type")) == (document.source, 5, 22, 1)
    assert document.place(("tools", 1, "gone")) == (document.source, 5, 5, 1)
    assert document.place(("gone",)) == (document.source, 1, 1, 1)


def test_json_pairs_of_escapes_are_one_character() -> None:
    assert data_of('{"a": "\\ud83d\\ude00", "b": \'\\ud83d\'}') == {"a": "😀", "b": "\\ud83d"}


def test_only_yaml_1_2_line_ends_end_lines() -> None:
    text = 'a: "x\u2028 y\u2029\x85z"\r\nb: |\r  one\u2028two\n  three\nc: d\n'

    document = parse(Source("a.yaml", text))

    assert document.root is not None
    assert document.root.data == {"a": "x\u2028 y\u2029\x85z", "b": "one\u2028two\nthree\n", "c": "d"}
    assert document.place(("c",)) == (document.source, 5, 4, 1)


def test_byte_order_mark_is_accepted() -> None:
    assert decode("a", b"\xef\xbb\xbfa: 1").text == "a: 1"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: caf\xe9", "the byte 0xE9 at offset 6 is not UTF-8"),
        (b"\xef\xbb\xbfa: \xff", "the byte 0xFF at offset 6 is not UTF-8"),
        ("a: 1\n".encode("utf-16"), "the file is UTF-16 or UTF-32, not UTF-8"),
        ("a: 1\n".encode("utf-16-le"), "the file is UTF-16 or UTF-32, not UTF-8"),
        (b"abcdef\0", "a NUL byte at offset 6"),
    ],
)
def test_other_bytes_are_named_with_their_offset(data: bytes, message: str) -> None:
    with pytest.raises(Mistake) as caught:
        decode("a.yaml", data)

    assert caught.value.problem.message == message
    assert caught.value.problem.rule == "encoding"


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
TORTURE = {
    "aliases": BOMB,
    "merges": "a0: &a0 {x: 1}\n"
    + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60)),
    "flow": "[" * 100_000,
    "block": "- " * 100_000,
    "maps": "{a: " * 100_000,
    "keys": "? " * 100_000,
    "anchors": "".join(f"a{n}: &a{n} [*a{n - 1}]\n" if n else "a0: &a0 []\n" for n in range(100)),
}  # fmt: skip


@pytest.mark.parametrize("name", TORTURE)
def test_torture_is_refused_within_a_second(name: str) -> None:
    started = time.perf_counter()

    document = parse(Source("a.yaml", TORTURE[name]))

    assert document.problems
    assert time.perf_counter() - started < 1


def test_long_and_wide_files_are_read_in_linear_time() -> None:
    def seconds(count: int) -> float:
        started = time.perf_counter()
        data_of("".join(f"key{n}: [a, b]\n" for n in range(count)))
        return time.perf_counter() - started

    seconds(100)

    assert seconds(8000) < 40 * max(seconds(800), 0.002)


def test_every_duplicate_is_told() -> None:
    assert messages("a: 1\na: 2\nb: {c: 1, c: 2, c: 3}") == [
        "duplicate key 'a' (first at line 1)",
        "duplicate key 'c' (first at line 3)",
        "duplicate key 'c' (first at line 3)",
    ]


def test_own_keys_win_over_merged_ones_and_earlier_maps_over_later() -> None:
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {a: 0, <<: [*x, *y]}\n'<<': text\n"

    assert data_of(text)["z"] == {"a": 0, "b": 1, "c": 2}
    assert data_of(text)["<<"] == "text"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(30, 30.0), (0.5, 0.5), ("500ms", 0.5), ("30s", 30.0), ("5m", 300.0), ("2h", 7200.0),
     ("1.5m", 90.0), ("7", 7.0)],
)  # fmt: skip
def test_durations(value: float | str, seconds: float) -> None:
    assert parse_duration(value) == seconds


@pytest.mark.parametrize(("value", "size"), [(10, 10), ("50KiB", 51200), ("2MiB", 2097152), ("1.5KiB", 1536)])
def test_sizes(value: float | str, size: int) -> None:
    assert parse_size(value) == size


@pytest.mark.parametrize(
    "value", ["5 sec", "", "-1s", 0, -1, True, None, "1d", "٣s", float("inf"), "9" * 400]
)
def test_wrong_durations_are_shown(value: Any) -> None:
    with pytest.raises(ConfigError, match="expected a duration such as 30s, found"):
        parse_duration(value)


@pytest.mark.parametrize("value", ["5KB", "", 0, 0.5, True, None, "KiB", float("nan")])
def test_wrong_sizes_are_shown(value: Any) -> None:
    with pytest.raises(ConfigError, match="expected a size such as 50KiB, found"):
        parse_size(value)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
)
def test_json_scalars_mean_what_they_mean_in_json(value: object) -> None:
    assert repr(resolve(json.dumps(value))) == repr(value)


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.text() | st.integers(0, 99) | st.none(),
        # A key of YAML ends within 1024 characters, and JSON writes one beyond the BMP as twelve.
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=80), inner),
        max_leaves=8,
    )
)
def test_json_is_yaml(value: object) -> None:
    assert data_of(json.dumps(value)) == value


def test_durations_carry_no_noise() -> None:
    assert [parse_duration(text) for text in ("700ms", "1.1ms", "0.0001ms")] == [0.7, 0.0011, 0.0001 * 0.001]


@settings(max_examples=100, deadline=None)
@given(st.floats(0.001, 1e6), st.sampled_from(["ms", "s", "m", "h"]))
def test_durations_are_number_times_unit(number: float, unit: str) -> None:
    written = f"{number:.6f}"

    seconds = parse_duration(f"{written}{unit}")

    exact = float(written) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]
    assert seconds == (round(exact, 6) or exact)


def test_the_python_parser_reads_what_the_c_parser_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: [1, 'x', \"y\"]\nb: |\n  text\nc: &c {d: ~}\ne: *c\n"
    with_c = data_of(text)

    monkeypatch.delattr(yaml, "CLoader", raising=False)

    assert data_of(text) == with_c
