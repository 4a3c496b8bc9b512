"""The environment as Markdown: what a reader needs to repeat the run."""

from pathlib import Path

from roofline.results.reader import read_file
from roofline.schema.session import NotMeasured
from roofline.show.environment import environment
from tests.roofline import build


def test_own_file(tmp_path: Path) -> None:
    """Machine, device, versions, threads, limits, run."""
    session = build.session(
        build.roofs(),
        wall_s=200.0,
        measuring_s=150.0,
        arguments=("perftests", "--device", "cpu"),
        notes=("two rounds | disturbed",),
        noted={"zone": "us-east1-b"},
        not_measured=(NotMeasured(id="vgg16", outcome="out_of_memory", reason="22 GB"),),
    )
    lines = environment(build.result(tmp_path / "a.json", [build.record()], of=session)).splitlines()
    for line in (
        "# Environment: epyc-2cpu",
        "| processor | AMD EPYC 7B13 |",
        "| device | AMD EPYC 7B13 |",
        "| memory | 8.00 GB |",
        "| torch | 2.14.1 |",
        "| cuda | not known |",
        "| threads, intra op | 2 |",
        "| power limit | not known: no NVML for this device |",
        "| affinity cpus | 2 |",
        "| warm-up and timed rounds | 150 s (75 % of the wall time) |",
        "| arguments | perftests --device cpu |",
        "| note | two rounds \\| disturbed |",
        "| zone | us-east1-b |",
        "| vgg16 | out of memory: 22 GB |",
        "| commit | 0123456789abcdef |",
    ):
        assert line in lines


def test_units_and_truth_of_limits(tmp_path: Path) -> None:
    """The ending of a key is its unit; true is yes; text that looks like a number stays text; so does a huge number."""
    huge = 10**400
    limits = {"power_limit_w": 400, "swap_byte": 2_000_000_000, "container": True, "quota": "max", "stack_byte": huge}
    machine = build.machine(limits=limits)
    lines = environment(build.result(tmp_path / "a.json", [build.record()], on=machine)).splitlines()
    known = ("| power limit | 400 W |", "| swap | 2.00 GB |", "| container | yes |", "| quota | max |")
    for line in (*known, f"| stack | {huge} |"):
        assert line in lines


def test_foreign_file(tmp_path: Path) -> None:
    """What pytest-benchmark knows, and a word that there is no more."""
    text = environment(read_file(build.write(tmp_path / "a.json", build.document([None]))))
    assert "Written by another project" in text
    assert "| python | 3.12.4 |" in text
    assert "| written | 2026-11-20T10:05:00+00:00 |" in text
