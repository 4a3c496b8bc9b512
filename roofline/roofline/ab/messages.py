"""What ``roofline ab`` and its measuring processes say to each other: one JSON object a line, over two pipes.

The process that measures runs only while it holds the word. It speaks, then waits (blocked in a read, on no CPU) until
it is spoken to, so that of two processes one runs at a time:

    process  `Hello`   which tests it has collected
    parent   `Begin`   which of them to measure, in this order
    process  `Ready`   the next one's model is built and warm     (or at once `Done`: it can't be measured, and why)
    parent   `Agreed`  how many steps a round has, on both sides
    parent   `Turn`    take a round                               -> `Took`, as often as the parent likes
    parent   `Enough`  no more of it: prove and count             -> `Done`
    parent   `Next`    go on with the next test, or build this one anew

The two ends may be of different versions of this package: `PROTOCOL` is the first thing said.
"""

from __future__ import annotations

import json
import os
import selectors
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import IO, Any

PROTOCOL = 4
"""Raised when a message changes."""

PIPES = "ROOFLINE_TURNS"
"""Environment variable of a measuring process: the numbers of the pipes' ends, to read from and to write to."""

WORKER = "pytest_roofline.ab.worker"
"""The pytest plugin that takes turns; given with ``-p`` to the processes that ``roofline ab`` starts."""

_AT_ONCE = 2**16
"""Bytes read of a pipe: as many as one holds on Linux."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """:param tests: pytest's node ids of the collected tests that measure a model.
    :param cases: what each is called in results and tables.
    :param files: of the modules loaded so far, compiled ones too, but those of Python itself.
    """

    protocol: int
    tests: tuple[str, ...]
    cases: tuple[str, ...]
    files: tuple[str, ...]
    python: str
    torch: str
    plugin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """:param slowdown: make every step longer by this share of its own time; None leaves it alone."""

    tests: tuple[str, ...]
    slowdown: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """:param steps: that make a round long enough on this side.
    :param files: loaded since the last message.
    :param work: the fields of the case (`Case`) by their names, for what changed where its hash did.
    """

    test: str
    case: str
    workload_hash: str
    steps: int
    files: tuple[str, ...] = ()
    work: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Enough:
    """:param last: the test isn't built anew after this: prove and count."""

    last: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """:param disturbed: for each round taken, what disturbed it from outside, or None.
    :param problem: why what was measured doesn't count, or why nothing was.
    """

    test: str
    disturbed: tuple[str | None, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """:param again: the same test once more, from its fixtures on."""

    again: bool = False


Message = Hello | Begin | Ready | Agreed | Turn | Took | Enough | Done | Next

_KINDS: dict[str, type[Message]] = {
    kind.__name__.lower(): kind for kind in (Hello, Begin, Ready, Agreed, Turn, Took, Enough, Done, Next)
}


class Closed(Exception):
    """The other end is gone."""


class Silent(Exception):
    """The other end is there, and has said nothing for as long as one was willing to wait."""


class Garbled(Exception):
    """What came is no message of this version."""


class Channel:
    """One end of the two pipes."""

    def __init__(self, reading: IO[bytes], writing: IO[bytes]) -> None:
        self._reading = reading
        self._writing = writing
        self._heard = b""

    def send(self, message: Message) -> None:
        """:raises Closed: nobody reads any more."""
        values = {"kind": type(message).__name__.lower(), **asdict(message)}
        try:
            self._writing.write(json.dumps(values).encode() + b"\n")
            self._writing.flush()
        except (BrokenPipeError, ValueError) as error:
            raise Closed from error

    def receive(self, limit_s: float | None = None) -> Message:
        """Wait for the next message.

        :param limit_s: how long; None is for ever. It is for systems on which one can wait for a pipe: not Windows.
        :raises Closed: there will be none.
        :raises Silent: there was none within ``limit_s``.
        :raises Garbled: it is none.
        """
        line = self._line(limit_s)
        try:
            values: dict[str, Any] = json.loads(line)
            kind: Callable[..., Message] = _KINDS[values.pop("kind")]
            return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Garbled(f"{line[:80]!r} ({error})") from error

    def _line(self, limit_s: float | None) -> bytes:
        end = None if limit_s is None else time.monotonic() + limit_s
        while b"\n" not in self._heard:
            try:
                number = self._reading.fileno()
            except ValueError as error:  # closed at this end
                raise Closed from error
            if end is not None and not _readable(number, max(0.0, end - time.monotonic())):
                raise Silent
            # Past the file's own buffer, in which a second message could wait where nobody is told of it.
            part = os.read(number, _AT_ONCE)
            if not part:
                raise Closed
            self._heard += part
        line, _, self._heard = self._heard.partition(b"\n")
        return line

    def close(self) -> None:
        self._reading.close()
        with suppress(BrokenPipeError):  # what was still to be written has no reader
            self._writing.close()


def _readable(number: int, limit_s: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(number, selectors.EVENT_READ)
        return bool(selector.select(limit_s))
