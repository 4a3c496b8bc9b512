"""The gate by other figures than the step time: from sessions of a record to the exit code."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from roofline.comparison.comparison_settings import Settings
from roofline.comparison.observations.observation import Unusable
from roofline.comparison.sides.compared_figures import FIGURES, observe_figure
from roofline.schema.record import Latency, Memory, Record
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import ID
from tests.roofline.conftest import Run

Change = Callable[[Record, float, int], Record]
"""A record, the figure's value and the session's number -> the record with it."""


def _timed(record: Record, **changes: Any) -> Record:
    assert record.timing is not None
    return replace(record, timing=replace(record.timing, **changes))


def _latency(record: Record, value: float, number: int) -> Record:
    """Sessions scatter by 1 %."""
    p99_s = value * (1 + 0.01 * (number % 3 - 1))
    return _timed(record, latency=Latency(steps=1000, median_s=0.5 * p99_s, p95_s=0.9 * p99_s, p99_s=p99_s))


def _compile_time(record: Record, value: float, number: int) -> Record:
    return _timed(record, compile_s=value * (1 + 0.05 * (number % 3 - 1)))


def _energy(record: Record, value: float, number: int) -> Record:
    return replace(record, energy_j_per_step=value * (1 + 0.01 * (number % 3 - 1)))


def _peak(record: Record, value: float, _: int) -> Record:
    return replace(record, memory=Memory(peak_allocated_byte=int(value)))


def _flop(record: Record, value: float, _: int) -> Record:
    return replace(record, work=build.work(flop=value))


CHANGES: dict[str, Change] = {
    "latency_p99": _latency,
    "compile_time": _compile_time,
    "energy": _energy,
    "peak_memory": _peak,
    "flop": _flop,
}


def _write(folder: Path, number: int, *records: Record) -> Path:
    session = build.session(build.roofs(), started_at=f"2026-11-20T{number:02}:00:00+00:00")
    return build.write(folder / f"{number:02}.json", build.document(records, of=session, on=build.machine()))


def _side(folder: Path, change: Change, value: float, count: int = 4, first: int = 0) -> list[Path]:
    return [
        _write(folder, number, change(sessions.record(0.1, number), value, number))
        for number in range(first, first + count)
    ]


def _sides(folder: Path, figure: str, before: float, now: float, count: int = 4) -> tuple[str, list[Path], list[Path]]:
    change = CHANGES[figure]
    base = _side(folder / "base", change, before, count)
    return figure, base, _side(folder / "new", change, now, count, first=10)


@pytest.mark.parametrize(
    ("figure", "column", "worse", "better"),
    [
        ("latency_p99", "latency_p99_s", "slower", "faster"),
        ("compile_time", "compile_s", "slower", "faster"),
        ("energy", "energy_j_per_step", "more", "less"),
        ("peak_memory", "peak_memory_byte", "more", "less"),
        ("flop", "flop_per_step", "more", "less"),
    ],
)
def test_a_figure_that_doubles_is_worse(
    run: Run, tmp_path: Path, figure: str, column: str, worse: str, better: str
) -> None:
    """In its own words and columns, with exit code 1; the other way round it passes. The step time is the same."""
    _, base, new = (
        _sides(tmp_path, figure, 1e9, 2e9) if figure in ("peak_memory", "flop") else _sides(tmp_path, figure, 0.1, 0.2)
    )
    code, out, err = run("check", *new, "--baseline", *base, "--figure", figure, "--format", "json")
    (row,) = json.loads(out)
    assert (code, row["verdict"]) == (1, worse)
    assert row[f"new_{column}"] == pytest.approx(2 * row[f"base_{column}"], rel=0.05)
    assert f"Error: {worse} ({FIGURES[figure].title}): {ID}: +" in err  # type: ignore[index]
    code, out, _ = run("check", *base, "--baseline", *new, "--figure", figure, "--format", "json")
    assert (code, json.loads(out)[0]["verdict"]) == (0, better)
    assert run("check", *new, "--baseline", *base)[0] == 0


def test_the_figure_is_in_every_form(run: Run, tmp_path: Path) -> None:
    """Title, Markdown and JUnit; a time has JUnit's attribute, memory has none."""
    figure, base, new = _sides(tmp_path, "peak_memory", 1e9, 2e9, count=1)
    checked = ("check", *new, "--baseline", *base, "--figure", figure)
    _, out, _ = run(*checked, "--format", "markdown", "--junit", "check.xml")
    assert out.startswith("**Regression: peak memory: 1 case more, of 1 compared (1 more)**")
    assert "| more | +100.0 % |" in out
    assert "Compared is the peak memory: memory.peak_allocated_byte" in out
    test, _ = ElementTree.parse("check.xml").getroot()[0]
    values = {one.get("name"): one.get("value") for one in test.iter("property")}
    assert (test.get("time"), values["new_peak_memory_byte"], values["verdict"]) == (None, "2000000000", "more")
    _, out, _ = run("compare", *base, "--with", *new, "--figure", figure)
    assert out.startswith("1 case compared by peak memory: 1 more")


@pytest.mark.parametrize(
    ("now", "least", "verdict", "code"),
    [
        (1e9, "2%", "same", 0),
        (1.01e9, "2%", "same", 0),
        (1.03e9, "2%", "more", 1),
        (1.01e9, "0.5%", "more", 1),
        (0.97e9, "2%", "less", 0),
    ],
)
def test_memory_is_held_exactly(run: Run, tmp_path: Path, now: float, least: str, verdict: str, code: int) -> None:
    """One session a side settles it: equal, or changed by more or less than matters, which is told of the latter."""
    figure, base, new = _sides(tmp_path, "peak_memory", 1e9, now, count=1)
    checked = ("check", *new, "--baseline", *base, "--figure", figure, "--least-effect", least, "--width", 200)
    found, out, err = run(*checked, "--format", "json")
    (row,) = json.loads(out)
    assert (found, row["verdict"], row["change"]) == (code, verdict, pytest.approx(now / 1e9 - 1))
    assert (row["change_low"], row["change_high"], row["chance"]) == (row["change"], row["change"], None)
    assert ("changed, by less than the 2.0 % that matter" in err) is (now == 1.01e9 and least == "2%")


@pytest.mark.parametrize("figure", CHANGES)
def test_what_one_side_lacks_is_no_pass(run: Run, tmp_path: Path, figure: str) -> None:
    """With the record's reason; nor where no side has it, for then nothing was judged."""
    missing = {path: f"why not {path}" for path in FIGURES[figure].paths}  # type: ignore[index]

    def without(record: Record, _: float, __: int) -> Record:
        return replace(record, work=None, missing=missing)

    with_it = _side(tmp_path / "with", CHANGES[figure], 1e9 if figure in ("peak_memory", "flop") else 0.1)
    lacking = _side(tmp_path / "lacking", without, 0.0, first=10)
    for new, base in ((lacking, with_it), (with_it, lacking)):
        code, _, err = run("check", *new, "--baseline", *base, "--figure", figure, "--width", 1000)
        assert code == 3
        assert f"no {FIGURES[figure].title}: {'; '.join(missing.values())}" in err  # type: ignore[index]
    assert (
        run("check", *_side(tmp_path / "too", without, 0.0, first=20), "--baseline", *lacking, "--figure", figure)[0]
        == 3
    )


def test_cases_without_the_figure_on_both_sides_are_a_warning(run: Run, tmp_path: Path) -> None:
    """Training has no latency: beside inference it fails nothing, and is named."""
    for folder, first in (("base", 0), ("new", 10)):
        for number in range(first, first + 4):
            train = sessions.record(0.1, number)
            infer = _latency(sessions.record(0.05, number, "resnet18"), 0.1, number)
            _write(tmp_path / folder, number, train, infer)
    code, _, err = run("check", tmp_path / "new", "--baseline", tmp_path / "base", "--figure", "latency_p99")
    assert code == 0
    assert f"Warning: invalid (p99 latency): {ID}: baseline: no p99 latency: single steps were not timed" in err


def test_a_measured_peak_is_not_held_against_a_predicted_one(run: Run, tmp_path: Path) -> None:
    """They are two quantities: the second lacks the scratch memory of kernels."""

    def predicted(record: Record, value: float, _: int) -> Record:
        return replace(record, memory=Memory(peak_predicted_byte=int(value)))

    base = _side(tmp_path / "base", _peak, 1e9, count=1)
    new = _side(tmp_path / "new", predicted, 1e9, count=1, first=10)
    code, _, err = run("check", *new, "--baseline", *base, "--figure", "peak_memory")
    assert code == 3
    assert "figure from another source: memory.peak_predicted_byte, baseline memory.peak_allocated_byte" in err
    assert (
        run("check", *new, "--baseline", *_side(tmp_path / "3", predicted, 1e9, 1), "--figure", "peak_memory")[0] == 0
    )


@pytest.mark.parametrize(("figure", "left_out"), [("latency_p99", True), ("peak_memory", False)])
def test_a_disturbed_session_has_no_figure_that_scatters(run: Run, tmp_path: Path, figure: str, left_out: bool) -> None:
    """Of one that is exact it says as much as any other."""
    base = _side(tmp_path / "base", CHANGES[figure], 1e9)
    new = _side(tmp_path / "new", CHANGES[figure], 1e9, first=10)
    sessions.edit(new, sessions.disturbed)
    _, out, _ = run("check", *new, "--baseline", *base, "--figure", figure, "--least-effect", "50%", "--format", "json")
    (row,) = json.loads(out)
    assert row["verdict"] == ("inconclusive" if left_out else "same")
    assert ("mostly disturbed from outside" in (row["why"] or "")) is left_out


def test_a_row_without_a_record_has_the_step_time_alone(run: Run, tmp_path: Path) -> None:
    """Another project's benchmark."""
    base, new = (
        build.write(tmp_path / f"{name}.json", sessions.foreign({"a": times}))
        for name, times in (("base", (0.1, 0.11, 0.12)), ("new", (0.1, 0.111, 0.12)))
    )
    code, _, err = run("check", new, "--baseline", base, "--figure", "energy")
    assert code == 3
    assert "no record, so no energy" in err


def test_p99_is_known_as_well_as_its_tail_shows() -> None:
    """An exponential tail from 1.0 s at 95 % to 1.4 s at 99 %: of 100 steps its standard error is the mean excess."""
    excess = 0.4 / math.log(5)
    for steps, error in ((100, excess * math.sqrt(0.99) / 1.4), (400, excess * math.sqrt(0.99) / 2 / 1.4)):
        latency = Latency(steps=steps, median_s=0.8, p95_s=1.0, p99_s=1.4)
        seen, path = observe_figure(FIGURES["latency_p99"], _timed(build.record(), latency=latency), "2026")
        assert (seen.value, seen.error, seen.started_at) == (1.4, pytest.approx(error), "2026")
        assert path == "timing.latency.p99_s"


def test_percentiles_out_of_order_are_no_figure() -> None:
    """A file that was edited."""
    record = _timed(build.record(), latency=Latency(steps=100, median_s=0.8, p95_s=1.5, p99_s=1.4))
    with pytest.raises(Unusable, match="contradict each other"):
        observe_figure(FIGURES["latency_p99"], record, "")


def test_energy_is_known_as_well_as_its_rounds_show() -> None:
    """By power and duration of each; without readings of power it isn't known how well."""
    plain = replace(build.record(), energy_j_per_step=2.0)
    assert observe_figure(FIGURES["energy"], plain, "")[0].error is None
    errors = []
    for spread in (0.01, 0.1):
        assert plain.timing is not None
        rounds = plain.timing.rounds
        power = tuple(100 * (1 + spread * (index % 5 - 2)) for index in range(len(rounds.wall_s)))
        seen, _ = observe_figure(FIGURES["energy"], _timed(plain, rounds=replace(rounds, power_w=power)), "")
        errors.append(seen.error)
    assert errors[0] is not None
    assert 0 < errors[0] < 0.01
    assert errors[1] == pytest.approx(10 * errors[0], rel=0.01)


def test_code_from_a_cache_has_no_compile_time(run: Run, tmp_path: Path) -> None:
    """It is there ten times sooner: neither faster than a compilation, nor what one is slower than."""
    base = _side(tmp_path / "base", _compile_time, 20.0)
    loaded = [
        _write(tmp_path / "new", number, _timed(sessions.record(0.1, number), compile_s=2.0, compiled_from_cache=1))
        for number in range(10, 14)
    ]
    code, _, err = run("check", *loaded, "--baseline", *base, "--figure", "compile_time")
    assert code == 3
    assert "torch found its code in a cache. TORCHINDUCTOR_FORCE_DISABLE_CACHES=1" in err


def test_no_ratio_is_formed_with_zero() -> None:
    """A first step may take no longer than a later one."""
    with pytest.raises(Unusable, match="compile time of 0 s: no ratio"):
        observe_figure(FIGURES["compile_time"], _timed(build.record(), compile_s=0.0), "")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"figure": "energy", "by": "roof"}, "by roof the step time is compared: energy"),
        ({"figure": "peak_memory", "floor_s": 0.1}, "a floor is in seconds, and peak_memory is no time"),
        ({"figure": "speed"}, "figure is 'speed': give one of step_time, latency_p99, "),
    ],
)
def test_settings_that_exclude_each_other(run: Run, base: list[Path], settings: dict[str, Any], says: str) -> None:
    """In Python an error of the value, of the command one of usage."""
    with pytest.raises(ValueError, match=says):
        Settings(**settings)
    options = [word for name, value in settings.items() for word in (f"--{name.removesuffix('_s')}", str(value))]
    for command in (("check", base[0], "--baseline", base[1]), ("compare", base[0], "--with", base[1])):
        code, _, err = run(*command, *options)
        assert (code, says in err or "is not one of" in err) == (2, True)
