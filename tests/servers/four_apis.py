"""Runs of the installed command over each of the four APIs, at the same time, against one server."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.runner import Ended, run

MODELS = {
    "openai-completions": "openai/gpt-5-mini",
    "openai-responses": "openai/gpt-5-mini",
    "anthropic-messages": "anthropic/claude-sonnet-4-5",
    "google-generative-ai": "google/gemini-2.5-pro",
}
"""Models by API, for which the servers know that they think."""
HEADER = "X-Test-Id"
"""A header that names the API, by which AIMock keeps its clients apart."""


def run_each(
    folder: Path,
    base_url: Callable[[str], str],
    prompt: str,
    *,
    agent: str = "",
    apis: Collection[str] = MODELS,
    **files: str,
) -> dict[str, Ended]:
    """One run for each of these APIs, each in a folder of its own with these files, by their API. `agent` is
    added to the agent file."""

    def one(api: str) -> Ended:
        home = folder / api
        home.mkdir()
        for name, text in files.items():
            (home / name).write_text(text)
        (home / "agent.yaml").write_text(
            f"schema_version: 1\nname: demo\nmodel: {{id: {MODELS[api]}, api: {api}, "
            f"base_url: '{base_url(api)}', headers: {{{HEADER}: {api}}}}}\n{agent}"
        )
        return run("agent.yaml", prompt, "--format", "json", cwd=home)

    with ThreadPoolExecutor(len(apis)) as pool:
        return dict(zip(apis, pool.map(one, apis), strict=True))


def for_each(value: Any) -> dict[str, Any]:
    """The same for each API."""
    return dict.fromkeys(MODELS, value)


def outcomes(done: Mapping[str, Ended]) -> dict[str, tuple[int, list[int | None], str | None]]:
    """Exit code, the statuses of what was tried again, and answer; the last record says the same."""
    for one in done.values():
        assert one.records[-1]["exit"] == one.result["exit"], one.stderr
        assert one.result["exit"]["code"] == one.code
    return {
        api: (one.code, [record["status"] for record in one.of_type("retry")], one.result["answer"])
        for api, one in done.items()
    }
