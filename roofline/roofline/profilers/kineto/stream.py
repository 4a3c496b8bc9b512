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

from roofline.files.decoding import ReadError, refuse_binary, refused

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
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')

_PIECE_BYTE = 2 * 2**20
_LARGEST_BYTE = 16 * 2**20
"""Of one event, or of all that stands before the events, or behind them. Decoded it takes some twenty times as much."""

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
    """What stands beside the events."""

    deviceProperties: Any = None  # noqa: N815 (the key)
    distributedInfo: Any = None  # noqa: N815
    schemaVersion: Any = None  # noqa: N815


class TraceStream:
    """Iterate over it once for lists of events in the order of the file.

    Afterwards ``head`` holds what stands beside them, and ``backslashes`` says whether some were repaired that nobody
    had escaped.
    """

    def __init__(self, path: Path) -> None:
        self.head = Head()
        self.backslashes = False
        self._path = path

    def __iter__(self) -> Iterator[list[Event]]:
        """:raises ReadError: the file can't be read, is cut off, isn't JSON, or isn't of the form of a trace."""
        try:
            with self._path.open("rb") as plain:
                packed = plain.peek(len(_GZIP)).startswith(_GZIP)
                yield from self._events(gzip.GzipFile(fileobj=plain) if packed else plain)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ReadError(f"{self._path}: its gzip ends in the middle or is damaged ({error}). {_CUT_OFF}") from error
        except OSError as error:
            raise refused(self._path, error) from error

    def _events(self, file: gzip.GzipFile | BufferedReader) -> Iterator[list[Event]]:
        text = self._beginning(file)
        while (begin := _LIST.search(text)) is None:
            more = file.read(_PIECE_BYTE)
            if not more:
                self._decode(_HEAD, text)
            if not more or len(text) >= _LARGEST_BYTE:
                raise ReadError(f"{self._path}: JSON, but no trace (no list 'traceEvents'). {WHAT_WE_READ}")
            text += more
        before, text = text[: begin.end()], text[begin.end() :]
        close: int | None = None
        while close is None:
            commas, close = separators(text)
            end = int(commas[-1]) if close is None and len(commas) else close
            if end is None:
                text += self._more(file, len(text))
                continue
            if text[:end].strip():
                yield self._decode(_EVENTS, b"[" + text[:end] + b"]")
            text = text[end + 1 :]
        while len(text) < _LARGEST_BYTE and (more := file.read(_PIECE_BYTE)):
            text += more
        self.head = self._decode(_HEAD, before + b"]" + text)

    def _beginning(self, file: gzip.GzipFile | BufferedReader) -> bytes:
        """:raises ReadError: the file is empty, or begins as no trace does."""
        text = b""
        while not text:
            more = file.read(_PIECE_BYTE)
            if not more:
                raise ReadError(f"{self._path}: empty. {_CUT_OFF}")
            text = more.removeprefix(_BYTE_ORDER_MARK).lstrip()
        if text.startswith(b"["):
            raise ReadError(
                f"{self._path}: a list of events, as other programs write it; torch.profiler writes an object with them"
                f" in 'traceEvents'. {WHAT_WE_READ}"
            )
        if not text.startswith(b"{"):
            refuse_binary(self._path, text, WHAT_WE_READ)
            begin = text[:40].decode("utf-8", "replace").splitlines()[0]
            raise ReadError(
                f"{self._path}: no trace: it begins with {begin!r}, a trace with '{{'. Tables of ncu are read by"
                f" roofline ncu, those of nsys by roofline nsys. {WHAT_WE_READ}"
            )
        return text

    def _more(self, file: gzip.GzipFile | BufferedReader, begun_byte: int) -> bytes:
        """Read on in an event.

        :raises ReadError: the file ends here, or the event is too large.
        """
        if begun_byte >= _LARGEST_BYTE:
            raise ReadError(
                f"{self._path}: something in it doesn't end within {_LARGEST_BYTE >> 20} MB: no event is as long, and a"
                f" quote or bracket may not be closed. {WHAT_WE_READ}"
            )
        more = file.read(max(_PIECE_BYTE, begun_byte))
        if not more:
            raise ReadError(f"{self._path}: truncated, the JSON ends in the middle. {_CUT_OFF}")
        return more

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
            raise ReadError(f"{self._path}: not JSON ({error}). {WHAT_WE_READ}") from error

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
