"""The ``roofline`` commands that show a run or judge it, as a library: what they print is kept and returned."""

from __future__ import annotations

import io
import os
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass

CRASHED = 70
"""The exit code of a command that raised an error of its own (EX_SOFTWARE). What was measured is on disk before."""


class AnalysisError(Exception):
    """The analysis could not be asked: a message about its input, or a fault of its own with the traceback."""


@contextmanager
def guarded() -> Iterator[None]:
    """Call the analysis. Whatever goes wrong in it hides no result, and is no verdict.

    :raises AnalysisError: something did.
    """
    from roofline.files.text import ReadError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a project's tests may make errors of them
        try:
            yield
        except ReadError as error:
            raise AnalysisError(str(error)) from error
        except Exception as error:
            raise AnalysisError("".join(traceback.format_exception(error)).rstrip()) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command of the program said, and its exit code."""

    command: str
    code: int
    out: str
    err: str

    def lines(self) -> Iterator[str]:
        """What to show: its output, and why it failed where it did."""
        if self.out:
            yield self.out
        if self.code:
            yield f"roofline {self.command} ended with exit code {self.code}: {self.err}"


def ask(command: str, *arguments: str) -> Answer:
    """Do what ``roofline COMMAND ARGUMENTS`` does."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            with guarded():
                code = _run(command, arguments)
        except AnalysisError as error:
            code = CRASHED
            err.write(str(error))
    return Answer(command=command, code=code, out=out.getvalue().rstrip(), err=err.getvalue().strip())


def _run(command: str, arguments: tuple[str, ...]) -> int:
    from roofline.cli import program
    from roofline.text.units import VERBOSE_BY

    # pytest has no --width, and -v of its own: hints name what gives more there.
    with _environment({VERBOSE_BY: "--roofline-gate-options=-v"} if command == "check" else {}):
        return program.main([command, *arguments], wider="the environment variable COLUMNS={}")


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
