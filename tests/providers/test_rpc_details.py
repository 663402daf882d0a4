"""What Google's services add to an error decides whether and when to ask again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcore_runner.providers.failures import RequestFailed, from_response
from agentcore_runner.providers.rpc_details import RpcDetails, rpc_details

QUOTA = "You exceeded your current quota, please check your plan and billing details."
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "22.5s"}
HELP = {"@type": "type.googleapis.com/google.rpc.Help", "links": [{"url": "https://ai.google.dev"}]}


def exceeded(*quotas: str) -> dict[str, Any]:
    violations = [{"quotaMetric": "requests", "quotaId": quota} for quota in quotas]
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations}


MINUTE = exceeded("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")
DAY = exceeded(
    "GenerateContentInputTokensPerModelPerMinute", "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
)


def failure(status: int, message: str, *details: Any, **headers: str) -> RequestFailed:
    error = {"code": status, "message": message, "status": "RESOURCE_EXHAUSTED", "details": list(details)}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_response(status, named, json.dumps({"error": error}).encode(), now_s=1000.0, mask=str)


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ([RETRY], RpcDetails(wait=22.5)),
        ([HELP, MINUTE, {"retryDelay": "7s"}], RpcDetails(wait=7)),
        ([DAY, RETRY], RpcDetails(daily=True)),
        ([{"reason": "API_KEY_INVALID"}], RpcDetails(reason="api_key_invalid")),
        ([{"retryDelay": "soon"}, {"retryDelay": 3}, "odd", None, {"violations": ["x"]}], RpcDetails()),
        ({"retryDelay": "7s"}, RpcDetails()),
        (None, RpcDetails()),
    ],
)
def test_details_are_read(details: Any, expected: RpcDetails) -> None:
    assert rpc_details(details) == expected


def test_quota_of_a_minute_comes_back_when_the_server_says() -> None:
    found = failure(429, QUOTA, HELP, MINUTE, RETRY)

    assert (found.again, found.wait, found.info.kind, found.info.reset_at) == (
        True,
        22.5,
        "rate_limit",
        1022.5,
    )


@pytest.mark.parametrize("details", [(DAY, RETRY), ()])
def test_quota_of_a_day_does_not_come_back_while_a_run_waits(details: tuple[Any, ...]) -> None:
    found = failure(429, QUOTA, *details)

    assert (found.again, found.wait, found.info.kind) == (False, None, "rate_limit")


def test_header_is_heard_before_the_body() -> None:
    assert failure(503, "busy", RETRY, retry_after="3").wait == 3


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
         "overflow"),
        (400, "Please ensure that function call turn comes immediately after a user turn.", "bad_request"),
        (403, "Method doesn't allow unregistered callers.", "auth"),
        (404, "models/gemini-0 is not found for API version v1beta.", "bad_request"),
        (500, "An internal error has occurred.", "server"),
        (503, "The model is overloaded. Please try again later.", "server"),
        (504, "Deadline expired before operation could complete.", "server"),
    ],
)  # fmt: skip
def test_errors_of_the_service_have_their_kind(status: int, message: str, kind: str) -> None:
    assert failure(status, message).info.kind == kind
