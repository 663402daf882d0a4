"""`agentcore-run show`: a transcript for a person, or a check of it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from agentcore_runner.errors import ConfigError, ExitCode, TranscriptError


@click.command("show", short_help="Read a transcript.")
@click.argument("transcript", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Verify numbers, grammar, pairing and the last record.")
def command(transcript: Path, check: bool) -> int:
    """Show TRANSCRIPT, whole or cut short by a kill, as text; of a folder, the newest in it.

    With --check, say what is wrong with it instead: exit code 14 if anything is.
    """
    from agentcore_runner.transcript.reader import read_lines

    transcript = newest(transcript) if transcript.is_dir() else transcript
    if not transcript.is_file():
        raise ConfigError(f"{transcript}: no such transcript")
    if check:
        return checked(transcript)
    from agentcore_runner.cli.printing import emit
    from agentcore_runner.views.reading import as_text

    strange = 0
    for line in read_lines(transcript):
        if line.data is not None and "type" in line.data:
            break
        strange += not line.torn
    else:
        if strange:
            raise TranscriptError(f"{transcript}: not a transcript: no line of it is a record")
        emit("== no record: the run was killed at once\n")
    for text in as_text(read_lines(transcript)):
        emit(f"{text}\n")
    return ExitCode.completed


def newest(folder: Path) -> Path:
    """The transcript that was changed last."""
    found = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        raise ConfigError(f"{folder}: holds no transcript (*.jsonl)")
    return found[-1]


def checked(transcript: Path) -> int:
    """Print what is wrong, or that nothing is."""
    from agentcore_runner.transcript.check import check_lines
    from agentcore_runner.transcript.reader import read_lines

    faults = check_lines(read_lines(transcript))
    for fault in faults:
        print(f"{transcript}: {fault}", file=sys.stderr)
    if faults:
        return ExitCode.transcript_error
    from agentcore_runner.cli.printing import emit

    emit(f"{transcript}: whole\n")
    return ExitCode.completed
