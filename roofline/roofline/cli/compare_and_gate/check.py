"""``roofline check``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from roofline.cli.compare_and_gate.judging_options import judging_options
from roofline.cli.console import NoData, WrongUsage, tell
from roofline.cli.inputs import INPUT, devices_option, read_sessions
from roofline.cli.output import emit, write_text
from roofline.cli.parameters import STDOUT, Output, OutputFile, TwoSidesCommand, table_options, verbose_option
from roofline.comparison.comparison import Comparison, compare_paths
from roofline.comparison.comparison_lines import found_in
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.gate import Found, Gate, judge
from roofline.comparison.junit import junit as junit_of
from roofline.comparison.observations.runs import changed_roofs
from roofline.comparison.verdict_table import sentence, table
from roofline.expectations import bounds_table
from roofline.expectations.judging import check_results
from roofline.expectations.outcome import Checked
from roofline.files.decoding import ReadError
from roofline.machine.published import DeviceTable
from roofline.schema.expected_file import NAME, ExpectedFileError, beside, read
from roofline.show.tables import Table

BESIDE_THE_TESTS = ""
"""What ``--expect`` without a file stands for: the one beside the tests that were measured."""


@click.command(cls=TwoSidesCommand, several=("--baseline", "--learn-from"), optional="--expect")
@click.argument("new", nargs=-1, required=True, type=INPUT)
@click.option(
    "--baseline", "base", multiple=True, type=INPUT, metavar="BASE...", help="Files or folders to compare with."
)
@click.option(
    "--expect",
    is_flag=False,
    flag_value=BESIDE_THE_TESTS,
    metavar="[FILE]",
    help="Hold NEW against expected bounds: those of its tests' markers, and of FILE, by default the"
    " expected_bounds.toml beside the tests.",
)
@judging_options
@click.option("--allow-removed", is_flag=True, help="Cases of the baseline may be missing.")
@click.option(
    "--strict",
    is_flag=True,
    help="What is inconclusive, lacks sessions, may be of another run, or is expected of an unknown device, doesn't"
    " pass.",
)
@click.option(
    "--junit",
    type=OutputFile(".xml"),
    metavar="FILE",
    help="Also write JUnit XML: a test for each case, with change and interval as properties, and one for the check.",
)
@table_options
@verbose_option
@devices_option
@click.pass_context
def check(context: click.Context, /, output: Output, junit: Path | None, **asked: Any) -> None:
    """Check the sessions of NEW against a baseline: files or folders, several sessions a side; or against expected
    bounds; or both.

    Exit code: 0 passed, 1 a case, or all cases together, is slower (of an amount: more), or one is not as expected, 3
    not all could be compared: nothing matched, a case was removed or renamed, a row is invalid, lacks the figure, or is
    missing in half or more of the sessions of NEW, a file can't be read, another machine, a changed workload, no
    baseline; or an expectation could not be judged. 1 wins over 3. What is inconclusive passes with a warning, and so
    does a case that fewer sessions lack, unless --strict.
    """
    if not asked["base"] and asked["expect"] is None:
        raise WrongUsage("nothing to check against: give --baseline BASE, --expect, or both.")
    if asked["base"] and asked["expect"] is not None and output.is_data:
        raise WrongUsage(
            "--baseline and --expect give two tables, and this format holds one: check them one after the other."
        )
    judged = judge_results(**asked)
    emit(judged.tables(output, verbose=asked["verbose"]), output)
    for message in judged.gate.messages:
        tell(message)
    if junit is not None:
        write_text(junit, junit_of(judged.comparison, judged.gate))
    context.exit(judged.gate.exit_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a check came to, and what shows it: the comparison with the title of its table, and the expected bounds.
    One of them is None where there was no baseline, nothing was expected, or nothing could be compared.
    """

    gate: Gate
    title: str = ""
    comparison: Comparison | None = None
    expected: Table[Any] | None = None

    def tables(self, output: Output = STDOUT, *, verbose: bool) -> list[Table[Any]]:
        """The cases, then the expected bounds. Notes that the gate says beside them are left out, but not in a file."""
        found = [] if self.comparison is None else [table(self.comparison, self.title, verbose=verbose)]
        found += [] if self.expected is None else [self.expected]
        if output.path is None or output.is_data or output.form == "markdown":
            found = [replace(one, notes=[note for note in one.notes if note not in self.gate.lines]) for one in found]
        if output.form == "markdown":
            # A summary is read without the log.
            found[0] = replace(found[0], notes=[*self.gate.messages, *found[0].notes])
        return found


def judge_results(
    *,
    new: Sequence[Path],
    base: Sequence[Path],
    expect: str | None,
    settings: Settings,
    allow_removed: bool,
    strict: bool,
    verbose: bool,
    devices: DeviceTable,
) -> Judged:
    """Judge the results by the command's options.

    :param verbose: with a line for each case. Else only the first of a kind have theirs.
    :raises ReadError: a side can't be read or compared and nothing is expected.
    :raises NoData: what is expected can't be read.
    """
    expected: Table[Any] | None = None
    not_held: list[Found] = []
    held = judge(())
    if expect is not None:
        checked = _checked(new, expect, devices)
        not_held = bounds_table.found_in(checked, verbose=verbose)
        held = judge(not_held, strict=strict)
        expected = bounds_table.table(checked, passed=held.exit_code == 0, verbose=verbose)
    if not base:
        return Judged(gate=held, expected=expected)
    try:
        comparison = compare_paths(base, new, settings, devices)
    except ReadError as error:
        if expected is None:
            raise
        # What is not as expected is so without a baseline, too.
        gate = judge([*not_held, ("nothing to judge", str(error))], strict=strict)
        return Judged(gate=gate, expected=expected)
    found = found_in(comparison, verbose=verbose)
    title = sentence(comparison, judge(found, strict=strict, allow_removed=allow_removed).exit_code)
    if held.exit_code:
        said = "Not as expected" if held.exit_code == 1 else "Not passed: not all that is expected could be judged"
        title = f"{said}. Against the baseline: {title}"
        apart = changed_roofs(comparison.base_runs, comparison.new_runs)
        line = (
            f"the machine's own roofs differ between the sides ({'; '.join(apart)}): what is not as expected may be so"
            " by the roofs alone"
        )
        not_held += [("roofs changed", line)] if apart else []
    gate = judge([*found, *not_held], strict=strict, allow_removed=allow_removed)
    return Judged(gate=gate, title=title, comparison=comparison, expected=expected)


def _checked(results: Sequence[Path], file: str, table: DeviceTable) -> Checked:
    """Hold the results against the file, or `BESIDE_THE_TESTS`, and the tests' markers.

    :raises NoData: the file or results can't be read, or nothing at all is expected of them.
    """
    reading = read_sessions(results)
    rows = [row for one in reading.files for row in one.benchmarks]
    path = Path(file) if file else beside((row.fullname for row in rows), Path())
    try:
        entries = () if path is None else read(path)
    except ExpectedFileError as error:
        raise NoData(f"--expect: {error}") from error
    if path is None and not any(row.record is not None and row.record.expected for row in rows):
        raise NoData(
            f"nothing is expected of these results: none of their tests has the marker expected_bound, and there is no"
            f" {NAME} beside the tests, looked for from here. Name one with --expect FILE; `roofline lock` writes one."
        )
    return check_results(reading.files, entries, table, reading.unreadable)
