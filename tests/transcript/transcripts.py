"""Transcripts made through the recorder, for the tests of what reads them."""

from __future__ import annotations

from pathlib import Path

from agentcore_runner.core import events as ev
from agentcore_runner.core.messages import (
    AssistantMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agentcore_runner.core.tools import text_result
from agentcore_runner.errors import ExitCode
from agentcore_runner.report.ending import Ending
from agentcore_runner.report.tally import Tally
from agentcore_runner.transcript import records as rec
from agentcore_runner.transcript.recorder import Recorder

USER = UserMessage(content=(TextContent(text="go"),), timestamp=1)
CALL = ToolCall(id="c1", name="bash", arguments={"command": "true"})


def answer(*content: object) -> AssistantMessage:
    """An assistant message of these blocks."""
    return AssistantMessage(
        content=content, api="scripted", provider="scripted", model="s", stop_reason="done", timestamp=2
    )


def events() -> list[ev.AgentEvent]:
    """A run of two turns with one tool call."""
    called, last = answer(CALL), answer(TextContent(text="done"))
    result = ToolResultMessage(
        tool_call_id="c1", tool_name="bash", content=(TextContent(text="ok"),), timestamp=3
    )
    return [
        ev.AgentStartEvent(),
        ev.TurnStartEvent(),
        ev.MessageStartEvent(message=USER),
        ev.MessageEndEvent(message=USER),
        ev.MessageStartEvent(message=answer()),
        ev.MessageEndEvent(message=called),
        ev.ToolExecutionStartEvent(tool_call_id="c1", tool_name="bash", args=CALL.arguments),
        ev.ToolExecutionEndEvent(
            tool_call_id="c1", tool_name="bash", result=text_result("ok"), is_error=False, duration_ms=5
        ),
        ev.MessageStartEvent(message=result),
        ev.MessageEndEvent(message=result),
        ev.TurnEndEvent(message=called, tool_results=(result,)),
        ev.TurnStartEvent(),
        ev.MessageStartEvent(message=answer()),
        ev.MessageEndEvent(message=last),
        ev.TurnEndEvent(message=last),
        ev.AgentEndEvent(messages=(USER, called, result, last)),
    ]


def lines() -> list[bytes]:
    """The run's transcript, line by line."""
    written: list[bytes] = []
    recorder = Recorder("r1", [written.append], clock=lambda: 1_800_000_000.0)
    tally = Tally(clock=lambda: 0.0)
    recorder.write(
        rec.RunStarted,
        runner="0.1.0",
        agent=rec.AgentRef(name="a", version=None, path="a.yaml", digest="d", git=None),
        model=rec.ModelRef(provider="scripted", id="s", api="scripted"),
        thinking_level="off",
        queue_mode={"steering": "all", "follow_up": "all"},
        tools=["bash"],
        mcp=[],
        limits={},
        inputs={},
        cwd="/",
        definition={},
    )
    for event in events():
        tally.on_event(event)
        recorder.on_event(event)
    ending = Ending(code=ExitCode.completed, reason="The model finished its answer.")
    written.append(recorder.finish(tally.result(ending, model="scripted/s", run="r1", transcript=None)))
    return written


def write(folder: Path, rows: list[bytes]) -> Path:
    """A transcript file of these lines."""
    path = folder / "run.jsonl"
    path.write_bytes(b"".join(rows))
    return path
