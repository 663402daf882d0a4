"""What every API makes of an answer that lacks its figures, or has more than its end."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore_runner.core.messages import Usage
from agentcore_runner.core.model import ModelCost
from agentcore_runner.core.stream import Retry
from tests.providers.doubles import answer, opened, stream, told
from tests.servers.chat_server import DONE, SSE, ChatServer, Drop, Reply, chunk, json_reply, sse, usage

COST = ModelCost(input=1, output=2)
MODELS = {"chat": "openai/x", "responses": "openai/x", "anthropic": "anthropic/x", "google": "google/x"}
Pieces = list[dict[str, Any]]


def text_of(api: str, counted: dict[str, Any] | None) -> Pieces:
    """The answer `Hi`, with these figures."""
    figures: dict[str, Any] = {} if counted is None else {"usage": counted}
    match api:
        case "chat":
            choice = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}
            return [{"choices": [choice]}, *([{"choices": [], **figures}] if figures else [])]
        case "responses":
            item = {"type": "message", "id": "i", "content": [{"type": "output_text", "text": "Hi"}]}
            response = {"id": "r", "status": "completed", "output": [item], **figures}
            return [{"type": "response.completed", "response": response}]
        case "anthropic":
            block = {"type": "text", "text": "Hi"}
            return [
                {"type": "message_start", "message": {"id": "m", **figures}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
                {"type": "message_stop"},
            ]
    candidate = {"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
    return [{"candidates": [candidate], **({"usageMetadata": counted} if counted else {})}]


def asked(api: str, *replies: Reply, **settings: Any) -> Any:
    named = {"api": "openai-responses"} if api == "responses" else {}
    with ChatServer(replies) as server:
        return stream(opened(server.url, MODELS[api], cost=COST, **named, **settings))


def streamed(pieces: Pieces) -> Reply:
    return Reply([sse(piece) for piece in pieces], headers=SSE)


@pytest.mark.parametrize("api", MODELS)
def test_answer_without_figures_has_an_unknown_cost(api: str) -> None:
    message = answer(asked(api, streamed(text_of(api, None))))

    assert (message.text, message.usage) == ("Hi", Usage())
    assert message.usage.cost is None


@pytest.mark.parametrize(
    ("api", "names"),
    [
        ("chat", ("prompt_tokens", "completion_tokens")),
        ("responses", ("input_tokens", "output_tokens")),
        ("anthropic", ("input_tokens", "output_tokens")),
        ("google", ("promptTokenCount", "candidatesTokenCount")),
    ],
)
def test_negative_figures_count_as_none(api: str, names: tuple[str, str]) -> None:
    message = answer(asked(api, streamed(text_of(api, {names[0]: -5, names[1]: 3}))))

    assert (message.usage.input, message.usage.output) == (0, 3)
    assert message.usage.cost is not None
    assert message.usage.cost.total == pytest.approx(6e-6)


def test_tokens_of_an_answer_that_broke_off_are_counted() -> None:
    pieces = text_of("anthropic", {"input_tokens": 1_000_000, "output_tokens": 1})
    broken = Reply([*[sse(piece) for piece in pieces[:2]], Drop()], headers=SSE)

    events = asked("anthropic", *[broken] * 4)

    spent = [event.usage for event in events if isinstance(event, Retry)]
    assert [each and each.input for each in spent] == [1_000_000] * 3
    assert answer(events).usage == spent[0]
    assert spent[0] is not None
    assert spent[0].cost is not None
    assert spent[0].cost.total == pytest.approx(1.000002)


def test_of_several_choices_only_the_first_is_the_answer() -> None:
    both = {
        "choices": [
            {"index": 0, "delta": {"content": "A"}},
            {"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"},
        ]
    }
    last = {"choices": [{"index": 0, "delta": {"content": "C"}, "finish_reason": "stop"}]}

    assert answer(asked("chat", streamed([both, last]))).text == "AC"


@pytest.mark.parametrize("api", ["chat", "anthropic", "google"])
def test_error_after_the_end_of_an_answer_takes_nothing_from_it(api: str) -> None:
    late = {"error": {"message": "late", "code": 500}, "type": "error"}
    pieces = text_of(api, None)
    if api == "anthropic":
        pieces = pieces[:-1]

    events = asked(api, streamed([*pieces, late]))

    assert told(events)[-1] == "done"
    assert answer(events).text == "Hi"


def test_error_with_a_finish_reason_that_says_so_is_one() -> None:
    broken = chunk({"content": "H"}, "error")

    events = asked("chat", *[Reply([broken, sse({"error": {"message": "late", "code": 400}})])])

    assert answer(events).stop_reason == "error"


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"error: unauthorized", "auth", "error: unauthorized"),
        (b'"Unauthorized, go away"', "auth", "Unauthorized, go away"),
        (b"this is no model server", "server", "this is no model server"),
        (b": hello\nno such thing\n\n", "server", "no such thing"),
    ],
)
def test_text_where_an_answer_belongs_is_told_and_not_asked_for_again(
    api: str, body: bytes, kind: str, words: str
) -> None:
    pieces = [body[at : at + 1] for at in range(len(body))]

    error = answer(asked(api, Reply(pieces, headers={"content-type": "text/plain"}))).error

    assert error is not None
    assert (error.kind, error.attempts) == (kind, 1)
    assert error.message == f"The server reported an error in its answer: {words}"


def test_text_that_speaks_of_a_busy_server_is_a_reason_to_ask_again() -> None:
    busy = Reply([b"upstream connect error"], headers={"content-type": "text/plain"})
    good = Reply([chunk({"content": "Hi"}, "stop"), usage(), DONE])

    assert told(asked("chat", busy, good))[:2] == ["start", ("retry", 1, 500)]


def test_keys_in_such_a_text_are_hidden() -> None:
    body = b"unauthorized: sk-SECRET1"
    reply = Reply([body], headers={"content-type": "text/plain"})

    error = answer(asked("chat", reply, env={"OPENAI_API_KEY": "sk-SECRET1"})).error

    assert error is not None
    assert error.message.endswith("unauthorized: ***")


def test_headers_of_the_settings_are_hidden_wherever_a_server_repeats_them() -> None:
    headers = {
        "X-Auth": "AUTHSECRET1", "Cookie": "session=TOPSECRET1; b=2", "Subscription": "Key SUBKEY1234",
        "X-Title": "My title",
    }  # fmt: skip
    echo = "AUTHSECRET1 TOPSECRET1 SUBKEY1234 sk-a SECRETKEY My title"
    reply = json_reply({"error": {"message": echo}}, 401, {"x-request-id": "r-TOPSECRET1"})

    error = answer(asked("chat", reply, headers={**headers, "x-api-key": "sk-a SECRETKEY"})).error

    assert error is not None
    assert (error.message, error.request_id) == ("HTTP 401: *** *** *** *** My title", "r-***")


@pytest.mark.parametrize("cut", [b"d", b"dat", b"event: mes", b"\xef\xbb\xbf: ping\nda"])
def test_stream_that_is_cut_before_its_first_event_is_asked_for_again(cut: bytes) -> None:
    good = Reply([chunk({"content": "Hi"}, "stop"), usage(), DONE])

    assert told(asked("chat", Reply([cut]), good))[:2] == ["start", ("retry", 1, None)]
