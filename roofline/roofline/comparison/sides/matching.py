"""Match the cases of two sides that may be compared, and say why others may not. Nothing is left out in silence.

A case is the same on both sides if its id and its test are: what was moved or renamed is removed here and new there.
It is compared where machine, device, workload, precision and layout are the same. Sessions of several machines are
never pooled: each machine is compared with itself. The machines of a side are those that its files are of, so one on
which no case came to a number has lost all that the baseline has of it.

Where half or more of the new sessions lack a case, or have no usable row of it, the rest is no measurement of it.
Sessions of a disturbed hour are not among these: they can be measured again, and then may say something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from roofline.comparison.observations.observed_machine import MachineIdentity, machine_difference, names_of
from roofline.comparison.observations.runs import ObservedRun
from roofline.comparison.sides.compared_figures import FIGURES, FigureName
from roofline.comparison.sides.session_results import By, SessionResult
from roofline.comparison.sides.side_files import Side
from roofline.comparison.sides.workload import counted_otherwise, declared, parameter_changes, workload_changes
from roofline.files.decoding import ReadError
from roofline.text.units import significant, some_of

SideInWords = Literal["baseline", "new"]

Standing = Literal["matched", "new", "removed", "invalid", "disturbed", "not comparable"]

TOO_MANY = 0.5
"""Of the new side's sessions: with so many or more unusable the case counts as invalid, or as removed."""

OTHER_UNIT = 500.0
"""Slowest over fastest session of a case from which on they are of two units (milliseconds are 1000 times as many), and
not of two versions of the code."""


IF_INTENDED = "if that is intended, measure a new baseline, or rename the test and pass --allow-removed"
"""What to do where the two sides measured something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSessions:
    """``count`` of the ``of`` sessions of a side have no usable number of a case.

    ``invalid``: a row is there that can't be used; ``missing``: there is no row. ``why`` has the reason and the files.
    """

    side: SideInWords
    kind: Literal["invalid", "missing"]
    count: int
    of: int
    why: str

    def __str__(self) -> str:
        share = f"{self.count} of {self.of} {self.side} sessions"
        return f"{f'{share} invalid' if self.kind == 'invalid' else f'missing from {share}'}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedCase:
    """A case with its sessions on both sides; only those that can be used, where it is ``matched``.

    ``why`` says in a sentence what is in the way. Of a matched case ``left_out`` are the sessions of the baseline that
    measured other work, with the difference, and so many sessions were ``disturbed``.
    ``invalid_before``: an invalid case was invalid in the baseline for the same kind of reason, so nothing was lost.
    ``missing`` are the sessions without a usable number of it. ``counted`` says that a matched case's work was counted
    otherwise on the two sides.
    """

    id: str
    test: str
    machine: MachineIdentity
    standing: Standing
    why: str = ""
    base: tuple[SessionResult, ...] = ()
    new: tuple[SessionResult, ...] = ()
    left_out: tuple[str, ...] = ()
    disturbed: int = 0
    invalid_before: bool = False
    missing: tuple[MissingSessions, ...] = ()
    counted: str = ""

    @property
    def why_missing(self) -> str:
        """In words; empty where no session lacks it."""
        return "; ".join(map(str, self.missing))


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """``left_out`` are sessions of the baseline on machines that the new side is not of, one line a machine."""

    cases: tuple[MatchedCase, ...]
    left_out: tuple[str, ...]


_Key = tuple[str, str]
_Rows = dict[_Key, list[SessionResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sessions:
    """The rows that a side has of one case, and the side's ``runs`` on the case's machine."""

    side: SideInWords
    case: str
    rows: Sequence[SessionResult]
    runs: Sequence[ObservedRun]

    @property
    def usable(self) -> list[SessionResult]:
        return [one for one in self.rows if one.observation is not None]

    @property
    def invalid(self) -> list[SessionResult]:
        """Those that can't be used for their own sake, and not the machine's."""
        return [one for one in self.rows if one.observation is None and not one.disturbed]

    @property
    def absent(self) -> list[ObservedRun]:
        """The runs without a row."""
        files = {one.run.file for one in self.rows}
        return [run for run in self.runs if run.file not in files]

    @property
    def why_none(self) -> str:
        """Say why none of the rows can be used, with the files."""
        if self.invalid:
            why = self.invalid[0].problem
        elif len(self.rows) == 1:
            why = self.rows[0].run.disturbed or self.rows[0].problem
        else:  # without the sessions' own numbers: for many cases it is one reason
            why = f"mostly disturbed from outside in each of {len(self.rows)} sessions"
        return f"{self.side}: {why} ({_files(self.rows)})"

    def has_lost(self, other: _Sessions) -> bool:
        """Tell whether it should have more rows. A session that was never meant to have the case (the tests were run in
        several parts) hasn't lost it: the other side lacks it in as large a share of its sessions, and no session tells
        that it failed.
        """
        share, of_other = (len(one.absent) / len(one.runs) for one in (self, other))
        return share > of_other or any(self.case in run.not_measured for run in self.runs)

    def missing(self, *, absent: bool) -> list[MissingSessions]:
        """:param absent: with the runs that have no row."""
        found = []
        missing = partial(MissingSessions, side=self.side, of=len(self.runs))
        if self.invalid:
            why = f"{self.invalid[0].problem} ({_files(self.invalid)})"
            found.append(missing(kind="invalid", count=len(self.invalid), why=why))
        if absent and self.absent:
            why = f"not in {some_of([run.file for run in self.absent], 1)}"
            reported = next((run.not_measured[self.case] for run in self.absent if self.case in run.not_measured), None)
            why += "" if reported is None else f" ({reported})"
            found.append(missing(kind="missing", count=len(self.absent), why=why))
        return found


def match(base: Side, new: Side, by: By) -> Matching:
    """Every case of both sides, once for each machine of the new one.

    :raises ReadError: by roof, a side of several machines.
    """
    if by == "roof":
        for name, side in (("the baseline", base), ("the new side", new)):
            _one_machine(name, side.runs)
    of_base, of_new = _by_machine(base), _by_machine(new)
    same = {
        machine: [other for other in of_base if by == "roof" or machine_difference(other, machine) is None]
        for machine in of_new
    }
    unmatched = [machine for machine in of_base if not any(machine in others for others in same.values())]
    cases: list[MatchedCase] = []
    for machine, rows in of_new.items():
        here = _merged(of_base[other] for other in same[machine])
        others = _merged(of_base[other] for other in of_base if other not in same[machine])
        base_runs = [run for run in base.runs if run.machine in same[machine]]
        new_runs = [run for run in new.runs if run.machine == machine]
        added = {_work(found[0]): key for key, found in reversed(rows.items()) if key not in here}  # the first wins
        gone = {} if same[machine] else _merged(of_base[other] for other in unmatched)
        for key in dict.fromkeys((*here, *rows, *gone)):
            case = partial(MatchedCase, id=key[0], test=key[1], machine=machine)
            if key not in rows:
                cases.append(_removed(case, here.get(key) or gone[key], added, new_runs))
                continue
            now = _Sessions(side="new", case=key[0], rows=rows[key], runs=new_runs)
            if key in here:
                before = _Sessions(side="baseline", case=key[0], rows=here[key], runs=base_runs)
                cases.append(_both(case, before, now, by, new.figure))
            else:
                cases.append(_new(case, now, others.get(key), base_runs))
    return Matching(cases=tuple(cases), left_out=tuple(_left_out(one, base.runs, of_new) for one in unmatched))


def _one_machine(name: str, runs: Iterable[ObservedRun]) -> None:
    machines = dict.fromkeys(run.machine for run in runs)
    if len(machines) > 1:
        named = ", ".join(names_of(machines).values())
        raise ReadError(
            f"{name} holds results of {len(machines)} machines ({named}): by roof, a side is"
            " one machine. Give the files of one."
        )


def _by_machine(side: Side) -> dict[MachineIdentity, _Rows]:
    """The rows of each machine that the side has a file of, be they none."""
    found: dict[MachineIdentity, _Rows] = {run.machine: {} for run in side.runs}
    for row in side.results:
        found[row.run.machine].setdefault((row.id, row.test), []).append(row)
    return found


def _merged(machines: Iterable[_Rows]) -> _Rows:
    found: _Rows = {}
    for rows in machines:
        for key, results in rows.items():
            found.setdefault(key, []).extend(results)
    return found


def _left_out(machine: MachineIdentity, runs: Iterable[ObservedRun], of_new: Iterable[MachineIdentity]) -> str:
    files = [run.file for run in runs if run.machine == machine]
    why = next(filter(None, (machine_difference(machine, other) for other in of_new)), "")
    return f"left out of the baseline: {some_of(files, 1)}: {why}"


_Case = partial[MatchedCase]
"""A case whose standing isn't known yet."""


def _removed(
    case: _Case, base: Sequence[SessionResult], added: Mapping[_Work, _Key], new_runs: Sequence[ObservedRun]
) -> MatchedCase:
    """:param added: the cases that the baseline lacks, of which one may be this by another name."""
    name = base[0].id
    reported = next((run.not_measured[name] for run in new_runs if name in run.not_measured), None)
    why = f"in {_files(base)}, not in {some_of([run.file for run in new_runs], 1)}"
    if reported is not None:
        why += f" ({reported})"
    elif (now := added.get(_work(base[0]))) is not None:
        same = "A test of this name" if base[0].case is None else "The same work"
        why += f" (moved or renamed? {same} is there as {now[1] if now[0] == name else f'{now[0]} ({now[1]})'})"
    return case(standing="removed", why=why, base=tuple(base))


_Work = tuple[bool, str]


def _work(row: SessionResult) -> _Work:
    """Name the work of a row: by the hash in its record, and where it has none by the test's name."""
    return (False, row.id) if row.case is None else (True, row.case.workload_hash)


def _new(
    case: _Case, new: _Sessions, others: Sequence[SessionResult] | None, base_runs: Sequence[ObservedRun]
) -> MatchedCase:
    """:param others: the case's sessions in the baseline on other machines."""
    rows = tuple(new.rows)
    if others is not None:
        why = f"{machine_difference(others[0].run.machine, rows[0].run.machine)} ({_files(others)} -> {_files(rows)})"
        return case(standing="not comparable", why=why, base=tuple(others))
    lost = [run.file for run in base_runs if new.case in run.not_run]
    if lost:
        why = f"not run in the baseline, whose run did not end ({some_of(lost, 1)})"
        return case(standing="not comparable", why=why, new=rows)
    if new.invalid and not new.usable:
        return case(standing="invalid", why=new.why_none, new=rows)
    # Which of its sessions should have it isn't known.
    missing = tuple(replace(new, runs=[one.run for one in rows]).missing(absent=False))
    if missing and len(new.invalid) >= TOO_MANY * len(rows):
        return case(standing="invalid", why="; ".join(map(str, missing)), new=rows, missing=missing)
    return case(standing="new", why=f"in {_files(rows)} alone", new=rows, missing=missing)


def _both(case: _Case, base: _Sessions, new: _Sessions, by: By, figure: FigureName) -> MatchedCase:
    lost = base.has_lost(new), new.has_lost(base)
    missing = (*base.missing(absent=lost[0]), *new.missing(absent=lost[1]))
    case = partial(case, missing=missing)
    because = partial(case, base=tuple(base.rows), new=tuple(new.rows))
    without = [one for one in (base, new) if not one.usable]
    invalid = [one for one in without if one.invalid]
    if invalid:
        kinds = [{row.problem_kind for row in one.invalid} for one in invalid]
        before = len(invalid) == 2 and kinds[1] <= kinds[0]
        return because(standing="invalid", why="; ".join(one.why_none for one in invalid), invalid_before=before)
    count = sum(one.count for one in missing if one.side == "new")
    if count and count >= TOO_MANY * (len(new.runs) if lost[1] else len(new.rows)):
        return because(standing="invalid" if new.invalid else "removed", why="; ".join(map(str, missing)))
    if without:
        return because(standing="disturbed", why="; ".join(one.why_none for one in without))
    changed, fitting = _same_work(base.usable, new.usable, by)
    if changed is not None:
        return because(standing="not comparable", why=f"{changed} ({_files(base.usable)} -> {_files(new.usable)})")
    counted = counted_otherwise(fitting, new.usable)
    why = _unchecked(fitting, new.usable)
    if why is None and counted and by == "roof":
        # The least time that the roofs allow is worked out from the count: the case would be judged by that.
        why = f"other work: {counted}"
    why = why or _other_unit(fitting, new.usable, figure)
    if why is not None:
        return because(standing="not comparable", why=why)
    differing = ((one, _difference(one, new.usable[0], by)) for one in base.usable)
    return case(
        standing="matched",
        base=tuple(fitting),
        new=tuple(new.usable),
        left_out=tuple(f"{one.run.file}: {difference}" for one, difference in differing if difference is not None),
        disturbed=sum(one.disturbed for one in (*base.rows, *new.rows)),
        counted=counted,
    )


def _unchecked(base: Sequence[SessionResult], new: Sequence[SessionResult]) -> str | None:
    """Say which claims the baseline's records have a check of, and a new one's doesn't; None where each has all."""
    claims = frozenset.intersection(*(one.checks for one in base))
    lacking = {one.run.file: sorted(lacks) for one in new if (lacks := claims - one.checks)}
    if not lacking:
        return None
    names = ", ".join(dict.fromkeys(name for lacks in lacking.values() for name in lacks))
    return f"not proven: no check of {names} in {some_of(list(lacking), 1)}, the baseline has it"


def _other_unit(base: Sequence[SessionResult], new: Sequence[SessionResult], figure: FigureName) -> str | None:
    """Say why the sessions can't all be of one unit; None where they can."""
    values = [one.value for one in (*base, *new)]
    least, most = min(values), max(values)
    if most < OTHER_UNIT * least:
        return None
    show = FIGURES[figure].show
    return (
        f"sessions from {show(least)} to {show(most)}, {significant(most / least)} times: a file in another unit? If it"
        f" is real, make the baseline anew ({_files(base)} -> {_files(new)})"
    )


def _same_work(
    base: Sequence[SessionResult], new: Sequence[SessionResult], by: By
) -> tuple[str | None, list[SessionResult]]:
    """Say what differs between the base's newest session and the new ones, which have to be of one work; where nothing
    does in some of the base's sessions, give those.
    """
    one = new[0]
    if any(_difference(one, other, by) is not None for other in new):
        return "the new sessions are not all of one workload", []
    fitting = [other for other in base if _difference(other, one, by) is None]
    if fitting:
        return None, fitting
    newest = sorted(base, key=lambda one: one.run.when)[-1]  # of those that began together, the last that was read
    return f"{_difference(newest, one, by)}; {IF_INTENDED}", []


def _difference(base: SessionResult, new: SessionResult, by: By) -> str | None:
    if base.case is None or new.case is None:
        if base.case is None and new.case is None:
            changes = parameter_changes(base.params, new.params, "baseline")
            return f"another workload under the same id: {changes}" if changes else None
        return "one side has a record of the work, the other has none"
    if by == "time" and base.device is not None and new.device is not None:
        ours, theirs = ((device.kind, device.name) for device in (new.device, base.device))
        if ours != theirs:
            return f"another device: {ours[1]} ({ours[0]}), baseline {theirs[1]} ({theirs[0]})"
    if base.provenance != new.provenance:
        what = "work" if by == "roof" else "figure"
        return f"{what} from another source: {new.provenance}, baseline {base.provenance}"
    if new.case is base.case:
        return None
    changes = workload_changes(declared(base.case), declared(new.case), "baseline")
    if base.case.workload_hash == new.case.workload_hash and not changes:
        return None
    return f"another workload under the same id: {changes or 'its hash differs'}"


def _files(results: Sequence[SessionResult]) -> str:
    return some_of([one.run.file for one in results], 1)
