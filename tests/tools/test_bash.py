from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentToolResult
from agentcore_runner.errors import ToolError
from agentcore_runner.tools import BUILTINS
from agentcore_runner.tools.command import command_tool

from .support import call, options, run, text_of, until


def bash(
    folder: Path, command: str, *, changes: dict[str, Any] | None = None, **more: Any
) -> AgentToolResult:
    async def main() -> AgentToolResult:
        given = options(folder, **(changes or {}))
        try:
            return await call(BUILTINS["bash"](given), {"command": command, **more})
        finally:
            await given.children.aclose()

    return run(main())


def test_output_comes_back_as_it_was_printed(tmp_path: Path) -> None:
    result = bash(tmp_path, "echo one; echo two >&2")

    assert (text_of(result), result.is_error) == ("one\ntwo", False)
    assert result.details["exit_code"] == 0


def test_no_output_is_said(tmp_path: Path) -> None:
    assert text_of(bash(tmp_path, "true")) == "(no output)"


def test_a_failure_keeps_its_output_and_names_the_code(tmp_path: Path) -> None:
    result = bash(tmp_path, "echo partly; exit 3")

    assert (text_of(result), result.is_error) == ("partly\n\nexit code 3", True)


def test_a_shell_killed_by_a_signal_has_failed(tmp_path: Path) -> None:
    result = bash(tmp_path, "kill -9 $$")

    assert (text_of(result), result.is_error) == ("(no output)\n\nexit code 137", True)


def test_a_timeout_is_told_with_what_was_printed(tmp_path: Path) -> None:
    result = bash(tmp_path, "echo started; sleep 300", timeout=0.3)

    assert (text_of(result), result.is_error) == ("started\n\ntimed out after 0.3 seconds", True)
    assert result.details["timed_out"] is True


def test_the_authors_timeout_is_the_most_a_model_can_ask_for(tmp_path: Path) -> None:
    result = bash(tmp_path, "sleep 300", changes={"timeout": 0.2}, timeout=500)

    assert text_of(result) == "(no output)\n\ntimed out after 0.2 seconds"


def test_a_timeout_must_be_a_number_above_zero(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="expected seconds above 0, found nan"):
        bash(tmp_path, "true", timeout=float("nan"))


def test_an_abort_is_told(tmp_path: Path) -> None:
    async def main() -> AgentToolResult:
        given, signal = options(tmp_path), AbortSignal()
        tool = BUILTINS["bash"](given)
        task = asyncio.ensure_future(call(tool, {"command": "echo hi; touch up; sleep 300"}, signal=signal))
        await until((tmp_path / "up").exists)
        signal.abort()
        result = await task
        await given.children.aclose()
        return result

    result = run(main())

    assert (text_of(result), result.is_error) == ("hi\n\naborted", True)


def test_a_call_after_the_abort_does_nothing(tmp_path: Path) -> None:
    signal = AbortSignal()
    signal.abort()

    with pytest.raises(ToolError, match=r"^Operation aborted$"):
        run(call(BUILTINS["bash"](options(tmp_path)), {"command": "touch up"}, signal=signal))

    assert not (tmp_path / "up").exists()


def test_updates_show_the_end_of_what_was_printed_so_far(tmp_path: Path) -> None:
    updates: list[str] = []

    async def main() -> None:
        given = options(tmp_path)
        command = "seq 5000; until [ -e go ]; do sleep 0.02; done; echo done"
        task = asyncio.ensure_future(
            call(
                BUILTINS["bash"](given),
                {"command": command},
                on_update=lambda update: updates.append(text_of(update)),
            )
        )
        await until(lambda: bool(updates) and updates[-1].endswith("4999\n5000\n"))
        (tmp_path / "go").touch()
        await task
        await given.children.aclose()

    run(main())

    assert all(len(update) <= 4096 for update in updates)
    assert len(updates) <= 5


def test_fifty_megabytes_in_one_line_end_in_a_side_file(tmp_path: Path) -> None:
    result = bash(tmp_path, "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the end")

    text = text_of(result)
    assert len(text.encode()) <= 50 * 1024
    assert text.startswith("xxx") and text.endswith("the end")
    assert "47.7 MB in 2 lines cut to 50.0 KB" in text
    side = tmp_path / "side" / "call-1.txt"
    assert result.details["full_output_path"] == str(side)
    assert side.stat().st_size == 50_000_009


def test_bytes_that_are_not_utf8_leave_a_mark(tmp_path: Path) -> None:
    result = bash(tmp_path, "printf 'a\\377\\376b'")

    assert text_of(result) == "a\ufffd\ufffdb\n\n[2 bytes not UTF-8, replaced by U+FFFD]"
    assert result.details["invalid_utf8_bytes"] == 2


def test_only_the_given_environment_is_passed_on(tmp_path: Path) -> None:
    result = bash(
        tmp_path, "env | cut -d= -f1 | sort", changes={"env": {"PATH": os.environ["PATH"], "A": "1"}}
    )

    names = set(text_of(result).split("\n"))
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"A", "AGENTCORE_CALL", "AGENTCORE_RUN", "PATH"}


def command(folder: Path, argv: list[str], params: dict[str, Any], **more: Any) -> AgentToolResult:
    async def main() -> AgentToolResult:
        given = options(folder, name="counter")
        tool = command_tool(
            given,
            parameters={"type": "object"},
            argv=lambda args: [item.format(**args) for item in argv],
            **{"stdin": None, "env": {}, "ok_exit_codes": (0,), **more},
        )
        try:
            return await call(tool, params)
        finally:
            await given.children.aclose()

    return run(main())


def test_a_command_gets_its_arguments_unsplit(tmp_path: Path) -> None:
    result = command(tmp_path, ["printf", "<%s>", "{x}"], {"x": "a b; $(touch up)"})

    assert text_of(result) == "<a b; $(touch up)>"
    assert not (tmp_path / "up").exists()


def test_a_command_reads_what_it_is_given(tmp_path: Path) -> None:
    result = command(tmp_path, ["cat"], {"x": "héllo"}, stdin=lambda args: args["x"])

    assert text_of(result) == "héllo"


def test_a_command_has_the_tools_own_variables(tmp_path: Path) -> None:
    result = command(tmp_path, ["sh", "-c", "echo $LEVEL"], {}, env={"LEVEL": "7"})

    assert text_of(result) == "7"


def test_exit_codes_that_are_fine_are_no_errors_but_told(tmp_path: Path) -> None:
    fine = command(tmp_path, ["sh", "-c", "echo differs; exit 1"], {}, ok_exit_codes=(0, 1))
    bad = command(tmp_path, ["sh", "-c", "exit 2"], {}, ok_exit_codes=(0, 1))

    assert (text_of(fine), fine.is_error) == ("differs\n\nexit code 1", False)
    assert (text_of(bad), bad.is_error) == ("(no output)\n\nexit code 2", True)


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot start 'no-such-thing'"):
        command(tmp_path, ["no-such-thing"], {})
