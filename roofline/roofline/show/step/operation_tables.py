"""The tables of `roofline ops`: a step taken apart by operation, by kind and by what bounds it; and a line a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from roofline.model.operations import (
    Breakdown,
    Group,
    Limit,
    TimedOperation,
    exceeds,
    lines_outside,
    why_untimed,
)
from roofline.model.points import Point
from roofline.schema.amounts import usable
from roofline.schema.record import OutsideTime, Profile
from roofline.show.columns import notes_of, pick, short_bound
from roofline.show.step import step_notes
from roofline.show.tables import Column, Table, number, seconds, share, topped, words
from roofline.text.units import percent_of, prefixed, significant
from roofline.text.wrapping import cut

_WIDE, _NARROW = 40, 33
"""Characters of a name or shape that a terminal shows; CSV and JSON have all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row: an operation, several together, or time that is in none. What doesn't apply to a row is None.

    ``limit_share``, of several operations, is the share of their time that is bound by ``limit``.
    """

    point: Point
    name: str
    time_s: float
    least_s: float | None = None
    above_s: float | None = None
    calls: int | None = None
    operations: int | None = None
    one: TimedOperation | None = None
    limit: Limit | None = None
    limit_share: float | None = None


def taken_apart(points: Sequence[Point]) -> tuple[list[Point], list[tuple[Point, str]]]:
    """The cases whose step can be taken apart, and the others with the reason."""
    left_out: list[tuple[Point, str]] = []
    for point in points:
        if point.step is None:
            record = point.benchmark.record
            left_out.append((point, "no record of its work" if record is None else why_untimed(record) or "not timed"))
    return [point for point in points if point.step is not None], left_out


def _step(point: Point) -> Breakdown:
    """:param point: as `taken_apart` gives it."""
    assert point.step is not None
    return point.step


def operations_table(taken: Sequence[Point], notes: Sequence[str] = ()) -> Table[Line]:
    """Every operation of every case, the worst of each case first: what ``operations.csv`` holds."""
    rows = [_operation(point, one) for point in taken for one in _step(point).operations]
    noted = notes_of(taken, of="point")
    return Table(title="Operations", columns=[*_OPERATIONS, *noted], rows=rows, notes=notes)


def kinds_table(taken: Sequence[Point], notes: Sequence[str] = ()) -> Table[Line]:
    """Every kind of operation of every case."""
    rows = [_group(point, group) for point in taken for group in _step(point).by_kind()]
    return Table(title="Kinds of operations", columns=_KINDS, rows=rows, notes=notes)


def limits_table(point: Point) -> Table[Line]:
    """Show where the time of the step goes, by what bounds its operations; the rows add up to the step."""
    rows = [_group(point, group) for group in _step(point).by_limit()]
    return Table(
        title=step_notes.heading(point),
        columns=_KINDS,
        rows=[*rows, _outside(point), _whole(point)],
        display=[_named("bound by"), *_pick("operations", "calls", *_TIMES)],
        notes=[*step_notes.about_step(point, _step(point)), *step_notes.about_status(point.benchmark.record)],
    )


def worst_table(point: Point, top: int, *, by_kind: bool) -> Table[Line]:
    """The rows with the most time above their speed of light; the others in one, so that the columns add up."""
    step = _step(point)
    groups = step.by_kind() if by_kind else [Group(name="", operations=(one,)) for one in step.operations]
    what = "kind" if by_kind else "operation"

    def joined(rest: Sequence[Group], name: str) -> Group:
        return Group(name=name, operations=tuple(one for group in rest for one in group.operations))

    shown = topped(groups, top, joined, f"other {what}")
    return Table(
        title="What to fix first, by kind" if by_kind else "What to fix first",
        columns=_KINDS if by_kind else _OPERATIONS,
        rows=[
            *(_group(point, one) if one.name else _operation(point, one.operations[0]) for one in shown),
            *(_outside(point), _whole(point)),
        ],
        display=[_named(what), *_pick("calls", *_TIMES, "bound")],
        notes=step_notes.about_operations(step),
    )


def seen_outside(point: Point) -> tuple[Profile, float] | None:
    """The profile of a step whose operations have no times of their own, such as a compiled one, and the timed step in
    seconds; None where nothing else was seen of it, either.
    """
    record, step_s = point.benchmark.record, point.step_time_s
    if record is None or record.profile is None or step_s is None or not usable(step_s):
        return None
    has_none = not record.operations or any(one.time_s is None for one in record.operations)
    return (record.profile, step_s) if has_none and lines_outside(record.profile) else None


def lines_seen(profile: Profile, top: int | None) -> list[OutsideTime]:
    """List what the profiler saw outside of all operations, longest first.

    :param top: lines to keep before all others stand in one; None: all.
    """
    seen = sorted(lines_outside(profile), key=lambda one: -one.time_s)

    def together(rest: Sequence[OutsideTime], name: str) -> OutsideTime:
        return OutsideTime(name=name, calls=sum(one.calls for one in rest), time_s=sum(one.time_s for one in rest))

    thing = "other kernel" if profile.source == "kernels" else "other operator"
    return topped(seen, len(seen) if top is None else top, together, thing)


def outside_table(point: Point, why: str, top: int | None = None) -> Table[OutsideTime] | None:
    """Show what `seen_outside` has of a case; None where that is nothing.

    :param why: what says why its operations have no times.
    :param top: rows to show before all others stand in one; None: all.
    """
    if (found := seen_outside(point)) is None:
        return None
    profile, step_s = found
    rows = lines_seen(profile, top)
    whole_s = None if exceeds(sum(one.time_s for one in rows), step_s) else step_s
    columns: list[Column[OutsideTime]] = [
        words(
            "name",
            "kernel" if profile.source == "kernels" else "operator",
            show=lambda name: step_notes.kernel(name, 2 * _WIDE),
            narrow=lambda name: step_notes.kernel(name, 54),
        ),
        number("calls", show=lambda calls: f"{calls:g}"),
        seconds("time_s", "time"),
        share("share_of_step", "% of\nstep", lambda one: None if whole_s is None else one.time_s / whole_s),
    ]
    return Table(
        title=step_notes.heading(point),
        columns=columns,
        rows=rows,
        notes=step_notes.about_untimed(profile, step_s, why),
    )


def cases_table(taken: Sequence[Point], notes: Sequence[str]) -> Table[Point]:
    """A line a case: which shares of its step's time are bound by what, and its worst operation."""
    machine = () if len({point.result.machine_key for point in taken}) == 1 else ("machine",)
    names = ("case", *machine, "step_time_s", "fraction_of_speed_of_light", *_SHARES, "worst_operation")
    by_name = {column.name: column for column in _CASES}
    return Table(
        title="Where the time goes",
        columns=_CASES,
        rows=taken,
        display=[by_name[name] for name in names],
        # An id in one piece says more than the name of an operation that its own table has too.
        key_width=max((len(point.id) for point in taken), default=0),
        notes=[_SHARES_OF, *notes],
    )


_SHARES_OF = (
    "Shares of the step's time by what bounds its operations: in %, in CSV and JSON as fractions. Those of one case:"
    " `roofline ops RESULT CASE`, and drawn by `roofline report RESULT --case CASE`."
)


def _operation(point: Point, one: TimedOperation) -> Line:
    return Line(
        point=point,
        name=step_notes.short(one.operation.name),
        time_s=one.time_s,
        least_s=one.least_s,
        above_s=one.above_s,
        calls=one.operation.calls,
        operations=1,
        one=one,
        limit=one.limit,
    )


def _group(point: Point, group: Group) -> Line:
    limit, time_s = group.main_limit
    return Line(
        point=point,
        name=group.name,
        time_s=group.time_s,
        least_s=group.least_s,
        above_s=group.above_s,
        calls=group.calls,
        operations=len(group.operations),
        limit=limit,
        limit_share=time_s / group.time_s if group.time_s else None,
    )


def _outside(point: Point) -> Line:
    step = _step(point)
    above_s = None if step.sol.time_s is None else step.outside_s
    # No operation has to run there: all of it is above the speed of light.
    return Line(point=point, name=step_notes.OUTSIDE, time_s=step.outside_s, above_s=above_s)


def _whole(point: Point) -> Line:
    step = _step(point)
    return Line(
        point=point,
        name="step",
        time_s=step.step_s,
        least_s=step.sol.time_s,
        above_s=None if step.sol.time_s is None else step.step_s - step.sol.time_s,
        calls=sum(one.operation.calls for one in step.operations),
        operations=len(step.operations),
    )


def _name(line: Line) -> list[str]:
    """Two lines for an operation: which it is, and on what."""
    if line.one is None:
        return [line.name]
    return [line.name, f"  {line.one.operation.dtype} {brief(line.one.operation.shape)}"]


def brief(shape: str) -> str:
    """The first tensor and the last that is no vector, with the groups: a convolution's data and weights.

    >>> brief("16x96x56x56, 16x96x112x112, 96x1x3x3, stride 2, padding 1, groups 96, gradient of input and weight")
    '16x96x56x56 96x1x3x3 g96'
    """
    parts = shape.split(", ")
    tensors = [part for part in parts if part.replace("x", "").isdigit()]
    last = [part for part in tensors[1:] if "x" in part][-1:]
    groups = [f"g{part.removeprefix('groups ')}" for part in parts if part.startswith("groups ")]
    return " ".join([*tensors[:1], *last, *groups]) or shape


def _named(title: str) -> Column[Line]:
    def show(lines: Sequence[str]) -> str:
        return "\n".join(cut(line, _WIDE) for line in lines)

    def narrow(lines: Sequence[str]) -> str:
        return "\n".join(cut(line.replace("undetermined: ", "undet.: "), _NARROW) for line in lines)

    return words("name", title, _name, show, narrow=narrow)


def _bound(line: Line) -> str | None:
    """Name what bounds a row; of several operations with the share of their time that it has."""
    if line.limit is None:
        return None
    return line.limit if line.limit_share is None else f"{line.limit} {percent_of(line.limit_share)} %"


def _fraction(line: Line) -> float | None:
    return line.least_s / line.time_s if line.least_s is not None and line.time_s > 0 else None


def _rate(line: Line) -> float | None:
    return line.one.operation.flop / line.time_s if line.one is not None and line.time_s > 0 else None


def _intensity(line: Line) -> float | None:
    operation = None if line.one is None else line.one.operation
    return operation.flop / operation.byte if operation is not None and operation.byte else None


_WHERE = pick("machine", "case", of="point")
_RUN = pick("valid", "file", of="point")

_MEASURED = (
    seconds("time_s", "time"),
    share("share_of_step", "% of\nstep", lambda line: _step(line.point).share(line.time_s)),
    seconds("speed_of_light_s", "SOL", "least_s", drop=1),
    share("fraction_of_speed_of_light", "% of\nSOL", _fraction),
    seconds("above_speed_of_light_s", "above\nSOL", "above_s"),
    words("bound", get=_bound, narrow=lambda text: short_bound(text.partition(" ")[0]), dtype="category"),
)
_TIMES = tuple(column.name for column in _MEASURED[:-1])
_COUNTED = (
    number("operations", drop=3, dtype="Int64"),
    number("calls", drop=2, dtype="Int64"),
)

_OPERATIONS: tuple[Column[Line], ...] = (
    *_WHERE,
    words("operation", get="one.operation.name"),
    words("kind", get="one.operation.kind", dtype="category"),
    words("dtype", get="one.operation.dtype", dtype="category"),
    words("shape", get="one.operation.shape"),
    _COUNTED[1],
    number("flop", "FLOP", "one.operation.flop", prefixed),
    number("byte_low", "least byte", "one.byte_low", prefixed),
    number("byte_high", "most byte", "one.operation.byte", prefixed),
    number("working_set_byte", "working set", "one.operation.working_set_byte", prefixed),
    number("intensity_flop_per_byte", "FLOP/byte", _intensity, significant),
    number("attained_flop_per_s", "FLOP/s", _rate, prefixed),
    *_MEASURED,
    words("bound_why", get="one.why"),
    words("memory_level", get="one.least.level", dtype="category"),
    words("faster_than_speed_of_light", get="one.too_fast", dtype="boolean"),
    *_RUN,
)

_KINDS: tuple[Column[Line], ...] = (
    *_WHERE,
    words("kind", get="name", dtype="category"),
    *_COUNTED,
    *_MEASURED[:-1],
    words("bound", get="limit", dtype="category"),
    share("bound_share", "bound share", "limit_share"),
    *_RUN,
)

_SHOWN = {column.name: column for column in (*_COUNTED, *_MEASURED)}


def _pick(*names: str) -> list[Column[Line]]:
    return [_SHOWN[name] for name in names]


def _share_of(limit: Limit) -> Callable[[Point], float | None]:
    return lambda point: _step(point).share(_step(point).time_of(limit))


def _light_share(point: Point) -> float | None:
    compute, total = _step(point).light_s("compute"), point.sol.time_s
    return compute / total if compute is not None and total else None


_CASES: tuple[Column[Point], ...] = (
    words("case", get="id", dtype="category"),
    words("machine", get="result.machine_label", drop=2, dtype="category"),
    seconds("step_time_s", "step", "step.step_s"),
    seconds("speed_of_light_s", "SOL", "step.sol.time_s"),
    share("fraction_of_speed_of_light", "% of\nSOL", "step.fraction"),
    share("compute_share_of_speed_of_light", "compute\nof SOL", _light_share),
    share("share_compute", "com-\npute", _share_of("compute")),
    share("share_memory", "mem-\nory", _share_of("memory")),
    share("share_launch", "launch", _share_of("launch")),
    share("share_undetermined", "undet.", _share_of("undetermined")),
    share("share_outside", "out-\nside", lambda point: _step(point).share(_step(point).outside_s)),
    share("device_share", "device\nbusy", "placement.device_share"),
    words(
        "worst_operation",
        "most above\nSOL",
        lambda point: step_notes.short(_step(point).operations[0].operation.name),
        narrow=lambda name: cut(name, 13),
        drop=1,
    ),
    seconds("worst_above_speed_of_light_s", "above", lambda point: _step(point).operations[0].above_s),
)
_SHARES = ("share_compute", "share_memory", "share_launch", "share_undetermined", "share_outside")
