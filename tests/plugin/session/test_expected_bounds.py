"""Markers, the suite's file and --assert-bounds: what fails, what is said, and that the row stays valid."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from pytest_roofline import start
from pytest_roofline.device.host import describe_machine
from pytest_roofline.session import expected_bounds
from pytest_roofline.session.run import Run
from pytest_roofline.workers.shared_folder import PlannedTests
from roofline.cli import program
from roofline.expectations import judging
from roofline.expectations.outcome import Checked
from roofline.results.result import ResultFile
from roofline.schema.expected import Expected
from roofline.schema.expected_file import SuiteBounds
from roofline.schema.record import KEY, Record
from roofline.schema.record_json import from_json, to_json
from roofline.schema.session import Roof, Session
from tests.plugin.fake_run import options
from tests.roofline import build
from tests.roofline.expectations import build_points

QUICK = (
    *("--roofline-device", "cpu", "--roofline-max-time", "0.001", "--roofline-warmup", "1", "--roofline-steps", "4"),
    *("--roofline-results", "results", "--roofline-label", "here"),
)

HEAD = """
    import pytest, torch
    from torch import nn

    expected_bound = pytest.mark.expected_bound

    def measure(roofline):
        return roofline(nn.Linear(64, 64), torch.randn(16, 64))
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose last run on this machine measured roofs that nothing comes near: every case is launch-bound."""
    pytester.makeini("[pytest]\nroofline_markers = true\naddopts = --strict-markers -p no:playwright\n")
    roofs = (
        Roof(kind="flop", name="fp32", value=1e20, source="measured", detail="fast"),
        Roof(kind="byte", name="dram", value=1e20, source="measured", detail="fast"),
        Roof(kind="byte", name="llc", value=1e20, source="measured", detail="fast"),
    )
    document = {
        "machine_info": {KEY: to_json(describe_machine(torch.device("cpu"), "here"))},
        KEY: to_json(Session(started_at="2026-11-20T10:00:00+00:00", label="here", roofs=roofs)),
        "benchmarks": [{"name": "test_roofs"}],
    }
    old = pytester.path / "results" / "here" / "20200101T000000Z-nogit.json"
    old.parent.mkdir(parents=True)
    old.write_text(json.dumps(document))
    return pytester


def _text(run: pytest.RunResult) -> str:
    """What was shown, in one line."""
    return " ".join(run.stdout.str().split())


def newest(project: pytest.Pytester) -> tuple[Path, dict[str, Record]]:
    """The last run's file, and its records by test."""
    path = max((project.path / "results").rglob("*.json"))
    rows = json.loads(path.read_text())["benchmarks"]
    return path, {row["name"]: from_json(Record, row["extra_info"][KEY], row["name"]) for row in rows}


MARKED = (
    HEAD
    + """
    @expected_bound("launch")
    def test_held(roofline): measure(roofline)

    @expected_bound("compute")
    def test_other(roofline): measure(roofline)

    @expected_bound(min_fraction_of_roof=0.5, device="cpu", precision="fp32")
    @expected_bound(min_fraction_of_speed_of_light=0.4)
    def test_slow(roofline): measure(roofline)

    @expected_bound("compute", device="cuda")
    @expected_bound("compute", precision="bf16")
    def test_elsewhere(roofline): measure(roofline)

    @expected_bound("cpu")
    def test_misspelt(roofline): measure(roofline)

    @expected_bound(min_fraction_of_roof=10**400)
    def test_digits(roofline): measure(roofline)

    @expected_bound("compute", "memory")
    def test_two(roofline): measure(roofline)

    @expected_bound("compute", precision="fp31")
    def test_fp31(roofline): measure(roofline)

    @expected_bound("launch")
    def test_roof(roofline): roofline.roof("launch")
"""
)


@pytest.mark.parametrize("more", [(), ("-n", "1")], ids=["alone", "by a worker"])
@pytest.mark.usefixtures("forked_children")
def test_markers_are_asserted_after_the_measurement(project: pytest.Pytester, more: tuple[str, ...]) -> None:
    """Bound and floors fail by name, other devices and precisions are ignored, rows stay valid and have the markers."""
    project.makepyfile(MARKED)
    run = project.runpytest_subprocess(*QUICK, "--roofline-assert-bounds", *more)
    run.assert_outcomes(passed=2, failed=3, errors=4)
    text = _text(run)
    source = "(@pytest.mark.expected_bound of test_markers_are_asserted_after_the_measurement.py::test_{})"
    assert "launch-bound, not compute-bound: measured, but not as expected. test_other on here: failed." in text
    assert f"test_other on here: failed. Expected compute-bound {source.format('other')}. Got launch-bound (" in text
    assert f"Expected at least 50 % of its roof {source.format('slow')}" in text
    assert f"Expected at least 40 % of the speed of light {source.format('slow')}" in text
    assert "@pytest.mark.expected_bound: bound is 'cpu'; use one of compute, memory, launch, input," in text
    assert f"@pytest.mark.expected_bound: min_fraction_of_roof is 1{'0' * 59}; use a number above 0 and at" in text
    assert "@pytest.mark.expected_bound('compute', 'memory'): takes one bound, and the keywords min_fraction_of" in text
    assert "@pytest.mark.expected_bound: precision is 'fp31'; use one of fp32, tf32," in text
    assert "@pytest.mark.expected_bound: a roof bounds others and has no bound of its own." in text
    path, records = newest(project)
    assert set(records) == {"test_held", "test_other", "test_slow", "test_elsewhere"}
    assert all(record.valid for record in records.values())
    assert {name: len(record.expected) for name, record in records.items()} == {
        "test_held": 1,
        "test_other": 1,
        "test_slow": 2,
        "test_elsewhere": 0,
    }
    assert program.main(["check", str(path), "--expect"]) == 1


def test_without_the_flag_nothing_is_asserted(project: pytest.Pytester) -> None:
    """The markers are kept for `roofline check FILE --expect`."""
    project.makepyfile(HEAD + "\n    @expected_bound('memory')\n    def test_a(roofline): measure(roofline)\n")
    project.runpytest_subprocess(*QUICK).assert_outcomes(passed=1)
    path, records = newest(project)
    assert [one.bound for one in records["test_a"].expected] == ["memory"]
    assert program.main(["check", str(path), "--expect"]) == 1


def test_the_suite_s_file_is_asserted(project: pytest.Pytester) -> None:
    """The one beside the tests, or the one that is named; cases that it doesn't know pass, and those not run, too."""
    project.makepyfile(
        HEAD + "\n    def test_a(roofline): measure(roofline)\n    def test_b(roofline): measure(roofline)\n"
    )
    entries = "[[expected]]\ncase = '{}'\nbound = 'memory'\n[[expected]]\ncase = 'test_z'\nbound = 'memory'\n"
    (project.path / "expected_bounds.toml").write_text(entries.format("test_a"))
    (project.path / "other.toml").write_text(entries.format("test_b"))
    for more, failed, where in (
        ((), "test_a", "expected_bounds.toml:1"),
        (("--roofline-expected-bounds", "other.toml"), "test_b", "other.toml:1"),
    ):
        run = project.runpytest_subprocess(*QUICK, "--roofline-assert-bounds", *more)
        run.assert_outcomes(passed=1, failed=1)
        assert f"{failed} on here: failed. Expected memory-bound ({where}). Got launch-bound" in _text(run)


def test_bounds_of_cases_without_a_number(project: pytest.Pytester) -> None:
    """Of a test that was skipped they are not applicable; of none that ran, they are named: tests may have been chosen.
    With both the run passes; with such alone nothing is asserted: exit code 4. Those for other devices and machines are
    no matter of this run.
    """
    project.makepyfile(
        HEAD
        + "\n    def test_a(roofline): measure(roofline)\n"
        + "    @pytest.mark.skip(reason='not today')\n    def test_b(roofline): measure(roofline)\n"
    )
    entry = "[[expected]]\ncase = '{}'\nbound = 'launch'\n"
    (project.path / "expected_bounds.toml").write_text(
        "".join(map(entry.format, ("test_a", "test_b", *(f"test_{number}" for number in range(7)))))
        + entry.format("test_gpu")
        + "device = 'cuda'\n"
        + entry.format("test_other")
        + "fingerprint = '0123456789abcdef'\n"
    )
    run = project.runpytest_subprocess(*QUICK, "--roofline-assert-bounds", "-k", "test_a")
    run.assert_outcomes(passed=1, deselected=1)
    assert run.ret == 0
    assert "bounds of no case of this run: test_b, test_0, test_1, test_2, test_3 and 3 more. Was one" in _text(run)
    run = project.runpytest_subprocess(*QUICK, "--roofline-assert-bounds")
    run.assert_outcomes(passed=1, skipped=1)
    assert run.ret == 0
    assert "bound not applicable: test_b: skipped: not today" in _text(run)
    assert "bounds of no case of this run: test_0, test_1, test_2, test_3, test_4 and 2 more." in _text(run)
    (project.path / "expected_bounds.toml").write_text(entry.format("test_b"))
    assert project.runpytest_subprocess(*QUICK, "--roofline-assert-bounds").ret == 4


def test_bounds_for_a_device_that_nobody_knows_are_told(project: pytest.Pytester) -> None:
    """Once, with their place, and the run passes: those for another kind or a published device are no matter of it."""
    project.makepyfile(
        HEAD + "\n    def test_a(roofline): measure(roofline)\n    def test_b(roofline): measure(roofline)\n"
    )
    entry = "[[expected]]\ncase = 'test_{}'\nbound = 'launch'\ndevice = '{}'\n"
    devices = (("a", "here"), ("b", "cpu"), ("b", "cuu"), ("a", "cuda"), ("a", "NVIDIA A100*"))
    (project.path / "expected_bounds.toml").write_text("".join(entry.format(*one) for one in devices))
    run = project.runpytest_subprocess(*QUICK, "--roofline-assert-bounds")
    run.assert_outcomes(passed=2)
    assert run.ret == 0
    text = _text(run)
    assert text.count("bounds not asserted: ") == 1
    assert "bounds not asserted: device 'cuu' (expected_bounds.toml:9): no such device is known: a typo?" in text


def test_what_can_not_be_judged_does_not_pass(project: pytest.Pytester) -> None:
    """Without roofs there is no bound, and what is of another machine says nothing here: the test fails and says so."""
    (old,) = (project.path / "results").rglob("*.json")
    old.unlink()
    project.makepyfile(
        HEAD
        + "\n    @expected_bound('launch')\n    def test_a(roofline): measure(roofline)\n"
        + "    def test_b(roofline): measure(roofline)\n"
    )
    (project.path / "expected_bounds.toml").write_text(
        "[[expected]]\ncase = 'test_b'\ndevice = 'here'\nfingerprint = '0123456789abcdef'\nbound = 'launch'\n"
    )
    run = project.runpytest_subprocess(*QUICK, "--roofline-assert-bounds")
    run.assert_outcomes(failed=2)
    text = _text(run)
    assert "test_a on here: not evaluable. Expected launch-bound" in text
    assert (
        "test_b on here: not evaluable. Expected launch-bound (expected_bounds.toml:1). It is of another machine of"
        " that name (fingerprint 0123456789abcdef, here "
    ) in text
    assert all(record.valid for record in newest(project)[1].values())


def test_nothing_asserted_is_no_green_run(project: pytest.Pytester) -> None:
    """Where nothing is expected on this device, that is exit code 4 and the reason."""
    project.makepyfile(
        HEAD + "\n    @expected_bound('launch', device='cuda')\n    def test_a(roofline): measure(roofline)\n"
    )
    run = project.runpytest_subprocess(*QUICK, "--roofline-assert-bounds")
    assert run.ret == 4
    run.stdout.fnmatch_lines(
        ["ERROR: no bound was asserted. Nothing is expected of the cases measured on this device:*"]
    )


def test_bounds_over_tests_that_measure_nothing_do_not_pass(project: pytest.Pytester) -> None:
    """There is nothing to assert: exit code 4 and why, as of a gate; under pytest-xdist, too."""
    project.makepyfile("def test_plain(): pass")
    for more in ((), ("-n", "1")):
        run = project.runpytest_subprocess("--roofline-assert-bounds", *more)
        assert run.ret == 4
        run.stderr.fnmatch_lines(
            [
                "ERROR: --roofline-assert-bounds: no test here measures, so no bound can be asserted. Leave it out, or"
                " name the tests that do."
            ]
        )
    assert project.runpytest_subprocess("--roofline-assert-bounds", "--collect-only").ret == 0


def test_bounds_of_an_ini_file_are_for_the_runs_that_measure(project: pytest.Pytester) -> None:
    """The project's other tests are run without them."""
    project.makepyfile("def test_plain(): pass")
    assert project.runpytest_subprocess("-o", "roofline_assert_bounds=true").ret == 0


def test_nothing_to_assert_ends_before_anything_is_measured(project: pytest.Pytester) -> None:
    """Exit code 4, flag and reason."""
    project.makepyfile(HEAD + "\n    def test_a(roofline): measure(roofline)\n")
    run = project.runpytest_subprocess(*QUICK, "--roofline-assert-bounds")
    assert run.ret == 4
    assert "ERROR: --roofline-assert-bounds: no expected_bounds.toml beside the tests" in run.stderr.str()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"expected_bounds": Path("e.toml")},
            "--expected-bounds: only --assert-bounds reads it. Give both.",
        ),
        (
            {"assert_bounds": True, "expected_bounds": Path("e.toml")},
            "--expected-bounds: {root}/e.toml:1: bound is 'cpu'; use one of compute,",
        ),
        (
            {"assert_bounds": True, "expected_bounds": Path("none.toml")},
            "--expected-bounds: {root}/none.toml: can't be read (No such file or directory).",
        ),
    ],
)
def test_a_useless_request_is_named(
    pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], message: str
) -> None:
    """The flag, what is wrong and what to do."""
    monkeypatch.setattr(pytestconfig.option, "benchmark_disable", False)  # whatever these tests run under
    monkeypatch.chdir(tmp_path)
    Path("e.toml").write_text("[[expected]]\ncase = 'a'\nbound = 'cpu'\n")
    monkeypatch.setattr(start, "options_of", lambda _: options(**given))
    with pytest.raises(pytest.UsageError) as caught:
        start.bounds(pytestconfig, PlannedTests(tests=("suite/test_it.py::test_it[a-b]",)))
    assert str(caught.value).startswith(message.format(root=tmp_path))


def test_without_measuring_nothing_is_asserted(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Benchmarks that are disabled leave no record to judge."""
    monkeypatch.setattr(pytestconfig.option, "benchmark_disable", True)
    monkeypatch.setattr(start, "options_of", lambda _: options(assert_bounds=True))
    with pytest.raises(pytest.UsageError) as caught:
        start.bounds(pytestconfig, PlannedTests(expects=True))
    assert str(caught.value) == (
        "--benchmark-disable: nothing would be measured, so --assert-bounds could assert nothing. Leave one out."
    )


def _run(stats: list[Any], files: dict[str, Any]) -> Run:
    """As much of a run as asserting reads."""
    on = build.machine()
    bounds = SuiteBounds(Path("/project"), files)
    state = {"bounds": bounds, "asserted": 0, "warned": {}}
    return cast(
        Run,
        SimpleNamespace(machine=on, session=build.session, stats=stats, file=None, fill_roofs=lambda: None, **state),
    )


def _stats(record: Record, test: str) -> Any:
    return SimpleNamespace(name=test, fullname=test, extra_info={KEY: to_json(record)})


MARKER = Expected(bound="compute", source="marker")


def _failure(*stats: Any) -> pytest.ExceptionInfo[expected_bounds.NotAsExpected]:
    record = build.record(expected=(MARKER,))
    with pytest.raises(expected_bounds.NotAsExpected) as caught:
        expected_bounds.assert_bounds(_run(list(stats) or [_stats(record, "a")], {}), record, "a")
    return caught


def test_a_failure_begins_with_what_is_wrong() -> None:
    """pytest's summary at 80 columns has room for the first words, and for the class's name without its module. Files
    are named from the project's root.
    """
    record = build_points.record(expected=(Expected(bound="memory", source="marker"),))
    entry = Expected(bound="compute", min_fraction_of_roof=0.9, source="/project/e.toml:1")
    run = _run([_stats(record, "a")], {"a": (entry,)})
    roofs = (*build_points.roofs(0.03), build.roof("latency", "launch", 1e-5))
    run.session = lambda: build.session(roofs=roofs)  # type: ignore[method-assign]
    with pytest.raises(expected_bounds.NotAsExpected) as caught:
        expected_bounds.assert_bounds(run, record, "a")
    text = caught.exconly()
    assert text.startswith("NotAsExpected: compute-bound, not memory-bound; 10.0 % of its roof, not 90 %: measured,")
    assert " (e.toml:1)." in " ".join(text.split())


def test_a_case_of_which_nothing_is_found_is_not_judged() -> None:
    assert _failure(_stats(build.record(), "b")).exconly().startswith("NotAsExpected: not judged: ")


def test_a_fault_of_the_analysis_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test fails, with the traceback; its row is written. Warnings are not taken for a fault."""

    def broken(*_: object) -> None:
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        raise ZeroDivisionError("by nobody")

    monkeypatch.setattr(judging, "check_results", broken)
    text = _failure().exconly()
    assert text.startswith("NotAsExpected: not judged: ")
    assert "ZeroDivisionError: by nobody" in text


def test_the_rows_of_the_model_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of a test that ran twice, smaller batches beside it, no other model; with the roofs known so far."""
    first, record = build.record(expected=(MARKER,)), build.record(expected=(MARKER,), timing=build.timing(0.2))
    stats = [
        _stats(first, "a"),
        _stats(build.record(case=build.case(batch=8)), "small"),
        _stats(build.record(case=build.case(model="vgg16")), "vgg"),
        _stats(record, "a"),
    ]
    judged: list[ResultFile] = []

    def check(results: list[ResultFile], *_: object) -> Checked:
        judged.extend(results)
        return Checked(findings=())

    monkeypatch.setattr(judging, "check_results", check)
    run = _run(stats, {})
    with pytest.raises(expected_bounds.NotAsExpected):
        expected_bounds.assert_bounds(run, record, "a")
    (result,) = judged
    records = {row.fullname: row.record for row in result.benchmarks if row.record is not None}
    assert {test: one.timing and one.timing.step_time_s for test, one in records.items()} == {"a": 0.2, "small": 0.1}
    assert (result.machine, result.session) == (build.machine(), build.session())
    assert run.asserted == 1


def test_beside_this_machine_s_own_entries_a_namesake_s_ask_nothing() -> None:
    """Where the file doesn't know the machine, the case is judged, and is told why nothing fits."""
    record = build.record()
    namesake = Expected(bound="compute", case=record.case.id, fingerprint="far", source="e.toml:1")
    own = Expected(bound="compute", case="vgg*", fingerprint=build.machine().fingerprint, source="e.toml:5")
    run = _run([_stats(record, "a")], {"a": (namesake, own)})
    expected_bounds.assert_bounds(run, record, "a")
    assert run.asserted == 0
    run = _run([_stats(record, "a")], {"a": (namesake,)})
    with pytest.raises(expected_bounds.NotAsExpected, match=r"^not evaluable: "):
        expected_bounds.assert_bounds(run, record, "a")
    assert run.asserted == 1
