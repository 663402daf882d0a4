from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest

from agentcore_runner.core.signal import AbortSignal
from agentcore_runner.core.tools import AgentToolResult
from agentcore_runner.errors import ToolError
from agentcore_runner.tools import BUILTINS

from .support import call, image_of, options, run, text_of

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def use(tool: str, folder: Path, params: dict[str, Any], **changes: Any) -> AgentToolResult:
    return run(call(BUILTINS[tool](options(folder, **changes)), params))


def read(folder: Path, path: str, **params: Any) -> str:
    return text_of(use("read", folder, {"path": path, **params}))


def refusal(tool: str, folder: Path, params: dict[str, Any], **changes: Any) -> str:
    with pytest.raises(ToolError) as caught:
        use(tool, folder, params, **changes)
    return str(caught.value)


def test_every_builtin_makes_a_tool_of_its_name(tmp_path: Path) -> None:
    made = {name: make(options(tmp_path, name=name)) for name, make in BUILTINS.items()}

    assert list(made) == ["read", "write", "edit", "grep", "find", "ls", "bash"]
    assert all(tool.name == name and tool.description for name, tool in made.items())


def test_a_tool_may_have_other_words(tmp_path: Path) -> None:
    tool = BUILTINS["read"](options(tmp_path, name="open", label="Open", description="Opens."))

    assert (tool.name, tool.label, tool.description) == ("open", "Open", "Opens.")


def test_a_text_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n\nfour")

    assert read(tmp_path, "a.txt") == "one\ntwo\n\nfour"


def test_an_empty_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()

    assert read(tmp_path, "a.txt") == "(empty file)"


def test_a_part_is_read_and_the_way_on_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 11)))

    assert (
        read(tmp_path, "a.txt", offset=3, limit=2)
        == "3\n4\n\n[lines 3-4 of 10 lines; use offset=5 to continue]"
    )
    assert read(tmp_path, "a.txt", offset=9) == "9\n10"
    assert read(tmp_path, "a.txt", limit=10) == "\n".join(map(str, range(1, 11)))


def test_an_offset_past_the_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3")
    (tmp_path / "b.txt").write_text("1\n2\n3\n")

    for name in ("a.txt", "b.txt"):
        assert read(tmp_path, name, offset=3) == "3"
        assert refusal("read", tmp_path, {"path": name, "offset": 4}) == (
            "offset 4 is past the end of the file (3 lines)"
        )


def test_two_thousand_lines_are_the_most(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n" * 5123)

    text = read(tmp_path, "a.txt")

    assert text == "x\n" * 1999 + "x\n\n[lines 1-2000 of 5,123 lines; use offset=2001 to continue]"


def test_the_size_limit_splits_no_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0123456789\n" * 1000)

    text = text_of(use("read", tmp_path, {"path": "a.txt"}, max_output=1024))

    assert (
        text
        == "0123456789\n" * 68 + "0123456789\n\n[lines 1-69 of a file of 10.7 KB; use offset=70 to continue]"
    )
    assert len(text) <= 1024


def test_a_line_too_long_to_show_gets_a_hint(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("short\n" + "x" * 200_000)

    assert read(tmp_path, "a.txt", offset=2) == (
        "[line 2 is longer than 49.8 KB; a part of it: sed -n '2p' a.txt | head -c 25472]"
    )


def test_two_gigabytes_cost_only_what_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.write(b"first line\n" * 3000)
        file.truncate(2 * 1024**3)

    assert read(tmp_path, "a.txt", limit=1) == (
        "first line\n\n[lines 1-1 of a file of 2.0 GB; use offset=2 to continue]"
    )


def test_bytes_that_are_not_utf8_are_replaced_counted_and_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("naïve".encode("latin-1") + b" text\nna\xc3\xafve")

    result = use("read", tmp_path, {"path": "a.txt"})

    assert text_of(result) == "na\ufffdve text\nnaïve\n\n[1 byte not UTF-8, replaced by U+FFFD]"
    assert result.details["invalid_utf8_bytes"] == 1


def test_binary_files_are_described(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8b\x08\x00rest")

    assert read(tmp_path, "a.bin") == "[a.bin is not text: binary data, 2,048 bytes (2.0 KB)]"
    assert read(tmp_path, "a.gz") == "[a.gz is not text: gzip data, 8 bytes (8 B)]"


def test_an_image_is_shown(tmp_path: Path) -> None:
    (tmp_path / "dot.dat").write_bytes(PNG)

    note, image = image_of(use("read", tmp_path, {"path": "dot.dat"}))

    assert note == "[image dot.dat: image/png, 70 B]"
    assert (base64.b64decode(image.data), image.mime_type) == (PNG, "image/png")


def test_an_image_too_large_is_described(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG + bytes(5_000_000))

    assert read(tmp_path, "a.png") == (
        "[a.png is an image too large to be shown: PNG image, 5,000,070 bytes (4.8 MB)]"
    )


def test_paths_are_read_kindly(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "@b.txt").write_text("b")
    (tmp_path / "two words.txt").write_text("c")
    (tmp_path / "odd\u202fspace.txt").write_text("d")

    paths = [
        "a.txt",
        "@a.txt",
        "~/a.txt",
        str(tmp_path / "a.txt"),
        "@b.txt",
        "two\u00a0words.txt",
        "odd space.txt",
    ]
    assert [read(tmp_path, path) for path in paths] == ["a", "a", "a", "a", "b", "c", "d"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    assert refusal("read", tmp_path, {"path": "gone"}) == "cannot access 'gone': there is no such file"
    assert refusal("read", tmp_path, {"path": "folder"}) == "'folder' is a directory; list it instead"
    assert refusal("read", tmp_path, {"path": "pipe"}) == "'pipe' is no regular file"
    assert refusal("read", tmp_path, {"path": "a\0b"}) == "the path holds a NUL character"


@pytest.mark.parametrize("tool", ["read", "write", "edit", "ls"])
def test_nothing_outside_the_root_is_touched(tool: str, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("secret")
    (root / "link").symlink_to(outside)
    more = {"content": "x", "edits": [{"old_text": "secret", "new_text": "x"}]}

    for path in ("../outside/a.txt", str(outside / "a.txt"), "link/a.txt", "link/new/../a.txt"):
        assert refusal(tool, root, {"path": path, **more}) == (
            f"{path!r} is outside {str(root)!r}, the folder that 'tool' may use; "
            f"paths are relative to {str(root)!r}"
        )
    assert (outside / "a.txt").read_text() == "secret"


def test_full_outputs_can_be_read_but_not_written(tmp_path: Path) -> None:
    root, side = tmp_path / "root", tmp_path / "side"
    root.mkdir()
    side.mkdir()
    path = side / "call-1.txt"
    path.write_text("all of it")

    assert text_of(use("read", root, {"path": str(path)}, side_dir=side)) == "all of it"
    assert "is outside" in refusal("write", root, {"path": str(path), "content": ""}, side_dir=side)


def test_a_file_is_written_with_the_folders_above_it(tmp_path: Path) -> None:
    result = use("write", tmp_path, {"path": "a/b/c.txt", "content": "héllo\n"})

    assert text_of(result) == "Wrote 7 bytes to a/b/c.txt"
    assert result.details == {"path": str(tmp_path / "a/b/c.txt"), "bytes": 7, "created": True}
    assert (tmp_path / "a/b/c.txt").read_bytes() == "héllo\n".encode()


def test_a_file_that_is_replaced_keeps_its_mode_and_its_names(tmp_path: Path) -> None:
    script, other, link = tmp_path / "a.sh", tmp_path / "hard", tmp_path / "soft"
    script.write_text("old")
    script.chmod(0o751)
    link.symlink_to("a.sh")

    use("write", tmp_path, {"path": "soft", "content": "new"})
    mode = script.stat().st_mode & 0o777
    other.hardlink_to(script)
    use("write", tmp_path, {"path": "a.sh", "content": "newer"})

    assert (mode, link.is_symlink()) == (0o751, True)
    assert (script.read_text(), other.read_text()) == ("newer", "newer")
    assert sorted(os.listdir(tmp_path)) == ["a.sh", "hard", "soft"]


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    def why(path: str, content: str = "") -> str:
        return refusal("write", tmp_path, {"path": path, "content": content})

    assert why("folder") == "cannot access 'folder': it is no regular file"
    assert why("file/a") == "cannot access 'file/a': Not a directory"
    assert why("a", "x\ud800") == "content: U+D800 at offset 1 is half a character"


def test_writes_to_one_file_come_in_turn_and_an_abort_stops_those_that_wait(tmp_path: Path) -> None:
    async def main() -> list[str]:
        signal = AbortSignal()
        tool = BUILTINS["write"](options(tmp_path))
        calls = [call(tool, {"path": "a", "content": str(n)}, signal=signal) for n in range(20)]
        results = await asyncio.gather(*calls)
        signal.abort()
        with pytest.raises(ToolError, match="Operation aborted"):
            await call(tool, {"path": "a", "content": "late"}, signal=signal)
        return [text_of(result) for result in results]

    assert run(main()) == ["Wrote 1 byte to a"] * 10 + ["Wrote 2 bytes to a"] * 10
    assert (tmp_path / "a").read_text() == "19"


def test_a_folder_is_listed_by_name(tmp_path: Path) -> None:
    for name in ("b.txt", "A.txt", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "C").mkdir()
    (tmp_path / "line\nend").touch()

    assert text_of(use("ls", tmp_path, {})) == ".hidden\nA.txt\nb.txt\nC/\nline\\x0aend"


def test_a_long_listing_is_limited(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number}").touch()

    assert (
        text_of(use("ls", tmp_path, {"limit": 3}))
        == "0\n1\n2\n\n[3 of 10 entries shown; use limit=10 for all]"
    )


def test_what_cannot_be_listed_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()

    assert text_of(use("ls", tmp_path, {"path": "empty"})) == "(empty directory)"
    assert refusal("ls", tmp_path, {"path": "gone"}) == "cannot access 'gone': there is no such file"
    assert refusal("ls", tmp_path, {"path": "file"}) == (
        "'file' is not a directory; use a tool that reads files"
    )
