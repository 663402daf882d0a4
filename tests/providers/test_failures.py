"""What statuses, codes, words and headers mean."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcore_runner.core.messages import ErrorInfo
from agentcore_runner.providers.catalog import ModelSettings, describe
from agentcore_runner.providers.failures import from_response, from_stream, report_of, retry_after

NOW = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT


def response(status: int, body: bytes = b"", url: str = "", **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_response(status, named, body, now_s=NOW, mask=str, url=url)


@pytest.mark.parametrize(
    ("status", "again", "kind"),
    [
        (400, False, "bad_request"), (401, False, "auth"), (402, False, "rate_limit"), (403, False, "auth"),
        (404, False, "bad_request"), (408, True, "timeout"), (409, True, "server"), (413, False, "overflow"),
        (422, False, "bad_request"), (429, True, "rate_limit"), (500, True, "server"), (503, True, "server"),
        (529, True, "server"),
    ],
)  # fmt: skip
def test_status_decides(status: int, again: bool, kind: str) -> None:
    failure = response(status)

    assert (failure.again, failure.info.retryable, failure.info.kind) == (again, again, kind)


@pytest.mark.parametrize(
    ("status", "error", "kind", "again"),
    [
        (400, {"code": "context_length_exceeded", "message": "no"}, "overflow", False),
        (400, {"type": "exceed_context_size_error", "message": "no"}, "overflow", False),
        (500, {"message": "the request exceeds the available context size"}, "overflow", False),
        (429, {"message": "Rate limit: too many tokens per minute"}, "rate_limit", True),
        (429, {"code": "insufficient_quota", "message": "no"}, "rate_limit", False),
        (400, {"code": "content_filter", "message": "no"}, "refused", False),
        (400, {"message": "error 503 in field 429"}, "bad_request", False),
    ],
)
def test_code_decides_before_words(status: int, error: dict[str, str], kind: str, again: bool) -> None:
    failure = response(status, json.dumps({"error": error}).encode())

    assert (failure.info.kind, failure.again) == (kind, again)


@pytest.mark.parametrize(
    ("error", "kind", "status", "again"),
    [
        ({"code": 500, "message": "boom", "type": "server_error"}, "server", 500, True),
        ({"code": "429", "message": "no"}, "rate_limit", 429, True),
        ({"type": "authentication_error", "message": "no"}, "auth", 401, False),
        ({"type": "insufficient_quota", "message": "no"}, "rate_limit", 429, False),
        ({"message": "Provider is temporarily unavailable"}, "server", 503, True),
        ({"message": "prompt is too long"}, "overflow", None, False),
        ({"message": "something odd"}, "server", None, False),
        ("just words", "server", None, False),
    ],
)
def test_error_object_in_a_stream_is_classified(
    error: Any, kind: str, status: int | None, again: bool
) -> None:
    failure = from_stream({"error": error}, mask=str)

    assert (failure.info.kind, failure.info.status, failure.again) == (kind, status, again)


def test_message_quotes_the_server_up_to_a_limit() -> None:
    failure = response(500, b"x" * 9000, x_request_id="req_1")

    assert failure.info == ErrorInfo(
        kind="server", message="HTTP 500: " + "x" * 4000, status=500, request_id="req_1", retryable=True
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"error": {"message": "a"}}, "a"),
        ({"error": "b"}, "b"),
        ({"message": "c"}, "c"),
        ({"detail": "d"}, "d"),
        ({"detail": [{"loc": ["body"], "msg": "e"}]}, '[{"loc":["body"],"msg":"e"}]'),
        ([{"error": {"message": "f", "status": "UNAVAILABLE"}}], "f"),
        ("g", "g"),
        (None, ""),
        ({}, "{}"),
    ],
)
def test_report_is_read_in_every_usual_shape(value: Any, message: str) -> None:
    assert report_of(value).message == message


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:57 GMT"}, 20.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:07 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "0", "retry-after": "7"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "in a while"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_wait_is_read_from_the_headers(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers, NOW) == wait


def test_end_of_a_rate_limit_is_told() -> None:
    assert response(429, retry_after="20").info.reset_at == NOW + 20


@pytest.mark.parametrize(
    ("location", "base"),
    [
        ("https://new.example/v1/chat/completions", "https://new.example/v1"),
        ("/api/v1/chat/completions", "http://h/api/v1"),
        ("https://new.example/v1", "https://new.example/v1"),
    ],
)
def test_redirect_names_the_base_url_to_write(location: str, base: str) -> None:
    message = response(308, url="http://h/v1/chat/completions", location=location).info.message

    assert message == f"HTTP 308: the server redirects to {location}; write {base} as base_url"
    assert describe(ModelSettings(provider="openai", id="x", base_url=base), {}).base_url == base


def test_redirect_to_nowhere_is_told() -> None:
    assert response(302, url="http://h/v1").info.message == (
        "HTTP 302: the server redirects, and does not say where to"
    )


@pytest.mark.parametrize(
    ("url", "body", "message"),
    [
        (
            "http://h/chat/completions",
            b"404 page not found",
            "HTTP 404: 404 page not found (the server knows nothing of http://h/chat/completions; "
            "is /v1 missing at the end of base_url?)",
        ),
        (
            "http://h/v1/chat/completions",
            b"",
            "HTTP 404: (the server knows nothing of http://h/v1/chat/completions; is base_url right?)",
        ),
        ("http://h/v1/chat/completions", b'{"error": "no model x"}', "HTTP 404: no model x"),
    ],
)
def test_address_that_the_server_does_not_know_is_named(url: str, body: bytes, message: str) -> None:
    assert response(404, body, url).info.message == message
