"""The scripted model: what its scripts may hold, and what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentcore_runner.core.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UsageCost,
)
from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.stream import AssistantMessageEvent, Retry, StreamOptions, TextDelta, ToolCallDelta
from agentcore_runner.errors import ConfigError
from agentcore_runner.providers.catalog import Provider
from agentcore_runner.providers.script import load_script, seconds
from tests.providers.doubles import NOW_MS, answer, context, opened, stream, told, user

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scripted.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def script(folder: Path, text: str) -> Provider:
    (folder / "s.yaml").write_text(text, encoding="utf-8")
    return opened(None, "scripted/s.yaml", folder=folder)


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        script(folder, text)
    return str(caught.value).splitlines()


def test_turn_is_played_in_order_and_in_chunks(folder: Path) -> None:
    provider = script(
        folder,
        "turns:\n- {thinking: Hm, text: Hello, tool_calls: [{name: read, arguments: {path: a}}], chunk: 3}",
    )

    events = stream(provider)

    assert told(events) == [
        "start",
        "thinking_start", "thinking_delta", "thinking_end",
        "text_start", "Hel", "lo", "text_end",
        "toolcall_start", *["toolcall_delta"] * 4, "toolcall_end",
        "done",
    ]  # fmt: skip
    assert "".join([event.delta for event in events if isinstance(event, ToolCallDelta)]) == '{"path":"a"}'
    message = answer(events)
    assert message.content == (
        ThinkingContent(thinking="Hm"),
        TextContent(text="Hello"),
        ToolCall(id="call_1_1", name="read", arguments={"path": "a"}),
    )
    assert message.usage == Usage(input=9, output=4, cost=UsageCost())
    assert (message.provider, message.model, provider.scripted) == ("scripted", "s.yaml", True)


def test_half_a_character_in_the_prompt_is_counted_like_any_other(folder: Path) -> None:
    events = stream(script(folder, "turns: [{text: Hello}]"), context(user("a\ud83d")))

    assert answer(events).stop_reason == "done"


def test_content_gives_blocks_in_any_order(folder: Path) -> None:
    provider = script(
        folder,
        """
        turns:
        - content:
          - text: a
          - tool_call: {name: ls, id: mine}
          - thinking: b
          - text: c
          stop_reason: length
          usage: {input: 5, output: 6}
        """,
    )

    message = answer(stream(provider))

    assert message.content == (
        TextContent(text="a"),
        ToolCall(id="mine", name="ls"),
        ThinkingContent(thinking="b"),
        TextContent(text="c"),
    )
    assert (message.stop_reason, message.usage.input, message.usage.output) == ("length", 5, 6)


def test_raw_arguments_are_sent_as_they_stand(folder: Path) -> None:
    provider = script(folder, "turns:\n- tool_calls: [{name: read, raw_arguments: '{\"path\": }'}]")

    assert answer(stream(provider)).tool_calls == (
        ToolCall(id="call_1_1", name="read", raw_arguments='{"path": }'),
    )


def test_turns_follow_each_other_and_end_with_an_error(folder: Path) -> None:
    provider = script(folder, "turns:\n- {text: a, repeat: 2}\n- text: b")

    events = stream(provider, *[context()] * 4)

    assert [event.delta for event in events if isinstance(event, TextDelta)] == ["a", "a", "b"]
    error = answer(events).error
    assert error is not None
    assert (error.kind, error.attempts) == ("bad_request", 1)
    assert error.message == "the script s.yaml ends after turn 3, and another was asked for"


def test_templates_quote_results_and_prompt(folder: Path) -> None:
    provider = script(
        folder,
        """
        turns:
        - text: "{{ results | length }} {{ results[0].name }}: {{ results[1].text }} ({{ messages }})"
          tool_calls:
          - name: read
            arguments: {paths: ["{{ results[1].text }}"], deep: {is: "{{ prompt }}"}}
        """,
    )
    calls = tuple([ToolCall(id=str(number), name="ls") for number in range(2)])
    history: list[Message] = [
        user("Go"),
        AssistantMessage(content=calls, api="a", provider="p", model="m", stop_reason="done", timestamp=2),
    ]
    for number in range(2):
        content = (TextContent(text=f"file{number}"),)
        history.append(
            ToolResultMessage(tool_call_id=str(number), tool_name="ls", content=content, timestamp=3)
        )

    message = answer(stream(provider, context(*history)))

    assert message.text == "2 ls: file1 (4)"
    assert message.tool_calls[0].arguments == {"paths": ["file1"], "deep": {"is": "Go"}}


def test_template_that_fails_ends_the_request(folder: Path) -> None:
    error = answer(stream(script(folder, "turns:\n- text: '{{ results[3].text }}'"))).error

    assert error is not None
    assert error.message.startswith("the script s.yaml, turns[0]: template: ")
    assert (error.kind, error.attempts) == ("bad_request", 1)


def test_template_cannot_leave_its_sandbox(folder: Path) -> None:
    error = answer(stream(script(folder, "turns:\n- text: '{{ prompt.__class__.__mro__ }}'"))).error

    assert error is not None


def test_error_goes_through_the_retries(folder: Path) -> None:
    provider = script(folder, "turns:\n- text: Hi\n  error: {status: 503, times: 2, retry_after: 1ms}")

    events = stream(provider)

    assert told(events) == [
        "start",
        ("retry", 1, 503),
        ("retry", 2, 503),
        "text_start",
        "Hi",
        "text_end",
        "done",
    ]
    assert [event.delay_s for event in events if isinstance(event, Retry)] == [0.001, 0.001]


@pytest.mark.parametrize("error", ["status: 429", "kind: rate_limit"])
def test_end_of_a_scripted_rate_limit_is_told(folder: Path, error: str) -> None:
    provider = script(folder, f"turns:\n- error: {{{error}, retry_after: 10ms}}")

    end = answer(stream(provider)).error

    assert end is not None
    assert (end.kind, end.attempts, end.reset_at) == ("rate_limit", 4, NOW_MS / 1000 + 0.01)


def test_error_may_come_in_the_middle(folder: Path) -> None:
    provider = script(folder, "turns:\n- {text: abcdef, chunk: 2, error: {kind: stream, after: 2}}")

    message = answer(stream(provider))

    assert message.error is not None
    assert (message.text, message.error.kind, message.error.attempts) == ("abcd", "stream", 4)


def test_final_error_is_met_once(folder: Path) -> None:
    error = answer(stream(script(folder, "turns:\n- error: {status: 401, message: no such key}"))).error

    assert error is not None
    assert (error.kind, error.message, error.attempts) == ("auth", "HTTP 401: no such key", 1)


def test_delay_can_be_aborted(folder: Path) -> None:
    def abort(event: AssistantMessageEvent, signal: AbortSignal) -> None:
        if isinstance(event, TextDelta):
            signal.abort()

    provider = script(folder, "turns:\n- {text: abcdef, chunk: 2, delta_delay: 1h}")

    events = stream(provider, on_event=abort)

    assert told(events) == ["start", "text_start", "ab", "aborted"]


def test_script_may_stand_beside_the_agent(folder: Path) -> None:
    (folder / "agents").mkdir()
    script(folder / "agents", "turns: [{}]")

    assert answer(stream(opened(None, "scripted/agents/s.yaml", folder=folder))).content == ()
    with pytest.raises(ConfigError, match=r"there is no script 'x\.yaml' in"):
        opened(None, "scripted/x.yaml", folder=folder)


def test_preview_says_what_would_be_played(folder: Path) -> None:
    preview = script(folder, "turns: [{}, {}]").preview(context(), StreamOptions(signal=AbortSignal()))

    assert preview == {
        "method": "PLAY",
        "url": "scripted/s.yaml",
        "headers": {},
        "body": {"turn": 0, "turns": 2, "messages": 1},
    }


def test_all_mistakes_are_shown_with_their_lines(folder: Path) -> None:
    text = """\
turn: 3
turns:
- txt: Hi
- error: {tims: 2,
    status: 3}
- error:
    times: 1
- text: "{{ result }}"
- text: "{{ "
- tool_calls:
  - arguments: {}
- tool_calls: [{name: a, args: {}}]
- content:
  - {text: a, thinking: b}
- delay: 5 sec
- text: 5
- stop_reason: stop
- text: a
  chunk: 0
"""

    assert mistakes(folder, text) == [
        "s.yaml:1: 'turn' is not a key of a script (did you mean 'turns'?)",
        "s.yaml:3: turns[0]: 'txt' is not a key here (did you mean 'text'?)",
        "s.yaml:4: turns[1].error: 'tims' is not a key here (did you mean 'times'?)",
        "s.yaml:6: turns[2].error: an error has a status or a kind, one of them",
        "s.yaml:8: turns[3].text: template: 'result' is not known here (did you mean 'results'?); "
        "known are results, prompt, turn, messages",
        "s.yaml:9: turns[4].text: template: unexpected 'end of template'",
        "s.yaml:11: turns[5].tool_calls[0]: missing key 'name'",
        "s.yaml:12: turns[6].tool_calls[0]: 'args' is not a key here (did you mean 'arguments'?)",
        "s.yaml:14: turns[7].content[0]: a block is one of text, thinking, tool_call",
        "s.yaml:15: turns[8]: '5 sec' is no duration (write 0.5, 500ms or 30s)",
        "s.yaml:16: turns[9].text: Expected 'str | null', got 'int'",
        "s.yaml:17: turns[10].stop_reason: Invalid enum value 'stop'",
        "s.yaml:18: turns[11]: chunk and repeat count from 1",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.yaml:1: a script is a map with a list of turns (write turns: and - text: Hello)"),
        ("turns: []", "s.yaml:1: a script is a map with a list of turns (write turns: and - text: Hello)"),
        ("turns:\n- text: a\n  text: b", "s.yaml:3: the key 'text' stands here twice"),
        ("turns:\n- text: [", "s.yaml:3: not YAML: did not find expected node content"),
        ("turns: &a\n- *a", "s.yaml:1: the script is too large or too deep, or an alias stands in itself"),
    ],
)
def test_file_that_is_no_script_says_so(folder: Path, text: str, message: str) -> None:
    assert mistakes(folder, text) == [message]


def test_bytes_that_are_not_utf_8_are_a_mistake(folder: Path) -> None:
    (folder / "s.yaml").write_bytes(b"turns: \xff")

    with pytest.raises(ConfigError, match=r"s\.yaml: byte 7 is not UTF-8"):
        opened(None, "scripted/s.yaml", folder=folder)


def test_words_of_yaml_1_1_stay_words(folder: Path) -> None:
    provider = script(
        folder,
        "turns:\n- tool_calls: [{name: off, arguments: {a: no, b: 0755, c: 12:30, d: 1, e: true, f: ~}}]",
    )

    assert answer(stream(provider)).tool_calls[0].arguments == {
        "a": "no", "b": "0755", "c": "12:30", "d": 1, "e": True, "f": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "expected"), [(2, 2.0), ("500ms", 0.5), ("1.5s", 1.5), ("5m", 300.0), ("2h", 7200.0)]
)
def test_duration_is_a_number_or_has_a_unit(value: float | str, expected: float) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_script_in_the_docs_is_valid(folder: Path, text: str) -> None:
    (folder / "s.yaml").write_text(text, encoding="utf-8")

    assert load_script(folder / "s.yaml", "s.yaml")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "agents" / "scripts").glob("*.yaml")), ids=lambda path: path.name
)
def test_every_script_of_ours_is_valid(path: Path) -> None:
    assert load_script(path, path.name)


def test_mistakes_in_the_docs_are_what_such_a_script_gets(folder: Path) -> None:
    text = """\
# A demonstration
turns:
- txt: Hi

- text: Ho
  repeat: 2
  error:
    times: 1
- text: "{{ result }}"
"""

    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[-1].replace("agents/scripts/demo", "s")

    assert mistakes(folder, text) == shown.splitlines()
