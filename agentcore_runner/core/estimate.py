"""How many tokens a conversation has: estimated from its text, calibrated by what the service reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_
from typing import NamedTuple

import msgspec

from agentcore_runner.core.convert import convert_message
from agentcore_runner.core.messages import (
    AgentMessage,
    AssistantMessage,
    CompactionSummaryMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from agentcore_runner.core.tools import AgentContext, AgentTool

ASCII = bytes(range(128))
PER_MESSAGE = 4
"""What the marks around a message cost."""
PER_IMAGE = 1200
RATIOS = (0.5, 4.0)
"""How far a report may correct the estimate. What is lower leaves something out; what is higher counts
something that we do not see."""


def text_tokens(text: str) -> float:
    """Tokens of a text: one for every four ASCII characters and one for every three bytes of anything else.

    So a Han character or a kana is one token, a Cyrillic or Arabic letter two thirds. Within a fifth of
    OpenAI's cl100k for Chinese, Japanese and Korean, above its o200k for all scripts; text that is dense
    with signs has up to twice as many, which calibration finds out.
    """
    raw = text.encode("utf-8", "surrogatepass")
    wide = len(raw.translate(None, ASCII))
    return (len(raw) - wide) / 4 + wide / 3


def message_tokens(message: AgentMessage) -> float:
    """Tokens of a message as the model gets it; 0 for one that it does not get."""
    sent = convert_message(message)
    return 0.0 if sent is None else PER_MESSAGE + sum(map(_block_tokens, sent.content))


def _block_tokens(block: TextContent | ThinkingContent | ImageContent | ToolCall) -> float:
    match block:
        case TextContent():
            return text_tokens(block.text)
        case ThinkingContent():
            return text_tokens(block.thinking)
        case ImageContent():
            return PER_IMAGE
        case ToolCall():
            arguments = block.raw_arguments or msgspec.json.encode(block.arguments).decode()
            return PER_MESSAGE + text_tokens(block.name) + text_tokens(arguments)


def tool_tokens(tool: AgentTool) -> float:
    """Tokens of a tool as it is offered."""
    schema = msgspec.json.encode(tool.parameters).decode()
    return PER_MESSAGE + text_tokens(tool.name) + text_tokens(tool.description) + text_tokens(schema)


class Meter:
    """Measures the same conversation again and again as it grows: only what is new is looked at.

    An answer that reports its usage says how large everything up to it is, and how far the estimate is off:
    `ratio` is the reported size by the estimated one, 1 until something is reported. A report that is far too
    low, as of a server that leaves out what it had cached, says nothing.
    """

    def __init__(self) -> None:
        self.ratio = 1.0
        self.sums: list[float] = [0.0]
        self.base = 0.0
        """Tokens of the system prompt and the tools, as estimated."""
        self._seen: list[AgentMessage] = []
        self._anchor: _Anchor | None = None
        self._offer: tuple[str, tuple[AgentTool, ...]] = ("", ())

    def measure(self, context: AgentContext) -> int:
        """Tokens of the next request: system prompt, tools and all messages."""
        self._measure_base(context)
        known = len(self._seen)
        if len(context.messages) < known or not all(map(is_, self._seen, context.messages)):
            self.restart(())
            known = 0
        compacted_at = _last_compaction(context.messages) if known == 0 else -1
        for message in context.messages[known:]:
            before = self.sums[-1]
            self._add(message)
            if isinstance(message, AssistantMessage) and message.timestamp > compacted_at:
                self._calibrate(message, before)
        anchor = self._anchor
        if anchor is None:
            return round(self.ratio * (self.base + self.sums[-1]))
        since = self.sums[-1] - self.sums[anchor.length] + self.base - anchor.base
        return round(anchor.reported + self.ratio * since)

    def restart(self, messages: Iterable[AgentMessage]) -> None:
        """Go on with these messages in place of all others; what their answers report is about what was
        before them."""
        self._seen, self.sums, self._anchor = [], [0.0], None
        for message in messages:
            self._add(message)

    @property
    def reported(self) -> int:
        """Tokens up to the last answer that reported them; 0 where none did."""
        return self._anchor.reported if self._anchor is not None else 0

    def calibrated(self, tokens: float) -> int:
        """An estimate of ours, corrected by what was reported; the system prompt and tools are added."""
        return round(self.ratio * (self.base + tokens))

    def _measure_base(self, context: AgentContext) -> None:
        offer = (context.system_prompt, context.tools)
        if offer != self._offer:
            self._offer = offer
            self.base = text_tokens(context.system_prompt) + sum(map(tool_tokens, context.tools))

    def _add(self, message: AgentMessage) -> None:
        self._seen.append(message)
        self.sums.append(self.sums[-1] + message_tokens(message))

    def _calibrate(self, answer: AssistantMessage, before: float) -> None:
        usage = answer.usage
        estimated, reported = self.base + before, usage.prompt_tokens
        if answer.stop_reason in ("error", "aborted") or not estimated:
            return
        ratio, (least, most) = reported / estimated, RATIOS
        if ratio >= least:
            self.ratio = min(ratio, most)
            self._anchor = _Anchor(len(self._seen), usage.total_tokens, self.base)


class _Anchor(NamedTuple):
    """What was reported after so many messages, and the base at that time."""

    length: int
    reported: int
    base: float


def _last_compaction(messages: Sequence[AgentMessage]) -> int:
    """When the conversation was last compacted; what older answers report is about what is gone."""
    times = [each.timestamp for each in messages if isinstance(each, CompactionSummaryMessage)]
    return max(times, default=-1)
