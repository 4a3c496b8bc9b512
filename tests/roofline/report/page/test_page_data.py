"""The data of the page: every text and value that it shows, without a browser."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

import roofline as rl
from roofline.machine.published import load
from roofline.model.points import Point, place_all, points_of
from roofline.report.page import page_data
from roofline.report.page.page_data import PageData
from roofline.report.page.parts import case_data as panels_of_page
from roofline.report.page.parts.case_data import case_data, command_of, figure_names
from roofline.results.reader import read, read_file
from roofline.schema.record import Check, Flag, Rounds
from roofline.schema.session import NotMeasured
from tests.roofline import build
from tests.roofline.histories.made import UP, commit, nights


def points(tmp_path: Path, *records: Any, **changes: Any) -> tuple[Point, ...]:
    return build.points(tmp_path / "run.json", records, **changes)


def columns(table: dict[str, Any]) -> list[str]:
    return [column.get("name", column["title"]) for column in table["columns"]]


def test_what_is_wrong_stands_first(tmp_path: Path) -> None:
    """Failed proofs, other invalid rows, cases without a number, flags, wide margins; last what was skipped."""
    shown = points(
        tmp_path,
        build.record(case=build.case(id="wide"), timing=build.timing(margin=0.052)),
        build.record(case=build.case(id="wrong"), flags=(Flag(name="spilled", evidence="to the host", invalid=True),)),
        build.record(
            case=build.case(id="faked"), checks=(Check(name="precision", status="failed", evidence="ran in bf16"),)
        ),
        build.record(case=build.case(id="slowed"), flags=(Flag(name="drift", evidence="+9 %"),)),
        of=build.session(
            build.roofs(),
            not_measured=(
                NotMeasured(id="other", outcome="skipped", reason="no fp16"),
                NotMeasured(id="big", outcome="out_of_memory", reason="needs 90 GB"),
            ),
        ),
    )
    table = PageData(shown).overview()["attention"]
    assert table["shown"] == [
        ["failed proof: precision", "faked", "epyc-2cpu", "ran in bf16"],
        ["invalid: spilled", "wrong", "epyc-2cpu", "to the host"],
        ["out of memory", "big", "epyc-2cpu", "needs 90 GB"],
        ["drift: 1 case", "slowed", "epyc-2cpu", "+9 %"],
        ["margin ±5.2 %", "wide", "epyc-2cpu", "±1.0 % was asked for"],
        ["skipped", "other", "epyc-2cpu", "no fp16"],
    ]
    assert table["opens"] == [2, 1, None, 3, 0, None]


def test_a_case_without_a_margin_needs_attention_too(tmp_path: Path) -> None:
    """It is less certain than any with one."""
    flag = Flag(name="margin", evidence="too few rounds")
    shown = points(tmp_path, build.record(case=build.case(id="a"), timing=build.timing(margin=None), flags=(flag,)))
    assert PageData(shown).overview()["attention"]["shown"] == [["margin: 1 case", "a", "epyc-2cpu", "too few rounds"]]


def test_what_is_not_listed_is_counted(tmp_path: Path) -> None:
    """Five are listed of a kind that makes no number wrong; where the others are is said. Doubtful roofs have their
    run.
    """
    records = [
        build.record(case=build.case(id=f"case{index}"), timing=build.timing(margin=0.1 - 0.001 * index))
        for index in range(9)
    ]
    roofs = (build.roof("flop", "fp32", 1e13), build.roof("byte", "dram", 1e11, spread=0.4))
    table = PageData(points(tmp_path, *records, of=build.session(roofs))).overview()["attention"]
    first, *_, last_listed, others = table["shown"]
    assert first == [
        *("doubtful roofs", "-", "epyc-2cpu"),
        "run of 2026-11-20 10:00 UTC: Doubtful roofs, to be measured again on an idle machine: dram (its samples differ"
        " by 40 %).",
    ]
    assert last_listed == ["margin ±9.6 %", "case4", "epyc-2cpu", "±1.0 % was asked for"]
    assert others == ["4 more like these", "-", "epyc-2cpu", "case5, case6, case7 and 1 more"]


def test_a_row_has_texts_and_values(tmp_path: Path) -> None:
    """The texts are those of every table. A range is sorted by its low end; no name is a formula."""
    shown = points(tmp_path, build.record(case=build.case(id="=1+1")))
    (machine,) = PageData(shown).machines()
    table = machine["cases"]
    texts = dict(zip((column["title"] for column in table["columns"]), table["shown"][0], strict=True))
    assert texts == {
        "case": "=1+1",
        "mode": "train",
        "batch": "32",
        "precision": "fp32",
        "samples/s": "320",
        "step": "100 ms",
        "margin": "0.80 %",
        "FLOP/s": "1.00 T",
        "FLOP/byte": "25-100",
        "% of roof": "10-40",
        "% of SOL": "10",
        "bound": "undetermined",
        "flags": "",
        "sd %": "2.0",
        "rounds": "20",
        "FLOP": "100 G",
        "least byte": "1.00 G",
        "most byte": "4.00 G",
        "compute roof": "10.0 TFLOP/s",
        "memory roof": "100 GB/s",
        "level": "dram",
        "started": "2026-11-20T10:00:00+00:00",
        "file": "run.json",
    }
    values = {name: table["values"].get(str(place)) for place, name in enumerate(columns(table))}
    assert (values["case"], values["step_time_s"], values["intensity_low_flop_per_byte"]) == (["'=1+1"], [0.1], [25.0])
    assert values["precision"] is None  # the text itself


def test_what_is_not_known_of_any_case_is_said(tmp_path: Path) -> None:
    """Of another project's times there is no column that nothing stands in."""
    path = build.write(tmp_path / "plain.json", build.document([None]))
    (machine,) = PageData(points_of(read_file(path), load(None))).machines()
    assert columns(machine["cases"]) == ["case", "step_time_s", "bound", "flags", "spread", "started_at", "file"]
    assert machine["unknown"] == [
        "Not known: mode, batch, precision, samples/s, margin, FLOP/s, FLOP/byte, % of roof, % of SOL:"
        " the benchmark has no record of pytest-roofline."
    ]
    assert machine["roofline"]["points"] == []
    assert machine["roofline"]["notes"] == [
        "No roofs: plain benchmarks alone, without the fixture roofline",
        "Not drawn: test_0: no record of the work: a plain benchmark, without the fixture roofline",
    ]


def test_the_roofline_has_the_places_of_the_figure(tmp_path: Path) -> None:
    """At the middle of the range in logarithms; hollow from time alone. What can't be placed is no point."""
    shown = points(
        tmp_path,
        build.record(case=build.case(id="none"), work=None),
        build.record(case=build.case(id="counted", batch=4)),
        build.record(
            case=build.case(id="timed", mode="infer", precision="amp_bf16"),
            work=build.work(low=float("nan"), high=float("nan")),
        ),
    )
    (machine,) = PageData(shown).machines()
    data = machine["roofline"]
    place = {"low": 25.0, "high": 100.0, "x": 50.0, "y": 1e12}
    assert data["points"] == [
        {"row": 1, "size": 7.7, **place, "share": [0.1, 0.4]},
        {"row": 2, "size": 10.1, "open": True, **place, "low": 10.0, "high": 10.0, "x": 10.0, "share": []},
    ]
    assert data["lines"] == [
        "bar: range of the intensity, from most to least bytes; size: batch; hollow: from time alone, no bound"
    ]
    (ceiling,), (level,) = data["ceilings"], data["levels"]
    assert (ceiling["label"], ceiling["y"], ceiling["knee"]) == ("fp32  10.0 TFLOP/s, knee 100", 1e13, 100.0)
    assert (level["label"], level["y"][1] / level["x"][1]) == ("DRAM 100 GB/s", 1e11)
    facets = {facet["name"]: facet for facet in machine["facets"]}
    assert facets["model"]["values"] == [{"name": "resnet50", "color": "#0072B2"}]
    assert facets["precision"]["values"] == [
        {"name": "amp_bf16", "symbol": "triangle-up"},
        {"name": "fp32", "symbol": "circle"},
    ]
    assert facets["mode"]["of"] == [1, 1, 0]


def test_published_roofs_stand_beside_measured_ones(tmp_path: Path) -> None:
    """Of the same kind and name, thin and without a knee; others are no roof of a case here."""
    record = build.record(device=build.CUDA)
    (machine,) = PageData(points(tmp_path, record, on=build.machine("a100", build.CUDA))).machines()
    data = machine["roofline"]
    assert [(one["label"], one["knee"], one.get("beside")) for one in data["ceilings"]] == [
        ("fp32  10.0 TFLOP/s, knee 100", 100.0, None),
        ("fp32  19.5 TFLOP/s (published)", None, True),
    ]
    assert [one["label"] for one in data["levels"]] == ["DRAM 100 GB/s", "DRAM 2.04 TB/s (published)"]


def test_a_case_has_its_figures_proofs_and_rounds(tmp_path: Path) -> None:
    """No two have one title, and one that isn't known isn't there. Readings of rounds are shown as the case's own are;
    one may lack, and so may what disturbed them.
    """
    rounds = Rounds(
        steps=2,
        wall_s=(0.2, 0.3, 0.2),
        disturbed=(None, "steal", None),
        sm_clock_hz=(1.41e9, 1.2e9, 1.41e9),
        temperature_c=(50.0, math.nan, 62.0),
    )
    (point,) = points(tmp_path, build.record(timing=build.timing(rounds=rounds)))
    data = case_data(point, "here")
    assert data["checks"]["shown"] == [["finite", "passed", "the last output is finite"]]
    assert data["rounds"] == {
        "steps": 2,
        "time": {
            "name": "step_time_s",
            "title": "step",
            "unit": "s",
            "values": [0.1, 0.15, 0.1],
            "shown": ["100 ms", "150 ms", "100 ms"],
        },
        "disturbed": {"1": "steal"},
        "readings": [
            {
                "name": "sm_clock_hz",
                "title": "SM clock",
                "unit": "Hz",
                "values": [1.41e9, 1.2e9, 1.41e9],
                "shown": ["1.41 GHz", "1.20 GHz", "1.41 GHz"],
            },
            {
                "name": "temperature_c",
                "title": "temperature",
                "unit": "°C",
                "values": [50.0, None, 62.0],
                "shown": ["50.0 °C", "-", "62.0 °C"],
            },
        ],
    }
    unmarked = build.timing(rounds=Rounds(steps=2, wall_s=(0.2, 0.3, 0.2)))
    (other,) = points(tmp_path, build.record(timing=unmarked))
    assert case_data(other, "here")["rounds"]["disturbed"] is None
    figures = {figure_names()[int(index)]["name"]: text for index, text in data["figures"].items()}
    assert (figures["step_time_s"], figures["valid"], figures["uncovered"]) == ("100 ms", "yes", "none")
    assert "latency_median_s" not in figures
    assert figures["compute_roof_flop_per_s"] == "10.0 TFLOP/s"
    titles = [one["title"] for one in figure_names()]
    assert [title for title in titles if titles.count(title) > 1] == []


def test_a_case_has_the_environment_of_its_run(tmp_path: Path) -> None:
    """As env.md has it. Runs are numbered as their cases are."""
    paths = build.two_machines(tmp_path)
    data = PageData([point for path in paths for point in points_of(read_file(path), load(None))])
    (cases,), environments = list(data.case_scripts()), data.environments()
    assert [cases[number]["run"] for number in (0, 23, 24, 83)] == [0, 0, 1, 1]
    assert [part["heading"] for part in environments[1]] == ["Machine", "Versions", "Threads and limits", "Run"]
    machine, versions, limits, _ = environments[1]
    assert machine["rows"][-2] == ["operating system", "Linux 6.1"]
    assert versions["rows"][-1] == ["driver", "580.1"]
    assert limits["rows"][-1] == ["power limit", "not known: no NVML for this device"]


def test_the_command_measures_the_case_alone(tmp_path: Path) -> None:
    """As its run did: with its arguments, but for the files and folders that were named."""
    arguments = ("perftests", "./perftests/test_models.py::test_other", "--device", "cpu", "-k", "a b")
    (point,) = points(tmp_path, build.record(), of=build.session(build.roofs(), arguments=arguments))
    assert command_of(point) == (
        "pytest --device cpu -k 'a b' 'perftests/test_models.py::test_case[resnet50-train-b32-fp32]'"
    )


def test_a_doubling_of_the_batch_has_its_gain(tmp_path: Path) -> None:
    """Of the samples per second: 10 to 40 in two doublings is twice each; a cliff has its cause, the curve its knee, or
    where it lies. Invalid rows, and series of which more differs than the batch, have none.
    """

    def record(batch: int, samples_per_s: float, **changes: Any) -> Any:
        model = changes.pop("model", "vgg16")
        named = build.case(model=model, batch=batch, **changes)
        timing = build.timing(batch / samples_per_s, rounds=Rounds(steps=1, wall_s=()), margin=0.01)
        return build.record(case=named, timing=timing)

    shown = points(
        tmp_path,
        *(record(1, 10.0, model="even"), record(2, 10.1, model="even")),
        *(record(1, 10.0, model="rising"), record(2, 19.0, model="rising")),
        *(record(8, 40.0), record(2, 10.0), record(16, 15.0)),
        *(record(1, 10.0, model="twice"), record(2, 11.0, model="twice"), record(2, 12.0, model="twice", id="other")),
        *(
            record(1, 10.0, model="wider", config={"layers": [8]}),
            record(2, 9.0, model="wider", config={"layers": [9]}),
        ),
    )
    (machine,) = PageData(shown).machines()
    table = machine["throughput"]["scaling"]
    assert table["shown"] == [
        ["even-train-b2-fp32", "even", "train", "fp32", "1", "2", "10.0", "10.1", "+1.0 %", "no", "1 or less", "-"],
        ["rising-train-b2-fp32", "rising", "train", "fp32", "1", "2", "10.0", "19.0", "+90.0 %", "yes", "above 1", "-"],
        ["vgg16-train-b8-fp32", "vgg16", "train", "fp32", "2", "8", "10.0", "40.0", "+100.0 %", "yes", "8", "-"],
        [
            *("vgg16-train-b16-fp32", "vgg16", "train", "fp32", "8", "16", "40.0", "15.0", "-62.5 %", "yes", "8"),
            "15.0 images/s at batch 16 against 40.0 at batch 8, 2.67 times less; cause: not known",
        ],
    ]
    assert table["opens"] == [1, 3, 4, 6]
    assert machine["throughput"]["points"][4] == {"row": 4, "batch": 8, "rate": 40.0, "deviation": 0.8, "knee": True}
    assert machine["throughput"]["points"][5] == {"row": 5, "batch": 2, "rate": 10.0, "deviation": 0.2}


def test_a_compiled_case_is_told_from_one_of_its_name(tmp_path: Path) -> None:
    """A test has one name, compiled or not."""
    compiled = build.case(id="net", workload_hash="b", config={"compile": "default"})
    shown = points(
        tmp_path,
        build.record(case=build.case(id="net", workload_hash="a")),
        build.record(case=compiled, timing=build.timing(0.1, compile_s=2.0)),
    )
    (machine,) = PageData(shown).machines()
    place = columns(machine["cases"]).index("compile_s")
    assert [row[place] for row in machine["cases"]["shown"]] == ["-", "2.00 s"]
    assert machine["pairs"]["shown"][0][1:3] == ["net compiled", "net"]


def test_cases_that_differ_in_one_thing_are_pairs(tmp_path: Path) -> None:
    """Each opens its first case; the filters have what is not plain about a case."""

    def record(name: str, step_s: float, **changes: Any) -> Any:
        rounds = Rounds(steps=1, wall_s=(step_s,))
        return build.record(case=build.case(id=name, **changes), timing=build.timing(step_s, rounds=rounds))

    shown = points(
        tmp_path,
        *(record("train", 0.3), record("infer", 0.1, mode="infer")),
        *(record("compiled", 0.15, config={"compile": "default"}), record("photos", 0.6, data="sample")),
        *(record("other", 0.2, model="vgg16"), record("a", 0.3, model="vgg16", data="x")),
        record("b", 0.3, model="vgg16", data="y"),
    )
    (machine,) = PageData(shown).machines()
    assert machine["pairs"]["shown"][0] == [
        *("training against inference", "train", "infer", "300 ms", "100 ms", "3.00x", "yes"),
    ]
    assert machine["pairs"]["opens"] == [0, 2, 3, 5, 6]
    variants = machine["facets"][3]["values"]
    assert variants[:2] == [{"name": "compiled", "letter": "a"}, {"name": "ready data"}]
    assert [value["letter"] for value in variants[2:]] == ["b", "c", "d"]


def test_only_what_has_a_point_can_be_chosen(tmp_path: Path) -> None:
    """A loader has none. Where nothing has, as without counted work, everything stays."""

    def facets(**changes: Any) -> dict[str, list[str]]:
        loader = build.record(case=build.case(model="loader", mode="input", data="fake"), work=None)
        (machine,) = PageData(points(tmp_path, loader, build.record(**changes))).machines()
        return {facet["name"]: [value["name"] for value in facet["values"]] for facet in machine["facets"]}

    shown = {"model": ["resnet50"], "precision": ["fp32"], "mode": ["train"], "variant": ["ready data"]}
    assert facets() == shown
    assert facets(work=None, timing=None)["model"] == ["loader", "resnet50"]


def test_a_step_is_taken_apart(tmp_path: Path) -> None:
    """By what bounds it, by operation and by part of its memory, where that was recorded; copied with the names and
    values of CSV. The whole has no bar. What is kept for the backward pass may be more than the results: the batch is
    in it.
    """
    parts = {"parameter_byte": 10**9, "activation_byte": 2 * 10**9, "saved_for_backward_byte": 3 * 10**9}
    timed = build.timed(build.operation(time_s=0.08), work=build.work(**parts))
    whole, bare = points(tmp_path, timed, build.record(case=build.case(id="bare"), work=None))
    made = {table["title"]: table for table in case_data(whole, "")["step"]}
    worst, memory = made["What to fix first"], made["Memory of a step by part"]
    assert [row[0] for row in worst["table"]["shown"]] == [
        *("mm\n  fp32 1024x1024x1024", "outside of operations", "step")
    ]
    assert worst["bars"] == {"names": ["time_s", "speed_of_light_s"], "rows": 2}
    values = worst["table"]["values"]
    copied = {name: values.get(str(place)) for place, name in enumerate(columns(worst["table"]))}
    assert (copied["operation"], copied["time_s"]) == (["aten::mm", "outside of operations", "step"], [0.08, 0.02, 0.1])
    assert worst["table"]["ends"] == [
        {"name": "dtype", "values": ["fp32", None, None]},
        {"name": "shape", "values": ["1024x1024x1024", None, None]},
    ]
    assert memory["table"]["shown"] == [
        *(
            ["parameters", "1.00 GB"],
            ["results of the forward pass", "2.00 GB"],
            ["kept for the backward pass", "3.00 GB"],
        )
    ]
    assert memory["bars"] == {"names": ["byte"], "rows": 3}
    assert [table["title"] for table in case_data(bare, "")["step"]] == ["Where the time goes"]


def test_without_times_the_page_says_why_as_the_command_does(tmp_path: Path) -> None:
    """`roofline ops` has nothing to show of it either."""
    record = build.record(operations=(build.operation(),), missing={"operations.time_s": "not asked for"})
    (point,) = points(tmp_path, record)
    assert case_data(point, "")["step"][0] == {"title": "Where the time goes", "notes": ["Unknown: not asked for"]}


def test_rounds_of_all_sessions_stand_in_one_row(tmp_path: Path) -> None:
    """Relative to the median of the sessions' step times; the row opens the newest."""
    rounds = Rounds(steps=2, wall_s=(0.2, 0.3), disturbed=(None, "steal"))
    old = build.session(build.roofs(), started_at="2026-11-19T10:00:00+00:00")
    older = build.result(tmp_path / "a.json", [build.record()], of=old)
    records = [build.record(timing=build.timing(rounds=rounds)), build.record(case=build.case(id="other"))]
    newer = build.result(tmp_path / "b.json", records)
    (made,) = PageData([*points_of(older, load(None)), *points_of(newer, load(None))]).rounds()
    assert made is not None
    row, other = made["rows"]
    assert (row["label"], row["row"], other["row"]) == ("resnet50-train-b32-fp32", 0, 1)
    assert (row["rounds"][19:], row["disturbed"]) == ([0.0, 0.0, 0.5], [21])


def test_three_sessions_are_a_history(tmp_path: Path) -> None:
    """In order of time, each with its commit and margin; an invalid result isn't drawn, and two are no history. Each
    opens its panel.
    """
    wrong = (Flag(name="spilled", evidence="to the host", invalid=True),)
    shown: list[Point] = []
    for day, step_s, flags in ((12, 0.15, ()), (10, 0.1, ()), (11, 0.1, ()), (13, 9.0, wrong)):
        twice = [build.record(case=build.case(id="twice"))] if day < 12 else []
        records = [*twice, build.record(timing=build.timing(step_s), flags=flags)]
        session = build.session(build.roofs(), started_at=f"2026-11-{day}T10:00:00+00:00")
        shown += build.points(tmp_path / f"{day}.json", records, of=session)
    data = PageData(shown)
    (made,) = data.histories()
    assert data.overview()["histories"] == [True]
    assert made is not None
    assert [row[:5] for row in made["table"]["shown"]] == [
        ["resnet50-train-b32-fp32", "2026-11-10 10:00", "0123456789", "no", "100 ms"],
        ["resnet50-train-b32-fp32", "2026-11-11 10:00", "0123456789", "no", "100 ms"],
        ["resnet50-train-b32-fp32", "2026-11-12 10:00", "0123456789", "no", "150 ms"],
        ["resnet50-train-b32-fp32", "2026-11-13 10:00", "0123456789", "no", "9.00 s"],
    ]
    assert made["points"] == [
        {"row": 0, "run": 0, "change": 0.0, "margin": 0.008},
        {"row": 1, "run": 1, "change": 0.0, "margin": 0.008},
        {"row": 2, "run": 2, "change": 0.5, "margin": 0.012},
    ]
    assert (made["table"]["opens"], made["colors"]) == ([3, 4, 2, 1], {"1": "#0072B2"})
    assert (made["of"], made["runs"][0]) == ([1] * 4, ["2026-11-10 10:00", "0123456789"])
    assert list(PageData(shown[:4]).histories()) == [None]


def test_a_change_of_level_stands_in_the_history(tmp_path: Path) -> None:
    """Between the runs where `roofline history` finds it, as wide as it may lie, and in a table, which opens the first
    session after it.
    """
    pytest.importorskip("ruptures", reason="needs the extra history")
    data = PageData(place_all(read([nights(tmp_path, UP)]).files, load(None)))
    (made,) = data.histories()
    assert made is not None
    (change,) = made["changes"]["places"]
    (told,) = (one for one in rl.history(tmp_path).judged if one.changes)
    (of_command,) = told.changes
    assert change["change"] == pytest.approx(of_command.effect.ratio - 1, rel=1e-5)
    assert (change["at"], change["commits"]) == (11.5, f"{commit(11)[:10]}..{commit(12)[:10]}")
    assert (change["from"], change["to"]) == (of_command.earliest - 1, of_command.latest)
    assert made["table"]["shown"][change["row"]][:2] == ["resnet50-train-b32-fp32", "2026-01-13 00:00"]
    table = made["changes"]["table"]
    assert [row[:3] for row in table["shown"]] == [["resnet50-train-b32-fp32", "slower", change["text"]]]
    assert table["opens"] == [made["table"]["opens"][change["row"]]]


def test_without_ruptures_no_change_is_marked_and_the_page_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history itself stays."""
    monkeypatch.setitem(sys.modules, "ruptures", None)
    (made,) = PageData(place_all(read([nights(tmp_path, UP)]).files, load(None))).histories()
    assert made is not None
    assert (made["changes"], len(made["runs"])) == (None, 20)
    assert "pip install 'pytest-roofline[history]'" in made["notes"][-1]


def test_an_older_session_has_a_panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind those of the page, which name no session; each has the place of its case's sessions. The newest of those
    for which there is no room.
    """
    shown: list[Point] = []
    for day in (11, 13, 12):
        session = build.session(build.roofs(), started_at=f"2026-11-{day}T10:00:00+00:00")
        records = [build.record(), *([build.record(case=build.case(id="once"))] if day == 13 else [])]
        shown += build.points(tmp_path / f"{day}.json", records, of=session)
    data = PageData(shown)
    (panels,) = data.case_scripts()
    assert [(one["id"], one.get("standing"), one.get("sessions"), one["run"]) for one in panels] == [
        ("resnet50-train-b32-fp32", None, 0, 0),
        ("once", None, None, 0),
        ("resnet50-train-b32-fp32", "Older result: run of 2026-11-11 10:00 UTC", 0, 1),
        ("resnet50-train-b32-fp32", "Older result: run of 2026-11-12 10:00 UTC", 0, 2),
    ]
    assert len(data.environments()) == 3
    (table,) = data.sessions()
    assert [row[:2] for row in table["shown"]] == [
        ["13.json", "2026-11-13 10:00"],
        ["12.json", "2026-11-12 10:00"],
        ["11.json", "2026-11-11 10:00"],
    ]
    assert table["opens"] == [0, 3, 2]
    monkeypatch.setattr(panels_of_page, "MOST_OLDER", 1)
    data = PageData(shown)
    assert data.sessions()[0]["opens"] == [0, 2, None]
    assert data.overview()["notes"][1] == "1 older result can't be opened: the newest 1 of them can"


def test_a_machine_without_cases_has_its_roofs(tmp_path: Path) -> None:
    """In the overview, in its section and in its figure."""
    roof = build.record(case=build.case(id="roof-fp32", mode="roof"), work=None)
    data = PageData(points(tmp_path, roof))
    assert (data.title, data.runs) == ("Roofline report of epyc-2cpu · AMD EPYC 7B13", "0 cases of 2026-11-20")
    assert data.overview()["machines"]["shown"][0][3] == "0"
    (machine,) = data.machines()
    assert machine["unknown"] == ["No case was measured here: the results have its roofs alone."]
    assert [row[0] for row in machine["roofs"]["shown"]] == ["fp32", "dram"]
    assert (len(machine["roofline"]["ceilings"]), machine["roofline"]["notes"]) == (1, [])


def test_cases_are_read_in_scripts_of_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbered through all machines, in the order of their sections."""
    monkeypatch.setattr(page_data, "CASES_A_SCRIPT", 20)
    paths = build.two_machines(tmp_path)
    shown = [point for path in paths for point in points_of(read_file(path), load(None))]
    data = PageData(shown)
    assert data.title == "Roofline report of 2 machines"
    assert data.runs == "84 cases of 2026-11-20 to 2026-11-21"
    assert data.overview()["machines"]["shown"][1] == [
        *("a100", "NVIDIA A100-SXM4-80GB", "AMD EPYC 7B13", "60", "0", "2026-11-21 09:00")
    ]
    comparison = data.comparison()
    assert comparison is not None
    assert comparison["table"]["shown"][1][:6] == ["resnet18-train-b16-fp32", "a100", "22.8 ms", "702", "14", "101x"]
    assert comparison["table"]["opens"][:2] == [1, 24]
    scripts = list(data.case_scripts())
    assert [len(script) for script in scripts] == [20, 20, 20, 20, 4]
    tables = [machine["cases"] for machine in data.machines()]
    numbers = [number for table in tables for number in table["opens"]]
    names = [row[0] for table in tables for row in table["shown"]]
    assert [scripts[number // 20][number % 20]["id"] for number in numbers] == names
