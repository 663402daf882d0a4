import json

from agentcore_runner.core import events as ev
from agentcore_runner.core.stream import Retry, TextDelta, TextStart
from agentcore_runner.transcript.recorder import Recorder
from tests.transcript import transcripts


def test_every_record_has_its_envelope_number_and_turn() -> None:
    records = [json.loads(line) for line in transcripts.lines()]

    assert [(r["seq"], r["type"], r.get("turn")) for r in records] == [
        (0, "run_started", None),
        (1, "agent_start", None),
        (2, "turn_start", 0),
        (3, "message_start", 0),
        (4, "message_end", 0),
        (5, "message_start", 0),
        (6, "message_end", 0),
        (7, "tool_execution_start", 0),
        (8, "tool_execution_end", 0),
        (9, "message_start", 0),
        (10, "message_end", 0),
        (11, "turn_end", 0),
        (12, "turn_start", 1),
        (13, "message_start", 1),
        (14, "message_end", 1),
        (15, "turn_end", 1),
        (16, "agent_end", None),
        (17, "run_finished", None),
    ]
    assert {(r["v"], r["run"], r["ts"]) for r in records} == {(1, "r1", "2027-01-15T08:00:00.000Z")}


def test_messages_are_stored_once_and_named_by_number() -> None:
    records = [json.loads(line) for line in transcripts.lines()]

    assert records[9] == {**records[9], "role": "toolResult"}
    assert "message" not in records[9]
    assert (records[11]["message"], records[11]["tool_results"]) == (6, [10])
    assert records[16]["messages"] == [4, 6, 10, 14]


def test_deltas_are_recorded_only_with_partial_and_retries_always() -> None:
    pieces = [
        TextStart(content_index=0),
        TextDelta(content_index=0, delta="Hel"),
        Retry(attempt=1, delay_s=0.5, status=503, reason="busy"),
    ]
    written: dict[bool, list[bytes]] = {False: [], True: []}

    for partial, rows in written.items():
        recorder = Recorder("r", [rows.append], clock=lambda: 0.0, partial=partial)
        for piece in pieces:
            recorder.on_event(ev.MessageUpdateEvent(assistant_message_event=piece))

    kinds = {partial: [json.loads(row)["type"] for row in rows] for partial, rows in written.items()}
    assert kinds == {False: ["retry"], True: ["message_update", "retry"]}
    delta = json.loads(written[True][0])
    assert (delta["content_index"], delta["kind"], delta["delta"]) == (0, "text_delta", "Hel")
