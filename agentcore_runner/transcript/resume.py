"""A transcript → the conversation to go on with, as the agent had it when the record ended."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import dropwhile

from agentcore_runner.core.decode import message_from
from agentcore_runner.core.messages import AgentMessage
from agentcore_runner.errors import TranscriptError
from agentcore_runner.transcript import records as rec
from agentcore_runner.transcript.reader import Line


def conversation_of(lines: Iterable[Line]) -> list[AgentMessage]:
    """The messages in the order in which the model got them, compactions made; a torn last line is passed
    over. Raises TranscriptError for any other line that is no record, and a compaction that does not fit."""
    conversation = Conversation()
    for line in lines:
        conversation.feed(line)
    return conversation.messages


class Conversation:
    """Follows the records and keeps what is said, by the record that says it."""

    def __init__(self) -> None:
        self._said: dict[int, AgentMessage] = {}

    @property
    def messages(self) -> list[AgentMessage]:
        """The conversation so far."""
        return list(self._said.values())

    def feed(self, line: Line) -> None:
        """Take the next line; a record that changes no conversation is passed over."""
        if line.error is not None and not line.torn:
            raise TranscriptError(f"line {line.number}: {line.error}")
        match line.record:
            case rec.MessageEnd(seq=seq):
                assert line.data is not None
                self._said[seq] = message_from(line.data["message"])
            case rec.CompactionEnd(summary=summary) as end if summary is not None:
                self._said = {end.seq: summary, **self._kept(line.number, end)}
            case _:
                pass

    def _kept(self, number: int, end: rec.CompactionEnd) -> dict[int, AgentMessage]:
        kept = dict(dropwhile(lambda item: item[0] != end.first_kept, self._said.items()))
        replaced: dict[int, AgentMessage] = {each.seq: each.message for each in end.replaced}
        named = {*replaced, *([] if end.first_kept is None else [end.first_kept])}
        for seq in sorted(named - kept.keys()):
            raise TranscriptError(
                f"line {number}: record {seq}, which compaction_end keeps, is no message of the conversation"
            )
        return kept | replaced
