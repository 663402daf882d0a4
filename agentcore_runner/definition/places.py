"""Where in a template's source a name, a tag or a line stands, found by Jinja2's own lexer."""

from __future__ import annotations

import bisect
import re

import msgspec
from jinja2 import TemplateSyntaxError
from jinja2.lexer import Lexer

from agentcore_runner.definition.template_names import BY_NAME

SKIPPED = {"whitespace", "data", "comment_begin", "comment", "comment_end", "linecomment"}
OPENINGS = {"variable_begin", "block_begin"}


class Token(msgspec.Struct, frozen=True):
    """A token of a template's code: its kind, text, line (from 1) and offset."""

    kind: str
    text: str
    line: int
    offset: int

    @property
    def end(self) -> int:
        """The offset after the token."""
        return self.offset + len(self.text)


class Span(msgspec.Struct, frozen=True):
    """A part of the source: the offset of its first character and the number of characters."""

    offset: int
    width: int


class Places:
    """The places of a source. Each name is given out once, so that equal mistakes get places of their own."""

    def __init__(self, source: str, lexer: Lexer, *, expression: bool = False) -> None:
        self.source = source
        self.starts = [0, *(match.end() for match in re.finditer("\n", source))]
        self.tokens = _tokens(source, lexer, "variable" if expression else None)
        self.openings = [token for token in self.tokens if token.kind in OPENINGS]
        self.uses: dict[tuple[str, str, str | None, int], list[Span]] = {}
        for index in range(len(self.tokens) - 1, -1, -1):
            self._index(index)

    def name(self, line: int, root: str, attribute: str | None = None) -> Span:
        """The next use of `root`, or of `root.attribute`, on a line."""
        return self._next("name", root, attribute, line)

    def filter(self, line: int, name: str) -> Span:
        """The next use of a filter, whether after `|`, in a tag, or as a text (`map("upper")`)."""
        return self._next("filter", name, None, line)

    def test(self, line: int, name: str) -> Span:
        """The next use of a test."""
        return self._next("test", name, None, line)

    def opening(self, line: int, before: Span | None = None) -> Span:
        """The last tag that opens before a place; else the first one on the line, else the last above it;
        else the line's first character."""
        if before is not None:
            index = bisect.bisect_right(self.openings, before.offset, key=lambda token: token.offset) - 1
        else:
            index = bisect.bisect_left(self.openings, line, key=lambda token: token.line)
            if index == len(self.openings) or self.openings[index].line != line:
                index -= 1
        if index < 0:
            return self.start(line)
        return Span(self.openings[index].offset, len(self.openings[index].text))

    def start(self, line: int) -> Span:
        """The first visible character of a line."""
        number = min(max(line, 1), len(self.starts))
        start = self.starts[number - 1]
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.source)
        text = self.source[start:end]
        return Span(start + len(text) - len(text.lstrip()) if text.strip() else start, 1)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        line = bisect.bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def _next(self, kind: str, name: str, attribute: str | None, line: int) -> Span:
        spans = self.uses.get((kind, name, attribute, line))
        if not spans:
            return self.opening(line)
        return spans.pop() if len(spans) > 1 else spans[0]

    def _index(self, index: int) -> None:
        """Remember what the token at an index is a use of, by the line that Jinja2 says it is on."""
        token, before, after = self.tokens[index], self._text(index - 1), self._text(index + 1)
        if token.kind == "string":
            # `map("upper")` or `selectattr("a", "none")`.
            caller = index - (2 if before == "(" else 4)
            kind, _ = BY_NAME.get(self._text(caller), ("", 0))
            self._add(kind, token.text[1:-1], None, token.line, token, token)
        if token.kind != "name" or before == ".":
            return
        if before in ("|", "filter"):
            self._add("filter", token.text, None, token.line, token, token)
        elif before == "is" or (before == "not" and self._text(index - 2) == "is"):
            line = self.tokens[index - (1 if before == "is" else 2)].line
            self._add("test", token.text, None, line, token, token)
        else:
            self._add("name", token.text, None, token.line, token, token)
            last = self.tokens[index + 2] if index + 2 < len(self.tokens) else token
            line = self.tokens[index + 1].line if after else token.line
            if after == ".":
                self._add("name", token.text, last.text, line, token, last)
            elif after == "[" and last.kind == "string":
                closing = self.tokens[min(index + 3, len(self.tokens) - 1)]
                self._add("name", token.text, last.text[1:-1], line, token, closing)

    def _add(self, kind: str, name: str, attribute: str | None, line: int, first: Token, last: Token) -> None:
        width = last.end - first.offset if last.line == first.line else len(first.text)
        self.uses.setdefault((kind, name, attribute, line), []).append(Span(first.offset, width))

    def _text(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""


def _tokens(source: str, lexer: Lexer, state: str | None) -> list[Token]:
    """The tokens of the code in a source, as far as it can be read."""
    tokens: list[Token] = []
    offset = 0
    try:
        for line, kind, text in lexer.tokeniter(source, None, None, state):
            # White space that a tag takes away is not among the tokens.
            found = source.find(text, offset)
            if found < 0:
                continue
            offset = found + len(text)
            if kind not in SKIPPED:
                tokens.append(Token(kind, text, line, found))
    except TemplateSyntaxError:
        pass
    return tokens
