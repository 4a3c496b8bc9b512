"""The events of a Chrome trace, read piece by piece: a trace of 10 GB takes no more memory than one of 10 MB.

A piece ends between two events, and each is decoded by itself. Quotes and brackets alone tell where events end.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roofline.files.decoding import ReadError, refused

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

WHAT_WE_READ = (
    "Give what torch.profiler exports (prof.export_chrome_trace or torch.profiler.tensorboard_trace_handler), plain or"
    " with gzip."
)
_CUT_OFF = "The program was probably stopped while it wrote it, or the copy is incomplete: export or copy it again."

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LIST = re.compile(rb'\s*"traceEvents"\s*:\s*\[')

_PIECE_BYTE = 2 * 2**20
_LOOK_AHEAD_BYTE = 1024
_LARGEST_BYTE = 16 * 2**20
"""Of one event, or of one other member of the file. Decoded it takes some twenty times as much memory."""

_NONSTANDARD = re.compile(rb'(?<!\\)":\s*-?(?:nan|inf(?:inity)?)\b', re.IGNORECASE)
"""A number that C++ printed and JSON doesn't have."""

_BACKSLASH = re.compile(rb'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
"""A backslash with what JSON allows behind it, or alone."""

_QUOTE, _OPEN, _CLOSE, _COMMA = range(1, 5)
_MARKS = {ord('"'): _QUOTE, **dict.fromkeys(b"[{", _OPEN), **dict.fromkeys(b"]}", _CLOSE), ord(","): _COMMA}
_KINDS = bytes(_MARKS.get(code, 0) for code in range(256))


class Event(msgspec.Struct, gc=False):
    """The fields of an event that are used. ``args`` stays as it is written, for few events need theirs."""

    ph: str = ""
    name: str | float | None = None
    cat: str | None = None
    ts: float | str | None = None
    dur: float | str | None = None
    pid: int | str | float | None = None
    tid: int | str | float | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")


class Head(msgspec.Struct):
    """What stands beside the events. ``traceEvents`` is set here only where it is no list."""

    traceEvents: Any = None  # noqa: N815 (the key)
    deviceProperties: Any = None  # noqa: N815
    distributedInfo: Any = None  # noqa: N815
    schemaVersion: Any = None  # noqa: N815


class TraceStream:
    """Iterate over it once for lists of events in the order of the file.

    Afterwards ``head`` holds the other members, ``has_list`` says whether there was a list of events, and
    ``backslashes`` whether some were repaired that nobody had escaped.
    """

    def __init__(self, path: Path) -> None:
        self.head = Head()
        self.has_list = False
        self.backslashes = False
        self._path = path
        self._text = b""
        self._line = 1
        self._file: gzip.GzipFile | BufferedReader

    def __iter__(self) -> Iterator[list[Event]]:
        """:raises ReadError: the file can't be read, is cut off, isn't JSON, or isn't of the form of a trace."""
        try:
            with self._path.open("rb") as plain:
                packed = plain.peek(len(_GZIP)).startswith(_GZIP)
                self._file = gzip.GzipFile(fileobj=plain) if packed else plain
                yield from self._members()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ReadError(f"{self._path}: its gzip ends in the middle or is damaged ({error}). {_CUT_OFF}") from error
        except OSError as error:
            raise refused(self._path, error) from error

    def _members(self) -> Iterator[list[Event]]:
        """Read the object that the file is, member by member."""
        self._begin()
        mark = b","
        while mark == b",":
            self._look_ahead()
            if match := _LIST.match(self._text):
                self._drop(match.end())
                self.has_list = True
                yield from self._events()
                rest, mark = self._upto_first()
                self._decode(_HEAD, b'{"traceEvents":[]' + rest + mark.replace(b",", b"}"))
            else:
                member, mark = self._upto_first()
                one = self._decode(_HEAD, b"{" + member + mark.replace(b",", b"}"))
                for name in Head.__struct_fields__:
                    if (value := getattr(one, name)) is not None:
                        setattr(self.head, name, value)
        while self._text or self._more():
            behind = self._text
            self._drop(len(behind))
            if behind.strip():
                self._decode(_HEAD, b"{}" + behind)

    def _look_ahead(self) -> None:
        """Have the name of the next member whole, and what its value begins with."""
        while True:
            self._drop(len(self._text) - len(self._text.lstrip()))
            if len(self._text) >= _LOOK_AHEAD_BYTE or not self._more():
                return

    def _begin(self) -> None:
        """Leave what stands behind the first brace.

        :raises ReadError: the file is empty, or begins as no trace does.
        """
        self._more()
        self._text = self._text.removeprefix(_BYTE_ORDER_MARK)
        while not self._text.strip():
            self._drop(len(self._text))
            if not self._more():
                raise ReadError(f"{self._path}: empty. {_CUT_OFF}")
        begin = self._text.lstrip()[:40]
        if begin.startswith(b"["):
            raise ReadError(
                f"{self._path}: a list of events, as other programs write it; torch.profiler writes an object with them"
                f" in 'traceEvents'. {WHAT_WE_READ}"
            )
        if not begin.startswith(b"{"):
            text = begin.decode("utf-8", "replace").splitlines()[0]
            raise ReadError(
                f"{self._path}: no trace: it begins with {text!r}, a trace with '{{'. Tables of ncu are read by"
                f" roofline ncu, those of nsys by roofline nsys. {WHAT_WE_READ}"
            )
        self._drop(self._text.index(b"{") + 1)

    def _events(self) -> Iterator[list[Event]]:
        """Read up to the bracket that closes the list."""
        mark, first = b",", True
        while mark == b",":
            text, mark = self._upto_last()
            closed = mark.replace(b",", b"]")
            if text.strip() or not first:
                yield self._decode(_EVENTS, b"[" + text + closed)
            elif closed != b"]":
                self._decode(_EVENTS, b"[" + closed)
            first = False

    def _upto_first(self) -> tuple[bytes, bytes]:
        """Take the text up to the next comma or closing bracket outside of all brackets, and that."""
        while True:
            commas, close = separators(self._text)
            end = int(commas[0]) if len(commas) else close
            if end is not None:
                return self._take(end)
            self._need_more()

    def _upto_last(self) -> tuple[bytes, bytes]:
        """Take as many events as the buffer has whole, and the comma or closing bracket behind them."""
        while True:
            commas, close = separators(self._text)
            end = int(commas[-1]) if close is None and len(commas) else close
            if end is not None:
                return self._take(end)
            self._need_more()

    def _take(self, end: int) -> tuple[bytes, bytes]:
        taken, mark = self._text[:end], self._text[end : end + 1]
        self._drop(end + 1)
        return taken, mark

    def _drop(self, count: int) -> None:
        self._line += self._text.count(b"\n", 0, count)
        self._text = self._text[count:]

    def _more(self) -> bool:
        """Read on. False: the file ends here."""
        more = self._file.read(max(_PIECE_BYTE, len(self._text)))
        self._text += more
        return bool(more)

    def _need_more(self) -> None:
        """:raises ReadError: the file ends here, or what is not yet whole is too large."""
        if len(self._text) >= _LARGEST_BYTE:
            line = self._line + self._text.count(b"\n", 0, len(self._text) - len(self._text.lstrip()))
            raise ReadError(
                f"{self._path}:{line}: what begins here doesn't end within {_LARGEST_BYTE >> 20} MB: no event is"
                f" as long, and a quote or bracket in it may not be closed. {WHAT_WE_READ}"
            )
        if not self._more():
            line = self._line + self._text.count(b"\n")
            raise ReadError(f"{self._path}:{line}: truncated, the JSON ends in the middle. {_CUT_OFF}")

    def _decode(self, decoder: msgspec.json.Decoder[Any], text: bytes) -> Any:
        """:raises ReadError: not JSON, or JSON that isn't of the form of a trace."""
        try:
            return decoder.decode(text)
        except msgspec.ValidationError as error:
            raise ReadError(f"{self._path}: JSON, but not of the form of a trace ({error}). {WHAT_WE_READ}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            repaired = self._repaired(text)
            if repaired != text:
                return self._decode(decoder, repaired)
            place = re.search(r"\(byte (\d+)\)", str(error))
            behind = text.count(b"\n", int(place[1])) if place else 0
            line = max(1, self._line - behind)
            raise ReadError(f"{self._path}:{line}: not JSON ({error}). {WHAT_WE_READ}") from error

    def _repaired(self, text: bytes) -> bytes:
        """Write null for numbers that aren't finite, UTF-8, and two backslashes where one stands that escapes nothing.

        torch.profiler on Windows writes the paths of Python's files as they are (``with_stack=True``).
        """
        finite = _NONSTANDARD.sub(b'":null', text).decode("utf-8", "replace").encode()
        escaped = _BACKSLASH.sub(lambda match: match[0] if match[1] else rb"\\", finite)
        self.backslashes |= escaped != finite
        return escaped


def separators(text: bytes) -> tuple[NDArray[int64], int | None]:
    """Find commas outside of all brackets and strings, and the first bracket that closes none of the text's own.

    :param text: begins outside of a string.
    :returns: places of the commas before that bracket, and its own; None: there is none.
    """
    import numpy as np

    if b"\\" in text:
        # Of a run of backslashes each pair is one character; one that is left over escapes the quote behind it.
        text = text.replace(rb"\\", b"__").replace(rb"\"", b"__")
    kinds = np.frombuffer(text.translate(_KINDS), np.uint8)
    places = np.flatnonzero(kinds)
    kinds = kinds[places]
    outside = np.cumsum(kinds == _QUOTE, dtype=np.uint8) % 2 == 0
    places, kinds = places[outside], kinds[outside]
    step = (kinds == _OPEN).astype(np.int8) - (kinds == _CLOSE).astype(np.int8)
    depth = np.cumsum(step, dtype=np.int32)
    closing = np.flatnonzero(depth < 0)
    close = int(closing[0]) if len(closing) else len(places)
    commas = places[:close][(kinds[:close] == _COMMA) & (depth[:close] == 0)]
    return commas, int(places[close]) if len(closing) else None


_EVENTS = msgspec.json.Decoder(list[Event])
_HEAD = msgspec.json.Decoder(Head)
