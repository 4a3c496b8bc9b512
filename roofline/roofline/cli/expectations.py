"""The part of ``roofline check`` that holds results against what is expected of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from roofline.cli.inputs import NoData, device_table, read_sessions
from roofline.expectations.judging import by_counted_work, check_expectations, otherwise_by_counters
from roofline.expectations.unmatched import Checked, unknown_devices
from roofline.model.points import place_all
from roofline.schema.expected_file import NAME, ExpectedFileError, beside, read
from roofline.text.printable import printable

BESIDE_THE_TESTS = ""
"""What ``--expect`` without a file stands for: the one beside the tests that were measured."""


def checked(results: Sequence[Path], file: str, devices: Path | None) -> Checked:
    """Judge the results.

    :param file: the file of expectations, or `BESIDE_THE_TESTS`.
    :raises NoData: the file or results can't be read, or nothing at all is expected of them.
    """
    table = device_table(devices)
    reading = read_sessions(results)
    points = place_all(by_counted_work(reading.files), table)
    path = Path(file) if file else beside((point.benchmark.fullname for point in points), Path())
    try:
        entries = () if path is None else read(path)
    except ExpectedFileError as error:
        raise NoData(printable(f"--expect: {error}")) from error
    marked = any(point.benchmark.record is not None and point.benchmark.record.expected for point in points)
    if path is None and not marked:
        raise NoData(
            f"nothing is expected of these results: none of their tests has the marker expected_bound, and there is no"
            f" {NAME} beside the tests, looked for from here. Name one with --expect FILE; `roofline lock` writes one."
        )
    found = check_expectations(points, entries, reading.unreadable)
    unknown = unknown_devices(entries, points, table)
    nowhere = {one for of_name in unknown.values() for one in of_name}
    return replace(
        found,
        counters=otherwise_by_counters(reading.files, table),
        for_others=tuple(one for one in found.for_others if one not in nowhere),
        unknown_devices=tuple(unknown),
    )
