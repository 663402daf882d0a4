"""What a failed request means: its kind, and whether and when it makes sense to ask again.

Status and code decide; words are looked at last.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from agentcore_runner.core.messages import ErrorInfo, ErrorKind, Usage
from agentcore_runner.providers.reports import Reported, read_report, report_of, service_code
from agentcore_runner.providers.vendors import method_of, without_method

MAX_BODY = 4000
"""Characters of a body that a message may quote."""
MAX_MARKUP = 200
"""The same of a body that is no report but a page."""


class RequestFailed(Exception):
    """One attempt failed. `again`: the same request may be sent again; `wait`: the server's own word for
    when, in seconds from now; `usage`: what it has used, as far as the server has said so. (`info.retryable`
    speaks of the whole run, days later perhaps.)"""

    def __init__(self, info: ErrorInfo, *, again: bool, wait: float | None = None) -> None:
        super().__init__(info.message)
        self.info = info
        self.again = again
        self.wait = wait
        self.usage: Usage | None = None


def failed(
    kind: ErrorKind, message: str, *, again: bool = True, retryable: bool | None = None
) -> RequestFailed:
    """A failure that no status tells about: the connection, the stream, the clock."""
    return RequestFailed(
        ErrorInfo(kind=kind, message=message, retryable=again if retryable is None else retryable),
        again=again,
    )


def from_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now_s: float,
    mask: Callable[[str], str],
    url: str = "",
) -> RequestFailed:
    """The failure behind a response whose status is not 2xx. `mask` hides the keys a server may echo; `url`
    is the address that was asked, as it may be shown."""
    reported = read_report(body, mask)
    text = mask(reported.message)[:MAX_BODY]
    if 300 <= status < 400:
        text = _redirected(mask(headers.get("location", "")), url)
    elif status == 404 and url and not reported.is_json:
        text = f"{text[:MAX_MARKUP]} ({_nothing_at(url)})".lstrip()
    kind = _kind(status, reported)
    again = kind in ("rate_limit", "server", "timeout") and not _out_of_quota(status, reported)
    should = headers.get("x-should-retry", "").strip().lower()
    wait = retry_after(headers, now_s)
    wait = reported.wait if wait is None else wait
    info = ErrorInfo(
        kind=kind,
        message=f"HTTP {status}: {text or 'no reason given'}" + _named(reported),
        status=status,
        code=service_code(status, reported),
        request_id=mask(headers.get("x-request-id") or headers.get("request-id") or "") or None,
        retryable=again,
        reset_at=now_s + wait if wait is not None and kind == "rate_limit" else None,
    )
    return RequestFailed(info, again=should == "true" if should in ("true", "false") else again, wait=wait)


def from_stream(error: Any, *, mask: Callable[[str], str]) -> RequestFailed:
    """The failure behind an error object that came under status 200."""
    reported = report_of(error, mask)
    status = reported.status or STATUS_OF.get(reported.code) or STATUS_OF.get(reported.type)
    if status is None:
        status = next((value for words, value in STATUS_WORDS if words.search(reported.message)), None)
    kind = _kind(status, reported) if status else "overflow" if _too_long(reported) else "server"
    again = (
        kind in ("rate_limit", "server", "timeout") and bool(status) and not _out_of_quota(status, reported)
    )
    text = mask(reported.message)[:MAX_BODY] or "no reason given"
    info = ErrorInfo(
        kind=kind,
        message=f"The server reported an error in its answer: {text}" + _named(reported),
        status=status,
        code=service_code(status, reported),
        retryable=again,
    )
    return RequestFailed(info, again=again, wait=reported.wait)


def check_whole(body: bytes, *, mask: Callable[[str], str]) -> None:
    """Raise `RequestFailed` for a body that came as one document and is no JSON: like a stream, it broke
    off."""
    try:
        msgspec.json.decode(body)
    except msgspec.DecodeError:
        shown = mask(body.decode("utf-8", "replace"))[:200]
        message = f"the server sent an answer that is no whole JSON document: {shown}"
        raise failed("stream", message) from None
    except RecursionError:
        return


def _redirected(target: str, url: str) -> str:
    if not target:
        return "the server redirects, and does not say where to"
    whole = urljoin(url, target)
    odd = urlsplit(whole).query and not method_of(whole)
    advice = "is base_url right?" if odd else f"write {without_method(whole)} as base_url"
    return f"the server redirects to {target}; {advice}"


def _nothing_at(url: str) -> str:
    """What may be wrong with an address of which the server knows nothing."""
    versioned = re.search(r"/v\d", urlsplit(url).path)
    advice = "is base_url right?" if versioned else "is /v1 missing at the end of base_url?"
    return f"the server knows nothing of {url}; {advice}"


def retry_after(headers: Mapping[str, str], now_s: float) -> float | None:
    """Seconds that the server asks to wait, 0 for now; None where it says nothing that makes sense."""
    milliseconds = _amount(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _amount(value)
    if seconds is not None or not value or not re.search("[A-Za-z]", value):
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        return _amount(parsedate_to_datetime(value).timestamp() - now_s)
    except (ValueError, OverflowError):
        return None


REFUSALS = (
    "content_filter", "content_policy_violation", "image_content_policy_violation",
    "bio_policy", "cyber_policy", "misalignment_policy_violation",
)  # fmt: skip
"""Codes that say that the model will not speak of this."""

STATUS_OF = {
    "invalid_request_error": 400, "bad_request": 400, "exceed_context_size_error": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401, "invalid_api_key": 401, "permission_error": 403,
    "not_found_error": 404, "model_not_found": 404, "invalid_model": 400,
    "timeout": 408, "timeout_error": 408, "request_timeout": 408, "request_too_large": 413,
    "rate_limit_error": 429, "rate_limit_exceeded": 429, "rate_limited": 429, "too_many_requests": 429,
    "tokens": 429, "requests": 429, "insufficient_quota": 429, "resource_exhausted": 429,
    "server_error": 500, "internal_error": 500, "internal_server_error": 500, "api_error": 500,
    "unavailable": 503, "unavailable_error": 503, "service_unavailable": 503, "engine_overloaded": 503,
    "server_is_overloaded": 503, "slow_down": 503, "overloaded": 529, "overloaded_error": 529,
    "invalid_prompt": 400, **dict.fromkeys(REFUSALS, 400),
}  # fmt: skip
"""Statuses that the usual codes and types stand for."""

STATUS_WORDS = (
    (re.compile(r"rate.?limit|too many requests|throttl|resource.?exhausted", re.I), 429),
    (re.compile(r"overloaded|over capacity|try again|retry your request|temporarily", re.I), 503),
    (re.compile(r"internal (server )?error|server error|upstream|bad gateway", re.I), 500),
    (re.compile(r"timed? ?out|timeout", re.I), 408),
    (re.compile(r"unauthori[sz]ed|forbidden|(invalid|incorrect|missing) api.?key", re.I), 401),
)

TOO_LONG = re.compile(
    r"prompt (is )?too long|context (length|window|size)|(maximum|max) (context|prompt|model) length"
    r"|input token count|reduce the length|token limit exceeded|exceeded model token limit"
    r"|too many (input )?tokens|too large for model|range of input length|request_too_large"
    r"|greater than the context|exceeds? (the )?(available )?context",
    re.I,
)
THROTTLED = re.compile(r"rate.?limit|too many requests|throttl|per (minute|second|day|hour)|quota", re.I)
OUT_OF_QUOTA = re.compile(
    r"insufficient.?quota|exceeded your current quota|billing|insufficient balance", re.I
)


def _kind(status: int | None, reported: Reported) -> ErrorKind:
    if reported.code in REFUSALS:
        return "refused"
    if status in (401, 403) or reported.code == "api_key_invalid":
        return "auth"
    if status in (402, 429):
        return "rate_limit"
    if status == 413 or (status in (400, 422, 500) and _too_long(reported)):
        return "overflow"
    if status == 408:
        return "timeout"
    return "server" if status == 409 or (status is not None and status >= 500) else "bad_request"


def _too_long(reported: Reported) -> bool:
    if reported.code == "context_length_exceeded" or reported.type == "exceed_context_size_error":
        return True
    return bool(TOO_LONG.search(reported.message)) and not THROTTLED.search(reported.message)


def _out_of_quota(status: int | None, reported: Reported) -> bool:
    """A quota that is used up does not come back while a run waits, unless the server says when it does."""
    if status == 402 or reported.daily or "insufficient_quota" in (reported.code, reported.type):
        return True
    return status == 429 and reported.wait is None and bool(OUT_OF_QUOTA.search(reported.message))


def _named(reported: Reported) -> str:
    name = reported.code or reported.type
    return f" ({name})" if name and name not in reported.message else ""


def _amount(value: str | float | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None
