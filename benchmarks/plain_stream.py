"""The yardstick for one streamed answer over any API: `plain_stream.py API BASE_URL RECORD`

It sends one request over httpx, parses the stream, appends a JSON line and prints the answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import httpx
from plain_loop import BASH, HEADERS, SYSTEM, encode, record

TOOL = {"name": "bash", "description": "Run a command"}


def responses(event: dict[str, Any]) -> str:
    return str(event["delta"]) if event["type"] == "response.output_text.delta" else ""


def messages(event: dict[str, Any]) -> str:
    return str(event["delta"]["text"]) if event["type"] == "content_block_delta" else ""


def gemini(event: dict[str, Any]) -> str:
    return "".join(
        part.get("text", "") for each in event["candidates"] for part in each["content"].get("parts", ())
    )


API: dict[str, tuple[str, dict[str, Any], Callable[[dict[str, Any]], str]]] = {
    "openai-responses": (
        "/v1/responses",
        {
            "model": "mock", "stream": True, "store": False,
            "input": [{"role": "developer", "content": SYSTEM}, {"role": "user", "content": "go"}],
            "tools": [{"type": "function", **TOOL, "parameters": BASH}],
        },
        responses,
    ),
    "anthropic-messages": (
        "/v1/messages",
        {
            "model": "mock", "stream": True, "max_tokens": 16384, "system": SYSTEM,
            "messages": [{"role": "user", "content": "go"}], "tools": [{**TOOL, "input_schema": BASH}],
        },
        messages,
    ),
    "google-generative-ai": (
        "/v1beta/models/mock:streamGenerateContent?alt=sse",
        {
            "systemInstruction": {"parts": [{"text": SYSTEM}]},
            "contents": [{"role": "user", "parts": [{"text": "go"}]}],
            "tools": [{"functionDeclarations": [{**TOOL, "parametersJsonSchema": BASH}]}],
        },
        gemini,
    ),
}  # fmt: skip


async def main(api: str, base_url: str, path: str) -> None:
    method, body, text_of = API[api]
    text: list[str] = []
    with open(path, "ab") as file:
        record(file, "start", argv=sys.argv)
        async with httpx.AsyncClient(timeout=None, trust_env=False) as client:
            request = client.stream("POST", base_url + method, content=encode(body), headers=HEADERS)
            async with request as response:
                response.raise_for_status()
                async for line in response.aiter_lines():
                    if line.startswith("data:"):
                        text.append(text_of(json.loads(line[5:])))
        record(file, "assistant", message="".join(text))
    print("".join(text))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
