"""Say in sentences what the results tell of one machine: each names the cases and the figures that it is from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.machine.roof_choice import doubts
from roofline.model.input_pipeline import lines
from roofline.model.points import Point
from roofline.show.columns import pick
from roofline.show.tables import grouped
from roofline.text.units import counted, some_of


def sentences(points: Sequence[Point]) -> Iterator[tuple[str, str]]:
    """A heading and what is to be said under it.

    :param points: cases of one device of one machine, each once.
    """
    sound = [point for point in points if point.valid]
    steps = [point for point in sound if point.mode in ("train", "infer")]
    for heading, found in (
        ("Bounds", _bounds(steps)),
        ("Distance to the roofs", _nearest(steps, "of its roof", "fraction_of_roof", "fraction_of_roof_low")),
        ("Distance to the speed of light", _nearest(steps, "of its speed of light", "fraction_of_speed_of_light")),
        ("Input", _inputs(steps)),
        ("Limitations", _limits(sound)),
    ):
        if found:
            yield heading, found


def _named(points: Sequence[Point]) -> str:
    return some_of(list(dict.fromkeys(point.id for point in points)))


def _bounds(points: Sequence[Point]) -> str:
    """Say how many cases have which bound, with the evidence of the first; of undetermined ones why."""

    def name_of(point: Point) -> str:
        bound = point.bound
        return f"undetermined ({bound.why})" if bound.kind == "undetermined" else f"bound by {bound.kind}"

    in_order = sorted(
        grouped(points, name_of).items(), key=lambda one: (one[0].startswith("undetermined"), -len(one[1]))
    )
    return " ".join(
        f"{counted(len(of), 'case')} {name}: {_named(of)}; {of[0].id}: {of[0].bound.evidence}." for name, of in in_order
    )


def _nearest(points: Sequence[Point], what: str, column: str, order: str = "") -> str:
    """The nearest and the farthest case.

    :param column: what is shown of them.
    :param order: the column by which they are, where it is another one.
    """
    shown, by = pick(column, order or column)
    known = sorted(((value, point) for point in points if (value := by.get(point)) is not None), key=lambda one: one[0])
    if not known:
        return ""

    ends = (known[-1][1], known[0][1])
    nearest, farthest = (f"{point.id} at {shown.show(shown.get(point))} % {what}" for point in ends)
    return f"{nearest}." if len(known) == 1 else f"Nearest: {nearest}; farthest: {farthest}."


def _inputs(points: Sequence[Point]) -> str:
    """Cases that wait for their batches, and what the tests of the input came to."""
    (column,) = pick("input_share")
    waits = [(share, point) for point in points if (share := column.get(point))]
    longest = []
    if waits:
        share, most = max(waits, key=lambda one: one[0])
        cases = f"Of {counted(len(waits), 'case')} that wait for batches"
        longest = [f"{cases} {most.id} waits the longest, {column.show(share)} of its step."]
    results = {point.result.path: point.result for point in points}
    return " ".join([*longest, *(line for result in results.values() for line in lines(result, verbose=True))])


def _limits(points: Sequence[Point]) -> str:
    """Say what the figures rest on where they could rest on more."""
    estimated = [point for point in points if point.placement.provenance == "time_only"]
    ranges = [point for point in points if point.placement.provenance == "analytic"]
    published = [point for point in points if point.placement.roof_source == "spec"]
    doubtful = {name: None for point in points for name in doubts(point.roofs.roofs, point.roofs.published)}
    plain = [point for point in points if point.benchmark.record is None]
    limits = (
        (estimated, f"Intensity from time alone, which shows no bound: {_named(estimated)}."),
        (ranges, f"Bytes counted from operations, not by hardware counters: {counted(len(ranges), 'case')}."),
        (published, f"Roofs from a published document, not measured here: {counted(len(published), 'case')}."),
        (doubtful, f"Doubtful roofs, to be measured again: {', '.join(doubtful)}."),
        (plain, f"Times alone, their work is not known: {counted(len(plain), 'benchmark')}."),
    )
    return " ".join(text for found, text in limits if found)
