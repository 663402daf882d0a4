import re
from pathlib import Path

import pytest

from agentcore_runner.transcript.check import check_lines
from agentcore_runner.transcript.reader import read_lines
from agentcore_runner.views.reading import as_text
from tests.transcript import transcripts


def faults(folder: Path, rows: list[bytes]) -> list[str]:
    return check_lines(read_lines(transcripts.write(folder, rows)))


def test_a_whole_transcript_has_no_fault(tmp_path: Path) -> None:
    assert faults(tmp_path, transcripts.lines()) == []


def test_unknown_fields_and_record_types_are_no_fault(tmp_path: Path) -> None:
    rows = transcripts.lines()
    rows[1] = rows[1].replace(b"{", b'{"of_tomorrow":1,', 1)
    rows[12:12] = [b'{"v":1,"seq":12,"ts":"","run":"r1","type":"of_tomorrow"}\n']
    later = [row.replace(b'"seq":%d,' % n, b'"seq":%d,' % (n + 1)) for n, row in enumerate(rows[13:], 12)]
    rows[13:] = [row.replace(b'"messages":[4,6,10,14]', b'"messages":[4,6,10,15]').replace(
        b'"message":14', b'"message":15') for row in later]  # fmt: skip

    assert faults(tmp_path, rows) == []


@pytest.mark.parametrize("number", range(1, 18))
def test_a_lost_line_is_found(tmp_path: Path, number: int) -> None:
    rows = transcripts.lines()
    del rows[number]

    assert faults(tmp_path, rows)


def test_a_record_after_the_last_is_found(tmp_path: Path) -> None:
    rows = transcripts.lines()

    found = faults(tmp_path, [*rows, rows[1].replace(b'"seq":1', b'"seq":18')])

    assert found[0] == "line 19: a record after run_finished"


def test_a_call_without_a_result_is_found(tmp_path: Path) -> None:
    rows = [row for n, row in enumerate(transcripts.lines()) if n not in (9, 10)]

    assert any("call 'c1' has no result at the end of its turn" in fault for fault in faults(tmp_path, rows))


COMPACTION = [
    b'{"type":"compaction_start","v":1,"seq":0,"ts":"","run":"r1","turn":1,"reason":"manual",'
    b'"tokens_before":9,"model":"a/b"}\n',
    b'{"type":"compaction_end","v":1,"seq":0,"ts":"","run":"r1","turn":1,"reason":"manual","summary":'
    b'{"role":"compactionSummary","summary":"s","tokens_before":9,"timestamp":1},"first_kept":6,'
    b'"replaced":[{"seq":10,"message":{"role":"toolResult","tool_call_id":"c1","tool_name":"bash",'
    b'"content":[],"timestamp":3}}],"tokens_after":3,"usage":{},"model":"a/b","aborted":false,'
    b'"will_retry":false,"error_message":null}\n',
]


def with_rows(more: list[bytes], at: int = 13) -> list[bytes]:
    """The transcript with more records, all numbered anew; what names later records is left as it was."""
    rows = transcripts.lines()
    rows[at:at] = more
    return [re.sub(rb'"seq":\d+,"ts"', b'"seq":%d,"ts"' % number, row) for number, row in enumerate(rows)]


def compaction_faults(folder: Path, more: list[bytes], at: int = 13) -> list[str]:
    found = [fault.partition(": ")[2] for fault in faults(folder, with_rows(more, at))]
    return [fault for fault in found if not fault.startswith(("turn_end names", "agent_end names"))]


def test_a_compaction_between_two_turns_is_no_fault(tmp_path: Path) -> None:
    assert compaction_faults(tmp_path, COMPACTION) == []
    assert compaction_faults(tmp_path, COMPACTION * 2) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (b'"first_kept":6', b'"first_kept":5', "record 5 is not in the conversation"),
        (b'"first_kept":6', b'"first_kept":10', "record 10, a result, is parted from its call"),
        (b'"replaced":[{"seq":10', b'"replaced":[{"seq":6', "record 6 is no result that was kept"),
        (b'"first_kept":6', b'"first_kept":null', "record 10 is no result that was kept"),
    ],
)
def test_a_compaction_that_does_not_fit_is_found(tmp_path: Path, old: bytes, new: bytes, fault: str) -> None:
    start, end = COMPACTION

    assert compaction_faults(tmp_path, [start, end.replace(old, new)])[0] == fault


def test_a_compaction_in_the_wrong_place_is_found(tmp_path: Path) -> None:
    start, end = COMPACTION

    assert compaction_faults(tmp_path, [end]) == ["compaction_end without compaction_start"]
    assert compaction_faults(tmp_path, [start, start, end]) == ["compaction_start inside a compaction"]
    assert compaction_faults(tmp_path, [start]) == ["run_finished before compaction_end"]
    assert compaction_faults(tmp_path, [start], at=8)[0] == "compaction_start before a call's result"


def test_every_cut_is_read_and_said(tmp_path: Path) -> None:
    data = b"".join(transcripts.lines())

    for cut in range(1, len(data) - 1, 97):
        path = transcripts.write(tmp_path, [data[:cut]])
        text = "\n".join(as_text(read_lines(path)))

        assert "no run_finished: the run was killed, or still runs" in check_lines(read_lines(path)) or (
            b"\n" not in data[:cut]
        )
        assert "killed, or still runs" in text or b"\n" not in data[:cut]


def test_the_text_shows_messages_tools_and_the_end(tmp_path: Path) -> None:
    path = transcripts.write(tmp_path, transcripts.lines())

    assert list(as_text(read_lines(path))) == [
        "run r1: a (a.yaml) at 2027-01-15T08:00:00.000Z",
        "model: scripted/s, thinking off",
        "tools: bash",
        "",
        "== turn 1 at 2027-01-15T08:00:00.000Z",
        "user:",
        "  go",
        '--> bash {"command": "true"}',
        "bash gave:",
        "  ok",
        "",
        "== turn 2 at 2027-01-15T08:00:00.000Z",
        "assistant:",
        "  done",
        "",
        "== completed (0): The model finished its answer.",
        "2 turns, 1 tool call, 0 tokens, cost unknown, 0.0 s (model 0.0 s, tools 0.0 s)",
    ]
