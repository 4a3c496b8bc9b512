"""Fill the page with all results and each machine, as plain dicts; `case_data` has that of a case."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from string import ascii_lowercase

from roofline.comparison.comparison import Comparison
from roofline.model.point_groups import by_machine, cases, days_of, machine_names, newest, roofs_alone
from roofline.model.points import MachineKey, Point
from roofline.plots.image_files import title_of
from roofline.plots.style import Style, style_for, style_of, variant
from roofline.plots.throughput import MODES
from roofline.plots.variability import has_rounds
from roofline.report.costs import costs_table
from roofline.report.page.cells import Data, table_data
from roofline.report.page.parts.attention_data import attention_table
from roofline.report.page.parts.batch_data import batch_data
from roofline.report.page.parts.case_data import Panels, case_data, figure_names
from roofline.report.page.parts.roofline_data import roofline_data
from roofline.report.page.parts.sessions_data import changed_histories, has_history, history_data, rounds_data
from roofline.report.page.parts.verdicts_data import verdicts_data, with_baseline
from roofline.show.cases.machines_table import MachinesRow, machines_table
from roofline.show.cases.pairs_table import PAIR_COLUMNS, pairs_of
from roofline.show.cases.roof_tables import roofs_table
from roofline.show.columns import parameters_of, pick
from roofline.show.environment import environment_parts
from roofline.show.machine_columns import MACHINE_COLUMNS
from roofline.show.reasons import why_missing
from roofline.show.render import one_line
from roofline.show.tables import Column, grouped, number, words
from roofline.text.printable import printable
from roofline.text.units import counted, minute

NO_PRICES: Mapping[str, float] = {}
CASES_A_SCRIPT = 100
"""A script of cases is read whole when one of them is opened."""

_CASE_COLUMNS = pick(
    *("case", "mode", "batch", "precision", "samples_per_s", "step_time_s", "margin"),
    *("attained_flop_per_s", "intensity", "fraction_of_roof", "fraction_of_speed_of_light", "bound", "flags"),
)
_COMPILED = pick("compile_s")
"""Tells a compiled case from one that isn't and has the same name; no column where none is."""
_SORT_BY = {
    "intensity": pick("intensity_low_flop_per_byte")[0],
    "fraction_of_roof": pick("fraction_of_roof_low")[0],
}
"""Ranges are texts, which have no order: the low end stands for them,"""
_ENDS = pick("intensity_high_flop_per_byte", "fraction_of_roof_high")
"""and the high end is copied with it."""
_MORE = pick(
    *("spread", "rounds", "flop_per_step", "byte_low_per_step", "byte_high_per_step", "compute_roof_flop_per_s"),
    *("memory_roof_byte_per_s", "memory_level", "started_at", "file"),
)
"""What is told of a point beside it, too."""
_EXTRA = ("mode", "precision", "attained_flop_per_s", *(column.name for column in _MORE))
"""Columns that don't fit beside the others: the first two stand in most names, the third in the figure."""

_READY = "ready data"
_SYMBOLS = {
    "o": "circle",
    "s": "square",
    "D": "diamond",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "P": "cross",
    "X": "x",
    "*": "star",
    "p": "pentagon",
    "h": "hexagon",
}
"""plotly's name of a marker of matplotlib."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """A machine, its newest cases, and these with all older results of theirs. ``under`` are the points whose roofs are
    shown: those of the roofs themselves where there is no case.
    """

    name: str
    machine: MachineKey
    points: list[Point]
    sessions: list[Point]
    under: list[Point]


_MACHINES: tuple[Column[_Section], ...] = (
    words("machine", get="name"),
    words("device", get=lambda one: one.machine.device or None),
    *(one.of(lambda row: row.under[0].result) for one in MACHINE_COLUMNS if one.name == "cpu"),
    number("cases", get=lambda one: len(one.points)),
    number("invalid", get=lambda one: sum(not point.valid for point in one.points)),
    words("newest", "newest run (UTC)", lambda one: max(point.result.when for point in one.under) or None, minute),
)


class PageData:
    """The data of a page. Chunks are made one by one, so that a large page needs little memory.

    :param points: of all results.
    :param comparison: of them with a baseline.
    :param prices: of machines by the hour, by their labels.
    :param baseline: the results of the baseline.
    """

    def __init__(
        self,
        points: Sequence[Point],
        comparison: Comparison | None = None,
        prices: Mapping[str, float] = NO_PRICES,
        baseline: Sequence[Point] = (),
    ) -> None:
        self._all = points
        self._comparison = comparison
        self._prices = prices
        sessions = cases(points)
        self._points, self._notes = newest(sessions)
        self._bare = roofs_alone(points)
        self._names = machine_names([*self._points, *self._bare])
        self._style = style_of(point.benchmark.record for point in self._points)
        newest_of, all_of, bare_of = map(by_machine, (self._points, sessions, self._bare))
        self._sections = [
            _Section(
                name=name,
                machine=machine,
                points=newest_of.get(machine, []),
                sessions=all_of.get(machine, []),
                under=newest_of.get(machine) or bare_of[machine],
            )
            for machine, name in self._names.items()
        ]
        self._ordered = [point for section in self._sections for point in section.points]
        self._compared = [] if comparison is None else list(with_baseline(comparison, self._points, baseline))
        self._panels = Panels(self._ordered, sessions, self._compared)
        self._results = list({id(point.result): point.result for point in self._panels.points}.values())

    @property
    def title(self) -> str:
        """In words what the page is of."""
        if len(self._sections) == 1:
            return printable(f"Roofline report of {title_of(self._sections[0].machine, self._sections[0].name)}")
        return f"Roofline report of {counted(len(self._sections), 'machine')}"

    @property
    def runs(self) -> str:
        """Say how many cases there are, and from when."""
        days = days_of([*self._points, *self._bare])
        return f"{counted(len(self._points), 'case')}{f' of {days}' if days else ''}"

    def overview(self) -> Data:
        """Everything that is shown before a machine is opened."""
        costs = costs_table(self._ordered, self._prices)
        priced = [self._panels.number(row.point) for row in costs.rows]
        colors = style_for((section.name for section in self._sections), ())
        attention = attention_table(self._all, self._comparison)
        numbers = [None if one.point is None else self._panels.number(one.point) for one in attention.rows]
        return {
            "machines": table_data(_MACHINES, self._sections, opens=range(len(self._sections))),
            "attention": table_data(attention.columns, attention.rows, opens=numbers),
            "figures": figure_names(),
            "casesAScript": CASES_A_SCRIPT,
            "costs": table_data(costs.columns, costs.rows, opens=priced) if costs.rows else None,
            "verdicts": None
            if self._comparison is None
            else verdicts_data(self._comparison, self._opened_by_verdicts()),
            "colors": [colors.color(section.name) for section in self._sections],
            "rounds": [has_rounds(section.sessions) for section in self._sections],
            "histories": [has_history(section.sessions) for section in self._sections],
            "notes": [*(f"{note}; panels list all" for note in self._notes), *self._panels.notes],
        }

    def _opened_by_verdicts(self) -> list[int | None]:
        """The panel of each compared case; of one that the page doesn't have that of the baseline."""
        opened = [next(reversed(before), None) if shown is None else shown for shown, before in self._compared]
        return [None if point is None else self._panels.number(point) for point in opened]

    def rounds(self) -> Iterator[Data | None]:
        """Show how far the rounds of each machine's cases differ, in the order of the overview."""
        return (rounds_data(section.sessions, section.points) for section in self._sections)

    def histories(self) -> Iterator[Data | None]:
        """Each machine's cases session by session, in the order of the overview; None where no case has a history."""
        changed, why_not = changed_histories([point for section in self._sections for point in section.sessions])
        for section in self._sections:
            own = changed.get(section.machine, ())
            known = has_history(section.sessions)
            yield history_data(section.sessions, section.points, self._panels.number, own, why_not) if known else None

    def comparison(self) -> Data | None:
        """Machines beside each other; None where there is one."""
        if len(self._sections) == 1:
            return None
        beside = machines_table(self._ordered)
        case, step = pick("case", "step_time_s", of="point")
        machine, *others = beside.displayed()
        columns: list[Column[MachinesRow]] = [case, machine, step, *others]
        opens = [self._panels.number(row.point) for row in beside.rows]
        return {
            "title": beside.title,
            "table": table_data(columns, beside.rows, opens=opens, extra=("samples_per_s_sd", "latency_median_s")),
            "notes": list(beside.notes),
        }

    def machines(self) -> Iterator[Data]:
        """Make what each machine's section shows, in the order of the overview."""
        for section in self._sections:
            points = section.points
            columns = [*_CASE_COLUMNS[:1], *parameters_of(points), *_CASE_COLUMNS[1:], *_COMPILED, *_MORE]
            numbers = [self._panels.number(point) for point in points]
            # The first point's are shown.
            roofs = roofs_table(sorted(section.under, key=lambda point: point.result.when, reverse=True))
            placed, throughput = roofline_data(section.under), batch_data(points, self._panels.number)
            yield {
                "title": printable(title_of(section.machine, section.name)),
                "cases": table_data(columns, points, opens=numbers, sort_by=_SORT_BY, extra=_EXTRA, ends=_ENDS),
                "facets": _facets(points, self._style, _drawn(points, placed, throughput)),
                "unknown": _unknown(points),
                "roofline": placed,
                "throughput": throughput,
                "pairs": self._pairs(points),
                "roofs": table_data(roofs.displayed(), roofs.rows),
            }

    def _pairs(self, points: Sequence[Point]) -> Data | None:
        pairs = pairs_of(points)
        return (
            table_data(PAIR_COLUMNS, pairs, opens=[self._panels.number(one.point) for one in pairs]) if pairs else None
        )

    def environments(self) -> list[list[Data]]:
        """The environment of each run; the panels of its cases have its place."""
        return [
            [
                {"heading": heading, "rows": [[printable(name), printable(text)] for name, text in rows]}
                for heading, rows in environment_parts(result).items()
            ]
            for result in self._results
        ]

    def case_scripts(self) -> Iterator[list[Data]]:
        """The panels of all cases, `CASES_A_SCRIPT` in each script."""
        run_of = {id(result): number for number, result in enumerate(self._results)}
        panels = self._panels
        for start in range(0, len(panels.points), CASES_A_SCRIPT):
            yield [
                case_data(
                    point,
                    self._names.get(point.machine, point.result.machine_label),
                    run_of[id(point.result)],
                    panels.standing(point),
                    panels.place(point),
                )
                for point in panels.points[start : start + CASES_A_SCRIPT]
            ]

    def sessions(self) -> list[Data]:
        """The tables of the cases that have several sessions; the panels have their places."""
        return self._panels.sessions()


def _drawn(points: Sequence[Point], placed: Data, throughput: Data | None) -> set[int]:
    """The rows that a chart has a point of; where none has any, all of them."""
    rows = {one["row"] for one in placed["points"]}
    if throughput is not None:
        rows |= {one["row"] for one in throughput["points"] if points[one["row"]].mode in MODES}
    return rows or set(range(len(points)))


def _facets(points: Sequence[Point], style: Style, drawn: Collection[int]) -> list[Data]:
    """List what rows can be chosen by, and how a chart shows it; ``of`` has the place of each row's value, -1 for none.

    :param drawn: the rows whose values are offered: a choice that takes no point away would look broken.
    """

    def facet(name: str, get: Callable[[Point], str | None], look: Callable[[str], Data]) -> Data:
        own = [get(point) if row in drawn else None for row, point in enumerate(points)]
        values = sorted({value for value in own if value is not None})
        return {
            "name": name,
            "values": [{"name": printable(value), **look(value)} for value in values],
            "of": [-1 if value is None else values.index(value) for value in own],
        }

    def case_of(name: str) -> Callable[[Point], str | None]:
        return lambda point: None if (record := point.benchmark.record) is None else getattr(record.case, name)

    def variant_of(point: Point) -> str | None:
        return None if point.benchmark.record is None else variant(point.benchmark.record) or _READY

    others = sorted({value for row in drawn if (value := variant_of(points[row])) not in (None, _READY)})
    letters = dict(zip(others, cycle(ascii_lowercase), strict=False))

    return [
        facet("model", case_of("model"), lambda value: {"color": style.color(value)}),
        facet("precision", case_of("precision"), lambda value: {"symbol": _SYMBOLS[style.marker(value)]}),
        facet("mode", case_of("mode"), lambda value: {"edge": value == "infer"}),
        facet("variant", variant_of, lambda value: {"letter": letters[value]} if value in letters else {}),
    ]


def _unknown(points: Sequence[Point]) -> list[str]:
    """Say what isn't known of any case of a machine, and why."""
    if not points:
        return ["No case was measured here: the results have its roofs alone."]
    unknown = [column for column in _CASE_COLUMNS if all(column.get(point) is None for point in points)]
    reasons = grouped(unknown, lambda column: why_missing(points[0], column))
    return [f"Not known: {', '.join(one_line(one.title) for one in of)}: {why}." for why, of in reasons.items()]
