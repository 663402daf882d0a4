"""The models of a run in their order: when one fails for good, the next goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from agentcore_runner.core.config import OtherModel
from agentcore_runner.core.messages import AssistantMessage, ErrorInfo
from agentcore_runner.core.model import Model, ThinkingLevel
from agentcore_runner.core.stream import AssistantMessageEvent, LlmContext, StreamOptions
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

    def asked(self, options: StreamOptions, session: str) -> StreamOptions:
        """The options of a request, with the budget and what the requests of one run have in common. What
        asks for another level than the run's, as a summary does, has no budget."""
        budget = self.budget if options.thinking_level is self.level else None
        return msgspec.structs.replace(options, session_id=session, thinking_budget=budget)


class Fallback(msgspec.Struct, frozen=True, kw_only=True):
    """One model failed, another goes on. `reason` is the kind of failure, `message` its words."""

    failed: Choice
    following: Choice
    reason: FallbackReason
    message: str


class Route:
    """Asks the model at hand; a model that failed is not asked again. `session` tells services which requests
    belong together."""

    def __init__(
        self, choices: Sequence[Choice], session: str, on_fallback: Callable[[Fallback], Awaitable[None]]
    ) -> None:
        self._session = session
        self._current, *self._others = choices
        self._on_fallback = on_fallback

    def stream(
        self, model: Model, context: LlmContext, options: StreamOptions
    ) -> AsyncIterator[AssistantMessageEvent]:
        """A core `StreamFn`."""
        return self._current.provider.stream(model, context, self._current.asked(options, self._session))

    async def fall_back(self, answer: AssistantMessage) -> OtherModel | None:
        """Who goes on after this answer, if it is a failure that one of the others is there for. Those before
        it are passed over for good."""
        reason = reason_of(answer)
        place = next((n for n, choice in enumerate(self._others) if reason in choice.on), None)
        if reason is None or place is None:
            return None
        failed, self._current = self._current, self._others[place]
        self._others = self._others[place + 1 :]
        words = answer.error_message or "the model refused to answer"
        await self._on_fallback(
            Fallback(failed=failed, following=self._current, reason=reason, message=words)
        )
        return OtherModel(model=self._current.provider.model, thinking_level=self._current.level)


def reason_of(answer: AssistantMessage) -> FallbackReason | None:
    """The kind of failure that an answer is; None for one that is none, and for one that no other model would
    do better."""
    if answer.stop_reason == "refused":
        return "refused"
    if answer.stop_reason != "error" or answer.error is None:
        return None
    return REASONS.get(cause_of(answer.error))


def cause_of(error: ErrorInfo) -> str:
    """What went wrong: a wait that would have been too long ends a request as a rate limit, whatever it was
    for, and only a code or a status says that a model does not exist."""
    if error.code == "model_not_found" or (error.kind == "bad_request" and error.status == NOT_FOUND):
        return "model_not_found"
    waited_for = error.code if error.kind == "rate_limit" else None
    return waited_for if waited_for in REASONS and waited_for is not None else error.kind


REASONS: dict[str, FallbackReason] = {
    "connection": "network",
    "timeout": "network",
    "stream": "network",
    "server": "overloaded",
    "rate_limit": "rate_limit",
    "auth": "auth",
    "refused": "refused",
    "overflow": "context_overflow",
    "model_not_found": "model_not_found",
}
