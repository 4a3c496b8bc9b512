"""The ``roofline`` fixture in somebody else's project: the marker, calls, protocols, and what a record says."""

from __future__ import annotations

import csv
import json
import platform
from datetime import UTC, datetime

import pytest

from pytest_roofline.missing import unexplained
from roofline.schema.record import KEY
from roofline.schema.record_json import from_json
from roofline.schema.session import Machine
from tests.plugin.foreign import MEASURES, QUICK, records, results


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
    assert record.work is not None
    assert record.work.flop_per_step == 2 * 2 * 8 * 4
    assert {check.name: check.status for check in record.checks}["device"] == "passed"
    machine = from_json(Machine, document["machine_info"][KEY], "f")
    assert (machine.label, document["machine_info"]["node"]) == ("a machine", "a machine")
    assert platform.node() not in json.dumps(document) or len(platform.node()) < 4


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("nn.Linear(8, 4), torch.randn(2, 8), mode='training'", "ValueError: roofline(*"),
        ("nn.Linear(8, 4), torch.randn(2, 8), target=torch.zeros(2)", "ValueError: roofline(*"),
        ("nn.Linear(9, 4), torch.randn(2, 8)", "RuntimeError: *mat1 and mat2*"),
    ],
    ids=["refused", "refused later", "model fails"],
)
def test_a_failure_shows_the_users_line_and_no_frame_of_the_plugin(
    project: pytest.Pytester, call: str, says: str
) -> None:
    """Sixty lines of the plugin's source don't hide what was wrong."""
    project.makepyfile(
        f"""
        import torch
        from torch import nn

        def test_mine(roofline):
            roofline({call})
        """
    )
    run = project.runpytest_subprocess(*QUICK)
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines([f">*roofline({call})", f"E*{says}"])
    assert "pytest_roofline/" not in run.stdout.str().partition("= FAILURES =")[2].partition("= roofline =")[0]


@pytest.mark.parametrize(
    ("marker", "says"),
    [
        ("mode='training'", "*@pytest.mark.roofline: mode is 'training'; use train or infer (near match: train)"),
        ("mode='test'", "*@pytest.mark.roofline: mode is 'test'; use train or infer"),
        ("batch=True", "*@pytest.mark.roofline: batch is True; use a whole number from 1 up"),
        ("sample_unit=None", "*@pytest.mark.roofline: sample_unit is None; use a word, such as 'image'"),
        ("precision=['fp32']", "*@pytest.mark.roofline: precision is *fp32*; use fp32, *"),
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


CASES = """
    import pytest, torch
    from torch import nn

    @pytest.mark.parametrize(("mode", "precision"), [("train", "torch_default"), ("infer", "fp32"), ("nearest", "fp8")])
    def test_selected(roofline, mode, precision):
        target = torch.tensor([0, 1]) if mode == "train" else None
        roofline(nn.Linear(8, 4), torch.randn(2, 8), target=target)

    @pytest.mark.parametrize("precision", ["torch_default"])
    @pytest.mark.roofline(precision="fp32", mode="train")
    class TestOf:
        @pytest.mark.roofline(mode="infer", sample_unit="row")
        def test_marker(self, roofline, precision):
            roofline(nn.Linear(8, 4), torch.randn(2, 8))

        def test_call(self, roofline, precision):
            roofline(
                nn.Linear(8, 4), torch.randn(2, 8), mode="infer", precision=precision, batch=4, sample_unit="half"
            )
"""


def test_call_then_marker_then_parameters_say_what_is_measured(project: pytest.Pytester) -> None:
    """Each keyword alone. A row that isn't what its name says is recorded, and its test fails."""
    project.makepyfile(CASES)
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    run.assert_outcomes(passed=4, failed=1)
    rows = records(results(project))
    measured = {
        name: (row.case.mode, row.case.precision, row.case.batch, row.case.sample_unit, row.valid)
        for name, row in rows.items()
    }
    assert measured == {
        "test_selected[train-torch_default]": ("train", "torch_default", 2, "sample", True),
        "test_selected[infer-fp32]": ("infer", "fp32", 2, "sample", True),
        "test_selected[nearest-fp8]": ("infer", "fp32", 2, "sample", True),
        "test_marker[torch_default]": ("infer", "fp32", 2, "row", False),
        "test_call[torch_default]": ("infer", "torch_default", 4, "half", True),
    }
    assert rows["test_selected[train-torch_default]"].case.workload_hash != (
        rows["test_selected[infer-fp32]"].case.workload_hash
    )
    run.stdout.fnmatch_lines(["*parameters: the test's parameters say precision torch_default, but it was fp32*"])


def test_the_layout_that_ran_is_recorded(project: pytest.Pytester) -> None:
    """Read off weights and inputs, as part of the work; None with the reason where they differ."""
    project.makepyfile(
        """
        import pytest, torch
        from torch import nn

        @pytest.mark.parametrize("inputs", ["contiguous_format", "channels_last"])
        @pytest.mark.parametrize("weights", ["contiguous_format", "channels_last"])
        def test_images(roofline, weights, inputs):
            model = nn.Conv2d(3, 4, 3).to(memory_format=getattr(torch, weights))
            roofline(model, torch.randn(2, 3, 8, 8).to(memory_format=getattr(torch, inputs)))
        """
    )
    project.runpytest_subprocess(*QUICK, "--roofline-results", "results").assert_outcomes(passed=4)
    rows = list(records(results(project)).values())
    assert [row.case.layout for row in rows] == ["contiguous", None, None, "channels_last"]
    assert len({row.case.workload_hash for row in rows}) == 4
    assert rows[1].missing["case.layout"] == "the weights lie contiguous; the inputs lie channels_last"
    assert all(unexplained(row) == () for row in rows)


def test_steps_are_logged(project: pytest.Pytester) -> None:
    """Every step synchronised, and a CSV beside the results: time, throughput, when it was over, repeat and loss."""
    project.makepyfile(
        MEASURES
        + """
    def test_trained(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8), target=torch.tensor([0, 1]), mode="train")
"""
    )
    arguments = ("--roofline-protocol", "steps", "--roofline-steps", "7", "--roofline-repeats", "2")
    before = datetime.now(UTC)
    project.runpytest_subprocess(*QUICK, *arguments, "--roofline-results", "results").assert_outcomes(passed=2)
    after = datetime.now(UTC)
    rows = records(results(project))
    for name, record in rows.items():
        assert record.timing is not None
        assert (record.timing.protocol, record.timing.rounds.steps) == ("steps", 1)
        (path,) = (project.path / "results").rglob(f"*.{name}.steps.csv")
        with path.open(newline="") as file:
            log = list(csv.DictReader(file))
        assert list(log[0]) == ["step", "time_s", "samples_per_s", "utc", "repeat", "loss"]
        assert [(int(line["step"]), int(line["repeat"])) for line in log] == [(n, 1 + n // 7) for n in range(14)]
        assert [float(line["time_s"]) for line in log] == list(record.timing.rounds.wall_s)
        assert [float(line["samples_per_s"]) for line in log] == [2 / time for time in record.timing.rounds.wall_s]
        ends = [datetime.fromisoformat(line["utc"]) for line in log]
        assert [before, *ends, after] == sorted([before, *ends, after])
        losses = [float(line["loss"]) if line["loss"] else None for line in log]
        if name == "test_mine":
            assert losses == [None] * 14
        else:
            assert all(loss is not None and 0 < loss < 10 for loss in losses)


def test_a_log_of_steps_that_cannot_be_written_loses_nothing(project: pytest.Pytester) -> None:
    """On a full disk, for one: the steps are in the results, the test passes, and a line says so."""
    project.makepyfile(MEASURES)
    project.makeconftest(
        """
        import errno
        from pathlib import Path

        write_text = Path.write_text

        def refuse(path, *args, **kwargs):
            if path.name.endswith(".steps.csv"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return write_text(path, *args, **kwargs)

        Path.write_text = refuse
        """
    )
    arguments = ("--roofline-protocol", "steps", "--roofline-steps", "7", "--roofline-results", "results")
    result = project.runpytest_subprocess(*QUICK, *arguments)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["steps: *.test_mine.steps.csv: can't be written (No space left on device); *"])
    timing = records(results(project))["test_mine"].timing
    assert timing is not None
    assert len(timing.rounds.wall_s) == 7


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
            *(() if number == 0 else ("-k", "not test_roof")),  # a roof has one protocol
        )
        project.runpytest_subprocess(*arguments).assert_outcomes(
            passed=4 if number == 0 else 2, deselected=2 * bool(number)
        )
        (path,) = (project.path / f"results{number}").rglob("*.json")
        for name, record in records(json.loads(path.read_text())).items():
            assert unexplained(record) == (), (protocol, name)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("nn.Linear(8, 4), torch.randn(0, 8)", "*ValueError: *an input is empty, so there is no work to measure"),
        ("nn.Linear(8, 4), [1, 2]", "*TypeError: *input 1 is a list; give tensors*"),
        ("nn.Linear(8, 4)", "*TypeError: *there is no input; give at least one tensor"),
        ("len, torch.randn(2, 8)", "*TypeError: *the model is a builtin_function_or_method; give a torch.nn.Module"),
        ("nn.Linear(8, 4), torch.randn(2, 8), precision='amp'", "*ValueError: *(near match: amp_bf16 or amp_fp16)"),
    ],
)
def test_a_call_that_cannot_be_measured_says_why(project: pytest.Pytester, call: str, says: str) -> None:
    """Before anything is timed."""
    project.makepyfile(f"import torch\nfrom torch import nn\ndef test_it(roofline): roofline({call})")
    run = project.runpytest_subprocess(*QUICK)
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines([says])
