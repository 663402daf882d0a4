import json

from hypothesis import given
from hypothesis import strategies as st

from agentcore_runner.transcript.lines import encode_line

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_any_value_is_one_line_for_every_line_reader(value: object) -> None:
    line = encode_line(value)

    assert line.decode().splitlines(keepends=True) == [line.decode()]
    assert json.loads(line) == value


def test_separators_that_some_readers_split_at_are_escaped() -> None:
    line = encode_line({"text": "a\u2028b\u2029c\r\n"})

    assert line == b'{"text":"a\\u2028b\\u2029c\\r\\n"}\n'


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    line = encode_line({"a\ud83d": ["\udc00 b", {"c": ("\ud800",)}]})

    assert json.loads(line) == {"a\ufffd": ["\ufffd b", {"c": ["\ufffd"]}]}


def test_what_json_cannot_hold_stands_there_as_python_shows_it() -> None:
    line = encode_line({"error": ValueError("x"), None: {(1, 2): {3}}, "half": "\ud800"})

    assert json.loads(line) == {"error": "ValueError('x')", "None": {"(1, 2)": [3]}, "half": "\ufffd"}
