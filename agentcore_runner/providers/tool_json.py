"""The text of a tool call's arguments becomes the call, or is kept as it came where it is no JSON object."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.characters import mend, mended
from agentcore_runner.core.messages import ToolCall


def finished_call(call_id: str, name: str, text: str, *, cut: bool = False) -> ToolCall:
    """The call. No text means no arguments, unless the answer was `cut` at the output cap. Nothing is
    salvaged: a text that is not exactly one JSON object becomes `raw_arguments`."""
    text = mend(text)
    arguments = {} if not text.strip() and not cut else _json_object(text)
    if arguments is None:
        return ToolCall(id=call_id, name=name, raw_arguments=text)
    return ToolCall(id=call_id, name=name, arguments=arguments)


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        if "\\ud" not in text.lower():
            return None
        value = _with_lone_surrogates(text)
    return value if isinstance(value, dict) else None


def _with_lone_surrogates(text: str) -> Any:
    """JSON that names half a character, as strict as the rest; the half becomes U+FFFD."""
    import json

    try:
        return mended(json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
