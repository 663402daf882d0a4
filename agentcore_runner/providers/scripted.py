"""A model that says what a script tells it: for demonstrations and tests, without a server or a key."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from agentcore_runner.core.assemble import Assembler
from agentcore_runner.core.messages import Message, Usage
from agentcore_runner.core.model import Model, ThinkingLevel, priced
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import AssistantMessageEvent, Done, Failed, LlmContext, StreamOptions
from agentcore_runner.providers.blocks import Blocks, Events
from agentcore_runner.providers.failures import RequestFailed, failed, from_response
from agentcore_runner.providers.mistakes import Mistake, Mistaken
from agentcore_runner.providers.retry import Attempt, Outcome, RetryPolicy, stream_with_retries
from agentcore_runner.providers.script import (
    ScriptedBlock,
    ScriptedError,
    ScriptedUsage,
    Turn,
    load_script,
    seconds,
)
from agentcore_runner.providers.script_template import rendered, variables_of
from agentcore_runner.providers.transform import encode
from agentcore_runner.providers.watch import Watch


def open_script(
    model: Model, *, cwd: Path, agent_directory: Path, now: Callable[[], int], retry: RetryPolicy
) -> Scripted:
    """The model that plays `model.id`. Raises `Mistaken` for a script that is missing or wrong."""
    return Scripted(model, read_script(model, cwd, agent_directory), now=now, retry=retry)


def read_script(model: Model, cwd: Path, agent_directory: Path) -> tuple[Turn, ...]:
    """The turns of `model.id`, a path relative to the working directory or, where it stands there, to the
    agent's folder."""
    path = cwd / model.id
    if not path.is_file():
        path = agent_directory / model.id
    if not path.is_file():
        places = " or ".join(dict.fromkeys([str(cwd), str(agent_directory)]))
        message = f"model {model.key!r}: there is no script {model.id!r} in {places}"
        raise Mistaken([Mistake(message=message)])
    return load_script(path, model.id)


class Scripted:
    """Gives turn after turn of a script. The turn is the number of requests it has answered."""

    scripted = True

    def __init__(
        self, model: Model, turns: tuple[Turn, ...], *, now: Callable[[], int], retry: RetryPolicy
    ) -> None:
        self.model = model
        self._turns = turns
        self._now = now
        self._retry = retry
        self._answered = 0
        self._size = _PromptSize()

    async def stream(
        self, model: Model, context: LlmContext, options: StreamOptions
    ) -> AsyncIterator[AssistantMessageEvent]:
        """A core `StreamFn`."""
        attempts = itertools.count()
        events = stream_with_retries(
            lambda: self._attempt(next(attempts), context, options),
            assembler=Assembler(model.api, model.provider, model.id, self._now()),
            options=options,
            policy=self._retry,
            now_s=self._now_s,
        )
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Done) or (isinstance(event, Failed) and event.reason == "error"):
                    self._answered += 1
                yield event

    def preview(self, context: LlmContext, options: StreamOptions) -> dict[str, Any]:
        """Nothing is sent; the body says what would be played."""
        body = {"turn": self._answered, "turns": len(self._turns), "messages": len(context.messages)}
        return {"method": "PLAY", "url": self.model.key, "headers": {}, "body": body}

    def warnings(self, level: ThinkingLevel) -> list[str]:
        """None: a script thinks as it is told."""
        return []

    async def aclose(self) -> None:
        """Nothing to close."""

    async def _attempt(self, number: int, context: LlmContext, options: StreamOptions) -> Attempt:
        """Play the turn once; `number` attempts at it have failed."""
        turn = self._turn()
        blocks = self._rendered(turn, context)
        error = turn.error
        if error is not None and error.times is not None and number >= error.times:
            error = None
        prefix = f"call_{self._answered + 1}_"
        async with aclosing(_batches(turn, blocks, error, prefix, options.signal, self._now_s())) as batches:
            async for batch in batches:
                yield batch
        yield Outcome(
            stop_reason=turn.stop_reason,
            raw_stop_reason=turn.stop_reason,
            usage=priced(self._usage(turn.usage, blocks, context), self.model.cost),
        )

    def _turn(self) -> Turn:
        if self._answered >= len(self._turns):
            message = (
                f"the script {self.model.id} ends after turn {len(self._turns)}, and another was asked for"
            )
            raise failed("bad_request", message, again=False)
        return self._turns[self._answered]

    def _rendered(self, turn: Turn, context: LlmContext) -> list[ScriptedBlock]:
        """The turn's blocks with their templates filled in. `raw_arguments` are sent as they stand."""
        variables = variables_of(context.messages, self._answered)
        try:
            return [_filled(block, variables) for block in turn.blocks]
        except Exception as exc:  # a template may raise anything
            message = f"the script {self.model.id}, turns[{self._answered}]: template: {exc}"
            raise failed("bad_request", message, again=False) from exc

    def _usage(self, given: ScriptedUsage, blocks: list[ScriptedBlock], context: LlmContext) -> Usage:
        """A token for every four characters, where the script does not say."""
        said = sum([len(_words(block)) for block in blocks])
        return Usage(
            input=self._size.of(context) // 4 if given.input is None else given.input,
            output=said // 4 if given.output is None else given.output,
            cache_read=given.cache_read,
            cache_write=given.cache_write,
            reasoning=given.reasoning,
        )

    def _now_s(self) -> float:
        return self._now() / 1000


async def _batches(
    turn: Turn,
    blocks: list[ScriptedBlock],
    error: ScriptedError | None,
    prefix: str,
    signal: AbortSignal,
    now_s: float,
) -> AsyncGenerator[Events, None]:
    """The events, a delta at a time, until the turn is over or its error is due."""
    watch = Watch(signal)
    stream = Blocks()
    pause = seconds(turn.delta_delay)
    try:
        with watch:
            await asyncio.sleep(seconds(turn.delay))
        pieces = _pieces(stream, blocks, turn.chunk, prefix)
        for batch in pieces if error is None else itertools.islice(pieces, error.after):
            yield batch
            with watch:
                await asyncio.sleep(pause)
        if error is not None:
            failure = _failure(error, now_s)
            failure.again = failure.again and stream.call_count < 2
            raise failure
        closing: Events = []
        stream.close(closing, cut=turn.stop_reason == "length")
        yield closing
    finally:
        watch.close()


def _pieces(stream: Blocks, blocks: list[ScriptedBlock], size: int, prefix: str) -> Iterator[Events]:
    """A batch of events for each piece of each block."""
    number = 0
    for block in blocks:
        call = None
        if block.tool_call is not None:
            number += 1
            out: Events = []
            call = stream.call(block.tool_call.id or f"{prefix}{number}", out)
            call.name = block.tool_call.name
            stream.start(call, out)
            yield out
        text = _words(block)
        for at in range(0, len(text), size):
            out = []
            piece = text[at : at + size]
            if call is not None:
                stream.arguments(call, piece, out)
            elif block.thinking is not None:
                stream.thinking(piece, out)
            else:
                stream.text(piece, out)
            yield out


def _words(block: ScriptedBlock) -> str:
    """What the block streams: its text, or the JSON of its arguments."""
    call = block.tool_call
    if call is None:
        return block.text or block.thinking or ""
    return encode(call.arguments).decode() if call.raw_arguments is None else call.raw_arguments


def _filled(block: ScriptedBlock, variables: dict[str, Any]) -> ScriptedBlock:
    call = block.tool_call
    if call is None:
        return ScriptedBlock(
            text=rendered(block.text, variables), thinking=rendered(block.thinking, variables)
        )
    filled = msgspec.structs.replace(
        call, name=rendered(call.name, variables), arguments=rendered(call.arguments, variables)
    )
    return ScriptedBlock(tool_call=filled)


def _failure(error: ScriptedError, now_s: float) -> RequestFailed:
    """The failure as a server would cause it."""
    wait = seconds(error.retry_after) if error.retry_after is not None else None
    if error.status is not None:
        body = (error.message or "a scripted error").encode()
        headers = {} if wait is None else {"retry-after": str(wait)}
        failure = from_response(error.status, headers, body, now_s=now_s, mask=str)
    else:
        again = error.kind in ("connection", "timeout", "rate_limit", "server", "stream")
        failure = failed(error.kind or "internal", error.message or "a scripted error", again=again)
    failure.wait = wait
    return failure


class _PromptSize:
    """The characters of a context; only messages that are new since the last time are counted."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._size = 0

    def of(self, context: LlmContext) -> int:
        known = len(self._messages)
        if context.messages[:known] != self._messages:
            self._messages, self._size, known = [], 0, 0
        for message in context.messages[known:]:
            self._messages.append(message)
            self._size += len(encode(msgspec.to_builtins(message.content)))
        return self._size + len(context.system_prompt)
