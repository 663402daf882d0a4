"""AIMock, a server of others: conversations over each of the four APIs, and what can go wrong in them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runner import Ended
from tests.servers.aimock import Aimock
from tests.servers.four_apis import MODELS, for_each, outcomes, run_each

pytestmark = pytest.mark.node

TURN = {"prompt_tokens": 100, "completion_tokens": 20}
ANSWER = 'They differ: \u2028 \N{GRINNING FACE}\N{GRINNING FACE} a\N{GRINNING FACE} "quoted" \\u0041 äöü.'
"""AIMock cuts between UTF-16 units, so that pieces end in half a character."""
PLAIN = {"content": ANSWER, "usage": TURN}
GOOGLE = MODELS["google-generative-ai"].partition("/")[2]


@pytest.fixture(scope="module")
def aimock() -> Iterator[Aimock]:
    with Aimock.running() as server:
        yield server


def fixtures(
    response: dict[str, Any], more: dict[str, Any] | None = None, **match: Any
) -> list[dict[str, Any]]:
    """The response where a request is so. AIMock ends Gemini's calls with a reason that Gemini does not have,
    unless it is told."""
    anywhere = {"match": match, "response": response, **(more or {})}
    if not {"toolCalls", "blocks"} & response.keys():
        return [anywhere]
    google = {"match": {**match, "model": GOOGLE}, "response": {**response, "finishReason": "stop"}}
    return [{**anywhere, **google}, anywhere]


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "arguments": arguments}


def error(status: int, **more: Any) -> dict[str, Any]:
    return {"error": {"message": "It went wrong.", "type": "some_error"}, "status": status, **more}


def answers(done: Ended) -> list[dict[str, Any]]:
    """What the model said, by the record."""
    messages = [record["message"] for record in done.of_type("message_end")]
    return [message for message in messages if message["role"] == "assistant"]


def kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in message["content"]]


CONVERSATION = [
    *fixtures(PLAIN, toolResultContains="3rd"),
    *fixtures(
        {
            "reasoning": "One more is needed.",
            "reasoningSignature": "sig-2",
            "toolCalls": [call("call_c", "read", path="three")],
            "usage": TURN,
        },
        toolResultContains="2nd",
    ),
    *fixtures(
        {
            "reasoning": "Both must be read first.",
            "reasoningSignature": "sig-1",
            "redactedThinking": ["opaque"],
            "content": "I read both.",
            "toolCalls": [call("call_a", "read", path="one"), call("call_b", "read", path="two")],
            "usage": TURN,
        },
        userMessage="Compare",
    ),
]
"""Thinking and two calls at once; thinking and another call; an answer."""
Conversed = tuple[dict[str, Ended], dict[str, list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def conversed(aimock: Aimock, tmp_path_factory: pytest.TempPathFactory) -> Conversed:
    """The conversation over each API: the run, and the requests as they were sent."""
    aimock.plays(*CONVERSATION)
    done = run_each(
        tmp_path_factory.mktemp("conversation"),
        aimock.base_url,
        "Compare them.",
        agent="tools: [read]\nthinking_level: low\n",
        one="1st",
        two="2nd",
        three="3rd",
    )
    return done, aimock.sent()


def test_a_conversation_of_three_turns_ends_with_its_answer(conversed: Conversed) -> None:
    done, sent = conversed

    assert outcomes(done) == for_each((0, [], ANSWER))
    assert {api: len(sent[api]) for api in MODELS} == for_each(3)
    counted = {api: (one.result["turns"], one.result["tool_calls"]) for api, one in done.items()}
    assert counted == for_each((3, 3))


def test_usage_is_the_sum_of_the_turns(conversed: Conversed) -> None:
    done, _ = conversed
    turns = {"input": 300, "output": 60, "cache_read": 0, "cache_write": 0, "total_tokens": 360}

    usage = {api: {name: one.result["usage"][name] for name in turns} for api, one in done.items()}

    assert usage == for_each(turns)


def test_thinking_comes_before_what_it_led_to(conversed: Conversed) -> None:
    done, _ = conversed
    said = ["thinking", "text", "tool", "tool"]

    first = {api: kinds(answers(one)[0]) for api, one in done.items()}

    assert first == for_each(said) | {"anthropic-messages": ["thinking", *said]}
    assert {api: kinds(answers(one)[1]) for api, one in done.items()} == for_each(["thinking", "tool"])


def test_chat_completions_sends_thinking_back_under_its_name(conversed: Conversed) -> None:
    messages = conversed[1]["openai-completions"][-1]["messages"]

    assert [
        (message["reasoning_content"], [call["id"] for call in message["tool_calls"]])
        for message in messages
        if message["role"] == "assistant"
    ] == [("Both must be read first.", ["call_a", "call_b"]), ("One more is needed.", ["call_c"])]
    assert [
        (message["tool_call_id"], message["content"]) for message in messages if message["role"] == "tool"
    ] == [("call_a", "1st"), ("call_b", "2nd"), ("call_c", "3rd")]


def test_responses_sends_reasoning_back_with_what_is_encrypted(conversed: Conversed) -> None:
    items = conversed[1]["openai-responses"][-1]["input"]
    thoughts = [item for item in items if item.get("type") == "reasoning"]

    assert [[part["text"] for part in item["summary"]] for item in thoughts] == [
        ["Both must be read first."],
        ["One more is needed."],
    ]
    # AIMock encrypts an item's own id.
    assert [base64.b64decode(item["encrypted_content"]).decode() for item in thoughts] == [
        f"aimock-encrypted-reasoning:{item['id']}" for item in thoughts
    ]
    calls = ["reasoning", "message", "function_call", "function_call"]
    results = ["function_call_output", "function_call_output"]
    assert [item.get("type", "message") for item in items] == [
        *["message", *calls, *results],
        *["reasoning", "function_call", "function_call_output"],
    ]


def test_anthropic_messages_sends_thinking_back_with_its_signature(conversed: Conversed) -> None:
    messages = conversed[1]["anthropic-messages"][-1]["messages"]
    said = [message["content"] for message in messages if message["role"] == "assistant"]

    assert [[block for block in blocks if "thinking" in block["type"]] for blocks in said] == [
        [
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "thinking", "thinking": "Both must be read first.", "signature": "sig-1"},
        ],
        [{"type": "thinking", "thinking": "One more is needed.", "signature": "sig-2"}],
    ]
    assert [[block["id"] for block in blocks if block["type"] == "tool_use"] for blocks in said] == [
        ["call_a", "call_b"],
        ["call_c"],
    ]


def test_google_sends_thoughts_and_results_back_in_order(conversed: Conversed) -> None:
    contents = conversed[1]["google-generative-ai"][-1]["contents"]

    # AIMock gives a thought no signature; the tests of the adapter have some.
    assert [
        [next(iter(part)) if "thought" not in part else "thought" for part in turn["parts"]]
        for turn in contents
    ] == [
        ["text"],
        ["thought", "text", "functionCall", "functionCall"],
        ["functionResponse", "functionResponse"],
        ["thought", "functionCall"],
        ["functionResponse"],
    ]


def test_text_between_calls_keeps_its_place(aimock: Aimock, tmp_path: Path) -> None:
    blocks = [
        {"type": "toolCall", **call("call_a", "read", path="one")},
        {"type": "text", "text": "And the other."},
        {"type": "toolCall", **call("call_b", "read", path="two")},
    ]
    aimock.plays(
        *fixtures(PLAIN, toolResultContains="2nd"), *fixtures({"blocks": blocks}, userMessage="Read")
    )

    done = run_each(tmp_path, aimock.base_url, "Read them.", agent="tools: [read]\n", one="1st", two="2nd")

    assert outcomes(done) == for_each((0, [], ANSWER))
    said = {api: [kind for kind in kinds(answers(one)[0]) if kind != "thinking"] for api, one in done.items()}
    assert said == for_each(["tool", "text", "tool"])


def test_large_arguments_arrive_whole(aimock: Aimock, tmp_path: Path) -> None:
    content = "A line \u2028 with \N{GRINNING FACE} in it.\n" * 2000
    made = {"toolCalls": [call("call_a", "write", path="out.txt", content=content)]}
    aimock.plays(
        *fixtures(PLAIN, toolResultContains="out.txt"),
        *fixtures(made, {"chunkSize": 61}, userMessage="Write"),
    )

    done = run_each(tmp_path, aimock.base_url, "Write it.", agent="tools: [write]\n")

    assert outcomes(done) == for_each((0, [], ANSWER))
    written = {api: (one.cwd / "out.txt").read_text(encoding="utf-8") == content for api, one in done.items()}
    assert written == for_each(True)


def test_errors_are_waited_out(aimock: Aimock, tmp_path: Path) -> None:
    troubles = [error(429, retryAfter=1), error(500)]
    aimock.plays(
        *[
            one
            for number, response in enumerate([*troubles, PLAIN])
            for one in fixtures(response, userMessage="Hi", sequenceIndex=number)
        ]
    )

    done = run_each(tmp_path, aimock.base_url, "Hi.")

    assert outcomes(done) == for_each((0, [429, 500], ANSWER))
    assert {api: one.of_type("retry")[0]["delay_s"] for api, one in done.items()} == for_each(1)
    assert {api: aimock.statuses(api) for api in MODELS} == for_each([429, 500, 200])


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ({"chaos": {"dropRate": 1}}, 500),
        ({"chaos": {"malformedRate": 1}}, None),
        ({"chaos": {"disconnectRate": 1}}, None),
        ({"truncateAfterChunks": 4, "latency": 20}, None),
        ({"streamingProfile": {"ttft": 0, "tps": 0.1}}, None),
    ],
    ids=["dropped", "half a document", "no answer", "broken off", "silent"],
)
def test_an_answer_that_is_none_is_asked_for_again(
    aimock: Aimock, tmp_path: Path, fault: dict[str, Any], status: int | None
) -> None:
    aimock.plays(
        *fixtures(PLAIN, fault, userMessage="Hi", sequenceIndex=0),
        *fixtures(PLAIN, userMessage="Hi", sequenceIndex=1),
    )

    done = run_each(tmp_path, aimock.base_url, "Hi.", agent="limits: {idle_timeout: 2s}\n")

    assert outcomes(done) == for_each((0, [status], ANSWER))
    assert {api: len(aimock.statuses(api)) for api in MODELS} == for_each(2)


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (error(400), 4),
        (error(401), 6),
        ({"content": " "}, 7),
        ({"content": " ", "reasoning": "I had better say nothing."}, 7),
    ],
    ids=["bad request", "no key", "blank", "only thinking"],
)
def test_what_another_try_cannot_change_ends_the_run(
    aimock: Aimock, tmp_path: Path, response: dict[str, Any], code: int
) -> None:
    aimock.plays(*fixtures(response, userMessage="Hi"))

    done = run_each(tmp_path, aimock.base_url, "Hi.")

    assert outcomes(done) == for_each((code, [], None))
    assert {api: one.result["retryable"] for api, one in done.items()} == for_each(False)


@pytest.mark.parametrize(
    ("reason", "anthropic", "code"), [("length", "length", 8), ("content_filter", "refusal", 9)]
)
def test_an_answer_that_was_stopped_is_none(
    aimock: Aimock, tmp_path: Path, reason: str, anthropic: str, code: int
) -> None:
    # Over Responses AIMock leaves out what says why an answer is incomplete.
    apis = [api for api in MODELS if api != "openai-responses"]
    model = MODELS["anthropic-messages"].partition("/")[2]
    half = {"content": "Half an"}
    aimock.plays(
        *fixtures({**half, "finishReason": anthropic}, model=model),
        *fixtures({**half, "finishReason": reason}, userMessage="Hi"),
    )

    done = run_each(tmp_path, aimock.base_url, "Hi.", apis=apis)

    assert outcomes(done) == dict.fromkeys(apis, (code, [], None))
    assert {api: one.result["partial_answer"] for api, one in done.items()} == dict.fromkeys(apis, "Half an")
