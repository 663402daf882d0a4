"""What commands other than a run print; a reader that went away and a full disk have their exit codes."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from agentcore_runner.cli.stdout import failure


def emit(text: str) -> None:
    """Print a text to standard output, in UTF-8 whatever the locale. Raises StdoutClosed when its reader has
    gone, TranscriptError when it cannot be written."""
    sys.stdout.flush()
    data = memoryview(text.encode("utf-8", "replace"))
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError as exc:
        raise failure(exc) from exc


def emit_json(value: Any) -> None:
    """Print a value as indented JSON."""
    emit(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
