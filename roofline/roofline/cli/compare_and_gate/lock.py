"""``roofline lock``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.console import NoData, WrongUsage, tell
from roofline.cli.inputs import devices_option, read_sessions, results_argument
from roofline.cli.output import emit_text
from roofline.cli.parameters import Number, OutputFile
from roofline.expectations.fraction import of_several_commits
from roofline.expectations.judging import by_counted_work, otherwise_by_counters
from roofline.expectations.lock_file import text_of
from roofline.expectations.locking import LEAST_SAFETY, lock
from roofline.files.decoding import text_of as text_at
from roofline.machine.published import DeviceTable
from roofline.model.points import place_all
from roofline.schema.expected_file import ExpectedFileError


@click.command(name="lock")
@results_argument
@click.option(
    "-o",
    "--output",
    type=OutputFile(".toml"),
    help="File to write to, such as perftests/expected_bounds.toml. What it says of other cases and machines is kept."
    " Default: show the entries.",
)
@click.option(
    "--safety",
    type=Number("share", 0, 0.5, max_open=True),
    default=LEAST_SAFETY,
    show_default=True,
    metavar="SHARE",
    help="A floor lies at least this share below the lowest fraction measured: more where the scatter asks for it, or"
    " where there is only one session.",
)
@devices_option
def command(results: tuple[Path, ...], output: Path | None, safety: float, devices: DeviceTable) -> None:
    """Write what RESULTS (files or folders of good sessions) reached as expected bounds, for review.

    Several sessions of a machine tell how far sessions scatter: give at least three, of one commit. Left out, with the
    reason: invalid rows, cases that failed in a session, undetermined bounds, sessions that contradict each other.
    Where other programs disturbed most rounds of a session no floor is written, with a warning. The work is the counted
    one, though hardware counters were read. Each entry names the machine and the workload that it is of.
    """
    files = read_sessions(results).files
    for line in otherwise_by_counters(files, devices):
        tell(line)
    locked, left_out = lock(place_all(by_counted_work(files), devices), safety)
    for one in left_out:
        tell(f"left out {one}")
    if not locked:
        why = f"all of the {len(left_out)} cases were left out" if left_out else "no case in the results, only roofs"
        raise NoData(f"nothing to lock: {why}.")
    for found in locked:
        if found.warning:
            tell(f"Warning: {found.expected.case} on {found.expected.device}: {found.warning}.")
    commits = of_several_commits((found.sessions for found in locked), "locked")
    if commits is not None:
        tell(f"Warning: {commits}")
    # A pipe or a device holds no entries.
    before = text_at(output, "Lock into another file.") if output is not None and output.is_file() else ""
    try:
        text = text_of(locked, before, str(output))
    except ExpectedFileError as error:
        raise WrongUsage(str(error)) from error
    emit_text(text, output)
