"""The flags of a run → its options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcore_runner.cli.intake import Intake
from agentcore_runner.cli.stdin import Stdin
from agentcore_runner.errors import ConfigError
from agentcore_runner.report.ending import LIMIT_FLAGS
from agentcore_runner.runtime.gather import read_text
from agentcore_runner.runtime.options import RawInput, RunOptions


def options_from(flags: Mapping[str, Any], stdin: Stdin, intake: Intake | None) -> RunOptions:
    """What the flags ask for; reads the files and the standard input that they name. `intake` has standard
    input where that holds commands."""
    for path in (flags["output"], flags["answer_file"]):
        check_writable(path)
    prompts = [" ".join(flags["words"])] if flags["words"] else []
    prompts += [stdin.required("--prompt -") if text == "-" else text for text in flags["prompts"]]
    prompts += [read_text(path, "--prompt-file") for path in flags["prompt_files"]]
    return RunOptions(
        profile=flags["profile"],
        settings=flags["settings"],
        prompts=tuple(prompts),
        inputs=inputs_from(flags, stdin),
        attachments=flags["attachments"],
        model=flags["model"],
        models_file=flags["models_file"],
        thinking_level=flags["thinking_level"],
        cwd=flags["cwd"],
        limits={name: flags[name] for name in LIMIT_FLAGS if flags[name] is not None},
        raise_limits=flags["raise_limits"],
        transcript=transcript_from(flags["transcript"]),
        partial=flags["partial"],
        stdin_text=stdin.text,
        stdin_prompt=intake.first_prompt if intake else stdin.prompt,
        sole_parent=True,
    )


def check_writable(path: Path | None) -> None:
    """Raise ConfigError where a result could not be written, before anything is spent on it."""
    if path is None:
        return
    if str(path) == "-":
        raise ConfigError("-o -: the result goes to standard output with --format json")
    if path.is_dir():
        raise ConfigError(f"{path}: cannot write the result: it is a folder")
    folder = next((parent for parent in path.absolute().parents if parent.exists()), None)
    if folder is None or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise ConfigError(f"{path}: cannot write the result: no permission, or no such folder")


def inputs_from(flags: Mapping[str, Any], stdin: Stdin) -> dict[str, Any]:
    """Inputs by name: a file of them first, then each flag over it."""
    inputs: dict[str, Any] = {}
    if flags["inputs_file"] is not None:
        inputs.update(inputs_file(flags["inputs_file"]))
    for name, text in flags["inputs"]:
        if text == "-":
            text = stdin.required(f"-i {name}=-")
        elif text.startswith("@"):
            text = read_text(Path(text[1:]), f"-i {name}")
        inputs[name] = RawInput(text)
    inputs.update({name: RawInput(text) for name, text in flags["input_texts"]})
    return inputs


def inputs_file(path: Path) -> dict[str, Any]:
    """The map in a YAML or JSON file."""
    from agentcore_runner.definition.load import parse_scalar

    text = read_text(path, "--inputs-file")
    try:
        values = parse_scalar(text)
    except ConfigError as exc:
        raise ConfigError(f"--inputs-file {path}: {exc}") from exc
    if not isinstance(values, dict):
        raise ConfigError(f"--inputs-file: {path} must hold a map of inputs, found {type(values).__name__}")
    return values


def transcript_from(text: str | None) -> str | None:
    """A path given as a flag is relative to where the command was called, whatever `--cwd` says."""
    if text is None or text == "none":
        return text
    if text == "-":
        raise ConfigError("--transcript -: records go to standard output with --format jsonl")
    path = Path(text).expanduser()
    slash = "/" if text.endswith(("/", os.sep)) else ""
    return f"{path.absolute()}{slash}"
