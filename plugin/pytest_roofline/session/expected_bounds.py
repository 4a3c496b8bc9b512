"""What is expected of a test's case: by its markers, and under ``--assert-bounds`` by the suite's file, too."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.workload.precision import PRECISIONS
from roofline.schema.expected import ANY, MARKER_KEYS, ExpectationError, Expected, expectation
from roofline.schema.expected_file import NAME, beside, read
from roofline.schema.record import Record

MARKER = "expected_bound"


class NothingExpected(ValueError):
    """Bounds are to be asserted, and there is nothing to assert. The message says where was looked."""


@dataclass(frozen=True, slots=True)
class SuiteBounds:
    """What the suite's files expect of tests, by their full names: each file of those that it lies beside.

    ``root`` is the project's: messages name the files from there.
    """

    root: Path
    files: Mapping[str, tuple[Expected, ...]]

    def without_root(self, text: str) -> str:
        return text.replace(f"{self.root}{os.sep}", "")


def marked(item: pytest.Item) -> tuple[Expected, ...]:
    """Read what the markers of a test expect, the nearest first.

    :raises ValueError: arguments that are not allowed; the text says which are.
    """
    return tuple(_of_marker(marker, item) for marker in item.iter_markers(MARKER))


def suite_bounds(tests: Iterable[str], root: Path, given: Path | None, *, marked: bool) -> SuiteBounds:
    """The files that bounds are asserted by: the given one, or of each test the nearest above it.

    :param tests: full names of those that measure.
    :param root: of the project; relative to it are the tests' names.
    :param marked: whether one of them has the marker.
    :raises roofline.schema.expected_file.ExpectedFileError: one can't be used.
    :raises NothingExpected: there is neither a file nor a marker.
    """
    given = None if given is None else given.absolute()  # a test may change the folder
    read_once = functools.cache(read)
    paths = {test: given or beside([test], root) for test in tests}
    files = {test: read_once(path) for test, path in paths.items() if path is not None}
    if not files and not marked:
        raise NothingExpected(f"no {NAME} beside the tests or above them, and none of them has the marker {MARKER}.")
    return SuiteBounds(root, files)


def applying(expected: Iterable[Expected], record: Record, label: str) -> tuple[Expected, ...]:
    """Choose the expectations of this case, on this device.

    :param label: the machine's.
    """
    case, names = record.case, (record.device.kind, record.device.name, label)
    return tuple(one for one in expected if one.is_for(case=case.id, precision=case.precision) and one.is_on(names))


def _of_marker(marker: pytest.Mark, item: pytest.Item) -> Expected:
    where = f"@pytest.mark.{MARKER}"
    values: dict[str, Any] = dict(marker.kwargs)
    if len(marker.args) > 1 or (marker.args and "bound" in values):
        raise ValueError(f"{where}{marker.args!r}: takes one bound, and the keywords {', '.join(MARKER_KEYS[1:])}")
    if marker.args:
        values["bound"] = marker.args[0]
    try:
        expected = expectation(values, MARKER_KEYS, f"{where} of {item.nodeid.partition('[')[0]}")
    except ExpectationError as error:
        raise ValueError(f"{where}: {error}") from error
    if ANY not in expected.precision and expected.precision not in PRECISIONS:
        raise ValueError(f"{where}: precision is {expected.precision!r}; use one of {', '.join(PRECISIONS)}")
    return expected
