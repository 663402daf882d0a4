import pytest

from agentcore_runner.core.messages import AssistantMessage, ErrorInfo, TextContent, ThinkingContent
from agentcore_runner.errors import ExitCode
from agentcore_runner.report.ending import Ending, ending_of
from agentcore_runner.report.result import LimitHit


def message(*content: object, stop_reason: str = "done", **fields: object) -> AssistantMessage:
    return AssistantMessage(
        content=content, api="a", provider="p", model="m", stop_reason=stop_reason, timestamp=0, **fields
    )


def failed(kind: str, *, retryable: bool = False) -> AssistantMessage:
    info = ErrorInfo(kind=kind, message="it failed", retryable=retryable)
    return message(stop_reason="error", error=info, error_message="it failed")


LIMIT = LimitHit(name="max_turns", value=2, used=2, key="limits.max_turns")
TEXT = TextContent(text="yes")


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (message(TEXT), ExitCode.completed),
        (message(TextContent(text=" \n")), ExitCode.output_invalid),
        (message(), ExitCode.output_invalid),
        (message(ThinkingContent(thinking="hm")), ExitCode.output_invalid),
        (message(TEXT, stop_reason="length"), ExitCode.truncated),
        (message(ThinkingContent(thinking="hm"), stop_reason="length"), ExitCode.truncated),
        (message(TEXT, stop_reason="refused"), ExitCode.refused),
        (message(stop_reason="refused"), ExitCode.refused),
        (message(TEXT, stop_reason="aborted"), ExitCode.interrupted),
        (failed("connection"), ExitCode.provider_error),
        (failed("timeout"), ExitCode.provider_error),
        (failed("bad_request"), ExitCode.provider_error),
        (failed("server"), ExitCode.provider_error),
        (failed("stream"), ExitCode.provider_error),
        (failed("rate_limit"), ExitCode.rate_limited),
        (failed("auth"), ExitCode.auth_failed),
        (failed("refused"), ExitCode.refused),
        (failed("overflow"), ExitCode.context_overflow),
        (failed("internal"), ExitCode.internal_error),
        (None, ExitCode.internal_error),
    ],
)
def test_the_last_answer_decides_the_code(last: AssistantMessage | None, code: ExitCode) -> None:
    assert ending_of(last).code is code


def test_a_limit_names_itself_its_value_and_what_to_raise() -> None:
    assert ending_of(message(TEXT), limit=LIMIT) == Ending(
        code=ExitCode.limit_reached,
        reason="Stopped by limits.max_turns: 2 of 2 used; raise limits.max_turns (or --max-turns) to go on.",
        limit=LIMIT,
    )


@pytest.mark.parametrize(
    ("reason", "code"),
    [("SIGINT", ExitCode.interrupted), ("SIGTERM", ExitCode.terminated), ("SIGHUP", ExitCode.hung_up)],
)
def test_a_signal_wins_over_everything_else(reason: str, code: ExitCode) -> None:
    ending = ending_of(message(TEXT), abort_reason=reason, limit=LIMIT, fault="ours")

    assert ending == Ending(code=code, reason=f"Interrupted by {reason}.", retryable=True)


@pytest.mark.parametrize(
    ("last", "retryable"),
    [
        (failed("server", retryable=True), True),
        (failed("bad_request"), False),
        (failed("rate_limit"), True),
        (failed("auth"), False),
        (message(stop_reason="length"), False),
    ],
)
def test_trying_again_is_advised_by_cause(last: AssistantMessage, retryable: bool) -> None:
    assert ending_of(last).retryable is retryable
