"""The llama.cpp server of the tests is a real one, and ends with them."""

import json
import socket
import subprocess
import sys
import time
from typing import Any

import httpx

from tests.servers.llama import ROOT, LlamaServer

LOOK_UP = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look something up",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
}


def test_real_server_calls_a_tool_and_answers_its_result() -> None:
    question = {"role": "user", "content": "What is the word?"}

    with LlamaServer.scripted() as server:
        call = streamed(server, [question])
        result = {"role": "tool", "tool_call_id": call["tool_calls"][0]["id"], "content": "It is 'demo'."}
        answer = streamed(server, [question, call, result])

    assert [made["function"] for made in call["tool_calls"]] == [
        {"name": "look_up", "arguments": '{"word":"demo"}'}
    ]
    assert answer == {"role": "assistant", "content": "The tool has answered; done!"}


def test_server_ends_with_the_process_that_started_it() -> None:
    code = """
import signal
from tests.servers.llama import LlamaServer
with LlamaServer.scripted() as server:
    print(server.url, flush=True)
    signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        url = httpx.URL(owner.stdout.readline().decode().strip())
        assert url.port is not None

        owner.kill()
        gone = refuses_within(10, url.host, url.port)

    assert gone


def streamed(server: LlamaServer, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The assistant message that a streamed completion adds up to."""
    body = {"model": server.model, "messages": messages, "tools": [LOOK_UP], "stream": True}
    text, calls = "", list[dict[str, Any]]()
    # A connection for each request: llama.cpp closes it after a stream, without having said so.
    with httpx.stream("POST", f"{server.url}/chat/completions", json=body, timeout=60) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if not line.startswith("data: {"):
                continue
            delta = json.loads(line.removeprefix("data: "))["choices"][0]["delta"]
            text += delta.get("content") or ""
            for piece in delta.get("tool_calls", ()):
                if "id" in piece:
                    calls.append({"id": piece["id"], "type": "function", "function": {"arguments": ""}})
                function = calls[piece["index"]]["function"]
                function["name"] = function.get("name", "") + piece["function"].get("name", "")
                function["arguments"] += piece["function"].get("arguments", "")
    return {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})


def refuses_within(seconds: float, host: str, port: int) -> bool:
    """Whether nobody listens there any more, at the latest when the time is up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((host, port), timeout=seconds) as connection:
                connection.settimeout(0.05)
                connection.recv(1)  # returns at once when the other end goes away
        except ConnectionRefusedError:
            return True
        except (TimeoutError, ConnectionError):
            continue
    return False
