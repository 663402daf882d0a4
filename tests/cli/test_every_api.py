"""What ends a run ends it in the same way over each of the four APIs (notes B44–B62)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from agentcore_runner.core.messages import TextContent, ThinkingContent, ToolCall
from tests.providers.every_api import APIS, Dialect, Fault, Says
from tests.runner import Ended
from tests.servers.chat_server import ChatServer
from tests.servers.four_apis import MODELS, outcomes, run_each

DIALECTS: dict[str, Dialect] = dict(zip(MODELS, APIS, strict=True))
HALF = Says(content=(TextContent(text="Half an ans"),))
OK = Says(content=(ThinkingContent(thinking="Hm."), TextContent(text="ok")))
TOUCH = ToolCall(id="call_1", name="bash", arguments={"command": "touch ran"})
AGENT = "tools: [bash]\nlimits: {idle_timeout: 1s}\n"


def run_with(folder: Path, answers: Sequence[Says]) -> tuple[dict[str, Ended], dict[str, list[Any]]]:
    """A run over each API whose model gives these answers, and what each of them asked."""
    with ExitStack() as stack:
        servers = {
            api: stack.enter_context(
                ChatServer(list(chain.from_iterable([dialect.replies(said) for said in answers])))
            )
            for api, dialect in DIALECTS.items()
        }
        urls = {api: servers[api].url.removesuffix("/v1") + dialect.path for api, dialect in DIALECTS.items()}
        done = run_each(folder, urls.__getitem__, "go", agent=AGENT)
        return done, {api: server.bodies for api, server in servers.items()}


def passing(fault: Fault, *content: Any, within: bool = False) -> Says:
    """An answer that comes after a fault."""
    return Says(content=content, fault=fault, times=1, in_the_middle=within)


def test_what_passes_is_a_retry_each_time_and_the_run_is_done_when_its_last_turn_is(tmp_path: Path) -> None:
    turns = [
        Says(content=(TOUCH,), fault="rate_limited", times=2),
        passing("overloaded", OK.content[0], TOUCH),
        passing("dropped", TextContent(text="I look again."), TOUCH),
        passing("silent", TextContent(text="And again."), TOUCH),
        passing("cut", *OK.content, within=True),
    ]

    done, bodies = run_with(tmp_path, turns)

    for api, one in done.items():
        overloaded = DIALECTS[api].errors["overloaded"][0]
        tries = [(record["attempt"], record["status"]) for record in one.of_type("retry")]
        assert (one.code, one.result["answer"], one.result["turns"]) == (0, "ok", 5)
        assert tries == [(1, 429), (2, 429), (1, overloaded), (1, None), (1, None), (1, None)]
        assert [error["class"] for error in one.result["errors"]] == [
            "rate_limit", "rate_limit", "server", "connection", "timeout", "stream",
        ]  # fmt: skip
        assert len(bodies[api]) == 11
        assert (one.cwd / "ran").exists()


@pytest.mark.parametrize(
    ("said", "code", "requests", "kinds"),
    [
        (Says(fault="rate_limited"), 5, 4, ["rate_limit"] * 4),
        (Says(fault="bad_key"), 6, 1, ["auth"]),
        (Says(content=HALF.content, fault="too_long", in_the_middle=True), 10, 1, ["overflow"]),
        (Says(content=HALF.content, stop="length"), 8, 1, []),
        (Says(content=HALF.content, stop="refused"), 9, 1, []),
        (Says(stop="refused"), 9, 1, []),
        (Says(content=(TOUCH, TOUCH), fault="broken", in_the_middle=True), 4, 1, ["stream"]),
    ],
    ids=["rate limit", "key", "overflow", "cut", "refusal", "silent refusal", "broken after calls"],
)
def test_each_end_has_its_code_and_is_asked_for_no_more_often_than_makes_sense(
    tmp_path: Path, said: Says, code: int, requests: int, kinds: list[str]
) -> None:
    done, bodies = run_with(tmp_path, [said, OK])

    assert {api: (found, answer) for api, (found, _, answer) in outcomes(done).items()} == dict.fromkeys(
        MODELS, (code, None)
    )
    for api, one in done.items():
        assert len(bodies[api]) == requests
        assert [error["class"] for error in one.result["errors"]] == kinds
        assert [record["attempt"] for record in one.of_type("retry")] == list(range(1, requests))
        assert not (one.cwd / "ran").exists()
