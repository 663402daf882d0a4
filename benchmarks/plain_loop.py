"""The yardstick: the least work an agent loop can do on httpx. `plain_loop.py BASE_URL RECORD`

It sends the requests an agent sends, parses the stream, runs each tool call's command as a child process,
appends a JSON line per message and prints the answer. No retries, no checks, no limits, no views.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any, BinaryIO

import httpx

SYSTEM = " ".join(["You are a helpful agent."] * 40)  # the system prompt of agent.yaml
BASH = {
    "type": "object",
    "properties": {"command": {"type": "string", "description": "The command"}},
    "required": ["command"],
}
TOOLS = [
    {"type": "function", "function": {"name": "bash", "description": "Run a command", "parameters": BASH}}
]
HEADERS = {"content-type": "application/json", "authorization": "Bearer dummy"}


async def main(base_url: str, path: str) -> None:
    history: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "go"},
    ]
    with open(path, "ab") as file:
        record(file, "start", argv=sys.argv)
        async with httpx.AsyncClient(timeout=None, trust_env=False) as client:
            while True:
                message, usage = await ask(client, base_url, history)
                history.append(message)
                record(file, "assistant", message=message, usage=usage)
                if "tool_calls" not in message:
                    break
                for call in message["tool_calls"]:
                    code, output = await run(json.loads(call["function"]["arguments"])["command"])
                    history.append({"role": "tool", "tool_call_id": call["id"], "content": output})
                    record(file, "tool", code=code, message=history[-1])
        record(file, "end")
    print(message["content"])


async def ask(
    client: httpx.AsyncClient, base_url: str, history: list[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """One request: the assistant's message and its usage."""
    text: list[str] = []
    calls: list[tuple[str, str, list[str]]] = []
    usage = None
    body = {
        "model": "mock",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": history,
        "tools": TOOLS,
    }
    request = client.stream("POST", f"{base_url}/chat/completions", content=encode(body), headers=HEADERS)
    async with request as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if not line.startswith("data:") or line == "data: [DONE]":
                continue
            event = json.loads(line[5:])
            usage = event.get("usage") or usage
            for choice in event["choices"]:
                delta = choice["delta"]
                if delta.get("content"):
                    text.append(delta["content"])
                for piece in delta.get("tool_calls") or ():
                    if piece.get("id"):
                        calls.append((piece["id"], piece["function"]["name"], []))
                    calls[piece["index"]][2].append(piece["function"]["arguments"])
    message: dict[str, Any] = {"role": "assistant", "content": "".join(text) or None}
    if calls:
        message["tool_calls"] = [
            {"id": number, "type": "function", "function": {"name": name, "arguments": "".join(arguments)}}
            for number, name, arguments in calls
        ]
    return message, usage


async def run(command: str) -> tuple[int | None, str]:
    """The command's exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode(errors="replace")


def record(file: BinaryIO, kind: str, **data: Any) -> None:
    file.write(encode({"type": kind, "ts": time.time(), **data}) + b"\n")
    file.flush()


def encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
