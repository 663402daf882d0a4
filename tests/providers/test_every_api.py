"""What every provider must make of an answer, whichever API brings it: the same events, the same message."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from agentcore_runner.core.messages import (
    AssistantContent,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from agentcore_runner.core.model import CostTier, ModelCost, ThinkingLevel
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import (
    AssistantMessageEvent,
    Done,
    Failed,
    Retry,
    Start,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from agentcore_runner.core.tools import AgentTool, AgentToolResult, text_result
from agentcore_runner.providers import apis
from tests.providers.doubles import QUICK, answer, context, stream, user
from tests.providers.every_api import (
    ANSWERED_BY,
    APIS,
    EVERY,
    FAILURES,
    GOOGLE,
    SCRIPTED,
    Dialect,
    Fault,
    Says,
    arguments_of,
    cut,
    playing,
)
from tests.servers.chat_server import ChatServer, Hang, Reply, Step

HELLO = TextContent(text="Hello, world.")
THOUGHT = ThinkingContent(thinking="Let me look at both.\n\nThen I answer.")
READ = ToolCall(id="call_a", name="read", arguments={"path": "a.txt", "lines": [1, 2.5], "deep": {"é": None}})
LIST = ToolCall(id="call_b", name="ls")
TURN = (THOUGHT, TextContent(text="I look at both."), READ, LIST)
FAULTS = [
    pytest.param(fault, within, id=f"{fault}-{'within' if within else 'before'}")
    for fault in FAILURES
    for within in (False, True)
    if (fault, within) != ("dropped", True)
]
PASSING = [each for each in FAULTS if FAILURES[each.values[0]][1] and each.values != ("silent", True)]
ODD = (
    'a\u2028b\u2029c\x85d\x00e\x1f\r\nf\tg\ufeffh"\\i\x7f é 漢 e\u0301 👩\u200d👩\u200d👧 '
    "\U0010ffff data: [DONE]\n\n"
)


every = pytest.mark.parametrize("dialect", EVERY, ids=repr)
each_api = pytest.mark.parametrize("dialect", APIS, ids=repr)


def unsigned(content: Sequence[AssistantContent]) -> tuple[AssistantContent, ...]:
    """The content without what only the model that wrote it can read."""
    names = ("text_signature", "thinking_signature", "thought_signature")
    return tuple(
        msgspec.structs.replace(block, **{name: None for name in names if name in block.__struct_fields__})
        for block in content
    )


def in_words(events: list[AssistantMessageEvent]) -> list[Any]:
    """The events of each block together: a call may end when it is whole, or with the answer. Arguments come
    in pieces, or whole."""
    words: list[Any] = []
    blocks: dict[int, list[Any]] = {}
    for event in events:
        match event:
            case Start() | Retry() | Done() | Failed():
                words += [word for index in sorted(blocks) for word in blocks[index]]
                blocks.clear()
                words.append(event.status if isinstance(event, Retry) else event.__struct_config__.tag)
            case TextDelta(content_index=index, delta=text) | ThinkingDelta(content_index=index, delta=text):
                blocks[index].append(text)
            case ToolCallDelta(content_index=index, delta=text):
                blocks[index][-1] += text
            case ToolCallStart(content_index=index, id=call_id, tool_name=name):
                blocks[index] = ["call", call_id, name, ""]
            case TextEnd(content_index=index, content=text) | ThinkingEnd(content_index=index, content=text):
                blocks[index].append(text)
            case ToolCallEnd(content_index=index, tool_call=call):
                blocks[index] = [*blocks[index][:3], _value(blocks[index][3]), *unsigned((call,))]
            case _:
                blocks[event.content_index] = [event.__struct_config__.tag]
    return words


def _value(arguments: str) -> Any:
    """What the JSON says, in whatever way; it may be malformed."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def as_said(said: Says) -> list[Any]:
    """The words that the answer must become."""
    words: list[Any] = ["start"]
    for block in said.content:
        match block:
            case ThinkingContent(thinking=text):
                words += ["thinking_start", *cut(text, said.size), text]
            case TextContent(text=text):
                words += ["text_start", *cut(text, said.size), text]
            case ToolCall():
                words += ["call", block.id, block.name, _value(arguments_of(block)), block]
    return [*words, "done"]


def played(dialect: Dialect, *answers: Says, **settings: Any) -> list[AssistantMessageEvent]:
    with playing(dialect, *answers, **settings) as stage:
        return stream(stage.provider, *[context()] * len(answers), thinking_level=ThinkingLevel.LOW)


# Answers


@every
@pytest.mark.parametrize(
    "content",
    [(HELLO,), TURN, (THOUGHT, HELLO), (READ,), (HELLO, THOUGHT, HELLO, READ), (LIST, READ), ()],
    ids=["text", "turn", "thinking", "tool", "mixed", "tools", "empty"],
)
def test_the_answer_is_streamed_as_it_was_said(
    dialect: Dialect, content: tuple[AssistantContent, ...]
) -> None:
    said = Says(content=content)

    events = played(dialect, said)

    message = answer(events)
    assert in_words(events) == as_said(said)
    assert (unsigned(message.content), message.stop_reason) == (content, "done")
    assert (message.error, message.error_message, message.diagnostics) == (None, None, ())
    assert message.tool_calls == tuple(block for block in message.content if isinstance(block, ToolCall))
    assert f"{message.provider}/{message.model}" == dialect.model
    assert message.response_model == (None if dialect is SCRIPTED else ANSWERED_BY)


@every
@pytest.mark.parametrize("stop", ["length", "refused"])
def test_the_reason_for_stopping_is_told_in_our_words_and_nothing_is_asked_again(
    dialect: Dialect, stop: Any
) -> None:
    said = Says(content=(HELLO,), stop=stop)

    with playing(dialect, said, Says()) as stage:
        events = stream(stage.provider)

    message = answer(events)
    assert (in_words(events), message.stop_reason) == (as_said(said), stop)
    assert (unsigned(message.content), message.usage.output) == ((HELLO,), 3)
    assert message.raw_stop_reason
    assert len(stage.bodies) == (dialect is not SCRIPTED)


@every
def test_a_refusal_may_have_no_words(dialect: Dialect) -> None:
    message = answer(played(dialect, Says(stop="refused")))

    assert (message.content, message.stop_reason) == ((), "refused")


# Arguments


@every
@pytest.mark.parametrize("raw", ["[1]", '"text"', "3", "null"])
def test_arguments_that_are_no_object_are_kept_as_they_came(dialect: Dialect, raw: str) -> None:
    if (dialect, raw) == (GOOGLE, "null"):
        raw = "[null]"  # its null says that there are none
    call = ToolCall(id="call_a", name="read", raw_arguments=raw)

    assert unsigned(answer(played(dialect, Says(content=(call, LIST)))).content) == (call, LIST)


@pytest.mark.parametrize("dialect", [each for each in EVERY if each.streams_arguments], ids=repr)
@pytest.mark.parametrize(
    ("raw", "stop"), [('{"path": }', "done"), ('{"path": "a', "length"), ('{"a": 1}}', "done")]
)
def test_arguments_that_are_malformed_or_cut_are_never_mended(dialect: Dialect, raw: str, stop: Any) -> None:
    call = ToolCall(id="call_a", name="read", raw_arguments=raw)

    message = answer(played(dialect, Says(content=(HELLO, call), stop=stop)))

    assert (unsigned(message.content), message.stop_reason) == ((HELLO, call), stop)


@every
def test_huge_arguments_arrive_whole_and_in_time(dialect: Dialect) -> None:
    text = "0123456789 \u2028 é\n" * 12_000
    call = ToolCall(id="call_a", name="write", arguments={"path": "a", "content": text})
    started = time.monotonic()

    events = played(dialect, Says(content=(call, LIST), size=100))

    assert unsigned(answer(events).content) == (call, LIST)
    assert time.monotonic() - started < 3


# Characters


def in_utf8(step: bytes) -> bytes:
    """The event with its characters as they are instead of escapes, as most services send them."""
    return b"".join(
        b"data: " + json.dumps(json.loads(line[6:]), ensure_ascii=False).encode() + b"\n"
        if line.startswith(b"data: {")
        else line
        for line in step.splitlines(keepends=True)
    )


def served(dialect: Dialect, *replies: Reply, **settings: Any) -> list[AssistantMessageEvent]:
    with ChatServer(replies) as server:
        return stream(dialect.open(server, **settings))


ODDLY = Says(
    content=(
        ThinkingContent(thinking=ODD),
        TextContent(text=ODD),
        ToolCall(id="call_a", name="say", arguments={ODD: [ODD]}),
    ),
    size=1,
)


@every
def test_odd_characters_come_through(dialect: Dialect) -> None:
    events = played(dialect, ODDLY)

    assert in_words(events) == as_said(ODDLY)
    assert unsigned(answer(events).content) == ODDLY.content


@each_api
def test_odd_characters_may_come_unescaped_and_cut_anywhere(dialect: Dialect) -> None:
    body = b"".join(map(in_utf8, dialect.whole(ODDLY)))

    for size in (3, len(body)):
        events = served(dialect, Reply([body[at : at + size] for at in range(0, len(body), size)]))

        assert in_words(events) == as_said(ODDLY)


@each_api
def test_half_a_character_waits_for_the_other_and_stands_for_itself_if_none_comes(dialect: Dialect) -> None:
    thinking = ThinkingContent(thinking="\ud83d\ude00.")
    said = Says(content=(thinking, TextContent(text="a\ud83d\ude00b\ud83dc\ud83d")), size=1)

    events = served(dialect, Reply(dialect.whole(said)))

    content = (ThinkingContent(thinking="😀."), TextContent(text="a😀b\ufffdc\ufffd"))
    assert unsigned(answer(events).content) == content
    deltas = [event.delta for event in events if isinstance(event, TextDelta | ThinkingDelta)]
    assert ("".join(deltas), "" in deltas) == ("😀.a😀b\ufffdc\ufffd", False)


# Streams


@every
def test_an_answer_is_the_same_wherever_it_is_cut(dialect: Dialect) -> None:
    for size in (1, 3, 10_000):
        message = answer(played(dialect, Says(content=TURN, size=size)))

        assert (unsigned(message.content), message.stop_reason) == (TURN, "done")


@each_api
def test_bytes_may_be_cut_anywhere(dialect: Dialect) -> None:
    said = Says(content=TURN)
    body = b"".join(dialect.whole(said))

    for size in (1, 7):
        events = served(dialect, Reply([body[at : at + size] for at in range(0, len(body), size)]))

        assert in_words(events) == as_said(said)


@each_api
def test_what_proxies_and_services_put_between_the_events_changes_nothing(dialect: Dialect) -> None:
    said = Says(content=TURN)
    noise = b": ping\n\n", b"event: ping\ndata: {}\n\n", b"event: done\ndata: {}\n\n", b"\n\n", b"id: 7\n\n"
    body = b"\xef\xbb\xbf" + b"".join(
        itertools.chain.from_iterable(zip(itertools.cycle(noise), dialect.whole(said), strict=False))
    )

    assert in_words(served(dialect, Reply([body]))) == as_said(said)
    assert in_words(served(dialect, Reply([body.replace(b"\n", b"\r\n")]))) == as_said(said)


@each_api
def test_a_stream_that_ends_after_any_event_is_asked_for_again_or_whole(dialect: Dialect) -> None:
    said = Says(content=(THOUGHT, HELLO), size=12)
    steps = dialect.whole(said)

    for kept in range(len(steps)):
        events = served(dialect, Reply(steps[:kept]), Reply(steps))

        message = answer(events)
        assert (unsigned(message.content), message.stop_reason) == (said.content, "done")
        assert kept > len(dialect.content(said)) or any(isinstance(event, Retry) for event in events)


@each_api
def test_pings_are_no_answer(dialect: Dialect) -> None:
    pings: list[Step] = [*[b": ping\n\n", b'event: ping\ndata: {"type": "ping"}\n\n', 0.02] * 40]
    whole = Reply(dialect.whole(Says(content=(HELLO,))))

    events = served(dialect, Reply(pings), whole, idle_timeout=0.3)

    assert [(event.kind, event.attempt) for event in events if isinstance(event, Retry)] == [("timeout", 1)]
    assert answer(events).text == HELLO.text


# Aborts


@every
def test_an_abort_keeps_what_had_come(dialect: Dialect) -> None:
    def abort(event: AssistantMessageEvent, signal: AbortSignal) -> None:
        if isinstance(event, TextDelta) and event.delta == ", wor":
            signal.abort("stop")

    said = Says(content=(THOUGHT, HELLO), fault="silent", in_the_middle=True)
    with playing(dialect, said) as stage:
        events = stream(stage.provider, on_event=abort)

    message = answer(events)
    assert isinstance(events[-1], Failed)
    assert (message.stop_reason, message.error) == ("aborted", None)
    assert unsigned(message.content) == (THOUGHT, TextContent(text="Hello, wor"))


@every
def test_an_abort_before_the_answer_ends_the_wait_for_it(dialect: Dialect) -> None:
    said = Says(content=(HELLO,), fault="overloaded")

    with playing(dialect, said) as stage:
        events = stream(stage.provider, on_event=lambda event, signal: signal.abort("stop"))

    message = answer(events)
    assert (in_words(events), message.stop_reason, message.content) == (["start", "error"], "aborted", ())


@each_api
def test_an_abort_does_not_wait_for_a_server_that_says_nothing(dialect: Dialect) -> None:
    with ChatServer([Reply(before=[Hang()])]) as server:
        started = time.monotonic()
        events = stream(dialect.open(server), on_event=lambda event, signal: signal.abort("stop"))

    assert (answer(events).stop_reason, time.monotonic() - started < 2) == ("aborted", True)


# Failures

TWICE = msgspec.structs.replace(QUICK, tries=2)
PATIENCE: dict[Fault, float] = {fault: 0.15 if fault == "silent" else 5.0 for fault in FAILURES}


@every
@pytest.mark.parametrize(("fault", "in_the_middle"), FAULTS)
def test_a_failure_is_of_the_same_kind_everywhere(
    dialect: Dialect, fault: Fault, in_the_middle: bool
) -> None:
    kind, again = FAILURES[fault]
    said = Says(content=(HELLO,), fault=fault, in_the_middle=in_the_middle)

    with playing(dialect, said, idle_timeout=PATIENCE[fault], retry=TWICE) as stage:
        events = stream(stage.provider)

    message = answer(events)
    assert isinstance(events[-1], Failed)
    error = message.error
    assert error is not None
    assert (error.kind, error.retryable, error.attempts) == (kind, again, 2 if again else 1)
    assert (message.stop_reason, message.error_message) == ("error", error.message)
    assert unsigned(message.content) == ((HELLO,) if in_the_middle else ())
    assert [event.kind for event in events if isinstance(event, Retry)] == [kind] * (error.attempts - 1)
    assert len(stage.bodies) == (error.attempts if stage.server else 0)


@every
@pytest.mark.parametrize(("fault", "in_the_middle"), PASSING)
def test_a_failure_that_passes_leaves_nothing_behind_and_is_not_counted_again(
    dialect: Dialect, fault: Fault, in_the_middle: bool
) -> None:
    said = Says(content=(THOUGHT, HELLO), fault=fault, times=1, in_the_middle=in_the_middle)

    events = played(dialect, said, said, idle_timeout=PATIENCE[fault], retry=TWICE)

    first, second = [event.message for event in events if isinstance(event, Done)]
    assert unsigned(first.content) == unsigned(second.content) == said.content
    assert (first.usage.input, first.usage.output) == (12, 3)
    retries = [(event.attempt, event.kind) for event in events if isinstance(event, Retry)]
    assert retries == [(1, FAILURES[fault][0])] * 2


@every
@pytest.mark.parametrize("fault", ["overloaded", "broken", "cut", "silent"])
def test_nothing_is_asked_again_once_a_call_is_complete(dialect: Dialect, fault: Fault) -> None:
    said = Says(content=(HELLO, READ, LIST), fault=fault, in_the_middle=True)

    message = answer(played(dialect, said, idle_timeout=PATIENCE[fault]))

    assert message.error is not None
    assert (message.error.kind, message.error.attempts) == (FAILURES[fault][0], 1)
    assert [call.name for call in message.tool_calls] == ["read", "ls"]


# Usage and cost

COST = ModelCost(
    input=3, output=15, cache_read=0.3, cache_write=3.75,
    tiers=(CostTier(input_tokens_above=200_000, input=6, output=22.5, cache_read=0.6, cache_write=7.5),),
)  # fmt: skip
COUNTED = {
    "nothing": (Usage(), "0"),
    "plain": (Usage(input=100_000, output=20_000), "0.60"),
    "cached": (Usage(input=20_000, cache_read=100_000, output=1_000, reasoning=600), "0.105"),
    "at the threshold": (Usage(input=200_000, output=1_000), "0.615"),
    "above it": (Usage(input=50_001, cache_read=150_000, output=2_000, reasoning=2_000), "0.435006"),
}
WRITTEN = {
    "written": (Usage(input=10, cache_read=100_000, cache_write=20_000, output=1_000), "0.12003"),
    "written above": (Usage(input=10, cache_read=100_000, cache_write=150_000, output=1_000), "1.20756"),
}


@every
@pytest.mark.parametrize("case", [*COUNTED, *WRITTEN])
def test_tokens_and_their_price_are_the_same_everywhere(dialect: Dialect, case: str) -> None:
    usage, paid = (COUNTED | WRITTEN)[case]
    if case in WRITTEN and not dialect.counts_cache_writes:
        usage, paid = Usage(input=usage.input, cache_read=usage.cache_read, output=usage.output), "0.04503"

    events = played(dialect, Says(content=(HELLO,), usage=usage), cost=COST)

    counted = answer(events).usage
    assert msgspec.structs.replace(counted, cost=None) == usage
    assert counted.cost is not None
    assert round(Decimal(counted.cost.total), 9) == Decimal(paid)
    parts = (counted.cost.input, counted.cost.output, counted.cost.cache_read, counted.cost.cache_write)
    assert counted.cost.total == sum(parts)


@each_api
def test_a_model_without_a_price_costs_nobody_knows_what(dialect: Dialect) -> None:
    message = answer(played(dialect, Says(content=(HELLO,))))

    assert message.usage == Usage(input=12, output=3)


# Requests


@each_api
def test_a_schema_reaches_the_model_whole(dialect: Dialect) -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": False}
    schema = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/point"}, "how": {"anyOf": [{"type": "null"}, {"const": 1}]}},
        "required": ["at"],
        "additionalProperties": False,
        "$defs": {"point": point},
    }

    async def execute(*_: Any) -> AgentToolResult:
        return text_result("never")

    tool = AgentTool(name="mark", description="Marks.", parameters=schema, execute=execute)
    with playing(dialect, Says(content=(HELLO,))) as stage:
        stream(stage.provider, context(tools=(tool,)))

    body = dialect.checked(stage.bodies[0])
    assert json.dumps(schema, sort_keys=True) in json.dumps(body["tools"], sort_keys=True)


def numbered(number: int) -> ImageContent:
    return ImageContent(data=f"aGk{number}", mime_type="image/png")


@each_api
@pytest.mark.parametrize("sees", [True, False])
def test_images_reach_the_model_or_it_is_told_why_not(dialect: Dialect, sees: bool) -> None:
    flags = dialect.settings.get("compat", {}) | {"supports_images": sees}
    with playing(dialect, Says(content=TURN), Says(content=(HELLO,)), compat=flags) as stage:
        first = answer(stream(stage.provider))
        results = [
            ToolResultMessage(
                tool_call_id=call.id,
                tool_name=call.name,
                content=(TextContent(text="a shot"), numbered(at)),
                is_error=at == 1,
                timestamp=3,
            )
            for at, call in enumerate(first.tool_calls)
        ]
        asked = UserMessage(content=(TextContent(text="And this?"), numbered(2)), timestamp=4)
        stream(stage.provider, context(user(), first, *results, asked))

    body = json.dumps(dialect.checked(stage.bodies[1]))
    found = [body.count(f"aGk{number}") for number in range(3)]
    assert found == ([1, 1, 1] if sees else [0, 0, 0])
    assert body.count("[image/png left out: ") == (0 if sees else 3)
    assert body.count("a shot") == 2


@each_api
def test_what_the_model_wrote_goes_back_to_it_over_one_connection(dialect: Dialect) -> None:
    with playing(dialect, *[Says(content=TURN)] * 2, Says(content=(HELLO,))) as stage:
        wrote = answer(stream(stage.provider))
        results = [
            ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=(), timestamp=3)
            for call in wrote.tool_calls
        ]
        once = [user(), wrote, *results, user("And?")]
        stream(stage.provider, context(*once), context(*once, wrote, *results))

    assert stage.server is not None
    assert [request.connection for request in stage.server.requests] == [1, 2, 2]
    for number, body in enumerate(stage.bodies):
        text = json.dumps(dialect.checked(body))
        calls, answered = dialect.ids(body)
        assert calls == answered == ["call_a", "call_b"] * number
        assert [mark for mark in dialect.marks if mark not in text] == ([] if number else [*dialect.marks])


def test_every_api_is_among_them() -> None:
    with ChatServer([]) as server:
        spoken = [dialect.open(server).model.api for dialect in APIS]

    assert spoken == list(apis.APIS)
