"""``roofline history``."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

import click

from roofline.ab.worktrees import GitError, Repository
from roofline.cli.compare_and_gate.judging_options import confidence_option, least_effect_option
from roofline.cli.console import NoData, WrongUsage, tell
from roofline.cli.inputs import devices_option, named_case, read_sessions, results_argument
from roofline.cli.output import emit, write_bytes
from roofline.cli.parameters import Output, table_options, verbose_option
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.gate import judge
from roofline.histories.change_points import LacksRuptures
from roofline.histories.history_table import By, history_table
from roofline.histories.judged_series import JudgedSeries, Revision, found_in, judge_all
from roofline.histories.series import Series, series_of
from roofline.machine.published import DeviceTable
from roofline.model.point_groups import cases
from roofline.model.points import Point, place_all
from roofline.text.units import short_commit, some_of

_LEAST_COMMIT = 7
"""Characters of a commit that name it without git."""


@click.command()
@results_argument
@click.option(
    "--fail-on",
    type=click.Choice(["slower"]),
    help="End with exit code 1 where a case became slower, and still is.",
)
@click.option(
    "--since",
    metavar="REV",
    help="Ask about changes after this commit alone: its id, or what git calls a revision in this folder's repository.",
)
@click.option(
    "--by",
    type=click.Choice(get_args(By)),
    default="level",
    show_default=True,
    help="A row for each level, or for each point in time.",
)
@least_effect_option
@confidence_option(
    help="So many of the cases told to have changed did, on average; and so sure is that none is told, where none did."
)
@partial(table_options, figures=(".png", ".svg"))
@verbose_option
@devices_option
@click.pass_context
def history(
    context: click.Context,
    results: tuple[Path, ...],
    fail_on: str | None,
    since: str | None,
    by: By,
    least_effect: float,
    confidence: float,
    output: Output,
    verbose: bool,
    devices: DeviceTable,
) -> None:
    """Show each case of RESULTS (files or folders) over time: levels, changes between them with their commits, drift.

    The last of RESULTS may be a CASE, if no such file is there: an id, or a part that only one has. A session is a
    point, and so are all sessions of one set. Other machines and other workloads are other histories.

    Exit code: 0 there is a history; with --fail-on 1 a case became slower, and 3 a case has too few points, a file
    can't be read or no result is of REV or before it; 1 wins over 3. A case that is new since REV passes.
    """
    *paths, last = results
    case = str(last) if paths and not os.path.lexists(last) else None
    paths = paths if case is not None else [*results]
    reading = read_sessions(paths)
    points = cases(place_all(reading.files, devices))
    if case is not None:
        points = _named(case, points, paths)
    series, left_out = series_of(points)
    if not series:
        for line in left_out:
            tell(line)
        raise NoData(f"no session of {', '.join(map(str, paths))} has a case that can be used.")
    settings = Settings(least_effect=least_effect, confidence=confidence)
    try:
        judged = judge_all(series, settings, None if since is None else _revision(since, series))
    except LacksRuptures as error:
        raise WrongUsage(str(error)) from error
    if output.figure is not None:
        _draw(judged, output.figure)
    emit([history_table(judged, left_out, by, verbose=verbose or output.is_data)], output)
    if fail_on is not None:
        gate = judge(found_in(judged, reading.unreadable, verbose=verbose))
        for message in gate.messages:
            tell(message)
        context.exit(gate.exit_code)


def _named(case: str, points: Sequence[Point], paths: Sequence[Path]) -> tuple[Point, ...]:
    try:
        return tuple(named_case(case, points, ", ".join(map(str, paths))))
    except click.UsageError as error:
        raise click.UsageError(f"{error.message} There is no file of this name, either.") from error


def _revision(since: str, series: Sequence[Series]) -> Revision:
    """Find the commit of the results that is ``since``, and as far as git is there to tell, all that come before it.

    :raises NoData: none is.
    """
    measured = {entry.commit: None for one in series for entry in one.entries if entry.commit is not None}
    found: list[Collection[str]] = [
        {commit for commit in measured if len(since) >= _LEAST_COMMIT and commit.startswith(since)}
    ]
    name, why = short_commit(since), ""
    try:
        repository = Repository(Path())
        revision = repository.find(since)
        found += [{revision}, repository.reachable(revision)]
        name = short_commit(revision)
        if not revision.startswith(since):
            name = f"{since} ({name})"
    except GitError as error:
        why = f" {str(error).removesuffix('.')}. Run it in the repository, or give the id of a result's commit."
    if not any(measured.keys() & commits for commits in found):
        raise NoData(
            f"--since {since}: no result is of this commit or of one before it.{why} Results are of"
            f" {some_of([*map(short_commit, measured)], 5) or 'no commit'}."
        )
    return Revision(name=name, known=found)


def _draw(judged: Sequence[JudgedSeries], path: Path) -> None:
    # matplotlib takes half a second to load.
    from roofline.histories.history_figure import history_figure
    from roofline.plots.style import save

    save(history_figure(judged), path, "svg" if path.suffix.lower() == ".svg" else "png", write_bytes)
