"""What the child of `LlamaServer` runs: it builds the tiny model and serves it until its input closes.

One JSON line on standard output says when it answers and where; llama.cpp's log goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.servers.tiny_gguf import CONTEXT, write_scripted_gguf

MODEL = "tiny-scripted"


def main() -> None:
    threading.Thread(target=_exit_with_stdin, daemon=True).start()
    # llama.cpp logs to both streams: what it prints must not mix with the one line of JSON.
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        gguf = Path(folder, f"{MODEL}.gguf")
        write_scripted_gguf(gguf)
        server = _serve(gguf)
    print(json.dumps({"url": f"{server.listening_address}/v1", "model": MODEL}), file=report, flush=True)
    threading.Event().wait()


def _exit_with_stdin() -> None:
    """End with the parent: however it dies, its end of the pipe closes."""
    sys.stdin.buffer.read()
    os._exit(0)


def _serve(gguf: Path) -> Any:
    # Threads that spin while they wait are slow on a small, busy machine. Read when the library loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp  # type: ignore[import-untyped]  # ships no types

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    # An idle keep-alive connection holds one of these for 5 s, and with the default the next client waits.
    params.n_threads_http = 64
    params.use_jinja = True
    params.warmup = False
    params.offline = True
    params.ui = False
    params.verbosity = 1
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
