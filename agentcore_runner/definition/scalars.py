"""What a bare word in YAML 1.2 means, and the two notations of ours: durations and sizes."""

from __future__ import annotations

import math
import re

from agentcore_runner.errors import ConfigError

CONSTANTS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
# A leading zero makes a text (`0755` is a file mode to everyone who writes it), unlike in the core schema.
INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
OCTAL = re.compile(r"0o[0-7]+")
HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# As in the schema: at most so many digits that no number is infinite or nothing.
DURATION = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)(ms|s|m|h)?")
SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)(B|KiB|MiB|GiB)?")
SECONDS: dict[str | None, float] = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
BYTES: dict[str | None, float] = {None: 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
LONGEST_NUMBER = 400


def resolve(text: str) -> bool | int | float | str | None:
    """The value of a plain scalar by YAML 1.2. Raises ValueError for a number that JSON cannot carry:
    infinite, not a number, or an integer beyond 64 bits."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text[0] not in "+-.0123456789":
        return text
    if NOT_FINITE.fullmatch(text):
        raise ValueError("a number here is finite")
    if len(text) <= LONGEST_NUMBER:
        return _number(text)
    if FLOAT.fullmatch(text) or OCTAL.fullmatch(text) or HEXADECIMAL.fullmatch(text):
        raise ValueError("the number is too long")
    return text


def _number(text: str) -> int | float | str:
    if INTEGER.fullmatch(text):
        return _small(int(text))
    if OCTAL.fullmatch(text):
        return _small(int(text[2:], 8))
    if HEXADECIMAL.fullmatch(text):
        return _small(int(text[2:], 16))
    if not FLOAT.fullmatch(text):
        return text
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("the number is too large")
    return value


def _small(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise ValueError("an integer here fits in 64 bits")
    return value


def parse_duration(value: float | str) -> float:
    """Seconds, from a number of seconds or a text such as `500ms`, `30s`, `5m`, `2h`; raises ConfigError."""
    seconds = _amount(value, DURATION, SECONDS)
    if seconds is None or seconds <= 0:
        raise ConfigError(f"expected a duration such as 30s, found {value!r}")
    # 700ms are 0.7 s and not 0.7000000000000001.
    return round(seconds, 6) or seconds


def parse_size(value: float | str) -> int:
    """Bytes, from a number of bytes or a text such as `50KiB` or `2MiB`; raises ConfigError."""
    amount = _amount(value, SIZE, BYTES)
    large_unit = isinstance(value, str) and value.endswith("iB")
    if amount is None or amount <= 0 or (amount < 1 and not large_unit):
        raise ConfigError(f"expected a size such as 50KiB, found {value!r}")
    return max(1, int(amount))


def _amount(value: object, pattern: re.Pattern[str], units: dict[str | None, float]) -> float | None:
    """The number times its unit; None for what is neither a finite number nor a text of that form."""
    if isinstance(value, str):
        match = pattern.fullmatch(value)
        amount = float(match[1]) * units[match[2]] if match else math.nan
    elif isinstance(value, int | float) and not isinstance(value, bool):
        amount = float(value)
    else:
        return None
    return amount if math.isfinite(amount) else None
