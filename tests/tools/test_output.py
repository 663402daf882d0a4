from __future__ import annotations

import io
import json
import os
import tracemalloc
from pathlib import Path
from typing import IO

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore_runner.tools.output import Collector, Output, collector

from .support import options

pieces = st.lists(
    st.one_of(st.binary(max_size=12), st.text(max_size=6).map(str.encode), st.just(b"line of text\n")),
    max_size=20,
)


def collect(chunks: list[bytes], max_bytes: int, head_share: float = 0.25) -> tuple[Output, bytes]:
    side: list[Kept] = []

    def open_side() -> IO[bytes]:
        side.append(Kept())
        return side[0]

    collected = Collector(max_bytes=max_bytes, side_file=open_side, head_share=head_share)
    for chunk in chunks:
        collected.feed(chunk)
    return collected.finish(status="exit code 1", empty="(no output)"), side[0].kept if side else b""


class Kept(io.BytesIO):
    name = "/side/file.txt"
    kept = b""

    def close(self) -> None:
        self.kept = self.getvalue()
        super().close()


@settings(max_examples=100, deadline=None)
@given(pieces, st.integers(1, 400), st.sampled_from([0.25, 1.0]), st.data())
def test_the_result_does_not_depend_on_where_the_pieces_were_cut(
    chunks: list[bytes], max_bytes: int, head_share: float, data: st.DataObject
) -> None:
    whole = b"".join(chunks)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    others = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    assert collect(chunks, max_bytes, head_share) == collect(others, max_bytes, head_share)


@settings(max_examples=100, deadline=None)
@given(pieces, st.integers(200, 600), st.sampled_from([0.25, 1.0]))
def test_the_text_is_no_longer_than_allowed_and_the_side_file_is_whole(
    chunks: list[bytes], max_bytes: int, head_share: float
) -> None:
    output, side = collect(chunks, max_bytes, head_share)

    whole = b"".join(chunks)
    assert len(output.text.encode()) <= max_bytes
    assert output.details["total_bytes"] == len(whole)
    assert output.details["truncated"] == bool(side)
    assert side in (b"", whole)
    valid = whole.decode("utf-8", "ignore").encode()
    assert output.details.get("invalid_utf8_bytes", 0) == len(whole) - len(valid)


def test_bytes_that_are_not_utf8_are_replaced_counted_and_told() -> None:
    output, _ = collect([b"a\xff\xfeb\xe2\x82", b"\xac\xf0\x9f"], 1000)

    assert output == Output(
        text="a\ufffd\ufffdb€\ufffd\ufffd\n\n[4 bytes not UTF-8, replaced by U+FFFD]\n\nexit code 1",
        details={
            "truncated": False,
            "total_bytes": 9,
            "total_lines": 1,
            "output_bytes": len(output.text.encode()),
            "invalid_utf8_bytes": 4,
        },
    )
    json.dumps(output.text).encode()


def test_long_output_loses_its_middle() -> None:
    lines = [f"line {number}\n".encode() for number in range(1000)]

    output, side = collect(lines, 300)

    head, mark, tail, status = output.text.split("\n\n")
    assert head.startswith("line 0\nline 1\n")
    assert mark == "[… 8.7 KB in 1,000 lines cut to 300 B; full output: /side/file.txt …]"
    assert tail.endswith("line 998\nline 999")
    assert status == "exit code 1"
    assert side == b"".join(lines)
    assert output.details["full_output_path"] == "/side/file.txt"


def test_long_output_loses_its_end_where_the_start_matters() -> None:
    output, _ = collect([b"line %d\n" % number for number in range(1000)], 200, head_share=1.0)

    head, mark, _ = output.text.split("\n\n")
    assert head.startswith("line 0\n") and "line 999" not in head
    assert mark == "[8.7 KB in 1,000 lines cut to 200 B; full output: /side/file.txt]"


def test_one_huge_line_keeps_both_ends() -> None:
    output, _ = collect([b"a" * 5000, b"b" * 5000], 300)

    assert output.text.startswith("a" * 20) and "b" * 100 in output.text
    assert len(output.text) <= 300


def test_a_side_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "side").write_text("in the way")
    collected = collector(options(tmp_path, max_output=200), "call")
    collected.feed(b"x" * 1000)

    output = collected.finish()

    assert "full output could not be stored whole (File exists)" in output.text
    assert output.details["full_output_error"] == "File exists"


def test_side_files_are_named_after_their_calls(tmp_path: Path) -> None:
    paths = []
    for _ in range(2):
        collected = collector(options(tmp_path, max_output=100), "../call:1")
        collected.feed(b"x" * 1000)
        paths.append(collected.finish().details["full_output_path"])

    assert paths == [str(tmp_path / "side" / "___call_1.txt"), str(tmp_path / "side" / "___call_1-2.txt")]


def test_a_side_file_does_not_fill_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "side"
    collected = Collector(max_bytes=100, side_file=lambda: path.open("xb"), side_limit=3000)
    for _ in range(6):
        collected.feed(b"x" * 1000)

    output = collected.finish()

    assert output.details["full_output_error"] == "stopped after 2.9 KB"
    assert path.stat().st_size == 3000


def test_fifty_megabytes_are_taken_in_bounded_memory(tmp_path: Path) -> None:
    collected = collector(options(tmp_path), "call")
    piece = b"0123456789abcde\n" * 4096
    tracemalloc.start()

    for _ in range(50_000_000 // len(piece)):
        collected.feed(piece)
    output = collected.finish()

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    assert len(output.text) <= 50 * 1024
    assert os.path.getsize(output.details["full_output_path"]) == output.details["total_bytes"]
