"""Findings as a table: what was expected of each case, what was found, and a note for each that doesn't hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from roofline.comparison.comparison_lines import lines_of_unreadable
from roofline.comparison.gate import Found
from roofline.expectations.fraction import bounding, of_several_commits
from roofline.expectations.judging import at_least, bounded
from roofline.expectations.outcome import Checked, CheckedBound, Verdict
from roofline.machine.roof_choice import BUSY_SPREAD
from roofline.model.bounds import NEAR_KNEE, STRADDLES, input_share, launch_s
from roofline.model.points import Point
from roofline.schema.expected import Expected
from roofline.show.columns import pick
from roofline.show.tables import Column, Table, number, share, words
from roofline.text.units import counted, first_lines, named, percent

_WORST_FIRST: tuple[Verdict, ...] = ("failed", "not_evaluable", "not_measured", "held", "not_applicable")


def summary(checked: Checked) -> str:
    """Say how many came to what: ``1 failed, 5 held, 1 unknown device``."""
    counts = Counter(finding.verdict for finding in checked.findings)
    text = [f"{counts[verdict]} {_words(verdict)}" for verdict in _WORST_FIRST if counts[verdict]]
    text = text or ["nothing is expected of these results"]
    text += [f"{counted(len(checked.unreadable), 'file')} not read"] if checked.unreadable else []
    text += [counted(len(checked.unknown_devices), "unknown device")] if checked.unknown_devices else []
    return ", ".join(text)


def found_in(checked: Checked, *, verbose: bool = True) -> list[Found]:
    """List what the gate has to judge: one line for all findings, for each has its row and note."""
    found: list[Found] = []
    if not checked.all_held:
        failed = any(finding.verdict == "failed" for finding in checked.findings)
        line = f"Expected bounds: {summary(checked)}"
        found.append(("not as expected" if failed else "expectation not judged", line))
    incomplete = first_lines("runs that did not end", checked.incomplete, verbose=verbose)
    found += [("file not read", line) for line in lines_of_unreadable(checked.unreadable, verbose=verbose)]
    found += [("run not ended", line) for line in incomplete]
    return [*found, *(("unknown device", line) for line in checked.unknown_devices)]


def table(checked: Checked, *, passed: bool = True, verbose: bool = True) -> Table[CheckedBound]:
    """A row a case and expectation, the worst first.

    :param passed: whether it is a pass; where it is none though all findings hold, the title says so.
    """
    rows = sorted(checked.findings, key=lambda finding: _WORST_FIRST.index(finding.verdict))
    barred = checked.all_held and not passed
    mixed = of_several_commits((finding.points for finding in rows), "judged")
    return Table(
        title=f"Expected bounds: {'not passed: ' if barred else ''}{summary(checked)}",
        columns=_COLUMNS,
        rows=rows,
        display=[_BY_NAME[name] for name in _DISPLAYED],
        notes=[
            *(
                line
                for kind, lines in {**_messages(rows), **_of_held(rows)}.items()
                for line in first_lines(kind, lines, verbose=verbose)
            ),
            *([mixed] if mixed is not None else []),
            *_rest(checked, verbose=verbose),
        ],
    )


def _messages(rows: Sequence[CheckedBound]) -> dict[str, list[str]]:
    """List what speaks against each verdict but *held*."""
    verdicts = (verdict for verdict in _WORST_FIRST if verdict != "held")
    return {_words(one): [message(finding) for finding in rows if finding.verdict == one] for one in verdicts}


def message(finding: CheckedBound) -> str:
    """Say what was expected, what was found, the evidence, and the likely reason."""
    head = f"{finding.case} on {finding.machine}: {_words(finding.verdict)}. Expected {wanted(finding.expected)}"
    parts = [f"{head} ({finding.expected.source})"]
    if not finding.claims:
        return ". ".join([*parts, finding.why]) + "."
    parts.append(f"Got {'; '.join(claim.got for claim in finding.claims)}")
    parts.append(standing(finding.points[-1]))
    parts += [finding.why] if finding.why else []
    likely = reason(finding)
    parts += [f"Likely: {likely}"] if likely else []
    return ". ".join(parts) + "."


def in_short(finding: CheckedBound) -> str:
    """Say what is wrong, in a few words: ``launch-bound, not compute-bound``."""
    return ", ".join(claim.short for claim in finding.claims if claim.verdict == "failed") or _words(finding.verdict)


def wanted(expected: Expected) -> str:
    """An expectation in words: ``compute-bound, at least 40 % of its roof``."""
    parts = [] if expected.bound is None else [bounded(expected.bound)]
    if expected.min_fraction_of_roof is not None:
        parts.append(at_least("roof", expected.min_fraction_of_roof))
    if expected.min_fraction_of_speed_of_light is not None:
        parts.append(at_least("speed_of_light", expected.min_fraction_of_speed_of_light))
    return ", ".join(parts) or "nothing"


def standing(point: Point) -> str:
    """The evidence: where the bound comes from, and how the time of a step divides as far as it is known."""
    record = point.benchmark.record
    step_s = point.step_time_s
    if record is None or not step_s:
        return f"Evidence: {point.bound.evidence}"
    shares = {
        "arithmetic at the roofs": None if point.sol.compute_s is None else point.sol.compute_s / step_s,
        "traffic at the roofs": None if point.sol.memory_s is None else point.sol.memory_s / step_s,
        "launches": None if (launches := launch_s(record, point.roofs)) is None else launches / step_s,
        "waiting for input": input_share(record),
    }
    known = [f"{what} {percent(share)}" for what, share in shares.items() if share is not None]
    busy = point.placement.device_share
    known += [] if busy is None else [f"device busy {percent(busy)}"]
    text = f". Of a step: {', '.join(known)}" if known else ""
    why_none = point.roofs.why_none
    if why_none is not None and why_none not in point.bound.evidence:
        text += f". No roofs: {why_none}"
    return f"Evidence: {point.bound.evidence}{text}"


def _of_held(rows: Sequence[CheckedBound]) -> dict[str, list[str]]:
    """List what has to be known of what holds: floors that hold only because the measurement isn't better known,
    sessions that weren't judged, and roofs that it wasn't locked under, of which lower ones let a slower case hold.
    """
    held = [(finding, f"{finding.case} on {finding.machine}") for finding in rows if finding.verdict == "held"]
    return {
        "held, below the floor": [
            f"{where}: {one.expected}; got {one.got}."
            for finding, where in held
            for one in finding.claims
            if "not shown" in one.got
        ],
        "held without some sessions": [f"{where}: held. {finding.why}." for finding, where in held if finding.why],
        "held, but roofs changed": [
            f"{where}: held, but roofs changed: {'; '.join(finding.changed_roofs)}."
            for finding, where in held
            if finding.changed_roofs
        ],
    }


def _rest(checked: Checked, *, verbose: bool) -> list[str]:
    notes = lines_of_unreadable(checked.unreadable, verbose=verbose)
    notes += first_lines("bound otherwise by counters", checked.counters, verbose=verbose)
    if checked.unexpected:
        notes.append(f"Nothing is expected of: {named(checked.unexpected, verbose=verbose)}")
    if checked.for_others:
        counts = Counter(expected.device for expected in checked.for_others)
        text = ", ".join(f"{device} ({count})" for device, count in counts.items())
        notes.append(f"Expectations for other devices or machines, not looked at: {text}")
    return [*notes, *checked.unknown_devices]


def _words(verdict: str) -> str:
    return verdict.replace("_", " ")


def _of_point(name: str) -> Column[CheckedBound]:
    """Make a column of the points, of a finding's newest session."""
    (column,) = pick(name)
    return column.of(lambda finding: finding.points[-1] if finding.points else None)


_COLUMNS: tuple[Column[CheckedBound], ...] = (
    words("case", dtype="category"),
    words("machine", dtype="category"),
    words("verdict", show=_words, dtype="category"),
    words("expected_bound", "expected", "expected.bound", dtype="category"),
    *map(_of_point, ("bound", "bound_why", "bound_evidence")),
    share("min_fraction_of_roof", "least %\nof roof", "expected.min_fraction_of_roof", drop=3),
    share("fraction_of_roof", "% of\nroof", "roof.value", drop=3),
    share("fraction_of_roof_at_most", "at most", "roof.at_most"),
    share(
        *("min_fraction_of_speed_of_light", "least %\nof SOL", "expected.min_fraction_of_speed_of_light"),
        drop=2,
    ),
    share("fraction_of_speed_of_light", "% of\nSOL", "speed_of_light.value", drop=2),
    share("fraction_of_speed_of_light_at_most", "at most", "speed_of_light.at_most"),
    number("sessions", get=lambda finding: len(finding.points), dtype="Int64"),
    words("source", "from", "expected.source", drop=4),
    words("message", get=message),
    *map(_of_point, ("test", "file")),
)

_BY_NAME = {column.name: column for column in _COLUMNS}

_DISPLAYED = (
    *("case", "verdict", "expected_bound", "bound", "min_fraction_of_roof", "fraction_of_roof"),
    *("min_fraction_of_speed_of_light", "fraction_of_speed_of_light", "source"),
)


def reason(finding: CheckedBound) -> str | None:
    """Say what the worst part of a finding is likely to come from; None where nothing in the records tells."""
    worst = next((claim for claim in finding.claims if claim.verdict == finding.verdict), None)
    if worst is None or finding.verdict == "held":
        return None
    if finding.disturbed:
        return f"something else used the machine: {finding.disturbed}: measure again on a quieter one"
    fraction = {"roof": finding.roof, "speed_of_light": finding.speed_of_light}.get(worst.what)
    if fraction is not None and fraction.timing is None:
        return "one window doesn't tell how well its time is known: measure several (--roofline-repeats 3)"
    if fraction is not None and not fraction.timed:
        return (
            "the time is known to no better than itself: leave the machine alone, and measure longer"
            " (--roofline-max-time)"
        )
    for doubt in filter(None, map(_doubtful_roofs, finding.points)):
        return doubt
    point = finding.points[-1]
    for flag in (flag for flag in point.flags if flag.name == "disturbed"):
        return f"something else used the machine: {flag.evidence}"
    if worst.verdict == "failed":
        return f"`roofline ops {point.result.path}` says in which operations the time goes"
    if worst.what == "bound" and point.bound.why in (STRADDLES, NEAR_KNEE):
        return (
            "what is known of the bytes leaves both sides of the knee open; expect min_fraction_of_speed_of_light of"
            " such a case, and no bound"
        )
    return None


def _doubtful_roofs(point: Point) -> str | None:
    roofs = bounding(point)
    published = dict.fromkeys(roof.detail for roof in roofs if roof.source == "spec")
    if published:
        table = "; ".join(published)
        return f"its roofs are those of a device table ({table}), and another table has others: measure them"
    apart = ", ".join(f"{roof.name} by {percent(roof.spread)}" for roof in roofs if (roof.spread or 0.0) > BUSY_SPREAD)
    return f"the roofs were measured on a busy machine (their samples differ: {apart})" if apart else None
