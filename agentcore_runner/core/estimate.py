"""How many tokens a conversation has: estimated from its text, calibrated by what the service reports."""

from __future__ import annotations

from operator import is_

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
    Usage,
)
from agentcore_runner.core.tools import AgentContext, AgentTool

ASCII = bytes(range(128))
PER_MESSAGE = 4
"""What the marks around a message cost."""
PER_IMAGE = 1200
RATIOS = (0.5, 4.0)
"""How far a report may correct the estimate: what is farther off counts something else than we do."""


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
    `ratio` is the reported size by the estimated one, 1 until something is reported. The usage of an answer
    that is older than the last compaction says nothing about what is left.
    """

    def __init__(self) -> None:
        self.ratio = 1.0
        self.sums: list[float] = [0.0]
        self._seen: list[AgentMessage] = []
        self._anchor: tuple[int, int] | None = None
        self._compacted_at = -1
        self._offer: tuple[str, tuple[AgentTool, ...]] = ("", ())
        self._base = 0.0

    def measure(self, context: AgentContext) -> int:
        """Tokens of the next request: system prompt, tools and all messages."""
        self._measure_base(context)
        known = len(self._seen)
        if len(context.messages) < known or not all(map(is_, self._seen, context.messages)):
            self._seen, self.sums, self._anchor, self._compacted_at = [], [0.0], None, -1
            known = 0
        for message in context.messages[known:]:
            self._add(message)
        if self._anchor is None:
            return round(self.ratio * (self._base + self.sums[-1]))
        index, reported = self._anchor
        return round(reported + self.ratio * (self.sums[-1] - self.sums[index]))

    def calibrated(self, tokens: float) -> int:
        """An estimate of ours, corrected by what was reported; the system prompt and tools are added."""
        return round(self.ratio * (self._base + tokens))

    def _measure_base(self, context: AgentContext) -> None:
        offer = (context.system_prompt, context.tools)
        if offer != self._offer:
            self._offer = offer
            self._base = text_tokens(context.system_prompt) + sum(map(tool_tokens, context.tools))

    def _add(self, message: AgentMessage) -> None:
        before = self.sums[-1]
        self._seen.append(message)
        self.sums.append(before + message_tokens(message))
        if isinstance(message, CompactionSummaryMessage):
            self._compacted_at = max(self._compacted_at, message.timestamp)
        if isinstance(message, AssistantMessage) and message.timestamp > self._compacted_at:
            self._calibrate(message, before)

    def _calibrate(self, answer: AssistantMessage, before: float) -> None:
        usage = answer.usage
        if answer.stop_reason in ("error", "aborted") or not usage.total_tokens:
            return
        self._anchor = (len(self._seen), usage.total_tokens)
        estimated, reported = self._base + before, prompt_tokens(usage)
        if estimated and reported:
            least, most = RATIOS
            self.ratio = min(max(reported / estimated, least), most)


def prompt_tokens(usage: Usage) -> int:
    """Tokens that the request itself had, cached ones included."""
    return usage.input + usage.cache_read + usage.cache_write
