"""The real llama.cpp server, serving the tiny scripted model, for as long as a `with` block lasts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
START_LIMIT_S = 60.0


class LlamaServer:
    """A running server: its OpenAI-compatible base URL (`…/v1`) and its model's name."""

    def __init__(self, *, url: str, model: str) -> None:
        self.url = url
        self.model = model

    @classmethod
    @contextmanager
    def scripted(cls) -> Iterator[LlamaServer]:
        """Serve the model of `tiny_gguf`, whose answers are fixed; it ends with the block, or with us."""
        command = [sys.executable, "-m", "tests.servers.llama_child"]
        with (
            tempfile.TemporaryFile() as log,
            subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            ) as process,
        ):
            killer = threading.Timer(START_LIMIT_S, process.kill)
            killer.start()
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                killer.cancel()
                if not line:
                    log.seek(0)
                    raise RuntimeError(
                        f"llama.cpp did not start: {log.read()[-2000:].decode(errors='replace')}"
                    )
                yield cls(**json.loads(line))
            finally:
                killer.cancel()
                process.kill()


@pytest.fixture(scope="session")
def llama_server() -> Iterator[LlamaServer]:
    """One server for all tests of a process; `from tests.servers.llama import llama_server` in a conftest."""
    with LlamaServer.scripted() as server:
        yield server
