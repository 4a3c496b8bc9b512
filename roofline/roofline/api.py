"""The public functions of `roofline`, which take what the commands of the same names take and give pandas frames."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from roofline import frames
from roofline.audits.auditing import SUFFIXES
from roofline.audits.auditing import audit as apply_rules
from roofline.audits.auditing import read as read_tables
from roofline.audits.findings import findings_table
from roofline.comparison import verdict_table
from roofline.comparison.comparison import Comparison, compare_paths
from roofline.comparison.comparison_lines import found_in
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.effects.verdict import CONFIDENCE, LEAST_EFFECT
from roofline.comparison.gate import Gate, judge
from roofline.comparison.sides.compared_figures import FigureName
from roofline.comparison.sides.session_results import By
from roofline.files.decoding import ReadError
from roofline.files.paths import files_under, folders_without
from roofline.histories.history_table import history_table, sentence
from roofline.histories.judged_series import JudgedSeries, judge_all
from roofline.histories.series import series_of
from roofline.machine.published import DeviceTable
from roofline.machine.published import load as load_devices
from roofline.model.points import place_all
from roofline.profilers import timeline_tables
from roofline.profilers.kineto.chrome_trace import read_trace
from roofline.profilers.ncu import ncu_tables
from roofline.profilers.ncu.kernel_sums import count, read_all
from roofline.profilers.nsys.nsys_file import read_nsys
from roofline.profilers.timeline import Timeline
from roofline.results.reader import named_apart, read
from roofline.results.same_session import told_apart
from roofline.show.cases.roof_tables import devices_table
from roofline.show.export import frame_of

__all__ = ["ReadError", "audit", "check", "compare", "devices", "history", "load", "ncu", "nsys", "trace"]

if TYPE_CHECKING:
    import pandas as pd

StrPath = str | os.PathLike[str]
Paths = StrPath | Iterable[StrPath]
"""A file, a folder or a glob (``results/*/2026*.json``), or several."""


def load(results: Paths, *, devices: StrPath | None = None) -> frames.Results:
    """Read pytest-benchmark results, place every case on its machine's roofline and judge it.

    :param results: files, folders (with all below them) or globs.
    :param devices: a TOML file with published roofs of more devices.
    :returns: frames: ``cases``, ``rounds``, ``operations``, ``kernels``, ``roofs``, ``machines``, ``missing``.
    :raises ReadError: a file can't be read, or there is none.
    """
    reading = read(_paths(results))
    return frames.Results(place_all(named_apart(reading.files), _table(devices)), reading.skipped)


class Verdicts:
    """What a comparison came to: `cases` has a row for each, the worst first; ``str()`` of it is the command's line."""

    def __init__(self, comparison: Comparison, held: Gate | None = None) -> None:
        self.comparison = comparison
        self.gate = held

    @cached_property
    def cases(self) -> pd.DataFrame:
        """A row a case: verdict, change, its interval and the reason; ``attrs["notes"]`` has what must be known."""
        return frame_of(verdict_table.table(self.comparison, str(self)))

    @property
    def passed(self) -> bool | None:
        """Tell whether a check passed; None of a comparison, which gates nothing."""
        return None if self.gate is None else self.gate.exit_code == 0

    def __str__(self) -> str:
        return verdict_table.sentence(self.comparison, None if self.gate is None else self.gate.exit_code)

    def __repr__(self) -> str:
        return f"<Verdicts: {self}>"


def compare(
    base: Paths,
    new: Paths,
    *,
    least_effect: float = LEAST_EFFECT,
    confidence: float = CONFIDENCE,
    floor_s: float = 0.0,
    by: By = "time",
    figure: FigureName = "step_time",
    learn_from: Paths | None = None,
    devices: StrPath | None = None,
) -> Verdicts:
    """Compare the sessions of two sides, case by case, as ``roofline compare BASE --with NEW`` does.

    :param least_effect: the least difference that matters, relative.
    :param confidence: of the cases called slower or faster (more or less), the share that is so and not by chance.
    :param floor_s: differences of a time below this, in seconds, never matter.
    :param by: ``roof``: compare fractions of each machine's own measured roofs, across machines.
    :param figure: what is compared, as ``--figure`` has it.
    :param learn_from: earlier sessions of the machine, by which it is known how far its sessions scatter.
    :returns: verdicts; where nothing could be compared, each case's says why.
    :raises ReadError: a side isn't there or can't be read.
    :raises ValueError: a setting out of its range.
    """
    settings = _settings(least_effect, confidence, floor_s, by, figure, learn_from)
    return Verdicts(compare_paths(_paths(base), _paths(new), settings, _table(devices)))


def check(
    new: Paths,
    baseline: Paths,
    *,
    least_effect: float = LEAST_EFFECT,
    confidence: float = CONFIDENCE,
    floor_s: float = 0.0,
    by: By = "time",
    figure: FigureName = "step_time",
    learn_from: Paths | None = None,
    allow_removed: bool = False,
    strict: bool = False,
    devices: StrPath | None = None,
) -> Verdicts:
    """Hold new sessions against a baseline, as ``roofline check NEW --baseline BASE`` does.

    The parameters are those of `compare`, and of the command's options of the same names.

    :returns: verdicts with ``passed``, and ``gate.exit_code`` and ``gate.lines`` as the command has them.
    :raises ReadError: a side isn't there or can't be read.
    :raises ValueError: a setting out of its range.
    """
    settings = _settings(least_effect, confidence, floor_s, by, figure, learn_from)
    comparison = compare_paths(_paths(baseline), _paths(new), settings, _table(devices))
    return Verdicts(comparison, judge(found_in(comparison), strict=strict, allow_removed=allow_removed))


def _settings(
    least_effect: float, confidence: float, floor_s: float, by: By, figure: FigureName, learn_from: Paths | None
) -> Settings:
    return Settings(
        least_effect=least_effect,
        confidence=confidence,
        floor_s=floor_s,
        by=by,
        figure=figure,
        learn_from=() if learn_from is None else tuple(_paths(learn_from)),
    )


class Histories:
    """Each case over time, what changed first; ``str()`` of it is the command's line.

    ``judged`` are the cases as objects, with their changes and what is known of each. The frames' ``attrs["notes"]``
    have what must be known, and what was left out.
    """

    def __init__(self, judged: Sequence[JudgedSeries], left_out: Sequence[str]) -> None:
        self.judged = tuple(judged)
        self._left_out = tuple(left_out)

    @cached_property
    def levels(self) -> pd.DataFrame:
        """A row for each level of a case: its verdict, the change it began with, and the commits between."""
        return frame_of(history_table(self.judged, self._left_out, "level", verbose=True))

    @cached_property
    def points(self) -> pd.DataFrame:
        """A row for each session of a case, or each set of them: its time and the level it is of."""
        return frame_of(history_table(self.judged, self._left_out, "point", verbose=True))

    def __str__(self) -> str:
        return sentence(self.judged)

    def __repr__(self) -> str:
        return f"<Histories: {self}>"


def history(
    results: Paths,
    *,
    least_effect: float = LEAST_EFFECT,
    confidence: float = CONFIDENCE,
    devices: StrPath | None = None,
) -> Histories:
    """Put each case in order of time and find where its level changed, as ``roofline history RESULTS`` does.

    :param least_effect: the least change of a level that matters, relative.
    :param confidence: share of the cases told to have changed that did, on average.
    :raises ReadError: a file can't be read, or no session has a case that can be used.
    :raises ValueError: a setting out of its range.
    :raises ImportError: ruptures isn't installed.
    """
    settings = Settings(least_effect=least_effect, confidence=confidence)
    reading = read(_paths(results))
    files, again = told_apart(reading.files)
    series, left_out = series_of(place_all(files, _table(devices)))
    if not series:
        raise ReadError("no session has a case that can be used.", *left_out)
    skipped = [f"skipped {reason}" for reason in (*reading.skipped, *again)]
    return Histories(judge_all(series, settings), [*left_out, *skipped])


def ncu(files: Paths, *, nvtx_range: str | None = None) -> pd.DataFrame:
    """Read what Nsight Compute counted: a row for each launch, with time, FLOP, bytes and intensity.

    :param files: what ``ncu --csv`` printed, or .ncu-rep reports; several are of one program and are joined.
    :raises ReadError: a file can't be read, or two don't belong together.
    """
    counted = count(read_all(_paths(files), None, nvtx_range))
    made = frame_of(ncu_tables.table(counted, counted.kernels, "kernel", with_total=False))
    made.attrs["notes"] = list(ncu_tables.notes(counted))
    return made


def nsys(files: Paths) -> pd.DataFrame:
    """Read what Nsight Systems recorded (.nsys-rep, .sqlite, or what ``nsys stats`` printed): a row for each kernel.

    :raises ReadError: a file can't be read, or no kernel is in it.
    """
    return _timelines([read_nsys(path) for path in _files(files, (".sqlite",))])


def trace(files: Paths) -> pd.DataFrame:
    """Read traces of torch's profiler: a row for each kernel, or for each operator of what ran without a GPU.

    :raises ReadError: a file can't be read, or has neither.
    """
    return _timelines([read_trace(path) for path in _files(files, (".json", ".json.gz"))])


def audit(files: Paths, *, devices: StrPath | None = None) -> pd.DataFrame:
    """Look for contradictions in results and tables: a row for each that is found.

    ``attrs["notes"]`` says how much each rule had to look at.

    :raises ReadError: a named file can't be read, or no rule had anything to look at.
    """
    table = _table(devices)
    paths = _paths(files)
    reading = read_tables(paths, table)
    if reading.refused:
        raise ReadError(reading.refused[0], *reading.refused[1:])
    if not reading.rows:
        named = ", ".join(map(str, paths))
        raise ReadError(f"{named}: nothing to read; looked for {', '.join(SUFFIXES)} files.", *reading.skipped)
    found = apply_rules(reading.rows, table)
    if not found.examined:
        raise ReadError("no rule had anything to look at: the files state too little to contradict themselves.")
    return frame_of(findings_table(found, verbose=True))


def devices(extra: StrPath | None = None) -> pd.DataFrame:
    """List what vendors publish: a row for each figure of each device, in FLOP/s or byte/s, with its source.

    :param extra: a TOML file with published roofs of more devices.
    :raises ReadError: that file can't be read.
    """
    return frame_of(devices_table(_table(extra).devices))


def _timelines(timelines: Sequence[Timeline]) -> pd.DataFrame:
    useful = [one for one in timelines if not one.useless]
    if len(useful) < len(timelines):
        useless = next(one for one in timelines if one.useless)
        raise ReadError(f"{useless.path}: nothing to show.", *timeline_tables.about(useless))
    made = frame_of(timeline_tables.joined_rows(useful))
    notes = [f"{one.path}: {note}" for one in useful for note in timeline_tables.about(one)]
    without = timeline_tables.without_rows(useful)
    made.attrs["notes"] = [
        *notes,
        *(f"{path}: its operators are not here, for other files have kernels" for path in without),
    ]
    return made


def _files(given: Paths, endings: tuple[str, ...]) -> list[Path]:
    """The files that are named, and those of a folder that have one of the endings.

    :raises ReadError: as `_paths` does, or folders have none.
    """
    paths = _paths(given)
    files = [path for path, _ in files_under(paths, endings)]
    if not files:
        raise ReadError(f"{'; '.join(folders_without(paths, endings))}.")
    return files


def _paths(given: Paths) -> list[Path]:
    """:raises ReadError: no path at all, an empty one, or a glob that matches nothing.
    :raises TypeError: something else than paths.
    """
    paths: list[Path] = []
    for one in given if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]:
        if not isinstance(one, str | os.PathLike):
            raise TypeError(f"{one!r} is no path. Give a file, a folder or a glob, or a list of them.")
        text = os.fspath(one)
        if not text:
            raise ReadError("an empty name is no path. Give files, folders or globs.")
        if not has_magic(text) or os.path.exists(text):
            paths.append(Path(text))
        elif found := sorted(glob(text, recursive=True)):
            paths += map(Path, found)
        else:
            raise ReadError(f"{text}: no file matches. Give files, folders or globs.")
    if not paths:
        raise ReadError("no path given. Give files, folders or globs.")
    return paths


def _table(extra: StrPath | None) -> DeviceTable:
    return load_devices(None if extra is None else Path(extra))
