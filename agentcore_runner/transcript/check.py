"""Is a transcript whole: numbers, grammar, pairing, and a last record."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import dropwhile

from agentcore_runner.core.messages import AssistantMessage, ToolResultMessage, role_of
from agentcore_runner.transcript import records as rec
from agentcore_runner.transcript.reader import Line


def check_lines(lines: Iterable[Line]) -> list[str]:
    """What is wrong, each as `line N: …`; empty for a whole transcript."""
    checker = Checker()
    for line in lines:
        checker.feed(line)
    return checker.end()


class Checker:
    """Follows the records one by one and keeps what is open."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._number = 0
        self._seq = 0
        self._run: str | None = None
        self._first: str | None = None
        self._finished = False
        self._agent = False
        self._turn: int | None = None
        self._turns = 0
        self._message: str | None = None
        self._answers: list[int] = []
        self._results: list[int] = []
        self._added: list[int] = []
        self._calls: dict[str, str] = {}
        self._compacting = False
        self._context: dict[int, str] = {}
        """The messages that stand in the conversation by their records, with what each is."""

    def feed(self, line: Line) -> None:
        """Take the next line."""
        self._number = line.number
        if self._finished:
            self._fault("a record after run_finished")
        if line.error is not None:
            self._fault("the last line is torn" if line.torn else line.error)
            return
        if line.data is not None:
            self._envelope(line.data)
        if line.record is not None:
            self._first = self._first or str(line.record.__struct_config__.tag)
            self._record(line.record)

    def end(self) -> list[str]:
        """All faults, what is still open included."""
        if self._first is None:
            return [*self.faults, "no record at all"]
        if self._first != "run_started":
            self.faults.insert(0, f"line 1: expected run_started first, found {self._first}")
        if not self._finished:
            self.faults.append("no run_finished: the run was killed, or still runs")
        return self.faults

    def _envelope(self, data: dict[str, object]) -> None:
        if data.get("v") != rec.VERSION:
            self._fault(f"format version {data.get('v')!r}, expected {rec.VERSION}")
        if data.get("seq") != self._seq:
            self._fault(f"seq {data.get('seq')!r}, expected {self._seq}")
        seq = data.get("seq")
        self._seq = (seq if isinstance(seq, int) else self._seq) + 1
        if self._run is None:
            self._run = str(data.get("run"))
        if data.get("run") != self._run:
            self._fault(f"run {data.get('run')!r}, expected {self._run!r}")

    def _record(self, record: rec.AnyRecord) -> None:
        match record:
            case rec.AgentStart():
                self._expect(not self._agent, "agent_start inside a run of the agent")
                self._agent, self._added = True, []
            case rec.TurnStart():
                self._expect(self._agent and self._turn is None, "turn_start out of place")
                self._turn, self._turns = self._turns, self._turns + 1
                self._answers, self._results, self._calls = [], [], {}
                self._expect(record.turn == self._turn, f"turn {record.turn}, expected {self._turn}")
            case rec.MessageStart():
                self._expect(self._message is None, "message_start inside a message")
                self._message = record.role
            case rec.MessageEnd():
                self._message_end(record)
            case rec.CompactionStart():
                self._expect(not self._compacting, "compaction_start inside a compaction")
                self._expect(
                    set(self._calls.values()) <= {"answered"}, "compaction_start before a call's result"
                )
                self._compacting = True
            case rec.CompactionEnd():
                self._compaction_end(record)
            case rec.ToolExecutionStart():
                state = self._calls.get(record.tool_call_id)
                self._expect(
                    state == "called", f"tool_execution_start of call {record.tool_call_id!r}: {state}"
                )
                self._calls[record.tool_call_id] = "started"
            case rec.ToolExecutionEnd():
                state = self._calls.get(record.tool_call_id)
                self._expect(
                    state == "started", f"tool_execution_end of call {record.tool_call_id!r}: {state}"
                )
                self._calls[record.tool_call_id] = "ended"
            case rec.TurnEnd():
                self._turn_end(record)
            case rec.AgentEnd():
                self._expect(self._agent and self._turn is None, "agent_end out of place")
                self._expect(record.messages == self._added, "agent_end names other messages than were added")
                self._agent = False
            case rec.RunFinished():
                self._finished = True
                self._expect(not self._agent, "run_finished before agent_end")
                self._expect(not self._compacting, "run_finished before compaction_end")
            case _:
                pass

    def _message_end(self, record: rec.MessageEnd) -> None:
        message = record.message
        role = role_of(message)
        self._expect(self._message == role, f"message_end of {role}, open is {self._message}")
        self._message = None
        self._added.append(record.seq)
        self._context[record.seq] = role
        if isinstance(message, AssistantMessage):
            self._answers.append(record.seq)
            for call in message.tool_calls:
                self._expect(call.id not in self._calls, f"two calls with the id {call.id!r}")
                self._calls[call.id] = "called"
        elif isinstance(message, ToolResultMessage):
            self._step(message.tool_call_id, "ended", "answered")
            self._results.append(record.seq)

    def _compaction_end(self, record: rec.CompactionEnd) -> None:
        self._expect(self._compacting, "compaction_end without compaction_start")
        self._compacting = False
        if record.summary is None:
            return
        first = record.first_kept
        self._expect(first is None or first in self._context, f"record {first} is not in the conversation")
        kept = dict(dropwhile(lambda item: item[0] != first, self._context.items()))
        starts = next(iter(kept.values()), None)
        self._expect(starts != "toolResult", f"record {first}, a result, is parted from its call")
        for each in record.replaced:
            self._expect(kept.get(each.seq) == "toolResult", f"record {each.seq} is no result that was kept")
        self._context = {record.seq: "compactionSummary"} | kept

    def _step(self, call_id: str, before: str, after: str) -> None:
        state = self._calls.get(call_id, "unknown")
        self._expect(state == before, f"call {call_id!r} is {after}, but it was {state}, not {before}")
        self._calls[call_id] = after

    def _turn_end(self, record: rec.TurnEnd) -> None:
        self._expect(self._turn is not None, "turn_end without turn_start")
        self._expect(self._message is None, "turn_end inside a message")
        for call_id, state in self._calls.items():
            self._expect(
                state == "answered", f"call {call_id!r} has no result at the end of its turn ({state})"
            )
        answer = self._answers[-1] if self._answers else None
        self._expect(record.message == answer, "turn_end names another answer than the turn's")
        self._expect(record.tool_results == self._results, "turn_end names other results than the turn's")
        self._turn = None

    def _expect(self, holds: bool, fault: str) -> None:
        if not holds:
            self._fault(fault)

    def _fault(self, fault: str) -> None:
        self.faults.append(f"line {self._number}: {fault}")
