"""The reviewer against the real llama.cpp server: streaming, tools and turns, with the installed command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.runner import environment, run
from tests.servers.llama import LlamaServer

ROOT = Path(__file__).parents[2]


def repository(folder: Path) -> None:
    """A small git repository with our reviewer and a change to review."""
    (folder / "agents").mkdir()
    shutil.copy(ROOT / "agents/reviewer.yaml", folder / "agents")
    (folder / "demo").mkdir()
    (folder / "demo" / "sum.py").write_text("def add(a, b):\n    return a + b\n")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "Begin"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True, env=environment())
    (folder / "demo" / "sum.py").write_text("def add(a, b):\n    return a - b\n")


def test_the_reviewer_reviews_a_diff_on_a_real_server(tmp_path: Path, llama_server: LlamaServer) -> None:
    repository(tmp_path)

    done = run(
        "agents/reviewer.yaml", "--model", f"openai/{llama_server.model}", "--format", "jsonl", "--partial",
        cwd=tmp_path, env={"OPENAI_BASE_URL": llama_server.url}, timeout=110,
    )  # fmt: skip

    records, last = done.records, done.records[-1]
    first = next(r["message"] for r in records if r["type"] == "message_end")
    assert done.code == 0, done.stderr
    assert "-    return a + b\n+    return a - b" in first["content"][0]["text"]
    assert (last["answer"], last["turns"], last["tool_calls"]) == ("The tool has answered; done!", 2, 1)
    assert last["usage"]["output"] > 0
    assert [r["is_error"] for r in records if r["type"] == "tool_execution_end"] == [False]
    assert sum(r["type"] == "message_update" and r["kind"] == "text_delta" for r in records) > 1
    assert done.stdout_bytes == done.transcript.read_bytes()
    assert run("show", "--check", done.transcript, cwd=tmp_path).code == 0


def test_presets_speak_to_the_same_server(tmp_path: Path, llama_server: LlamaServer) -> None:
    (tmp_path / "agent.yaml").write_text(
        f"schema_version: 1\nname: demo\n"
        f"model: {{id: llamacpp/{llama_server.model}, base_url: '{llama_server.url}'}}\n"
    )

    done = run("agent.yaml", "Hello", cwd=tmp_path)

    assert (done.code, done.stdout) == (0, "Hello from a tiny local model.\n")
