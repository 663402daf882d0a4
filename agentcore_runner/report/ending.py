"""How a run ended: one exit code, one sentence, from everything that happened."""

from __future__ import annotations

import msgspec

from agentcore_runner.core.messages import AssistantMessage, ErrorInfo, ThinkingContent
from agentcore_runner.errors import SIGNALS, ExitCode
from agentcore_runner.report.result import LimitHit

LIMIT_FLAGS = ("max_turns", "max_tool_calls", "timeout")
"""The limits that a flag of the command line can set."""
BY_ERROR_KIND = {
    "rate_limit": ExitCode.rate_limited,
    "auth": ExitCode.auth_failed,
    "refused": ExitCode.refused,
    "overflow": ExitCode.context_overflow,
    "internal": ExitCode.internal_error,
}


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """An exit code, the sentence that explains it, and whether running again makes sense."""

    code: ExitCode
    reason: str
    retryable: bool = False
    limit: LimitHit | None = None


def ending_of(
    last: AssistantMessage | None,
    *,
    abort_reason: str | None = None,
    limit: LimitHit | None = None,
    fault: str | None = None,
) -> Ending:
    """The ending of a run whose last answer is `last`. An outside cause (`abort_reason`, a limit, a `fault`
    of our own) wins over what the model said."""
    if abort_reason in SIGNALS:
        return Ending(code=SIGNALS[abort_reason], reason=f"Interrupted by {abort_reason}.", retryable=True)
    if fault is not None:
        return Ending(code=ExitCode.internal_error, reason=fault)
    if limit is not None:
        return Ending(code=ExitCode.limit_reached, reason=limit_sentence(limit), limit=limit)
    if abort_reason is not None:
        return Ending(code=ExitCode.interrupted, reason=f"Aborted: {abort_reason}.", retryable=True)
    if last is None:
        return Ending(code=ExitCode.internal_error, reason="The run ended without an answer message.")
    return ending_of_answer(last)


def ending_of_answer(last: AssistantMessage) -> Ending:
    """The ending that the last answer itself stands for."""
    match last.stop_reason:
        case "error":
            return ending_of_error(last.error, last.error_message)
        case "aborted":
            return Ending(code=ExitCode.interrupted, reason="The answer was aborted.", retryable=True)
        case "refused":
            return Ending(code=ExitCode.refused, reason=f"The model refused{said(last)}.")
        case "length":
            return Ending(
                code=ExitCode.truncated,
                reason="The answer was cut at the model's output cap; raise model.max_output_tokens.",
            )
        case "done" if last.text.strip():
            return Ending(code=ExitCode.completed, reason="The model finished its answer.")
        case "done" if any(type(block) is ThinkingContent for block in last.content):
            return Ending(code=ExitCode.output_invalid, reason="The model thought but gave no answer text.")
        case "done":
            return Ending(code=ExitCode.output_invalid, reason="The model finished without any text.")


def ending_of_error(info: ErrorInfo | None, message: str | None) -> Ending:
    """The ending that a failed request stands for."""
    if info is None:
        return Ending(code=ExitCode.provider_error, reason=message or "The model service failed.")
    code = BY_ERROR_KIND.get(info.kind, ExitCode.provider_error)
    return Ending(code=code, reason=info.message, retryable=info.retryable or code == ExitCode.rate_limited)


def limit_sentence(limit: LimitHit) -> str:
    """Names the limit, its value and what to raise."""
    spent = f"{plain(limit.used)} of {plain(limit.value)} used"
    if limit.name == "timeout":
        spent = f"its {plain(limit.value)} s are over"
    flag = f" (or --{limit.name.replace('_', '-')})" if limit.name in LIMIT_FLAGS else ""
    return f"Stopped by {limit.key}: {spent}; raise {limit.key}{flag} to go on."


def plain(number: float) -> str:
    """A number without a needless fraction."""
    return f"{number:g}" if number < 1e6 else str(int(number))


def said(message: AssistantMessage) -> str:
    """What a refusing model said, if anything, as the end of a sentence."""
    text = message.text.strip()
    return f": {text[:200]}" if text else f" ({message.raw_stop_reason})" if message.raw_stop_reason else ""
