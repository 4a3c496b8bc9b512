"""Define a table: rows under columns.

A column knows its name (with the unit, as the record spells it), its heading, how to get a value from a row and how to
show it. CSV and JSON carry ``columns`` with raw values; terminal and Markdown show the columns chosen for display.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, Generic, Literal, TypeVar

from roofline.schema.record_json import strict
from roofline.text.units import counted, percent_of, scaled, signed

Row = TypeVar("Row")
Outer = TypeVar("Outer")
Item = TypeVar("Item")
Key = TypeVar("Key")

Dtype = Literal["string", "category", "boolean", "Float64", "Int64", "datetime64[us, UTC]"]
"""Of pandas: all have a value for what is missing."""

Format = Literal["table", "csv", "json", "markdown", "parquet"]
FORMATS: tuple[Format, ...] = ("table", "csv", "json", "markdown")
"""Those that are texts; Parquet is written to files alone."""

_KEY_WIDTH = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[Row]):
    """One column.

    ``get`` gives a plain JSON value (None: not had); a number that is not finite counts as not had. ``show`` turns it
    into text; a value of None shows as ``-``. Texts are handed to it escaped: a line break in what it returns is its
    own. ``narrow`` is a shorter ``show`` for where space is short. A terminal breaks the texts of a column that is to
    ``fill`` the width into lines that fit beside the others. ``drop`` says which columns give way first there:
    the highest goes first, 0 never goes. ``dtype`` is that of the values in a pandas frame, whatever they are; empty,
    where a user gave them: that of the values that are there. ``meaning`` is what the column says beyond its name,
    title and unit.
    """

    name: str
    title: str
    get: Callable[[Row], Any]
    show: Callable[[Any], str] = str
    right: bool = True
    narrow: Callable[[Any], str] | None = None
    drop: int = 0
    fill: bool = False
    dtype: Dtype | Literal[""] = ""
    meaning: str = ""

    @property
    def path(self) -> str:
        """Give the place of the value in a row, as `Follow` has it; empty where it is worked out."""
        return self.get.path if isinstance(self.get, Follow) else ""

    def of(self, part: Callable[[Outer], Row | None]) -> Column[Outer]:
        """Make the same column for rows that have ours as a part, or None in its place."""

        def get(row: Outer) -> Any:
            own = part(row)
            return None if own is None else self.get(own)

        return replace(self, get=get)  # type: ignore[return-value, arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[Row]):
    """Rows under columns. The first displayed is the key: where space is short it is broken into lines at ``-``.

    Columns that may give way do before the key's lines are narrower than ``key_width``; those that may not make them
    narrower still, and go from the right where nothing else helps. No figure is cut off.

    ``section`` gives the heading of the block a row belongs to: rows of a block stand together in ``rows``. Markdown
    shows it as a first column, under ``section_title``. ``notes`` stand below the table.
    """

    title: str
    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    display: Sequence[Column[Row]] = ()
    section: Callable[[Row], str] | None = None
    section_title: str = ""
    notes: Sequence[str] = ()
    key_width: int = _KEY_WIDTH

    def displayed(self) -> list[Column[Row]]:
        return list(self.display or self.columns)


Get = str | Callable[[Any], Any]
"""How a column gets a value from a row: a function, or a path of `Follow`; empty: that of its name."""

Roots = Mapping[str, Callable[[Any], Any]]
"""What gets the first part of a path of `Follow`, where that is no attribute of a row."""


def number(
    name: str,
    title: str = "",
    get: Get = "",
    show: Callable[[Any], str] = str,
    *,
    right: bool = True,
    narrow: Callable[[Any], str] | None = None,
    drop: int = 0,
    dtype: Dtype = "Float64",
    by: Callable[[Any], Any] | None = None,
    roots: Roots | None = None,
) -> Column[Any]:
    """Make a column that stands on the right. Its title is its name where none is given.

    :param by: of the path, as `Follow` has it; ``roots`` likewise.
    """
    value = get if callable(get) else Follow(get or name, roots, by)
    return Column(
        name=name, title=title or name, get=value, show=show, right=right, narrow=narrow, drop=drop, dtype=dtype
    )


words = partial(number, right=False, dtype="string")
"""Makes a column that stands on the left."""

seconds = partial(number, show=lambda value: scaled(value, "s"))
"""Makes a column of times."""

share = partial(number, show=percent_of)
"""Makes a column of shares from 0 to 1, shown in percent."""


def ends(name: str, get: Callable[[Any], Sequence[float] | None]) -> list[Column[Any]]:
    """Make a column of either end of an interval of a change, `NAME_low` and `NAME_high`.

    :param get: gives both ends; None where there is no interval.
    """

    def end(which: int) -> Callable[[Any], float | None]:
        return lambda row: None if (interval := get(row)) is None else interval[which]

    return [number(f"{name}_low", "from", end(0), signed), number(f"{name}_high", "to", end(1), signed)]


class Follow:
    """Gets the value at a path of attributes or keys from a row, such as ``record.timing.margin``. Each part of it may
    be None, or a key that isn't there; then so is the value.

    :param roots: by the first part.
    :param by: makes the value of what stands there, where that isn't None.
    """

    def __init__(self, path: str, roots: Roots | None = None, by: Callable[[Any], Any] | None = None) -> None:
        first, *names = path.split(".")
        paths = accumulate([first, *names], "{}.{}".format)
        gets = [(roots or {}).get(first) or _part(first), *map(_part, names)]
        self.path = path
        self._steps = [*zip(paths, gets, strict=True)]
        self._by = by

    def __call__(self, row: Any) -> Any:
        value = row
        for _, get in self._steps:
            if value is None:
                return None
            value = get(value)
        return value if value is None or self._by is None else self._by(value)

    def of_all(self, rows: Sequence[Any], known: dict[str, list[Any]]) -> list[Any]:
        """Get the values of many rows, each in a fraction of the time.

        :param known: what stands on the way to them, by its path; other columns of the same rows need not look again.
        """
        found: Sequence[Any] = rows
        for path, get in self._steps:
            above, found = found, known.get(path, ())
            if len(found) < len(above):
                found = [None if value is None else get(value) for value in above]
                if path != self._steps[-1][0]:
                    known[path] = found
        by = self._by
        return [*found] if by is None else [None if value is None else by(value) for value in found]


def _part(name: str) -> Callable[[Any], Any]:
    return lambda whole: whole.get(name) if isinstance(whole, dict) else getattr(whole, name)


def plain_value(column: Column[Any], row: Any) -> Any:
    """Get the value that every form shows: strict JSON has no NaN, and neither do people have a use for one."""
    return strict(column.get(row))


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Put items of one key together, in the order in which they and the keys first appear."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def topped(
    rows: Sequence[Row], top: int, together: Callable[[Sequence[Row], str], Row], thing: str = "other"
) -> list[Row]:
    """Keep the first ``top`` rows and put all others in one, so that the columns add up.

    :param together: makes one row of several, with a name such as ``3 other kernels``.
    :param thing: what one of them is called in that name.
    """
    rest = rows[top:]
    return [*rows[:top], *([together(rest, counted(len(rest), thing))] if rest else [])]
