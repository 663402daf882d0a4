import asyncio
import resource
from pathlib import Path

import pytest

from agentcore_runner.errors import TranscriptError
from agentcore_runner.transcript.writer import TranscriptFile


@pytest.fixture
def file_limit() -> object:
    """Lets this process write files of 4,096 bytes only, as if the disk were full behind them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_lines_are_appended_and_synced(tmp_path: Path) -> None:
    async def scenario() -> None:
        file = TranscriptFile(tmp_path / "new" / "run.jsonl")
        file.write(b"{}\n")
        await file.sync()
        file.write(b"[]\n")
        file.close()

    asyncio.run(scenario())

    assert (tmp_path / "new" / "run.jsonl").read_bytes() == b"{}\n[]\n"


def test_a_file_that_exists_is_never_touched(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("mine")

    with pytest.raises(TranscriptError, match=r"run\.jsonl: exists already; name a new file, or a folder"):
        TranscriptFile(path)

    assert path.read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(TranscriptError, match=r"file/run\.jsonl: cannot create the transcript"):
        TranscriptFile(tmp_path / "file" / "run.jsonl")


@pytest.mark.usefixtures("file_limit")
def test_a_full_disk_leaves_whole_lines_and_is_said_once(tmp_path: Path) -> None:
    file = TranscriptFile(tmp_path / "run.jsonl", fsync=False)
    line = b"x" * 1499 + b"\n"
    file.write(line)
    file.write(line)

    with pytest.raises(TranscriptError, match="cannot write the transcript"):
        file.write(line)
    file.write(b"{}\n")
    file.close()

    assert file.error is not None
    assert (tmp_path / "run.jsonl").read_bytes() == line * 2


@pytest.mark.usefixtures("file_limit")
def test_a_probe_says_no_before_anything_else_is_written(tmp_path: Path) -> None:
    file = TranscriptFile(tmp_path / "run.jsonl", fsync=False)
    file.write(b"x" * 3999 + b"\n")
    file.probe(90)

    with pytest.raises(TranscriptError, match="cannot write the transcript"):
        file.probe(100)
    file.close()

    assert (tmp_path / "run.jsonl").read_bytes() == b"x" * 3999 + b"\n"
