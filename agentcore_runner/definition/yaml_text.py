"""What YAML refuses in a text, said so that an author knows what to do."""

from __future__ import annotations

import re

# What YAML forbids, rather than all it allows: a tenth of the time to compile.
NOT_YAML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
# The parser's words (libyaml's, and those of the Python one), ours, and the next step.
WORDS = (
    ("mapping values are not allowed", "': ' cannot stand in an unquoted text", "put the text in quotes"),
    ("found unknown escape", "an unknown escape in double quotes", r"write \\, or use single quotes"),
    ("unexpected end of stream", "a quoted text is not closed", "add the closing quote"),
    ("node content", "a '[' or '{' is not closed", "close it, or put the value in quotes"),
    ("found incompatible YAML document", "this YAML version is not supported", "remove the %YAML line"),
    ("undefined tag handle", "a tag is not known", "remove it, or put the value in quotes"),
    ("duplicate anchor", "an anchor is defined twice", None),
    ("simple key", "a key has no ':' after it", "write it as key: value"),
    ("could not find expected ':'", "a key has no ':' after it", "write it as key: value"),
    ("did not find expected key", "this does not fit the map around it", "check indentation and quotes"),
    ("expected <block end>", "this does not fit the block around it", "check indentation and quotes"),
    ("did not find expected '-'", "this does not fit the list around it", "check the indentation"),
    ("expected ',' or", "a ',' is missing, or a bracket is not closed", None),
    ("block sequence entries are not allowed", "a list cannot start here", "put it on a line of its own"),
    ("maximum nesting depth", "values are nested too deeply", None),
)  # fmt: skip


def forbidden_character(text: str) -> tuple[int, str, str] | None:
    """Offset, message and hint of the first character that YAML does not allow; None if all are fine."""
    match = NOT_YAML.search(text)
    if match is None:
        return None
    code = ord(match[0])
    escape = f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}"
    return match.start(), f"the character U+{code:04X} is not allowed", f'in double quotes write "{escape}"'


def in_plain_words(problem: str, line: str) -> tuple[str, str | None]:
    """Message and hint for what the parser says about a line."""
    if re.search(r":\s+\{[{%]|-\s+\{[{%]", line):
        return "a template is not in quotes", "put the whole value in quotes, or under a '|' block"
    if re.match(r" *\t", line) and ("start any token" in problem or "tab" in problem):
        return "a tab cannot indent YAML", "use spaces"
    if "start any token" in problem:
        return "an unquoted text cannot start with this character", "put the text in quotes"
    for theirs, ours, hint in WORDS:
        if theirs in problem:
            return ours, hint
    return problem or "not YAML", None
