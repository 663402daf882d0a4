"""Tool results: what a model is told, also when its call did not run."""

from __future__ import annotations

from collections.abc import Iterable

from agentcore_runner.core.events import ToolExecutionEndEvent
from agentcore_runner.core.messages import StopReason, ToolCall, ToolResultMessage
from agentcore_runner.core.tools import AgentToolResult, text_result
from agentcore_runner.errors import ToolError

ABORTED = text_result("Operation aborted", is_error=True)
CUT_SHORT = text_result(
    "Not run: the answer reached its output limit, so this call may be incomplete. "
    "Issue it again, whole and with smaller arguments, in several calls if need be.",
    is_error=True,
)
ANSWER_FAILED = text_result("Not run: the answer that held this call ended with an error.", is_error=True)


def create_tool_result_message(ended: ToolExecutionEndEvent, timestamp: int) -> ToolResultMessage:
    """What stands in the conversation for a call that is over. `timestamp`: Unix milliseconds."""
    result = ended.result
    return ToolResultMessage(
        tool_call_id=ended.tool_call_id,
        tool_name=ended.tool_name,
        content=result.content,
        is_error=ended.is_error,
        timestamp=timestamp,
        details=result.details,
        usage=result.usage,
        added_tool_names=result.added_tool_names,
    )


def not_run(stop_reason: StopReason) -> AgentToolResult | None:
    """The result of every call in an answer that ended this way; None when its calls are to run."""
    return {"error": ANSWER_FAILED, "aborted": ABORTED, "length": CUT_SHORT}.get(stop_reason)


def failed(error: BaseException) -> AgentToolResult:
    """What a tool raised, as the model is told it."""
    if isinstance(error, ToolError):
        return text_result(str(error), error.details or None, is_error=True)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text_result(shortened(text, 4000), is_error=True)


def unknown_tool(name: str, known: Iterable[str]) -> AgentToolResult:
    """The result of a call of a tool that does not exist; it names those that do."""
    names = ", ".join(known)
    offer = f"The tools are: {names}." if names else "There are no tools."
    return text_result(f"Tool {shortened(name, 100)!r} not found. {offer}", is_error=True)


def malformed(call: ToolCall) -> AgentToolResult:
    """The result of a call whose arguments are no JSON object; it shows what came."""
    received = shortened(call.raw_arguments or "", 2000)
    return text_result(
        f"The arguments of {call.name!r} are not a JSON object, so it was not run. "
        f"Issue the call again with one complete JSON object. Received:\n{received}",
        is_error=True,
    )


def blocked(reason: str | None) -> AgentToolResult:
    """The result of a call that a hook refused."""
    return text_result(reason or "Tool execution was blocked", is_error=True)


def left_behind(name: str, grace_s: float) -> AgentToolResult:
    """The result of a call whose tool ignored the abort."""
    return text_result(
        f"Operation aborted; {name!r} did not stop within {grace_s:g} s and was left behind.", is_error=True
    )


def shortened(text: str, most: int) -> str:
    """The text, with its middle left out where it has more than `most` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … {len(text) - 2 * half} characters left out … {text[-half:]}"
