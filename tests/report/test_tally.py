"""What a run used, counted once and under the name of who used it."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.core import events as ev
from agentcore_runner.core.compaction import CompactionEnd, CompactionStart
from agentcore_runner.core.messages import ToolResultMessage, Usage, UsageCost
from agentcore_runner.core.stream import Retry
from agentcore_runner.report.tally import Tally
from tests.core.scripted import answer


def usage(tokens: int, cost: float | None = None) -> Usage:
    return Usage(input=tokens, cost=None if cost is None else UsageCost(input=cost))


def counts(tally: Tally) -> dict[str, int]:
    return {key: sums.total_tokens for key, sums in tally.usage.by_model.items()}


def asked_again(**fields: Any) -> Retry:
    return Retry(attempt=1, delay_s=0.0, status=None, reason="lost", **fields)


def test_failed_attempts_summaries_and_tools_count_under_their_own_names() -> None:
    tally = Tally(clock=lambda: 0.0)
    said = msgspec.structs.replace(answer("hi"), usage=usage(100, 0.5))
    result = ToolResultMessage(
        tool_call_id="1", tool_name="ask", content=(), timestamp=0, usage=usage(7, 0.125)
    )

    tally.on_event(ev.MessageStartEvent(message=answer()))
    tally.on_event(ev.MessageUpdateEvent(assistant_message_event=asked_again(usage=usage(40, 0.25))))
    tally.on_note(CompactionStart(reason="manual", tokens_before=9, model="p/writer"))
    tally.on_note(asked_again(usage=usage(3, 0.0)))
    tally.on_note(CompactionEnd(reason="manual", model="p/writer", usage=usage(20, 1.0)))
    tally.on_event(ev.MessageEndEvent(message=said))
    tally.on_event(ev.MessageEndEvent(message=result))

    assert counts(tally) == {"test/tiny": 140, "p/writer": 23, "tool/ask": 7}
    assert tally.usage.total_tokens == 170
    assert (tally.cost, tally.cost_known) == (1.875, True)
    assert [error.message for error in tally.errors] == ["lost", "lost"]


def test_the_cost_is_unknown_once_anything_has_no_price() -> None:
    tally = Tally(clock=lambda: 0.0)

    tally.on_event(ev.MessageEndEvent(message=msgspec.structs.replace(answer("a"), usage=usage(1, 0.5))))
    tally.on_note(CompactionEnd(reason="manual", model="p/writer", usage=usage(0)))
    assert tally.cost_known

    tally.on_note(CompactionEnd(reason="manual", model="p/writer", usage=usage(20)))
    assert not tally.cost_known


def test_the_time_of_a_summary_is_time_of_a_model() -> None:
    now = [1.0]
    tally = Tally(clock=lambda: now[0])

    tally.on_note(CompactionStart(reason="manual", tokens_before=9, model="p/writer"))
    now[0] = 3.5
    tally.on_note(CompactionEnd(reason="manual", model="p/writer", usage=usage(20)))

    assert tally.model_s == 2.5
