"""Programs on the PATH of a script that run as forks of the tests' server, which has loaded torch already."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Client, Listener
from pathlib import Path
from threading import Thread

Run = Callable[[str, list[str], Path, dict[str, str]], subprocess.CompletedProcess[str]]
"""Runs a program by its name: with its arguments, in this folder and environment."""

_PROGRAM = """#!{python} -IS
import os, sys
from multiprocessing.connection import Client

with Client({address!r}) as asked:
    asked.send((os.path.basename(sys.argv[0]), sys.argv[1:], os.getcwd(), dict(os.environ)))
    code, out, err = asked.recv()
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


@contextmanager
def programs(folder: Path, *names: str, run: Run) -> Iterator[None]:
    """Programs of these names in a folder, as long as the context lasts: one runs after the other."""
    with Listener() as listener:
        for name in names:
            (folder / name).write_text(_PROGRAM.format(python=sys.executable, address=listener.address))
            (folder / name).chmod(0o755)
        server = Thread(target=_serve, args=(listener, run), daemon=True)
        server.start()
        yield
        with Client(listener.address) as last:
            last.send(None)
        server.join()


def _serve(listener: Listener, run: Run) -> None:
    """Run what is asked for, until one asks for nothing."""
    while True:
        with listener.accept() as asked:
            wanted = asked.recv()
            if wanted is None:
                return
            program, arguments, folder, environment = wanted
            ran = run(program, arguments, Path(folder), environment)
            asked.send((ran.returncode, ran.stdout, ran.stderr))
