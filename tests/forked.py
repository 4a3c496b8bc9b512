"""Child processes that have torch already: importing it takes seconds, and most tests of the plugin start a pytest."""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import multiprocessing.popen_forkserver
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from tests.forked_children import fork_interpreters

ROOT = Path(__file__).parents[1]

CHILDREN = "TESTS_FORK_CHILDREN"
"""In the environment of such a process, which takes it away: interpreters that it starts have torch, too."""

# The server starts at its first use and stays. Its module is imported here, for pytester takes away what a test is the
# first to import, and each test would start a server. It loads what a measured step needs beside torch, too: the
# tracing compiler, and what comes with it.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["torch", "torch._dynamo", "torch.distributed.fsdp", "torchvision", "scipy.fft", "scipy.stats", "pytest", "rich"]
)


def run(
    module: str,
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    out: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m module ...`` in a fork of a process that has done nothing but import torch.

    :param environment: default: this process's.
    :param timeout: in seconds; then the process is killed.
    :param out: a terminal for its standard output, in place of the result's ``stdout``.
    :raises subprocess.TimeoutExpired: it took longer.
    """
    command = [sys.executable, "-m", module, *arguments]
    with tempfile.TemporaryDirectory() as streams:
        told, err = Path(streams, "out"), Path(streams, "err")
        told.touch()
        process = _CONTEXT.Process(
            target=_run, args=(command, str(folder), dict(environment or os.environ), out or str(told), str(err))
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(command, timeout or 0)
        return subprocess.CompletedProcess(
            command, process.exitcode, told.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")
        )


def _run(command: list[str], folder: str, environment: dict[str, str], out: str, err: str) -> None:
    """In the new process."""
    # The garbage collector would touch all that is loaded, and so copy it from the parent: it stays set aside.
    gc.freeze()
    gc.unfreeze = lambda: None
    # It has the start method of this process, and would start a server of its own for the workers of a data loader.
    multiprocessing.set_start_method(None, force=True)
    # A shell's background job ignores Ctrl-C, and so does all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, path in ((1, out), (2, err)):
        stream = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stream, number)
        os.close(stream)
    if environment.pop(CHILDREN, None) is not None and (start := fork_interpreters()) is not None:
        command, folder, environment = [sys.executable, *start.command], start.folder, start.environment
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # A new interpreter reads these when it starts.
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    sys.pycache_prefix = environment.get("PYTHONPYCACHEPREFIX") or None
    # What this process has of its parent's and a new one would not: the repository, and modules of its tests.
    given = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path[:] = [*given, *(path for path in sys.path if path not in ("", str(ROOT), *given))]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    _, kind, what, *arguments = sys.orig_argv = command
    sys.argv = [what if kind == "-m" else kind, *arguments]
    try:
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.modules["__main__"] = main = ModuleType("__main__")
            exec(what, main.__dict__)
    finally:
        atexit._run_exitfuncs()  # a process of multiprocessing's ends without them
