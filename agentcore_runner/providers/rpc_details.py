"""What Google's services add to an error: when to ask again, which quota, why (`google.rpc`)."""

from __future__ import annotations

import re
from typing import Any

import msgspec

PER_DAY = re.compile("per.?day", re.I)
SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


class RpcDetails(msgspec.Struct, frozen=True, kw_only=True):
    """`reason` in small letters, such as `api_key_invalid`; `wait` in seconds. `daily`: the quota that is
    used up is one of a whole day, whatever the server says about asking again."""

    reason: str = ""
    wait: float | None = None
    daily: bool = False


NOTHING = RpcDetails()


def rpc_details(details: Any) -> RpcDetails:
    """The `details` of an error object."""
    if not isinstance(details, list):
        return NOTHING
    entries = [entry for entry in details if isinstance(entry, dict)]
    reasons = [entry["reason"] for entry in entries if isinstance(entry.get("reason"), str)]
    daily = any(PER_DAY.search(quota) for entry in entries for quota in _quotas(entry))
    waits = [found for entry in entries if (found := SECONDS.fullmatch(str(entry.get("retryDelay"))))]
    return RpcDetails(
        reason=reasons[0].lower() if reasons else "",
        wait=float(waits[0][1]) if waits and not daily else None,
        daily=daily,
    )


def _quotas(entry: dict[str, Any]) -> list[str]:
    """The names of the quotas that were exceeded."""
    violations = entry.get("violations")
    if not isinstance(violations, list):
        return []
    return [str(each.get("quotaId")) for each in violations if isinstance(each, dict)]
