"""What a server reports about a failure, read from whichever of the usual shapes it has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from agentcore_runner.characters import mended
from agentcore_runner.providers.rpc_details import rpc_details


class Reported(msgspec.Struct, frozen=True):
    """What a server says about its failure, in whichever of the usual shapes. `wait` in seconds; `daily`: a
    quota of the whole day is used up."""

    message: str
    code: str = ""
    type: str = ""
    status: int | None = None
    is_json: bool = True
    wait: float | None = None
    daily: bool = False


def error_value(data: bytes) -> Any:
    """What stands in a body or an event that says what failed: its JSON, or its text where it is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return data.decode("utf-8", "replace")


def read_report(body: bytes, mask: Callable[[str], str] = str) -> Reported:
    """The report in an error body; a body that is no JSON is the message itself."""
    try:
        return report_of(msgspec.json.decode(body), mask)
    except (msgspec.DecodeError, RecursionError):
        return Reported(body.decode("utf-8", "replace").strip(), is_json=False)


def report_of(value: Any, mask: Callable[[str], str] = str) -> Reported:
    """`{"error": {…}}`, `{"error": "…"}`, `{"message": …}`, `{"detail": …}`, or any of them in a list. `mask`
    is for the code and the type: once in small letters, a key in them would not be known again."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict) and value.get("error"):
        value = value["error"]
    if isinstance(value, str):
        return Reported(value)
    if not isinstance(value, dict):
        return Reported("" if value is None else _as_text(value))
    message = value.get("message") or value.get("detail") or value.get("msg") or value
    code = value.get("code")
    number = next((n for n in (code, value.get("status"), value.get("status_code")) if _is_status(n)), None)
    details = rpc_details(value.get("details"))
    return Reported(
        message if isinstance(message, str) else _as_text(message),
        mask(code).lower() if isinstance(code, str) else details.reason,
        mask(str(value.get("type") or value.get("status") or "")).lower(),
        int(number) if number is not None else None,
        wait=details.wait,
        daily=details.daily,
    )


NOT_FOUND = "model_not_found"
NO_SUCH_MODEL = (NOT_FOUND, "invalid_model", "unknown_model", "model_not_available")
UNKNOWN_MODEL = re.compile(
    r"model not exist|not a valid model|(invalid|unknown|no such) model\b|no model\b|no endpoints found for"
    r"|\bmodels?\b[ /:]*[`'\"]?[^\s`'\"]*[`'\"]?\s*(does not exist|(is |was )?not found)",
    re.I,
)
NOTHING_THERE = ("not_found_error", "not_found")
"""Types of failures that are said of models, and by some servers of addresses too."""


def service_code(status: int | None, reported: Reported) -> str | None:
    """The service's word for the failure. That a model is unknown is said in many ways, and not by the 404 of
    a server that knows nothing of the address."""
    if status in (400, 404, 422) and reported.is_json:
        said = reported.code in NO_SUCH_MODEL or reported.type in NO_SUCH_MODEL
        missing = reported.type in NOTHING_THERE and "model" in reported.message.lower()
        if said or missing or UNKNOWN_MODEL.search(reported.message):
            return NOT_FOUND
    return reported.code or reported.type or None


def _is_status(value: Any) -> bool:
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        return False
    return isinstance(value, int | str) and not isinstance(value, bool) and 400 <= int(value) < 600


def _as_text(value: Any) -> str:
    return msgspec.json.encode(mended(value)).decode()
