"""Tables in: CSV files of a known layout, each line a row. Nothing is guessed: what can't be read is refused."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

from roofline.audits.layouts import BESIDE_MAC, JOINED, PLAIN, NumberColumn, TableLayout, layouts_of, needed, plain
from roofline.audits.row import DeviceKind, Mode, Number, StatedRow, exact, rounded
from roofline.files.decoding import ReadError
from roofline.schema.amounts import usable_or_zero
from roofline.text.units import some_of

_NONFINITE = {"nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"}
_MISSING = {"", "-", "n/a", "na", "none", "null", *_NONFINITE}
_NUMBER = re.compile(r"\+?(?P<whole>\d+|\d{1,3}(?:,\d{3})+)?(?:\.(?P<part>\d*))?(?:e(?P<exponent>[+-]?\d{1,2}))?", re.I)
_SIDES = re.compile(r"(?:\d{1,5} ?[x\u00d7] ?)?(?P<height>\d{1,5}) ?[x\u00d7] ?(?P<width>\d{1,5})", re.I)
"""An image's size, with or without its channels: ``224x224``, ``3 x 224 x 224``."""

_NAMED = 10
"""Columns that are named of a table of an unknown layout."""

_MODES: dict[str, Mode] = {"train": "train", "training": "train", "infer": "infer", "inference": "infer"}
_KINDS: dict[str, DeviceKind] = {
    **dict.fromkeys(("cpu", "xeon", "epyc", "ryzen"), "cpu"),
    **dict.fromkeys(("cuda", "gpu", "mps", "xpu", "rocm"), "accelerator"),
    **dict.fromkeys(("nvidia", "geforce", "tesla", "radeon", "instinct"), "accelerator"),
}
"""By a word of the device's name, the first that it has."""


def table_of(path: Path, text: str) -> tuple[tuple[StatedRow, ...], tuple[str, ...]]:
    """Read a table: its rows, and the columns, as they are headed, that no rule can look at.

    These are of a plain table, whose names are free to choose.

    :raises ReadError: no line, two columns of one meaning, an unknown layout, a line that is too short or too long, or
        a cell that is no number where one belongs.
    """
    lines = list(_lines(path, text))
    if not lines:
        raise ReadError(f"{path}: no line in it.")
    (first, header), *body = lines
    columns = [plain(cell) for cell in header]
    layouts = layouts_of(frozenset(columns))
    if not layouts:
        found = some_of([cell.strip() or "(no name)" for cell in header], _NAMED)
        raise ReadError(f"{path}:{first}: a table of an unknown layout. Columns found: {found}. {needed()}")
    if not body:
        raise ReadError(f"{path}: a header and no row.")
    for layout in layouts:
        _refuse_doubles(layout, columns, f"{path}:{first}")
    for line, cells in body:
        if len(cells) != len(columns):
            raise ReadError(
                f"{path}:{line}: {len(cells)} cells under {len(columns)} columns. Is the file complete, and"
                " are cells with a comma in quotes?"
            )
    rows = tuple(
        _row(layout, dict(zip(columns, cells, strict=True)), str(path), line)
        for line, cells in body
        for layout in layouts
    )
    free = layouts[0] if layouts in ((PLAIN,), (BESIDE_MAC,)) else None
    unread = [cell.strip() for cell in header if free is not None and not free.reads(plain(cell))]
    return rows, tuple(filter(None, unread))


def kind_of(device: str | None) -> DeviceKind | None:
    """Tell a CPU from an accelerator by its name; None where the name does not tell."""
    if device is None:
        return None
    words = set(re.split(r"[^a-z]+", device.casefold()))
    return next((kind for word, kind in _KINDS.items() if word in words), None)


def number(text: str) -> Number | None:
    """A printed number, in the precision it was printed in; None where the cell says that there is none.

    :raises ValueError: neither.
    """
    text = text.strip()
    if text.casefold() in _MISSING:
        return None
    match = _NUMBER.fullmatch(text)
    if match is None or not (match["whole"] or match["part"]):
        raise ValueError(text)
    value = float(text.replace(",", ""))
    if not usable_or_zero(value):
        raise ValueError(text)
    return rounded(value, 0.5 * 10.0 ** (int(match["exponent"] or 0) - len(match["part"] or "")))


def _lines(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line that has any."""
    first = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ReadError(f"{path}:{reader.line_num}: not a CSV table ({error}).") from error


def _refuse_doubles(layout: TableLayout, columns: Sequence[str], where: str) -> None:
    seen: dict[tuple[str, float | None], str] = {}
    for column in columns:
        slot = layout.numbers[column].slot if column in layout.numbers else (layout.words.get(column, ""), None)
        if slot[0] == JOINED:
            continue
        if slot[0] and slot in seen:
            raise ReadError(f"{where}: the columns {seen[slot]!r} and {column!r} mean the same. Leave one of them out.")
        seen[slot] = column


def _row(layout: TableLayout, cells: Mapping[str, str], file: str, line: int) -> StatedRow:
    words: dict[str, Any] = {}
    for name, field in layout.words.items():
        if text := cells.get(name, "").strip():
            words[field] = f"{words[field]}, {text}" if field in words else text
    figures: dict[str, Any] = {}
    percentiles: list[tuple[float, Number]] = []
    for name, quantity in layout.numbers.items():
        if name not in cells:
            continue
        figure = _figure(cells[name], quantity, f"{file}:{line}: column {name!r}")
        if quantity.share is None:
            figures[quantity.field] = figure
        elif figure is not None:
            percentiles.append((quantity.share, figure))
    mode = layout.mode or _MODES.get((words.pop("mode", None) or "").casefold())
    batch, size, length = (figures.get(name) for name in ("batch", "size_pixel", "length_token"))
    work = (
        re.sub(r"[^a-z0-9.]", "", (words.get("model") or "").casefold()),
        mode or "",
        plain(words.get("precision") or ""),
        plain(words.get("variant") or ""),
        f"batch {batch.value:g}" if batch else "",
        f"{size.value:g} pixel" if size else "",
        f"{length.value:g} tokens" if length else "",
    )
    shown = (words.get("device"), words.get("model"), mode, words.get("precision"), *work[4:])
    return StatedRow(
        file=file,
        number=line,
        counted_in="line",
        name=" ".join(word for word in shown if word),
        work=work,
        mode=mode,
        device_kind=kind_of(words.get("device")),
        percentiles=tuple(sorted(percentiles, key=lambda pair: pair[0])),
        nonfinite=tuple(
            f"{name} {cells[name].strip()}"
            for name in layout.numbers
            if cells.get(name, "").strip().casefold() in _NONFINITE
        ),
        **figures,
        **{field: word for field, word in words.items() if field != "mode"},
    )


def _figure(cell: str, quantity: NumberColumn, where: str) -> Number | None:
    sides = _SIDES.fullmatch(cell.strip()) if quantity.field == "size_pixel" else None
    if sides is not None:
        return exact(sqrt(int(sides["height"]) * int(sides["width"])))
    try:
        figure = number(cell)
    except ValueError as error:
        raise ReadError(
            f"{where}: {cell.strip()!r} is no number that was measured. Allowed are 1234.5, 1,234.5 and 1.2e3 from 0 to"
            " 1e30, and nothing or n/a where there is none."
        ) from error
    if figure is None:
        return None
    return exact(figure.value * quantity.factor) if quantity.count else figure * exact(quantity.factor)
