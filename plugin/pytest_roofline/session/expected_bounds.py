"""Find what is expected of a test's case, by its markers and the suite's file; ``--assert-bounds`` judges it.

Each case is judged after its measurement, as ``roofline check --expect`` does it. A test whose case is not as expected
fails, and its row stays valid: the number is right.
"""

from __future__ import annotations

import functools
import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_roofline.session.gating import analysis
from pytest_roofline.workload.precision import PRECISIONS
from roofline.schema.expected import ANY, MARKER_KEYS, ExpectationError, Expected, expectation, matches, own_of
from roofline.schema.expected_file import NAME, SuiteBounds, beside, read
from roofline.schema.record import KEY, Record
from roofline.schema.record_json import to_json

if TYPE_CHECKING:
    from pytest_roofline.session.run import Run

MARKER = "expected_bound"


class NothingExpected(ValueError):
    """Bounds are to be asserted, and there is nothing to assert. The message says where was looked."""


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


_WIDTH = 100
"""Columns of a failing test's message."""


class NotAsExpected(pytest.fail.Exception):  # type: ignore[misc, name-defined]  # pytest sets it as it is imported
    """A case was measured well, and isn't bound as expected, doesn't reach a floor, or can't be judged.

    The message begins with what is wrong: pytest's summary has room for a few words.
    """

    # As of pytest's own: else its summary shows the module, too, and nothing of the message.
    __module__ = "builtins"


def assert_bounds(run: Run, record: Record, test: str) -> None:
    """Judge the case just measured as ``roofline check --expect`` does, by its markers and the suite's file.

    What is wrong with the device of an entry, such as one that nobody knows, is kept in ``run.warned``.

    :param test: its full name, under which its row is in ``run.stats``.
    :raises NotAsExpected: it is not as expected, or can't be judged: that is never a pass.
    """
    if run.bounds is None:
        return
    of_file = run.bounds.files.get(test, ())
    own = own_of(of_file, run.machine.fingerprint)
    if not record.expected and not applying(own, record, run.machine.label):
        return
    run.asserted += 1
    # A case is judged right after its measurement, so its roofs can't wait for the end of the run.
    run.fill_roofs()
    try:
        with analysis.guarded():
            faults = _faults(run, record.case.model, of_file, test)
    except analysis.AnalysisError as error:
        faults = {f"It could not be judged: {error}": "not judged"}
    if faults:
        short = "; ".join(dict.fromkeys(faults.values()))
        text = run.bounds.without_root("\n".join(map(_wrapped, faults)))
        raise NotAsExpected(f"{short}: measured, but not as expected.\n{text}", pytrace=False)


def _faults(run: Run, model: str, of_file: Sequence[Expected], test: str) -> dict[str, str]:
    """Find the expectations that don't hold for the test's case: for each its message, and a few words of it.

    Rows of the same model are judged with it: that a batch is too large shows beside smaller ones.
    """
    from roofline.expectations.bounds_table import in_short, message
    from roofline.expectations.judging import check_results
    from roofline.machine.published import load
    from roofline.results.reader import read_file

    rows = {stats.fullname: stats for stats in run.stats}  # of a test that ran several times, the last
    document = {
        "machine_info": {KEY: to_json(run.machine)},
        KEY: to_json(run.session()),
        "benchmarks": [
            {"name": row.name, "fullname": row.fullname, "extra_info": {KEY: row.extra_info[KEY]}}
            for row in rows.values()
            if row.extra_info[KEY]["case"]["model"] == model
        ],
    }
    path = Path("results.json") if run.file is None else run.file.path
    result = read_file(Path(path.name), json.dumps(document).encode())
    checked = check_results([result], of_file, load(None))
    assert run.bounds is not None
    run.warned.update(dict.fromkeys(map(run.bounds.without_root, checked.unknown_devices)))
    own = [one for one in checked.findings if one.points and one.points[-1].benchmark.fullname == test]
    if not own:
        return {"It could not be judged: nothing is expected of it.": "not judged"}
    return {message(one): in_short(one) for one in own if one.verdict != "held"}


@dataclass(frozen=True, slots=True)
class NotHeld:
    """What the suite's files expect on this device and machine that no case of a run was held against.

    ``lost``: of a case that was to be measured and has no number, with the reason. ``not_applicable``: of one that was
    skipped, as where the device can't run its precision. ``absent``: patterns that no case of the run is of, such as
    one that was renamed; in a run of a few chosen tests there are many of these.
    """

    lost: tuple[str, ...]
    not_applicable: tuple[str, ...]
    absent: tuple[str, ...]


def not_held(run: Run) -> NotHeld:
    """To be asked at the end of a run that asserts bounds."""
    assert run.bounds is not None
    machine = run.machine
    names = (machine.device.kind, machine.device.name, machine.label)
    measured = [(case["id"], case["precision"]) for case in (record["case"] for record in run.records)]
    given_up = run.session().not_measured
    lost: dict[str, None] = {}
    not_applicable: dict[str, None] = {}
    absent: dict[str, None] = {}
    for one in dict.fromkeys(chain.from_iterable(run.bounds.files.values())):
        if not (one.is_on(names) and one.is_of_machine(machine.fingerprint)):
            continue
        if any(one.is_for(case=case, precision=precision) for case, precision in measured):
            continue
        of_pattern = [case for case in given_up if matches(one.case, case.id)]
        for case in of_pattern:
            (not_applicable if case.outcome == "skipped" else lost)[f"{case.id}: {case.why}"] = None
        if not of_pattern:
            absent[one.case] = None
    return NotHeld(lost=tuple(lost), not_applicable=tuple(not_applicable), absent=tuple(absent))


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
