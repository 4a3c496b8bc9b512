"""Earlier sessions of a comparison's machines: what `roofline.comparison.effects.learning` learns from.

Sessions of either side are none of them: their own scatter counts by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from roofline.comparison.effects.effect import Prior
from roofline.comparison.effects.learning import Learned, learn
from roofline.comparison.observations.observation import Observation
from roofline.comparison.observations.observed_machine import MachineIdentity, machine_difference
from roofline.comparison.observations.runs import run_of
from roofline.comparison.sides.compared_figures import FIGURES, FigureName
from roofline.comparison.sides.session_results import session_results
from roofline.comparison.sides.side_files import Side, refuse_profiled
from roofline.files.decoding import ReadError
from roofline.files.paths import from_here
from roofline.machine.published import DeviceTable
from roofline.results.reader import read_file, result_files
from roofline.results.result import ResultFile
from roofline.results.same_session import Sessions

CaseKey = tuple[str, str]
"""The id of a case and its test."""

_Code = tuple[str | None, bool | None]
"""A commit, and whether there were changes beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSessions:
    """``learned`` is of each machine that has sessions enough. ``skipped`` says which files of a folder were left out,
    and why.
    """

    learned: Mapping[MachineIdentity, Learned] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()


def learn_from(
    paths: Sequence[Path],
    machines: Iterable[MachineIdentity],
    sides: Sequence[Side],
    figure: FigureName,
    devices: DeviceTable,
) -> EarlierSessions:
    """Learn from the earlier sessions of each machine.

    :param paths: files, folders and stores.
    :param sides: of the comparison.
    :raises ReadError: a file that was named can't be read, or was measured under a profiler.
    """
    assumed = FIGURES[figure].prior
    assert isinstance(assumed, Prior)
    observed: dict[MachineIdentity, dict[CaseKey, dict[_Code, list[Observation]]]] = {
        machine: defaultdict(lambda: defaultdict(list)) for machine in machines
    }
    skipped: list[str] = []
    for result in _results(paths, observed, sides, skipped):
        run = run_of(result)
        machine = next((one for one in observed if machine_difference(one, run.machine) is None), None)
        if machine is None:
            continue
        for row in session_results(result, run, "time", devices, figure):
            if row.observation is not None:
                observed[machine][row.id, row.test][run.commit, run.dirty].append(row.observation)
    learned = {
        machine: learn({case: list(codes.values()) for case, codes in cases.items()}, assumed)
        for machine, cases in observed.items()
    }
    return EarlierSessions(
        learned={machine: tells for machine, tells in learned.items() if tells is not None}, skipped=tuple(skipped)
    )


def _results(
    paths: Sequence[Path], machines: Iterable[MachineIdentity], sides: Sequence[Side], skipped: list[str]
) -> Iterator[ResultFile]:
    """Read the sessions that are of neither side, each once; of stores those of these machines.

    :param skipped: why a file of a folder is left out is added to it.
    :raises ReadError: as of `learn_from`.
    """
    sessions = Sessions()
    fingerprints = [machine.fingerprint for machine in machines]
    keys = [key for key in fingerprints if key is not None]
    # A machine without a fingerprint may be in a store under several keys.
    in_stores = keys if len(keys) == len(fingerprints) else None
    for path, named in result_files(paths, machines=in_stores):
        try:
            result = read_file(from_here(path))
            refuse_profiled(result)
        except ReadError as error:
            if named:
                raise
            skipped.append(str(error))
            continue
        if all(known.find(result) is None for known in (sessions, *(side.sessions for side in sides))):
            sessions.add(result)
            yield result
