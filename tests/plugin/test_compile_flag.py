"""--roofline-compile in a project of somebody else: measured, skipped where nothing can compile, never eager unseen."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from roofline.schema.record import Record
from tests.plugin.foreign import records, results, session_of

MEASURES = """
    import torch
    from torch import nn

    def test_mine(roofline):
        roofline(nn.Sequential(nn.Linear(8, 4), nn.GELU()), torch.randn(2, 8))
"""
"""Of the GELU the compiler makes code of its own; a linear layer alone needs none."""

CAPTURES_ONLY = """
    from functools import partial
    import torch
    torch.compile = partial(torch.compile, backend="eager")
"""
"""A conftest that lets graphs run as they are captured: inductor takes seconds."""

QUICK = ("--roofline-device", "cpu", "--roofline-warmup", "2", "--roofline-steps", "4", "--roofline-max-time", "0.001")
COMPILES = (*QUICK, "--roofline-compile", "--roofline-results", "results")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project that measures one layer and in which warnings are errors."""
    pytester.makeini("[pytest]\naddopts = -p no:playwright\nfilterwarnings = error\n")
    pytester.makepyfile(MEASURES)
    return pytester


def record_of(document: dict[str, Any]) -> Record:
    (record,) = records(document).values()
    return record


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++ to generate code with")
def test_what_inductor_made_is_measured(project: pytest.Pytester) -> None:
    """The whole way with the real compiler: the graph is proven, compiling is timed, its warnings are no errors."""
    project.runpytest_subprocess(*COMPILES).assert_outcomes(passed=1)
    record = record_of(results(project))
    assert record.valid
    assert record.case.config["compile"] is True
    assert record.timing is not None
    assert record.timing.compile_s is not None
    (graphs,) = (check.evidence for check in record.checks if check.name == "graphs")
    assert graphs.startswith("1 graph(s) were compiled before the timed rounds")
    assert record.timing.compiled_from_cache == (1 if "1 of 1 parts from a cache" in graphs else 0)
    assert record.work is not None
    assert record.work.flop_per_step == 2 * 2 * 8 * 4


def test_the_same_test_is_another_workload(project: pytest.Pytester) -> None:
    """Its name stays, for it is the project's; the hash tells the two apart."""
    project.makeconftest(CAPTURES_ONLY)
    hashes = set()
    for number, flags in enumerate(((), ("--roofline-compile",))):
        project.runpytest_subprocess(*QUICK, *flags, "--benchmark-json", f"{number}.json").assert_outcomes(passed=1)
        record = record_of(json.loads((project.path / f"{number}.json").read_text()))
        assert (record.case.id, record.case.config["compile"]) == ("test_mine", bool(flags))
        hashes.add(record.case.workload_hash)
    assert len(hashes) == 2


@pytest.mark.usefixtures("started_anew")
def test_a_machine_without_a_compiler_skips_and_says_what_to_install(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reason, not a page of traceback; and with nothing measured the run is not green."""
    monkeypatch.setenv("CXX", "no-such-compiler")
    # Inductor would find code that it generated before.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(project.path / "empty"))
    run = project.runpytest_subprocess(*COMPILES, "-rs")
    assert run.ret == 4
    run.assert_outcomes(skipped=1)
    run.stdout.fnmatch_lines(
        [
            "ERROR: nothing was measured. 1 case(s) were given up. skipped: torch.compile can't be used here: *",
            "SKIPPED*torch.compile can't be used here: No working C++ compiler found *; install a C++ compiler *",
        ]
    )


def test_a_model_that_the_compiler_leaves_alone_is_skipped_with_what_it_is(project: pytest.Pytester) -> None:
    """It was never this case that failed; the next one is measured."""
    project.makeconftest(CAPTURES_ONLY)
    project.makepyfile(
        test_lstm="""
        import torch
        from torch import nn

        def test_lstm(roofline):
            roofline(nn.LSTM(8, 4), torch.randn(2, 3, 8))
        """
    )
    run = project.runpytest_subprocess(*COMPILES, "-rs")
    run.assert_outcomes(passed=1, skipped=1)
    run.stdout.fnmatch_lines(["SKIPPED*torch.compile leaves LSTM eager *: measure it without torch.compile"])
    (entry,) = session_of(results(project)).not_measured
    assert (entry.id, entry.outcome) == ("test_lstm", "skipped")


def test_compiling_that_is_switched_off_fails_with_the_variable(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch would run the model eagerly without a word."""
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    project.makepyfile(test_other="def test_launch(roofline): roofline.roof('launch')")
    run = project.runpytest_subprocess(*COMPILES)
    run.assert_outcomes(passed=1, failed=1)
    run.stdout.no_fnmatch_line("*Traceback*")
    (entry,) = session_of(results(project)).not_measured
    assert entry.reason == (
        "Failed: torch.compile is switched off by TORCHDYNAMO_DISABLE=1 in the environment: "
        "unset that, or don't compile"
    )


def test_disabled_benchmarks_still_try_the_compiled_step(project: pytest.Pytester) -> None:
    """One step is taken, and it is the compiled one."""
    project.makeconftest(
        """
        import torch

        def refuse(graph, inputs):
            raise ValueError("no such kernel")

        real = torch.compile
        torch.compile = lambda model: real(model, backend=refuse)
        """
    )
    run = project.runpytest_subprocess(*QUICK, "--benchmark-disable")
    run.assert_outcomes(passed=1)
    run = project.runpytest_subprocess(*QUICK, "--benchmark-disable", "--roofline-compile")
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["torch.compile can't compile the model: ValueError: no such kernel"])
