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
