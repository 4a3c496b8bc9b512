"""Interpreters that a process of `tests.forked` starts: forks as well, of a copy of it that has done nothing yet.

Each is a child of the process that starts it, as a new interpreter would be: signals, exit codes, inherited pipes and
what ends with its parent are as always. The copy can't fork a child for another process, so its own child forks once
more and ends, and the system gives the orphan to the process that asked for it.
"""

from __future__ import annotations

import ctypes
import fcntl
import inspect
import os
import pickle
import socket
import subprocess
import sys
import threading
from multiprocessing import resource_tracker
from typing import Any, NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
"""Linux: what loses its parent below this process becomes its child (prctl(2))."""

_MOST_OPEN = 1000
"""Above the files that a new process has."""


class Start(NamedTuple):
    """What an interpreter is to run.

    :param command: without the interpreter.
    :param kept: files that it inherits beside its standard streams.
    """

    command: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    new_session: bool
    kept: tuple[int, ...]


def fork_interpreters() -> Start | None:
    """Have `subprocess` fork interpreters from now on. It returns None, and in each of them what it is to run."""
    if sys.platform != "linux" or ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        return None
    here, copy = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        here.close()
        return _serve(copy)
    copy.close()
    _replace_start(here)
    return None


def _serve(requests: socket.socket) -> Start:
    """Fork for each request. This returns in the new processes, and ends with the one that asks."""
    while True:
        request, files, _, _ = socket.recv_fds(requests, 2**20, 64)
        if not request:
            os._exit(0)
        start = Start(*pickle.loads(request))
        pid_out, pid_in = os.pipe()
        wait_out, wait_in = os.pipe()
        if (between := os.fork()) == 0:
            if (pid := os.fork()) != 0:
                os.write(pid_in, str(pid).encode())
                os._exit(0)
            os.close(wait_in)
            os.read(wait_out, 1)  # until it has its parent
            requests.detach()
            _take(files, (0, 1, 2, *start.kept))
            if start.new_session:
                os.setsid()
            return start
        os.waitpid(between, 0)
        requests.send(os.read(pid_out, 32))
        for file in (pid_out, pid_in, wait_out, wait_in, *files):
            os.close(file)


def _take(files: list[int], numbers: tuple[int, ...]) -> None:
    """Have these files under these numbers, and no others."""
    high = [fcntl.fcntl(file, fcntl.F_DUPFD, _MOST_OPEN) for file in files]
    os.closerange(3, _MOST_OPEN)
    for file, number in zip(high, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = os.fdopen(0, closefd=False)
    resource_tracker._resource_tracker._fd = None  # type: ignore[attr-defined]


def _replace_start(server: socket.socket) -> None:
    start_program: Any = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    parameters = inspect.signature(start_program)
    one_at_a_time = threading.Lock()

    def start(process: Any, *arguments: Any) -> None:
        given = parameters.bind(process, *arguments).arguments
        command = _of_interpreter(given["args"])
        if command is None or given["shell"] or given["preexec_fn"] is not None:
            start_program(process, *arguments)
            return
        streams = [given[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        request = Start(
            command=command,
            folder=os.path.abspath(given["cwd"] or "."),
            environment=dict(os.environ if given["env"] is None else given["env"]),
            new_session=given["start_new_session"],
            kept=tuple(given["pass_fds"]),
        )
        files = [number if stream == -1 else stream for number, stream in enumerate(streams)]
        with one_at_a_time:
            socket.send_fds(server, [pickle.dumps(tuple(request))], [*files, *request.kept])
            process.pid = int(server.recv(32))
        process._child_created = True
        process._close_pipe_fds(
            *(given[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"))
        )

    subprocess.Popen._execute_child = start  # type: ignore[attr-defined]


def _of_interpreter(command: Any) -> tuple[str, ...] | None:
    """What is behind ``python``, or ``python -u``, if that is a module or code; else None."""
    if isinstance(command, str | bytes | os.PathLike):
        return None
    first, *rest = map(os.fsdecode, command)
    if rest[:1] == ["-u"]:
        del rest[0]
    return tuple(rest) if first == sys.executable and rest[:1] in (["-m"], ["-c"]) else None
