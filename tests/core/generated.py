"""Hypothesis strategies: any value of the vocabulary, and plans of whole conversations."""

from __future__ import annotations

import enum
import functools
import json
import types
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as hs

from agentcore_runner.core.messages import StopReason, ToolCall

ODD = ["\x00", "\n", "\r\n", "\x85", "\u2028", "\u2029", "\ufeff", '"', "\\", "é", "漢", "😀", "a", "b", " "]
HALVES = ["\ud800", "\udc00"]
"""Halves of a surrogate pair, which no UTF-8 can hold."""

TEXTS = hs.lists(hs.sampled_from(ODD) | hs.characters(codec="utf-8"), max_size=6).map("".join)
ANY_TEXTS = hs.lists(hs.sampled_from([*ODD, *HALVES]), max_size=6).map("".join) | TEXTS
FLOATS = hs.floats(-1e300, 1e300)  # so that sums stay finite, which is all that JSON can say


def json_values(texts: hs.SearchStrategy[str]) -> hs.SearchStrategy[Any]:
    """Whatever JSON can say."""
    scalars = hs.none() | hs.booleans() | hs.integers() | FLOATS | texts
    return hs.recursive(
        scalars,
        lambda inner: hs.lists(inner, max_size=3) | hs.dictionaries(texts, inner, max_size=3),
        max_leaves=4,
    )


@functools.cache
def values(kind: Any) -> hs.SearchStrategy[Any]:
    """Values of a type of the vocabulary, with every field given: what is added to it later is covered."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.name: values(field.type) for field in msgspec.structs.fields(kind)}
        return hs.builds(kind, **fields)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return hs.sampled_from(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return hs.one_of([values(one) for one in inner])
    if origin is Literal:
        return hs.sampled_from(inner)
    if origin in (tuple, list):
        return hs.lists(values(inner[0]), max_size=2).map(origin)
    if origin is dict:
        return hs.dictionaries(values(inner[0]), values(inner[1]), max_size=2)
    return _BY_TYPE[kind]


_BY_TYPE: dict[Any, hs.SearchStrategy[Any]] = {
    str: TEXTS,
    int: hs.integers(),
    float: FLOATS,
    bool: hs.booleans(),
    type(None): hs.none(),
    Any: json_values(TEXTS),
}


# Plans of conversations


@dataclass(frozen=True)
class Pieces:
    """A block of text or thinking, as the pieces it arrives in."""

    kind: Literal["text", "thinking"]
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class Called:
    """A tool call; `cut` is what is missing at the end of its JSON, which makes it malformed."""

    id: str
    name: str
    arguments: dict[str, Any]
    cut: bool = False

    @property
    def call(self) -> ToolCall:
        if self.cut:
            return ToolCall(id=self.id, name=self.name, raw_arguments=self.json[:-1])
        return ToolCall(id=self.id, name=self.name, arguments=self.arguments)

    @property
    def json(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False)  # a pair of half characters stays two


Block: TypeAlias = Pieces | Called
Flaw: TypeAlias = Literal[
    "", "no start", "goes on after its end", "ends early", "raises", "provider error", "is cancelled",
    "retries", "aborts", "aborts and says so", "aborts and hangs",
]  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """One answer: its blocks, in turns where they are `mixed`, and what goes wrong after `at` events."""

    blocks: tuple[Block, ...] = ()
    stop: StopReason = "done"
    mixed: bool = False
    flaw: Flaw = ""
    at: int = 0


Deed: TypeAlias = Literal["abort", "raise", "steer", "follow up", "pause", "clear", "change modes"]
Hook: TypeAlias = Literal[
    "transform_context", "convert_to_llm", "before_tool_call", "after_tool_call",
    "should_stop_after_turn", "prepare_next_turn",
]  # fmt: skip
HookDeed: TypeAlias = Literal["abort", "raise", "steer", "pause", "yes", "abort and hang"]


@dataclass(frozen=True)
class Plan:
    """A conversation to play. `deeds` happen as the nth event is heard, `hooks` as one is asked for the nth
    time; `sink_fails` and `cancelled` name an event too."""

    replies: tuple[Reply, ...]
    sequential: bool = False
    all_steering: bool = False
    all_follow_ups: bool = False
    queued: tuple[Literal["steer", "follow up"], ...] = ()
    deeds: tuple[tuple[int, Deed], ...] = ()
    hooks: tuple[tuple[Hook, int, HookDeed], ...] = ()
    sink_fails: int | None = None
    cancelled: int | None = None


def of(kind: Any, *usual: Any) -> hs.SearchStrategy[Any]:
    """One of a Literal's values, `usual` ones more often."""
    return hs.sampled_from([*usual, *get_args(kind)])


TOOLS = (
    "says", "shows", "fails", "raises", "returns nothing", "is cancelled", "alone", "picky", "ends",
    "aborts", "aborts and is deaf", "unknown",
)  # fmt: skip
CALMER_TOOLS = TOOLS[:9]
PIECES = hs.lists(ANY_TEXTS, max_size=3).map(tuple)
TEXT_BLOCKS = hs.builds(Pieces, of(Literal["text", "thinking"]), PIECES)


def calls(names: tuple[str, ...] = TOOLS) -> hs.SearchStrategy[Called]:
    """Calls, whose ids are often missing or the same again."""
    ids = hs.sampled_from(["", "a", "b", "call_1"])
    arguments = hs.just({}) | hs.fixed_dictionaries({"x": json_values(ANY_TEXTS)})
    cut = hs.sampled_from([False, False, False, True])
    return hs.builds(Called, ids, hs.sampled_from(names), arguments, cut)


def replies(*, calm: bool = False) -> hs.SearchStrategy[Reply]:
    """Answers; `calm` ones abort nothing, so that the run goes on as far as it can."""
    flaws = of(Flaw).filter(lambda flaw: "aborts" not in flaw) if calm else of(Flaw)
    return hs.builds(
        Reply,
        blocks=hs.lists(TEXT_BLOCKS | calls(CALMER_TOOLS if calm else TOOLS), max_size=4).map(tuple),
        stop=of(StopReason, "done", "done", "done", "done"),
        mixed=hs.booleans(),
        flaw=hs.just("") | hs.just("") | flaws,
        at=hs.integers(0, 12),
    )


def plans(*, calm: bool = False, most_replies: int = 4) -> hs.SearchStrategy[Plan]:
    """Conversations. In `calm` ones nobody aborts, and the run is not broken from outside."""
    deeds = of(Deed).filter(lambda deed: deed != "abort") if calm else of(Deed)
    hook_deeds = of(HookDeed, "raise").filter(lambda deed: not calm or "abort" not in deed)
    hook_names = of(Hook, "prepare_next_turn", "prepare_next_turn", "should_stop_after_turn")
    never = hs.none() if calm else hs.none() | hs.none() | hs.none() | hs.integers(0, 30)
    return hs.builds(
        Plan,
        replies=hs.lists(replies(calm=calm), min_size=1, max_size=most_replies).map(tuple),
        sequential=hs.booleans(),
        all_steering=hs.booleans(),
        all_follow_ups=hs.booleans(),
        queued=hs.lists(of(Literal["steer", "follow up"]), max_size=4).map(tuple),
        deeds=hs.lists(hs.tuples(hs.integers(0, 40), deeds), max_size=5).map(tuple),
        hooks=hs.lists(hs.tuples(hook_names, hs.sampled_from([0, 0, 0, 1, 2]), hook_deeds), max_size=4).map(
            tuple
        ),
        sink_fails=never,
        cancelled=never,
    )
