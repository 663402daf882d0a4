"""The word for a failure, whatever the service calls it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcore_runner.providers.failures import from_response, from_stream


def code(status: int, body: Any) -> str | None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return from_response(status, {}, data, now_s=0.0, mask=str, url="http://h/v1/chat/completions").info.code


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "The requested model 'gpt-x' does not exist.", "param": "model"}}),
        (404, {"error": {"message": "no", "type": "invalid_request_error", "code": "model_not_found"}}),
        (400, {"object": "error", "message": "Invalid model: foo", "type": "invalid_model", "code": "1500"}),
        (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-9"}}),
        (400, {"error": {"message": "Model Not Exist", "code": "invalid_request_error"}}),
        (400, {"error": {"message": "foo is not a valid model ID", "code": 400}}),
        (404, {"error": {"message": "No endpoints found for foo/bar.", "code": 404}}),
        (404, {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError"}),
        (404, {"error": 'model "qwen9" not found, try pulling it first'}),
        (404, {"error": {"code": 404, "message": "models/gemini-0 is not found for API version v1beta",
                         "status": "NOT_FOUND"}}),
    ],
)  # fmt: skip
def test_unknown_model_has_one_name(status: int, body: Any) -> None:
    assert code(status, body) == "model_not_found"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (404, b"<html>the model does not exist</html>", None),
        (404, b"404 page not found", None),
        (404, {"detail": "Not Found"}, None),
        (404, {"error": {"message": "File Not Found", "type": "not_found_error"}}, "not_found_error"),
        (500, {"error": {"message": "the model does not exist", "code": "oops"}}, "oops"),
        (429, {"error": {"message": "slow", "type": "Tokens", "code": "Rate_Limit"}}, "rate_limit"),
        (400, {"error": {"message": "this model does not support images", "type": "invalid"}}, "invalid"),
        (500, b"", None),
    ],
)  # fmt: skip
def test_other_failures_keep_the_words_of_the_service(status: int, body: Any, expected: str | None) -> None:
    assert code(status, body) == expected


def test_unknown_model_inside_a_stream_has_the_same_name() -> None:
    failure = from_stream({"message": "no", "code": "model_not_found"}, mask=str)

    assert (failure.info.kind, failure.info.code) == ("bad_request", "model_not_found")


def test_keys_are_hidden_in_codes_and_request_ids() -> None:
    def mask(text: str) -> str:
        return text.replace("sk-SECRET", "***")

    body = b'{"error": {"message": "no", "code": "key:sk-SECRET", "type": "sk-SECRET"}}'
    info = from_response(401, {"x-request-id": "r-sk-SECRET"}, body, now_s=0.0, mask=mask).info

    assert (info.code, info.request_id) == ("key:***", "r-***")
    assert "secret" not in info.message.lower()
