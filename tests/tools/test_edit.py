from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.core.tools import AgentToolResult
from agentcore_runner.errors import ToolError
from agentcore_runner.tools import BUILTINS
from agentcore_runner.tools.diff import diff
from agentcore_runner.tools.matching import Edit
from agentcore_runner.tools.splice import splice

from .support import call, options, run, text_of


def edit(folder: Path, *edits: tuple[str, str], path: str = "a.txt") -> AgentToolResult:
    made = [{"old_text": old, "new_text": new} for old, new in edits]
    return run(call(BUILTINS["edit"](options(folder)), {"path": path, "edits": made}))


def edited(before: bytes, *edits: tuple[str, str]) -> bytes:
    return splice(before, [Edit(old_text=old, new_text=new) for old, new in edits], "a.txt").data


def refusal(before: bytes, *edits: tuple[str, str]) -> str:
    with pytest.raises(ToolError) as caught:
        edited(before, *edits)
    return str(caught.value)


def test_texts_are_replaced_and_the_difference_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 21)))

    result = edit(tmp_path, ("17\n", ""), ("2\n3", "two\n3\nmore"))

    assert text_of(result) == "Replaced 2 texts in a.txt"
    assert (
        result.details
        == {
            "path": str(tmp_path / "a.txt"),
            "first_changed_line": 2,
            "diff": (
                "@@ -1,6 +1,7 @@\n 1\n-2\n+two\n 3\n+more\n 4\n 5\n 6\n"
                "@@ -14,7 +15,6 @@\n 14\n 15\n 16\n-17\n 18\n 19\n 20"
            ),
        }
        or result.details
    )
    assert (tmp_path / "a.txt").read_text().split("\n")[:5] == ["1", "two", "3", "more", "4"]
    assert "17" not in (tmp_path / "a.txt").read_text()


def test_all_edits_match_the_original() -> None:
    assert edited(b"a b c", ("a", "b"), ("b", "c"), ("c", "a")) == b"b c a"


def test_what_is_not_clear_is_refused() -> None:
    assert refusal(b"x y x", ("x", "z")) == (
        "edits[0]: old_text occurs 2 times in a.txt; quote more lines around it"
    )
    assert refusal(b"aaa", ("aa", "b")) == (
        "edits[0]: old_text occurs 2 times in a.txt; quote more lines around it"
    )
    assert refusal(b"x", ("x", "y"), ("gone", "z")) == (
        "edits[1]: old_text was not found in a.txt; read the file again and quote it exactly, "
        "with its white space"
    )
    assert refusal(b"abcd", ("cd", "x"), ("bc", "y")) == "edits[0] and edits[1] overlap; make them one edit"
    assert refusal(b"x", ("", "y")) == "edits[0]: old_text is empty; quote the text to be replaced"
    assert refusal(b"x y", ("x", "x")) == "no change: the edits leave a.txt as it is"
    assert refusal(b"x\0y", ("x", "y")) == "a.txt is not text; it cannot be edited"
    assert refusal(b"x", ("x", "\ud800")) == "edits[0].new_text: U+D800 at offset 0 is half a character"


def test_a_refused_edit_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")

    with pytest.raises(ToolError):
        edit(tmp_path, ("one", "1"), ("three", "3"))

    assert (tmp_path / "a.txt").read_text() == "one two"


def test_a_unique_exact_match_wins_over_look_alikes() -> None:
    before = 'say “hi”\nsay "hi"\n'.encode()

    assert edited(before, ('say "hi"', "said")) == "say “hi”\nsaid\n".encode()


def test_look_alikes_are_found_where_nothing_matches_exactly() -> None:
    before = "# “Title” – one\u00a0two   \nﬁrst line\t\nlast\n".encode()

    after = edited(
        before, ('# "Title" - one two\nfirst line\nlast', '# "Title" - one two\nsecond line\nlast')
    )

    assert after == "# “Title” – one\u00a0two   \nsecond line\nlast\n".encode()


def test_look_alikes_must_be_unique_too() -> None:
    assert refusal("“a”\n„a”\n".encode(), ('"a"', "b")) == (
        "edits[0]: old_text occurs 2 times in a.txt; quote more lines around it"
    )


def test_half_of_a_character_is_no_match() -> None:
    assert "was not found" in refusal("ﬁx\n".encode(), ("ix", "y"))


def test_mixed_line_ends_are_kept_and_new_lines_follow_them() -> None:
    before = b"\xef\xbb\xbfone\r\ntwo\nthree\r\nfour\n"

    assert edited(before, ("two", "2\n2b")) == b"\xef\xbb\xbfone\r\n2\n2b\nthree\r\nfour\n"
    assert edited(before, ("three", "3\n3b")) == b"\xef\xbb\xbfone\r\ntwo\n3\r\n3b\r\nfour\n"
    assert edited(before, ("one\ntwo\nthree", "1\n2\n3")) == b"\xef\xbb\xbf1\r\n2\n3\r\nfour\n"
    assert edited(before, ("two\r\nthree\r\n", "")) == b"\xef\xbb\xbfone\r\nfour\n"


def test_bytes_that_are_not_utf8_survive() -> None:
    assert edited(b"caf\xe9 one\ntwo \xff\n", ("one", "1")) == b"caf\xe9 1\ntwo \xff\n"


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(ToolError, match=r"^cannot access 'gone': there is no such file$"):
        edit(tmp_path, ("a", "b"), path="gone")
    with pytest.raises(ToolError, match=r"^cannot access 'folder': it is not a file$"):
        edit(tmp_path, ("a", "b"), path="folder")


@pytest.mark.parametrize(
    "params",
    [
        {"path": "p", "edits": json.dumps([{"old_text": "a", "new_text": "b"}])},
        {"path": "p", "edits": {"oldText": "a", "newText": "b"}},
        {"path": "p", "edits": [{"oldText": "a", "newText": "b"}]},
        {"path": "p", "oldText": "a", "newText": "b"},
        {"path": "p", "old_text": "a", "new_text": "b"},
    ],
)
def test_other_spellings_of_the_arguments_are_understood(params: dict[str, Any], tmp_path: Path) -> None:
    prepare = BUILTINS["edit"](options(tmp_path)).prepare_arguments

    assert prepare is not None
    assert prepare(params) == {"path": "p", "edits": [{"old_text": "a", "new_text": "b"}]}


@pytest.mark.parametrize("params", [None, [1], {"path": "p", "edits": "no json"}, {"path": "p", "edits": 5}])
def test_what_is_not_understood_is_left_to_the_validation(params: Any, tmp_path: Path) -> None:
    prepare = BUILTINS["edit"](options(tmp_path)).prepare_arguments

    assert prepare is not None
    assert prepare(params) == params


def test_parallel_edits_of_one_file_are_all_made(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"<{number}>\n" for number in range(30)))
    (tmp_path / "link.txt").symlink_to("a.txt")

    async def main() -> None:
        tools = [BUILTINS["edit"](options(tmp_path)) for _ in range(30)]
        paths = ["a.txt", "link.txt", str(tmp_path / "a.txt")]
        await asyncio.gather(
            *(
                call(tool, {"path": paths[n % 3], "edits": [{"old_text": f"<{n}>", "new_text": f"[{n}]"}]})
                for n, tool in enumerate(tools)
            )
        )

    run(main())

    assert (tmp_path / "a.txt").read_text() == "".join(f"[{number}]\n" for number in range(30))


lines = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "b ", " x\t", "“q”", "ﬁ–n", "\r", "é\u0301"]),
        st.sampled_from(["\n", "\r\n"]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=100, deadline=None)
@given(
    before=lines,
    after=lines,
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    new=st.lists(st.sampled_from(["new", "", "two words"]), max_size=4).map("\n".join),
    spaces=st.sampled_from(["", "  "]),
)
def test_lines_that_are_not_replaced_stay_as_they_were(
    before: list[tuple[str, str]], after: list[tuple[str, str]], mark: bytes, new: str, spaces: str
) -> None:
    first = mark + "".join(map("".join, before)).encode()
    last = "".join(map("".join, after)).encode()

    # With spaces at the end the target is found by the lenient comparison only.
    result = edited(first + b"the target\r\nof it\n" + last, (f"the target{spaces}\nof it", new))

    assert result.startswith(first) and result.endswith(b"\n" + last)
    middle = result[len(first) : len(result) - len(last)].decode()
    assert middle.replace("\r\n", "\n") == new + "\n"


@settings(max_examples=60, deadline=None)
@given(
    text=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=30),
    picks=st.sets(st.integers(0, 29), min_size=1, max_size=5),
    new=st.sampled_from(["", "x", "x\ny", "a", "\n"]),
    end=st.sampled_from(["", "\n"]),
)
def test_the_difference_is_one_that_patch_can_apply(
    text: list[str], picks: set[int], new: str, end: str
) -> None:
    chosen = sorted(pick for pick in picks if pick < len(text)) or [0]
    numbered = [f"{word}{number}." for number, word in enumerate(text)]
    before = "\n".join(numbered) + "\n"
    edits = [Edit(old_text=numbered[pick] + end, new_text=new) for pick in chosen]
    spliced = splice(before.encode(), edits, "a.txt")

    made = diff(spliced.text, spliced.changes, 100_000)

    assert patched(before, made.text) == spliced.data.decode()
    old, after = before.split("\n"), spliced.data.decode().split("\n")
    first = next(
        n for n, pair in enumerate(zip([*old, None], [*after, None], strict=False)) if pair[0] != pair[1]
    )
    assert made.first_changed_line == first + 1


def patched(text: str, difference: str) -> str:
    """The text after the difference, hunk by hunk."""
    old = text.split("\n")
    result: list[str] = []
    at = 0
    for hunk in difference.split("@@ -")[1:]:
        head, _, body = hunk.partition(" @@\n")
        start = int(head.split(",")[0]) - 1
        result += old[at:start]
        at = start
        for line in body.removesuffix("\n").split("\n"):
            if line[0] in " -":
                assert old[at] == line[1:]
                at += 1
            if line[0] in " +":
                result.append(line[1:])
    return "\n".join(result + old[at:])


def test_a_long_difference_is_cut(tmp_path: Path) -> None:
    spliced = splice(b"a\n", [Edit(old_text="a", new_text="x\n" * 10_000)], "a.txt")

    assert diff(spliced.text, spliced.changes, 1000).text == "… the rest of the difference is left out"
