"""Hold what came of expectations, and the entries of a file that no measured case is of.

Such an entry is *not measured* where its device is there, *not applicable* where all its cases were skipped, and for
others where the device isn't there. One whose device nobody knows is reported: a name that was mistyped expects
nothing, and looks like a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from roofline.expectations.fraction import Fraction
from roofline.machine.published import DeviceTable
from roofline.model.point_groups import cases
from roofline.model.points import Point
from roofline.results.result import ResultFile
from roofline.schema.expected import ANY, Expected, matches
from roofline.schema.session import NotMeasured
from roofline.text.units import some_of

Judged = Literal["held", "failed", "not_evaluable"]
Verdict = Literal["held", "failed", "not_evaluable", "not_measured", "not_applicable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One part of an expectation, judged. ``got`` says what was found, and for a floor how well it is known.

    ``short`` puts what was found beside what was expected, in a few words; empty where nothing was found.
    """

    what: Literal["bound", "roof", "speed_of_light"]
    verdict: Judged
    expected: str
    got: str
    short: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBound:
    """What came of one expectation for one case of one machine.

    ``case`` is the case's id, or the pattern for which there is none. ``points`` are its sessions, oldest first, those
    that were judged; all of them where none was. ``why`` tells why nothing could be judged, and which sessions were
    left out. ``changed_roofs`` are those that have another value than it was locked under, with both values, where that
    decides. ``disturbed`` says why the time of a session says nothing, where one's doesn't.
    """

    expected: Expected
    case: str
    machine: str
    verdict: Verdict
    points: tuple[Point, ...] = ()
    claims: tuple[Claim, ...] = ()
    roof: Fraction | None = None
    speed_of_light: Fraction | None = None
    why: str = ""
    changed_roofs: tuple[str, ...] = ()
    disturbed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """All findings; the cases of which nothing is expected; the file's entries that are for other devices or for other
    machines of a name; files of a folder that should be results and can't be read; and, a sentence each, the runs that
    did not end, the cases that hardware counters have bound otherwise, and what is wrong with devices that nobody
    knows.
    """

    findings: tuple[CheckedBound, ...]
    unexpected: tuple[str, ...] = ()
    for_others: tuple[Expected, ...] = ()
    unreadable: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    unknown_devices: tuple[str, ...] = ()

    @property
    def all_held(self) -> bool:
        """Tell whether something was expected of cases that weren't skipped, and all of it holds."""
        return {finding.verdict for finding in self.findings} - {"not_applicable"} == {"held"}


def names_of(point: Point) -> tuple[str, ...]:
    """List what the point's device is called. A row without a record is of the device that its file's machine tells."""
    record, machine = point.benchmark.record, point.result.machine
    device = record.device if record is not None else machine.device if machine is not None else None
    of_device = () if device is None else (device.kind, device.name)
    return (*of_device, point.result.machine_label)


def lost(sessions: Sequence[Point], results: Iterable[ResultFile]) -> list[tuple[str, NotMeasured]]:
    """The machine's results that tell that they have no number of the case, by their names. What was simply not run
    there (the tests in several parts) is not lost.
    """
    case, there = sessions[-1].id, {point.result.path for point in sessions}
    return [
        (result.path.name, given_up)
        for result in results
        if result.path not in there and result.session is not None
        for given_up in result.session.without_number
        if given_up.id == case
    ]


def not_measured(points: Sequence[Point], entries: Sequence[Expected]) -> list[CheckedBound]:
    """The entries for this machine of which it has no case; else, of those of an entry, the cases that failed in every
    session. One that was skipped wasn't to be measured here: an entry of such cases alone is not applicable.

    :param points: all of one machine, with its roofs.
    :param entries: the file's, without those of other machines.
    """
    records = [point.benchmark.record for point in cases(points) if point.benchmark.record is not None]
    measured: dict[str, set[str]] = {}
    for record in records:
        measured.setdefault(record.case.id, set()).add(record.case.precision)
    sessions = {point.result.path: point.result.session for point in points}.values()
    given_up = [one for session in sessions if session is not None for one in session.without_number]
    failed = {one.id: one.why for one in given_up if one.outcome != "skipped" and one.id not in measured}
    findings = []
    for expected in entries:
        if not any(expected.is_on(names_of(point)) for point in points):
            continue
        missed: dict[str, str] = {}
        verdict: Verdict = "not_measured"
        of = measured if ANY in expected.case else (expected.case,)
        known = ((case, precision) for case in of for precision in measured.get(case, ()))
        if not any(expected.is_for(case=case, precision=precision) for case, precision in known):
            where = "" if expected.precision == ANY else f" in {expected.precision}"
            without = [one for one in given_up if matches(expected.case, one.id)]
            missed[expected.case + where] = "; ".join(dict.fromkeys(f"{one.id}: {one.why}" for one in without)) or (
                "No case of the results is of this pattern"
            )
            if {one.outcome for one in without} == {"skipped"}:
                verdict = "not_applicable"
        elif expected.precision == ANY:  # of a case without a number it isn't known
            missed = {case: f"{case}: {why}" for case, why in failed.items() if matches(expected.case, case)}
        findings += [
            CheckedBound(
                expected=expected,
                case=case,
                machine=points[-1].result.machine_label,
                verdict=verdict,
                why=why,
            )
            for case, why in missed.items()
        ]
    return findings


KINDS = ("cpu", "cuda", "mps")
"""What ``device.kind`` of a record may be."""


def unknown_devices(
    entries: Sequence[Expected], points: Sequence[Point], table: DeviceTable
) -> Mapping[str, Sequence[Expected]]:
    """The entries whose device is called so neither here nor elsewhere, by the sentence that says it of a name.

    An entry with the fingerprint of a machine of the results has to name that machine or its device.

    :param entries: all of the file's.
    :param points: all of the results, roofs included.
    """
    here = {name for point in points for name in names_of(point)}
    machines = {point.result.machine_key for point in points}
    own = [one.fingerprint != ANY and any(map(one.is_of_machine, machines)) for one in entries]
    locked = {one.device for one, is_own in zip(entries, own, strict=True) if one.fingerprint != ANY and not is_own}
    known = {*here, *KINDS, *locked, *(name for device in table.devices for name in device.names)}
    unknown: dict[str, list[Expected]] = {}
    for one, is_own in zip(entries, own, strict=True):
        if not one.is_on(here if is_own else known):
            unknown.setdefault(one.device, []).append(one)
    known_names = (
        f"These results are of {', '.join(sorted(here))}; others are called {', '.join(KINDS)}, or as in"
        " `roofline devices`"
    )
    told = {name: some_of([one.source for one in found], 1) for name, found in unknown.items()}
    return {
        f"device {name!r} ({told[name]}): no such device is known: a typo? {known_names}": found
        for name, found in unknown.items()
    }
