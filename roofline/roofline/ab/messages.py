"""The messages between ``roofline ab`` and its measuring processes: one JSON object a line, over two pipes.

A measuring process answers a message, then waits (blocked in a read, on no CPU) for the next one. So of two processes
one runs at a time:

    process  `Hello`   which tests it has collected
    parent   `Begin`   which of them to measure, in this order
    process  `Ready`   the next one's model is built and warm     (or at once `Done`: it can't be measured, and why)
    parent   `Agreed`  how many steps a round has, on both sides
    parent   `Turn`    take a round                               -> `Took`, as often as the parent likes
    parent   `Enough`  end: prove and count                       -> `Done`
    parent   `Next`    go on with the next test, or build this one anew

The two ends may be of different versions of this package, so `Hello` states its `PROTOCOL`.
"""

from __future__ import annotations

import os
import selectors
import time
from contextlib import suppress
from typing import IO, Any

import msgspec

PROTOCOL = 4
"""Raised when a message changes."""

PIPES = "ROOFLINE_TURNS"
"""Environment variable of a measuring process: the numbers of the pipes' ends, to read from and to write to."""

WORKER = "pytest_roofline.ab.worker"
"""The pytest plugin that takes turns; given with ``-p`` to the processes that ``roofline ab`` starts."""

_AT_ONCE = 2**16
"""Bytes read of a pipe: as many as one holds on Linux."""


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """A line in one direction; its kind is the name of its class."""


class Hello(Message, frozen=True, kw_only=True):
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


class Begin(Message, frozen=True, kw_only=True):
    """:param slowdown: make every step longer by this share of its own time; None leaves it alone."""

    tests: tuple[str, ...]
    slowdown: float | None = None


class Ready(Message, frozen=True, kw_only=True):
    """:param steps: that make a round long enough on this side.
    :param files: loaded since the last message.
    :param work: the fields of the case (`Case`) by their names, for what changed where its hash did.
    """

    test: str
    case: str
    workload_hash: str
    steps: int
    files: tuple[str, ...] = ()
    work: dict[str, Any] = msgspec.field(default_factory=dict)


class Agreed(Message, frozen=True, kw_only=True):
    steps: int


class Turn(Message, frozen=True, kw_only=True):
    pass


class Took(Message, frozen=True, kw_only=True):
    wall_s: float


class Enough(Message, frozen=True, kw_only=True):
    """:param last: the test isn't built anew after this: prove and count."""

    last: bool = True


class Done(Message, frozen=True, kw_only=True):
    """:param disturbed: for each round taken, what disturbed it from outside, or None.
    :param problem: why what was measured doesn't count, or why nothing was.
    """

    test: str
    disturbed: tuple[str | None, ...] = ()
    problem: str | None = None


class Next(Message, frozen=True, kw_only=True):
    """:param again: the same test once more, from its fixtures on."""

    again: bool = False


_ANY = Hello | Begin | Ready | Agreed | Turn | Took | Enough | Done | Next


class Closed(Exception):
    """The other end is gone."""


class TimedOut(Exception):
    """The other end sent no message within the limit."""


class Unreadable(Exception):
    """The line is no message of this version."""


class Channel:
    """One end of the two pipes."""

    def __init__(self, reading: IO[bytes], writing: IO[bytes]) -> None:
        self._reading = reading
        self._writing = writing
        self._received = b""

    def send(self, message: Message) -> None:
        """:raises Closed: nobody reads any more."""
        try:
            self._writing.write(msgspec.json.encode(message) + b"\n")
            self._writing.flush()
        except (BrokenPipeError, ValueError) as error:
            raise Closed from error

    def receive(self, limit_s: float | None = None) -> Message:
        """Wait for the next message.

        :param limit_s: how long; None is for ever. It is for systems on which one can wait for a pipe: not Windows.
        :raises Closed: there will be none.
        :raises TimedOut: there was none within ``limit_s``.
        :raises Unreadable: the line is none.
        """
        line = self._line(limit_s)
        try:
            message: Message = msgspec.json.decode(line, type=_ANY)
        except msgspec.DecodeError as error:
            raise Unreadable(f"{line[:80]!r} ({error})") from error
        return message

    def _line(self, limit_s: float | None) -> bytes:
        end = None if limit_s is None else time.monotonic() + limit_s
        while b"\n" not in self._received:
            try:
                number = self._reading.fileno()
            except ValueError as error:  # closed at this end
                raise Closed from error
            if end is not None:
                with selectors.DefaultSelector() as selector:
                    selector.register(number, selectors.EVENT_READ)
                    if not selector.select(max(0.0, end - time.monotonic())):
                        raise TimedOut
            # Not through the file's own buffer: select does not see a second message that waits there.
            part = os.read(number, _AT_ONCE)
            if not part:
                raise Closed
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        return line

    def close(self) -> None:
        self._reading.close()
        with suppress(BrokenPipeError):  # what was still to be written has no reader
            self._writing.close()
