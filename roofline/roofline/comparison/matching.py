"""Which cases of two sides may be compared, and why the others may not. Nothing is left out in silence.

A case is the same on both sides if its id and its test are: what was moved or renamed is removed here and new there.
It is compared where machine, device, workload, precision and layout are the same. Sessions of several machines are
never pooled: each machine is compared with itself. The machines of a side are those that its files are of: one on which
no case came to a number has lost all that the baseline has of it. Of a case that half or more of the new sessions lack,
or have no usable row of, the rest is not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from roofline.comparison.runs import Identity, Run, told_apart
from roofline.comparison.sides import By, Seen, Side, not_looked_at, without_marks
from roofline.comparison.workload import counted_otherwise, declared, parameter_changes, workload_changes
from roofline.text.units import scaled, significant, some_of

Standing = Literal["matched", "new", "removed", "invalid", "loud", "not comparable"]

SideName = Literal["baseline", "new"]

TOO_MANY = 0.5
"""Of the new side's sessions: with so many or more unusable the case counts as invalid, or as removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """``count`` of the ``of`` sessions of a side have no usable number of a case.

    ``invalid``: a row is there that can't be used; ``missing``: there is no row. ``why`` has the reason and the files.
    """

    side: SideName
    kind: Literal["invalid", "missing"]
    count: int
    of: int
    why: str

    @property
    def short(self) -> str:
        """``3 of 5 new sessions invalid``, ``missing from 1 of 5 new sessions``."""
        share = f"{self.count} of {self.of} {self.side} sessions"
        return f"{share} invalid" if self.kind == "invalid" else f"missing from {share}"

    @property
    def told(self) -> str:
        return f"{self.short}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfalls:
    """Of a case. ``too_many``: half or more of the new sessions that should have it, so it can't be judged."""

    found: tuple[Shortfall, ...] = ()
    too_many: bool = False

    @property
    def told(self) -> str:
        return "; ".join(one.told for one in self.found)

    @property
    def of_new(self) -> tuple[Shortfall, ...]:
        return tuple(one for one in self.found if one.side == "new")


NONE = Shortfalls()


def shortfalls(
    case: str, base: Sequence[Seen], new: Sequence[Seen], base_runs: Sequence[Run], new_runs: Sequence[Run]
) -> Shortfalls:
    """What sessions lack of a case that is on both sides.

    A session that was never meant to have it (the tests were run in several parts) is not one that lost it: where the
    baseline lacks it in as large a share of its sessions, and no session tells that it failed, nothing is missing.

    :param case: its id.
    :param base_runs: the sessions of each side that are of one machine with it.
    """
    invalid = [*_invalid("baseline", base, len(base_runs)), *_invalid("new", new, len(new_runs))]
    of_base, of_new = _missing("baseline", case, base, base_runs), _missing("new", case, new, new_runs)
    shares = [0.0 if one is None else one.count / one.of for one in (of_base, of_new)]
    missing = []
    if of_base is not None and (shares[0] > shares[1] or _told(case, base_runs)):
        missing.append(of_base)
    if of_new is not None and (shares[1] > shares[0] or _told(case, new_runs)):
        missing.append(of_new)
    found = (*invalid, *missing)
    should = len(new_runs) - (of_new.count if of_new is not None and of_new not in missing else 0)
    return Shortfalls(found=found, too_many=_too_many(found, should))


def shortfalls_of_new(new: Sequence[Seen]) -> Shortfalls:
    """The same of a case that only the new side has: which of its sessions should have it isn't known."""
    found = tuple(_invalid("new", new, len(new)))
    return Shortfalls(found=found, too_many=_too_many(found, len(new)))


def _too_many(found: Sequence[Shortfall], should: int) -> bool:
    count = sum(one.count for one in found if one.side == "new")
    return count > 0 and count >= TOO_MANY * should


def _invalid(side: SideName, seen: Sequence[Seen], of: int) -> list[Shortfall]:
    bad = [one for one in seen if one.observation is None and not one.loud]
    if not bad:
        return []
    why = f"{bad[0].problem} ({_files(bad)})"
    return [Shortfall(side=side, kind="invalid", count=len(bad), of=of, why=why)]


def _missing(side: SideName, case: str, seen: Sequence[Seen], runs: Sequence[Run]) -> Shortfall | None:
    there = {one.run.file for one in seen}
    without = [run for run in runs if run.file not in there]
    if not without:
        return None
    found = Shortfall(
        side=side,
        kind="missing",
        count=len(without),
        of=len(runs),
        why=f"not in {some_of([run.file for run in without], 1)}",
    )
    told = next((run.not_measured[case] for run in without if case in run.not_measured), None)
    return found if told is None else replace(found, why=f"{found.why} ({told})")


def _told(case: str, runs: Sequence[Run]) -> bool:
    return any(case in run.not_measured for run in runs)


LARGEST_SCATTER = 100.0
"""Slowest over fastest session of a side beyond which they contradict each other: code that didn't change, on one
machine, is not as far apart, but times in another unit are."""


class OneMachine(ValueError):
    """A side holds several machines where it may hold one. The message names them."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A session of a matched case that is not taken. ``loud``: hardly a round of it was left alone."""

    file: str
    why: str
    loud: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A case with its sessions on both sides. Only those that can be used, where it is ``matched``.

    ``why`` says in a sentence what is in the way. ``left_out`` are sessions of a matched case that are not taken.
    ``settled`` tells that an invalid case was invalid in the baseline for the same kind of reason: nothing was lost.
    What rules out the new side and not the baseline's (a check that failed just now, where the baseline's numbers are
    none) is found out by the new run, and is not settled. ``shortfalls`` are the sessions without a usable number of
    it. ``counted`` tells that a matched case's work was counted otherwise on the two sides. ``blind`` names the files
    that don't tell which rounds were disturbed, where for that no marks were used.
    """

    id: str
    test: str
    machine: Identity
    standing: Standing
    why: str = ""
    base: tuple[Seen, ...] = ()
    new: tuple[Seen, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    settled: bool = False
    shortfalls: Shortfalls = NONE
    counted: str = ""
    blind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """``left_out`` are sessions of the baseline on machines that the new side is not of, one line a machine."""

    pairs: tuple[Pair, ...]
    left_out: tuple[str, ...]


_Key = tuple[str, str]
_Rows = dict[_Key, list[Seen]]


def match(base: Side, new: Side, by: By) -> Matching:
    """Every case of both sides, once for each machine of the new one.

    :raises OneMachine: by roof, a side of several machines.
    """
    if by == "roof":
        for name, side in (("the baseline", base), ("the new side", new)):
            _one_machine(name, side.runs)
    of_base, of_new = _by_machine(base), _by_machine(new)
    same = {
        machine: [other for other in of_base if by == "roof" or told_apart(other, machine) is None]
        for machine in of_new
    }
    met = {other for others in same.values() for other in others}
    unmet = [machine for machine in of_base if machine not in met]
    pairs: list[Pair] = []
    for machine, rows in of_new.items():
        here = _merged(of_base[other] for other in same[machine])
        elsewhere = _merged(of_base[other] for other in of_base if other not in same[machine])
        base_runs, new_runs = _runs(base, same[machine]), _runs(new, [machine])
        for key in dict.fromkeys((*here, *rows)):
            pairs.append(_pair(key, machine, here, rows, elsewhere, base_runs, new_runs, by))
        if not same[machine]:
            gone = _merged(of_base[other] for other in unmet)
            pairs += [_removed(key, machine, found, rows, new_runs) for key, found in gone.items() if key not in rows]
    return Matching(pairs=tuple(pairs), left_out=tuple(_left_out(machine, base.runs, of_new) for machine in unmet))


def _runs(side: Side, machines: Sequence[Identity]) -> list[Run]:
    """Those of these machines."""
    parts = {machine.parts for machine in machines}
    return [run for run in side.runs if run.machine.parts in parts]


def _one_machine(name: str, runs: Iterable[Run]) -> None:
    machines = {run.machine.parts: run.machine.label for run in runs}
    if len(machines) > 1:
        raise OneMachine(
            f"{name} holds results of {len(machines)} machines ({', '.join(machines.values())}): by roof, a side is"
            " one machine. Give the files of one."
        )


def _by_machine(side: Side) -> dict[Identity, _Rows]:
    """The rows of each machine that the side has a file of, be they none."""
    machines: dict[tuple[tuple[str, str], ...], Identity] = {}
    found: dict[Identity, _Rows] = {}
    for run in side.runs:
        found[machines.setdefault(run.machine.parts, run.machine)] = {}
    for row in side.seen:
        found[machines[row.run.machine.parts]].setdefault((row.id, row.test), []).append(row)
    return found


def _merged(machines: Iterable[_Rows]) -> _Rows:
    """Of machines that nothing tells apart from the new one."""
    found: _Rows = {}
    for rows in machines:
        for key, seen in rows.items():
            found.setdefault(key, []).extend(seen)
    return found


def _left_out(machine: Identity, runs: Iterable[Run], of_new: Iterable[Identity]) -> str:
    files = [run.file for run in runs if run.machine.parts == machine.parts]
    why = next(filter(None, (told_apart(machine, other) for other in of_new)), "")
    return f"left out of the baseline: {some_of(files, 1)}: {why}"


def _pair(
    key: _Key,
    machine: Identity,
    here: _Rows,
    rows: _Rows,
    elsewhere: _Rows,
    base_runs: Sequence[Run],
    new_runs: Sequence[Run],
    by: By,
) -> Pair:
    name, test = key
    base, new = here.get(key), rows.get(key)
    if base is None:
        assert new is not None
        if key in elsewhere:
            other = elsewhere[key]
            why = f"{told_apart(other[0].run.machine, machine)} ({_files(other)} -> {_files(new)})"
            return Pair(id=name, test=test, machine=machine, standing="not comparable", why=why, base=tuple(other))
        lost = [run.file for run in base_runs if name in run.not_run]
        if lost:
            why = f"not run in the baseline, whose run did not end ({some_of(lost, 1)})"
            return Pair(id=name, test=test, machine=machine, standing="not comparable", why=why, new=tuple(new))
        return _new(key, machine, new)
    if new is None:
        return _removed(key, machine, base, rows, new_runs)
    absent = [LeftOut(run.file, run.not_measured[name]) for run in new_runs if name in run.not_measured]
    return _both(name, test, machine, base, new, absent, shortfalls(name, base, new, base_runs, new_runs), by)


def _new(key: _Key, machine: Identity, new: Sequence[Seen]) -> Pair:
    problem = _problem("new", new)
    if problem is not None and not problem.loud:
        return Pair(id=key[0], test=key[1], machine=machine, standing="invalid", why=problem.why, new=tuple(new))
    short = shortfalls_of_new(new)
    return Pair(
        id=key[0],
        test=key[1],
        machine=machine,
        standing="invalid" if short.too_many else "new",
        why=short.told if short.too_many else f"in {_files(new)} alone",
        new=tuple(new),
        shortfalls=short,
    )


def _removed(key: _Key, machine: Identity, base: Sequence[Seen], rows: _Rows, runs: Sequence[Run]) -> Pair:
    """:param runs: the new side's, of the machine."""
    name, test = key
    told = next((run.not_measured[name] for run in runs if name in run.not_measured), None)
    why = f"in {_files(base)}, not in {some_of([run.file for run in runs], 1)}"
    if told is not None:
        why += f" ({told})"
    elif (now := _now(base[0], rows)) is not None:
        why += f" (moved or renamed? {now})"
    return Pair(id=name, test=test, machine=machine, standing="removed", why=why, base=tuple(base))


def _now(gone: Seen, rows: _Rows) -> str | None:
    """Where the work of a case that is gone may be found, in a sentence."""
    for (name, test), seen in rows.items():
        case = seen[0].case
        if gone.case is not None and case is not None and case.workload_hash == gone.case.workload_hash:
            return f"The same work is there as {test if name == gone.id else f'{name} ({test})'}"
        if gone.case is None and case is None and name == gone.id:
            return f"A test of this name is there as {test}"
    return None


def _both(
    name: str,
    test: str,
    machine: Identity,
    base: Sequence[Seen],
    new: Sequence[Seen],
    absent: Sequence[LeftOut],
    short: Shortfalls,
    by: By,
) -> Pair:
    def because(standing: Standing, why: str, *, settled: bool = False) -> Pair:
        return Pair(
            id=name,
            test=test,
            machine=machine,
            standing=standing,
            why=why,
            base=tuple(base),
            new=tuple(new),
            settled=settled,
            shortfalls=short,
        )

    problems = [problem for problem in (_problem("baseline", base), _problem("new", new)) if problem is not None]
    invalid = [problem for problem in problems if not problem.loud]
    if invalid:
        settled = len(invalid) == 2 and invalid[1].kinds <= invalid[0].kinds
        return because("invalid", "; ".join(problem.why for problem in invalid), settled=settled)
    if short.too_many:
        lost = any(one.kind == "invalid" for one in short.of_new)
        return because("invalid" if lost else "removed", short.told)
    if problems:
        return because("loud", "; ".join(problem.why for problem in problems))
    blind = not_looked_at([*base, *new])
    if blind:
        base, new = [without_marks(seen) for seen in base], [without_marks(seen) for seen in new]
    usable_base = [seen for seen in base if seen.observation is not None]
    usable_new = [seen for seen in new if seen.observation is not None]
    changed, fitting = _same_work(usable_base, usable_new, by)
    if changed is not None:
        return because("not comparable", f"{changed} ({_files(usable_base)} -> {_files(usable_new)})")
    unchecked = _unchecked(fitting, usable_new)
    if unchecked is not None:
        return because("not comparable", unchecked)
    counted = counted_otherwise(fitting, usable_new)
    if counted and by == "roof":
        # The least time that the roofs allow is worked out from the count: the case would be judged by that.
        return because("not comparable", f"other work: {counted}")
    contradiction = _contradiction("baseline", fitting) or _contradiction("new", usable_new)
    if contradiction is not None:
        return because("not comparable", contradiction)
    left_out = [LeftOut(seen.run.file, seen.problem, seen.loud) for seen in (*base, *new) if seen.observation is None]
    if len(fitting) < len(usable_base):
        left_out += [
            LeftOut(seen.run.file, changed)
            for seen in usable_base
            if (changed := _difference(seen, usable_new[0], by)) is not None
        ]
    return Pair(
        id=name,
        test=test,
        machine=machine,
        standing="matched",
        base=tuple(fitting),
        new=tuple(usable_new),
        left_out=(*left_out, *absent),
        shortfalls=short,
        counted=counted,
        blind=_files(blind) if blind else "",
    )


def _unchecked(base: Sequence[Seen], new: Sequence[Seen]) -> str | None:
    """Say which claims the baseline's records have a check of, and a new one's doesn't; None where each has all."""
    claims = frozenset.intersection(*(seen.checks for seen in base))
    lacking = {seen.run.file: sorted(lacks) for seen in new if (lacks := claims - seen.checks)}
    if not lacking:
        return None
    names = ", ".join(dict.fromkeys(name for lacks in lacking.values() for name in lacks))
    return f"not proven: no check of {names} in {some_of(list(lacking), 1)}, the baseline has it"


def _contradiction(side: str, seen: Sequence[Seen]) -> str | None:
    """Why a side's sessions can't all be times of one case in one unit; None where they can."""
    fastest, slowest = (pick(seen, key=lambda one: one.step_time_s) for pick in (min, max))
    factor = slowest.step_time_s / fastest.step_time_s
    if factor <= LARGEST_SCATTER:
        return None
    return (
        f"cannot compare: {side}: sessions of one side differ by a factor of {significant(factor)}: another unit?"
        f" ({scaled(fastest.step_time_s, 's')} in {fastest.run.file}, {scaled(slowest.step_time_s, 's')} in"
        f" {slowest.run.file})"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """Why no session of a side can be used, with the file. ``loud``: in none of them was the machine left alone; else
    ``kinds`` are those of the others' problems.
    """

    why: str
    loud: bool
    kinds: frozenset[str]


def _problem(side: str, seen: Sequence[Seen]) -> _Problem | None:
    if any(one.observation is not None for one in seen):
        return None
    worst = next((one for one in seen if not one.loud), seen[0])
    return _Problem(
        why=f"{side}: {_loud(seen) if worst.loud else worst.problem} ({_files(seen)})",
        loud=worst.loud,
        kinds=frozenset(one.problem_kind for one in seen if not one.loud),
    )


def _loud(seen: Sequence[Seen]) -> str:
    """Why sessions of nothing but disturbed hours say nothing of the case: without its own numbers as far as there is
    a reason without them, so that for many cases it is one.
    """
    if len(seen) == 1:
        return seen[0].run.loud or seen[0].problem
    return f"mostly disturbed from outside in each of {len(seen)} sessions"


def _same_work(base: Sequence[Seen], new: Sequence[Seen], by: By) -> tuple[str | None, list[Seen]]:
    """What differs between the base's newest session and the new ones, which have to be of one work; where nothing does
    in some of the base's sessions, those.
    """
    one = new[0]
    if any(_difference(one, other, by) is not None for other in new):
        return "the new sessions are not all of one workload", []
    fitting = [other for other in base if _difference(other, one, by) is None]
    return (None, fitting) if fitting else (_difference(_newest(base), one, by), [])


def _newest(seen: Iterable[Seen]) -> Seen:
    """By when its run began; of those that began together, or tell no time, the last that was read."""
    return sorted(seen, key=lambda one: one.run.when)[-1]


def _difference(base: Seen, new: Seen, by: By) -> str | None:
    if base.case is None or new.case is None:
        if base.case is None and new.case is None:
            changes = parameter_changes(base.params, new.params, "baseline")
            return f"another workload under the same id: {changes}" if changes else None
        return "one side has a record of the work, the other has none"
    if by == "time" and base.device is not None and new.device is not None:
        ours, theirs = ((device.kind, device.name) for device in (new.device, base.device))
        if ours != theirs:
            return f"another device: {ours[1]} ({ours[0]}), baseline {theirs[1]} ({theirs[0]})"
    if by == "roof" and base.provenance != new.provenance:
        return f"work from another source: {new.provenance}, baseline {base.provenance}"
    if new.case is base.case:
        return None
    changes = workload_changes(declared(base.case), declared(new.case), "baseline")
    if base.case.workload_hash == new.case.workload_hash and not changes:
        return None
    return f"another workload under the same id: {changes or 'its hash differs'}"


def _files(seen: Sequence[Seen]) -> str:
    return some_of([one.run.file for one in seen], 1)
