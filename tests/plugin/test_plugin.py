"""The plugin in a project of somebody else: flags, markers, selection, records, exit codes and messages."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from roofline.record import KEY, Machine, Record, Session, unexplained
from roofline.record_json import from_json

MEASURES = """
    import pytest, torch
    from torch import nn

    def test_mine(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))
"""

QUICK = ("--roofline-device", "cpu", "--roofline-max-time", "0.05", "--roofline-warmup", "1")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project that measures and asked for the markers, whether or not these tests run under pytest-xdist."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makeini("[pytest]\nroofline_markers = true\naddopts = --strict-markers -p no:playwright\n")
    return pytester


def results(pytester: pytest.Pytester) -> dict[str, Any]:
    """The only results file below ``results``."""
    (path,) = (pytester.path / "results").rglob("*.json")
    document: dict[str, Any] = json.loads(path.read_text(), parse_constant=pytest.fail)
    return document


def records(document: dict[str, Any]) -> dict[str, Record]:
    return {
        bench["name"]: from_json(Record, bench["extra_info"][KEY], bench["name"]) for bench in document["benchmarks"]
    }


def test_a_project_that_does_not_use_it_sees_nothing(pytester: pytest.Pytester) -> None:
    """No marker, no section, no results; a foreign test named like a marker is left alone."""
    pytester.makepyfile("def test_plain(): pass")
    run = pytester.runpytest_subprocess("--roofline-results", "results", "--markers")
    assert "cuda" not in run.stdout.str()
    run = pytester.runpytest_subprocess("--roofline-results", "results")
    run.assert_outcomes(passed=1)
    assert "roofline ==" not in run.stdout.str()
    assert not (pytester.path / "results").exists()


def test_markers_are_registered_where_they_are_asked_for(project: pytest.Pytester) -> None:
    """With the ini option, --strict-markers takes them all."""
    shown = project.runpytest_subprocess("--markers").stdout.str()
    for name in (
        "cpu",
        "cuda",
        "mps",
        "train",
        "infer",
        "input",
        "roofs",
        "roofline(mode, precision, batch, sample_unit)",
    ):
        assert f"@pytest.mark.{name}" in shown


def test_a_measured_test_has_a_record_and_its_statistics_are_the_rounds(project: pytest.Pytester) -> None:
    """pytest-benchmark's file holds the record, and statistics of exactly the rounds of the record."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "--benchmark-json", "out.json", "--roofline-label", "a machine")
    run.assert_outcomes(passed=1)
    document = json.loads((project.path / "out.json").read_text())
    (bench,) = document["benchmarks"]
    record = records(document)["test_mine"]
    assert record.valid
    assert record.timing is not None
    rounds = record.timing.rounds
    assert bench["stats"]["data"] == [wall / rounds.steps for wall in rounds.wall_s]
    assert bench["stats"]["mean"] == pytest.approx(record.timing.step_time_s, rel=1e-12)
    assert record.work is not None
    assert record.work.flop_per_step == 2 * 2 * 8 * 4
    assert {check.name: check.status for check in record.checks}["device"] == "passed"
    machine = from_json(Machine, document["machine_info"][KEY], "f")
    assert (machine.label, document["machine_info"]["node"]) == ("a machine", "a machine")
    assert platform.node() not in json.dumps(document) or len(platform.node()) < 4


def test_results_are_written_under_label_time_and_commit(project: pytest.Pytester) -> None:
    """Without --benchmark-json the results folder has the file, and the summary shows the case."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results", "--roofline-label", "here")
    run.assert_outcomes(passed=1)
    (path,) = (project.path / "results").rglob("*.json")
    assert path.parent.name == "here"
    assert path.name.endswith("Z-nogit.json")
    session = from_json(Session, results(project)[KEY], "f")
    assert session.measuring_s is not None
    assert session.wall_s is not None
    assert 0 < session.measuring_s < session.wall_s
    run.stdout.fnmatch_lines(["*= roofline =*", "*test_mine*", f"results: *{path.name}"])


def test_a_test_is_marked_with_the_device_it_runs_on(project: pytest.Pytester) -> None:
    """-m cpu takes it; one that is marked for another device is deselected."""
    project.makepyfile(
        MEASURES
        + """
    @pytest.mark.cuda
    def test_cuda(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    def test_plain():
        pass
"""
    )
    run = project.runpytest_subprocess(*QUICK, "-m", "cpu")
    run.assert_outcomes(passed=1, deselected=2)


def test_roofs_run_first(project: pytest.Pytester) -> None:
    """Whatever their file is called: every case is placed on them."""
    project.makepyfile(
        test_a=MEASURES,
        test_z="""
            import pytest
            @pytest.mark.roofs
            def test_launch(roofline):
                roofline.roof("launch")
        """,
    )
    run = project.runpytest_subprocess(*QUICK, "-v", "--roofline-results", "results")
    run.stdout.fnmatch_lines(["test_z.py::test_launch PASSED*", "test_a.py::test_mine PASSED*"])
    session = from_json(Session, results(project)[KEY], "f")
    (roof,) = session.roofs
    assert (roof.name, roof.source, len(roof.samples)) == ("launch", "measured", 3)


def test_a_run_without_roofs_takes_those_measured_last(project: pytest.Pytester) -> None:
    """Of the same machine, with the file they come from."""
    project.makepyfile(
        test_a=MEASURES,
        test_z="def test_launch(roofline): roofline.roof('launch')",
    )
    arguments = (*QUICK, "--roofline-results", "results")
    project.runpytest_subprocess(*arguments, "test_z.py").assert_outcomes(passed=1)
    (first,) = (project.path / "results").rglob("*.json")
    project.runpytest_subprocess(*arguments, "test_a.py").assert_outcomes(passed=1)
    (second,) = set((project.path / "results").rglob("*.json")) - {first}
    session = from_json(Session, json.loads(second.read_text())[KEY], "f")
    assert [(roof.name, roof.from_file) for roof in session.roofs] == [("launch", first.name)]


def test_a_disproved_row_stays_in_the_file_marked_invalid(project: pytest.Pytester) -> None:
    """The test fails with the evidence; the number is kept and can't be mistaken for a good one."""
    project.makepyfile(
        """
        import torch
        from torch import nn

        def test_nan(roofline):
            roofline(nn.Linear(8, 4), torch.full((2, 8), float("nan")))
        """
    )
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    run.assert_outcomes(failed=1)
    assert run.ret == 1
    run.stdout.fnmatch_lines(
        ["*Disproved: measured, but not what was claimed. finite: not finite after the last round: output"]
    )
    document = results(project)
    assert not records(document)["test_nan"].valid
    (entry,) = from_json(Session, document[KEY], "f").not_measured
    assert (entry.id, entry.outcome) == ("test_nan", "failed")


def test_every_case_without_a_number_has_a_reason(project: pytest.Pytester) -> None:
    """Failed, skipped, out of memory, error in a fixture: each once, with what was said."""
    project.makepyfile(
        MEASURES
        + """
    def test_failed(roofline):
        raise RuntimeError("no good")

    def test_skipped(roofline):
        pytest.skip("not today")

    def test_memory(roofline):
        raise torch.OutOfMemoryError("CUDA out of memory")

    @pytest.fixture
    def broken():
        raise ValueError("broken fixture")

    def test_error(broken, roofline):
        pass
"""
    )
    project.runpytest_subprocess(*QUICK, "--roofline-results", "results").assert_outcomes(
        passed=1, failed=2, skipped=1, errors=1
    )
    found = {
        entry.id: (entry.outcome, entry.reason) for entry in from_json(Session, results(project)[KEY], "f").not_measured
    }
    assert found == {
        "test_failed": ("failed", "RuntimeError: no good"),
        "test_skipped": ("skipped", "not today"),
        "test_memory": ("out_of_memory", "torch.OutOfMemoryError: CUDA out of memory"),
        "test_error": ("error", "ValueError: broken fixture"),
    }


def test_an_interrupted_run_keeps_what_it_measured(project: pytest.Pytester) -> None:
    """Ctrl-C in the second test: the first is in the file."""
    project.makepyfile(MEASURES + "\n    def test_stop(roofline):\n        raise KeyboardInterrupt\n")
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    assert run.ret == 2
    assert list(records(results(project))) == ["test_mine"]


def test_a_run_that_measured_nothing_is_not_green(project: pytest.Pytester) -> None:
    """Everything skipped: exit code 4, the reason, and no file."""
    project.makepyfile("import pytest\ndef test_a(roofline): pytest.skip('not today')")
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    assert run.ret == 4
    run.stdout.fnmatch_lines(["ERROR: nothing was measured. 1 case(s) were given up. skipped: not today"])
    assert not list((project.path / "results").rglob("*.json"))


def test_a_precision_the_device_has_not_is_a_skip(project: pytest.Pytester) -> None:
    """A CPU has no TF32."""
    project.makepyfile(
        MEASURES
        + """
    @pytest.mark.roofline(precision="tf32")
    def test_tf32(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))
"""
    )
    run = project.runpytest_subprocess(*QUICK, "-rs")
    run.assert_outcomes(passed=1, skipped=1)
    run.stdout.fnmatch_lines(["SKIPPED*tf32 is not native on cpu: a CPU has no TF32"])


@pytest.mark.parametrize(
    ("marker", "says"),
    [
        ("precision='fp31'", "*@pytest.mark.roofline: precision is 'fp31'; use one of fp32, tf32, *"),
        ("mode='test'", "*@pytest.mark.roofline: mode is 'test'; use 'train' or 'infer'"),
        ("batch=0", "*@pytest.mark.roofline: batch is 0; use a whole number from 1 up"),
        ("batch=True", "*@pytest.mark.roofline: batch is True; use a whole number from 1 up"),
        ("sample_unit=None", "*@pytest.mark.roofline: sample_unit is None; use a word, such as 'image'"),
        ("precision=['fp32']", "*@pytest.mark.roofline: precision is *fp32*; use one of fp32, *"),
        (
            "warmup=3",
            "*@pytest.mark.roofline: unknown keyword 'warmup'; it takes the keywords mode, precision, batch, *",
        ),
        ("'train'", "*@pytest.mark.roofline: positional argument 'train'; it takes the keywords *"),
    ],
)
def test_the_marker_says_what_it_takes(project: pytest.Pytester, marker: str, says: str) -> None:
    """A misspelled keyword is an error, not a default."""
    project.makepyfile(
        f"""
        import pytest, torch
        @pytest.mark.roofline({marker})
        def test_mine(roofline):
            roofline(torch.nn.Linear(8, 4), torch.randn(2, 8))
        """
    )
    run = project.runpytest_subprocess(*QUICK)
    run.assert_outcomes(errors=1)
    run.stdout.fnmatch_lines([says])


def test_training_by_the_marker(project: pytest.Pytester) -> None:
    """Mode, precision, batch and unit come from the marker; the batch else from the first input."""
    project.makepyfile(
        """
        import pytest, torch
        from torch import nn

        @pytest.mark.roofline(mode="train", sample_unit="row")
        def test_mine(roofline):
            roofline(nn.Linear(8, 4), torch.randn(6, 8), target=torch.randint(4, (6,)))
        """
    )
    project.runpytest_subprocess(*QUICK, "--roofline-results", "results").assert_outcomes(passed=1)
    record = records(results(project))["test_mine"]
    case = record.case
    assert (case.mode, case.batch, case.samples_per_step, case.sample_unit) == ("train", 6, 6, "row")
    assert case.config["optimizer"]["name"] == "SGD"
    # Forward 2x6x8x4, and the weight's gradient as much again: the input needs none.
    assert record.work is not None
    assert record.work.flop_per_step == 2 * (2 * 6 * 8 * 4)


def test_disabled_benchmarks_run_once_where_no_results_were_asked_for(project: pytest.Pytester) -> None:
    """A smoke test in somebody's CI; with a results folder it is an error."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "--benchmark-disable")
    assert (run.ret, run.parseoutcomes()) == (0, {"passed": 1})
    run = project.runpytest_subprocess(*QUICK, "--benchmark-disable", "--roofline-results", "results")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: --benchmark-disable: nothing would be measured.*"])


def test_xdist_measures_nothing_and_says_so(project: pytest.Pytester) -> None:
    """With results asked for it fails in one sentence, never green without a number."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "-n", "1", "--roofline-results", "results")
    assert run.ret == 1
    run.stdout.fnmatch_lines(
        ["*-n: pytest-xdist runs tests beside each other, so nothing can be measured. Leave -n out.*"]
    )


def test_steps_are_logged(project: pytest.Pytester) -> None:
    """Report 002's protocol: every step synchronised, and a CSV beside the results."""
    project.makepyfile(MEASURES)
    arguments = ("--roofline-protocol", "steps", "--roofline-steps", "7", "--roofline-results", "results")
    project.runpytest_subprocess(*QUICK, *arguments).assert_outcomes(passed=1)
    record = records(results(project))["test_mine"]
    assert record.timing is not None
    assert (record.timing.protocol, record.timing.rounds.steps, len(record.timing.rounds.wall_s)) == ("steps", 1, 7)
    (log,) = (project.path / "results").rglob("*.test_mine.steps.csv")
    header, *lines = log.read_text().splitlines()
    assert header == "step,time_s"
    assert [float(line.split(",")[1]) for line in lines] == list(record.timing.rounds.wall_s)


def test_windows_are_repeated(project: pytest.Pytester) -> None:
    """Report 000's protocol: warm-up steps, one window, repeated; mean and deviation over the repeats."""
    project.makepyfile(MEASURES)
    arguments = ("--roofline-protocol", "window", "--roofline-steps", "5", "--roofline-repeats", "3")
    project.runpytest_subprocess(*QUICK, *arguments, "--roofline-results", "results").assert_outcomes(passed=1)
    timing = records(results(project))["test_mine"].timing
    assert timing is not None
    assert (timing.rounds.steps, len(timing.rounds.wall_s), len(timing.repeat_step_time_s)) == (5, 3, 3)
    assert (timing.stop_reason, timing.warmup_steps) == ("fixed", 3)


def test_the_report_is_made_on_request(project: pytest.Pytester) -> None:
    """--roofline-report draws and prints the paths."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results", "--roofline-report")
    run.assert_outcomes(passed=1)
    made = {path.suffix for path in (project.path / "results").rglob("*") if path.is_file()}
    assert {".json", ".csv", ".md"} <= made
    for path in (project.path / "results").rglob("*.csv"):
        run.stdout.fnmatch_lines([f"*{path.name}*"])


def test_an_unusable_results_folder_is_told_before_anything_runs(project: pytest.Pytester) -> None:
    """The file of that name is in the way."""
    project.makepyfile(MEASURES)
    Path(project.path / "results").touch()
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: --roofline-results: can't write results to results*"])


def test_seeds_make_runs_alike(project: pytest.Pytester) -> None:
    """The same seed gives the same weights; another one others."""
    project.makepyfile(
        """
        import torch
        def test_mine(roofline):
            model = torch.nn.Linear(8, 4)
            print("weight", float(model.weight.detach().sum()))
            roofline(model, torch.randn(2, 8))
        """
    )

    def weight(seed: str) -> str:
        shown = project.runpytest_subprocess(*QUICK, "-s", "--roofline-seed", seed).stdout.lines
        return next(line for line in shown if "weight" in line).split("weight")[1]

    assert weight("1") == weight("1") != weight("2")


def test_pytest_benchmark_reads_the_file(project: pytest.Pytester) -> None:
    """The file is still pytest-benchmark's: its own compare shows it."""
    project.makepyfile(MEASURES)
    project.runpytest_subprocess(*QUICK, "--roofline-results", "results").assert_outcomes(passed=1)
    (path,) = (project.path / "results").rglob("*.json")
    compared = project.run(sys.executable, "-m", "pytest_benchmark", "compare", str(path))
    assert compared.ret == 0
    compared.stdout.fnmatch_lines(["*test_mine*"])


def test_every_missing_value_has_a_reason(project: pytest.Pytester) -> None:
    """Of an inference, a training step, a roof, and every protocol."""
    project.makepyfile(
        MEASURES
        + """
    @pytest.mark.roofline(mode="train")
    def test_train(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8), target=torch.tensor([0, 1]))

    @pytest.mark.parametrize("name", ["launch", "llc"])
    def test_roof(roofline, name):
        roofline.roof(name)
"""
    )
    for number, protocol in enumerate(("adaptive", "window", "steps")):
        arguments = (
            *QUICK,
            "--roofline-results",
            f"results{number}",
            "--roofline-protocol",
            protocol,
            "--roofline-steps",
            "3",
        )
        project.runpytest_subprocess(*arguments).assert_outcomes(passed=4)
        (path,) = (project.path / f"results{number}").rglob("*.json")
        for name, record in records(json.loads(path.read_text())).items():
            assert unexplained(record) == (), (protocol, name)


def test_a_second_call_is_refused_and_the_first_is_kept(project: pytest.Pytester) -> None:
    """pytest-benchmark keeps one result a test."""
    project.makepyfile(
        """
        import torch
        def test_twice(roofline):
            for _ in range(2):
                roofline(torch.nn.Linear(8, 4), torch.randn(2, 8))
        """
    )
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["*roofline was called before in this test. Measure once a test; parametrise for more."])
    assert list(records(results(project))) == ["test_twice"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("nn.Linear(8, 4), torch.randn(0, 8)", "*ValueError: *an input is empty, so there is no work to measure"),
        ("nn.Linear(8, 4), [1, 2]", "*TypeError: *give the inputs as tensors, at least one"),
        ("nn.Linear(8, 4)", "*TypeError: *give the inputs as tensors, at least one"),
        ("len, torch.randn(2, 8)", "*TypeError: *the model is a builtin_function_or_method; give a torch.nn.Module"),
        ("nn.Linear(8, 4), torch.randn(2, 8), config={'o': object()}", "*ValueError: *use plain values only*"),
    ],
)
def test_a_call_that_cannot_be_measured_says_why(project: pytest.Pytester, call: str, says: str) -> None:
    """Before anything is timed."""
    project.makepyfile(f"import torch\nfrom torch import nn\ndef test_it(roofline): roofline({call})")
    run = project.runpytest_subprocess(*QUICK)
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines([says])


def test_a_fixture_of_that_name_in_another_project_is_left_alone(pytester: pytest.Pytester) -> None:
    """A project may call something else its roofline."""
    pytester.makeconftest("import pytest\n@pytest.fixture\ndef roofline(): return 42")
    pytester.makepyfile("def test_a(roofline, benchmark): assert benchmark(lambda: roofline) == 42")
    run = pytester.runpytest_subprocess("-p", "no:playwright", "-p", "no:xdist")
    run.assert_outcomes(passed=1)
    assert run.ret == 0


def test_without_pytest_benchmark_the_reason_is_told(project: pytest.Pytester) -> None:
    """Not an internal error."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "-p", "no:benchmark")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: -p no:benchmark: measuring needs pytest-benchmark*"])


def test_a_failure_of_pytest_benchmark_loses_no_result(project: pytest.Pytester) -> None:
    """Its own file can't be written; ours was written before it tried."""
    project.makepyfile(MEASURES)
    project.runpytest_subprocess(*QUICK, "--roofline-results", "results", "--benchmark-json", "no/such/folder.json")
    assert list(records(results(project))) == ["test_mine"]
