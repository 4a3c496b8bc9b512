"""Earlier sessions of a comparison's machines: what `roofline.comparison.effects.learning` learns from.

Sessions of either side are none of them: their own scatter counts by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from roofline.comparison.effects.effect import Prior
from roofline.comparison.effects.learning import Learned, learn
from roofline.comparison.observations.observation import Observation
from roofline.comparison.observations.runs import Identity, machine_difference, run_of
from roofline.comparison.sides.compared_figures import FIGURES, FigureName
from roofline.comparison.sides.session_observations import session_results
from roofline.comparison.sides.side_files import Side, refuse_profiled
from roofline.files.decoding import ReadError
from roofline.machine.published import DeviceTable
from roofline.results.reader import read_file, result_files
from roofline.results.same_session import Sessions

CaseKey = tuple[str, str]
"""The id of a case and its test."""

_Code = tuple[str | None, bool | None]
"""A commit, and whether there were changes beside it."""


def learn_from(
    paths: Sequence[Path], machines: Iterable[Identity], sides: Sequence[Side], figure: FigureName, devices: DeviceTable
) -> dict[Identity, Learned]:
    """Of each machine what its earlier sessions tell; nothing of one that has too few.

    :param paths: files, folders and stores.
    :param sides: of the comparison.
    :raises ReadError: a file that was named can't be read, or was measured under a profiler.
    """
    assumed = FIGURES[figure].prior
    assert isinstance(assumed, Prior)
    found: dict[Identity, dict[CaseKey, dict[_Code, list[Observation]]]] = {machine: {} for machine in machines}
    known = Sessions()
    for path, named in result_files(paths):
        try:
            result = read_file(path)
            refuse_profiled(result)
        except ReadError:
            if named:
                raise
            continue
        if any(sessions.find(result) is not None for sessions in (known, *(side.sessions for side in sides))):
            continue
        known.add(result)
        run = run_of(result)
        cases = next((of for machine, of in found.items() if machine_difference(machine, run.machine) is None), None)
        if cases is None:
            continue
        for row in session_results(result, run, "time", devices, figure):
            if row.observation is not None:
                of_case = cases.setdefault((row.id, row.test), {})
                of_case.setdefault((run.commit, run.dirty), []).append(row.observation)
    learned = {
        machine: learn({key: list(codes.values()) for key, codes in cases.items()}, assumed)
        for machine, cases in found.items()
    }
    return {machine: one for machine, one in learned.items() if one is not None}
