"""The models of a run in their order: when one fails for good, the next goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec

from agentcore_runner.core.messages import AssistantMessage
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.stream import (
    AssistantMessageEvent,
    Done,
    Failed,
    LlmContext,
    Retry,
    Start,
    StreamOptions,
)
from agentcore_runner.definition.types import FallbackReason
from agentcore_runner.providers.catalog import Provider

NOT_FOUND = 404


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A model, how much it thinks, and the failures after which it goes on. A `budget`, in tokens, stands in
    place of the level."""

    provider: Provider
    level: ThinkingLevel
    budget: int | None = None
    on: frozenset[FallbackReason] = frozenset()


class Fallback(msgspec.Struct, frozen=True, kw_only=True):
    """One model failed, another goes on. `reason` is the kind of failure, `message` its words."""

    failed: Choice
    following: Choice
    reason: FallbackReason
    message: str


class Route:
    """A `StreamFn` over several models. A model that failed is not asked again. `session` tells services
    which requests belong together."""

    def __init__(
        self, choices: Sequence[Choice], session: str, on_fallback: Callable[[Fallback], Awaitable[None]]
    ) -> None:
        self._session = session
        self._first, *self._others = choices
        self.current = self._first
        self._on_fallback = on_fallback

    def stream(
        self, model: Model, context: LlmContext, options: StreamOptions
    ) -> AsyncIterator[AssistantMessageEvent]:
        """The answer of the first model that has one; what a model said before it failed is void."""
        return self._ask(context, options) if self._others else self._one(context, options)

    def _one(self, context: LlmContext, options: StreamOptions) -> AsyncIterator[AssistantMessageEvent]:
        provider = self.current.provider
        return provider.stream(provider.model, context, self._options(options))

    def _options(self, options: StreamOptions) -> StreamOptions:
        """The options with how much the model at hand thinks. What asks for less than the run does, as a
        summary may, keeps its own."""
        if options.thinking_level is not self._first.level:
            return msgspec.structs.replace(options, session_id=self._session)
        return msgspec.structs.replace(
            options,
            session_id=self._session,
            thinking_level=self.current.level,
            thinking_budget=self.current.budget,
        )

    async def _ask(self, context: LlmContext, options: StreamOptions) -> AsyncIterator[AssistantMessageEvent]:
        begun = False
        while True:
            async with aclosing(self._one(context, options)) as events:  # type: ignore[type-var]
                async for event in events:
                    if type(event) is Start and begun:
                        continue
                    begun = True
                    if isinstance(event, Done | Failed) and (fallback := self._fallback(event)):
                        again = void(fallback, event)
                        break
                    yield event
                else:
                    return
            yield again
            self.current = fallback.following
            await self._on_fallback(fallback)

    def _fallback(self, last: Done | Failed) -> Fallback | None:
        """Who goes on after this answer, if it is a failure that one of the others is there for. Those before
        it are passed over for good."""
        reason = reason_of(last.message)
        place = next((n for n, choice in enumerate(self._others) if reason in choice.on), None)
        if reason is None or place is None:
            return None
        failed, following = self.current, self._others[place]
        self._others = self._others[place + 1 :]
        words = last.message.error_message or "the model refused to answer"
        return Fallback(failed=failed, following=following, reason=reason, message=words)


def void(fallback: Fallback, last: Done | Failed) -> Retry:
    """What takes back everything that the failed model has said."""
    message, error = last.message, last.message.error
    return Retry(
        attempt=error.attempts if error else 1,
        delay_s=0.0,
        status=error.status if error else None,
        reason=f"{fallback.message}; {fallback.following.provider.model.key} goes on",
        kind=error.kind if error else "refused",
        request_id=error.request_id if error else None,
        usage=message.usage if message.usage.total_tokens else None,
    )


def reason_of(answer: AssistantMessage) -> FallbackReason | None:
    """The kind of failure that an answer is; None for one that is none, and for one that no other model would
    do better."""
    if answer.stop_reason == "refused":
        return "refused"
    if answer.stop_reason != "error" or answer.error is None:
        return None
    match answer.error.kind:
        case "connection" | "timeout" | "stream":
            return "network"
        case "server":
            return "overloaded"
        case "rate_limit" | "auth" | "refused" as kind:
            return kind
        case "overflow":
            return "context_overflow"
        case "bad_request" if answer.error.status == NOT_FOUND:
            return "model_not_found"
    return None
