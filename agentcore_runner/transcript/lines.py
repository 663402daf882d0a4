"""One value as one JSONL line: UTF-8, LF only, nothing in it that a line reader could trip over."""

from __future__ import annotations

from typing import Any

import msgspec

from agentcore_runner.characters import mended

ENCODER = msgspec.json.Encoder(enc_hook=repr)
# JSON escapes the other characters at which `str.splitlines` and its like split.
ESCAPES = {char.encode(): f"\\u{ord(char):04x}".encode() for char in "\u0085\u2028\u2029"}


def encode_line(value: Any) -> bytes:
    """The value's JSON and a line feed. U+0085, U+2028 and U+2029 are escaped, because some readers take them
    for line ends; a lone surrogate, which UTF-8 cannot hold, becomes U+FFFD. What JSON cannot hold, as in the
    details of a tool's result, stands there as Python shows it."""
    try:
        data = ENCODER.encode(value)
    except UnicodeEncodeError:
        data = ENCODER.encode(mended(msgspec.to_builtins(value, enc_hook=repr)))
    if not data.isascii():
        for char, escape in ESCAPES.items():
            data = data.replace(char, escape)
    return data + b"\n"
