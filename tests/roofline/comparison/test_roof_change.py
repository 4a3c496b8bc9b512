"""One machine's own roofs, measured otherwise on the two sides, are told: by them slower cases may look as fast."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.comparison.runs import Identity, Run, roofs_apart
from roofline.schema.record import KEY, Roof
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run as Command


def _run(*roofs: Roof, fingerprint: str | None = "1") -> Run:
    parts = (("processor", "Xeon"),) if fingerprint is None else (("fingerprint", fingerprint),)
    machine = Identity(label="lab", parts=parts)
    return Run(
        file="a", machine=machine, setup={}, when="", commit=None, dirty=None, not_measured={}, roofs=tuple(roofs)
    )


def _dram(value: float, spread: float | None = 0.1) -> Roof:
    return build.roof("byte", "dram", value, spread=spread)


@pytest.mark.parametrize(
    ("base", "new", "apart"),
    [
        ([_dram(100e9)], [_dram(100e9)], False),
        ([_dram(100e9)], [_dram(91e9)], False),
        ([_dram(100e9)], [_dram(89e9)], True),
        ([_dram(89e9)], [_dram(100e9)], True),
        ([_dram(100e9, None)], [_dram(99e9, None)], True),
        ([_dram(100e9), _dram(80e9)], [_dram(89e9)], False),
        ([_dram(100e9)], [_dram(80e9), _dram(95e9)], False),
        ([_dram(100e9, 7.0)], [_dram(1e9)], False),
        ([_dram(100e9)], [build.roof("flop", "fp32", 1e9)], False),
    ],
)
def test_beyond_what_samples_scattered(base: list[Roof], new: list[Roof], apart: bool) -> None:
    """Where all samples of all sessions of one side lie below the other's; whichever side it is."""
    assert bool(roofs_apart([_run(roof) for roof in base], [_run(roof) for roof in new])) is apart


def test_each_roof_with_both_values() -> None:
    """Compute and memory; a link or a launch bounds no step here."""
    link, launch = (
        [build.roof(kind, name, value, spread=0.0) for value in (1e10, 1e9)]
        for kind, name in (("byte", "host_to_device"), ("latency", "launch"))
    )
    base = _run(build.roof("flop", "fp32", 2e12), _dram(100e9), launch[0])
    new = _run(build.roof("flop", "fp32", 1e12), _dram(50e9), launch[1])
    assert roofs_apart([base], [new]) == [
        "This machine's own roofs differ between the sides by more than their samples scattered (fp32 1.00 TFLOP/s,"
        " baseline 2.00 TFLOP/s; dram 50.0 GB/s, baseline 100 GB/s). A lower roof hides slower cases, a higher one"
        " makes up some: on one machine compare times (--by time)"
    ]
    assert roofs_apart([_run(launch[0])], [_run(launch[1])]) == []
    assert roofs_apart([_run(link[0])], [_run(link[1])]) == []


@pytest.mark.parametrize(("base", "new"), [("1", "2"), (None, None), (None, "1")])
def test_other_machines_have_other_roofs(base: str | None, new: str | None) -> None:
    """Nor is anything told where no fingerprint shows that they are one."""
    assert roofs_apart([_run(_dram(100e9), fingerprint=base)], [_run(_dram(50e9), fingerprint=new)]) == []


def test_it_is_a_note_of_a_comparison_by_roof(run: Command, base: list[Path], new: list[Path]) -> None:
    """And of none by time."""
    given = ("compare", *base, "--with", *new, "--width", 400)
    assert "own roofs differ" not in run(*given, "--by", "roof")[1]
    for path in new:
        sessions.edited(path, lambda content: content[KEY]["roofs"][1].update(value=5e10))
    assert "(dram 50.0 GB/s, baseline 100 GB/s)" in run(*given, "--by", "roof")[1]
    assert "own roofs differ" not in run(*given)[1]


def test_a_difference_that_only_the_roofs_made_is_no_regression(
    run: Command, base: list[Path], new: list[Path]
) -> None:
    """The step times agree: nothing can be compared by these roofs, and nothing is slower."""
    for path in new:
        sessions.edited(path, lambda content: [roof.update(value=roof["value"] * 2) for roof in content[KEY]["roofs"]])
    code, out, _ = run("check", *new, "--baseline", *base, "--by", "roof", "--format", "json")
    content = json.loads(out)
    assert code == content["exit_code"] == 3
    assert {row["verdict"] for row in content["rows"]} == {"not comparable"}
    assert all("the roofs changed, not the case" in row["why"] for row in content["rows"])
    assert run("check", *new, "--baseline", *base, "--width", 400)[0] == 0


def test_a_bound_not_held_names_the_roofs_that_changed(
    run: Command, tmp_path: Path, base: list[Path], new: list[Path]
) -> None:
    """Though the times are compared: a bound is judged under the roofs of the new side."""
    expected = tmp_path / "expected.toml"
    expected.write_text('[[expected]]\ndevice = "cpu"\ncase = "*"\nmin_fraction_of_roof = 1.0\n')
    given = ("check", *new, "--baseline", *base, "--expect", expected, "--width", 400)
    assert "by the roofs alone" not in run(*given)[2]
    for path in new:
        sessions.edited(path, lambda content: [roof.update(value=roof["value"] * 2) for roof in content[KEY]["roofs"]])
    code, _, err = run(*given)
    assert code == 1
    assert "(fp32 20.0 TFLOP/s, baseline 10.0 TFLOP/s; dram 200 GB/s, baseline 100 GB/s)" in err
    assert "by the roofs alone" in err
