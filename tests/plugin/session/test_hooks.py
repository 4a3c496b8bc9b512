"""What becomes of a case whose test doesn't go as planned: exit codes, rows in the file, reasons."""

from __future__ import annotations

import pytest

from roofline.schema.record import Record
from roofline.schema.session import NotMeasured
from tests.plugin.foreign import MEASURES, QUICK, records, results, session_of

SAVED = (*QUICK, "--roofline-results", "results")


def read(pytester: pytest.Pytester) -> tuple[dict[str, Record], tuple[NotMeasured, ...], dict[str, float]]:
    """Rows, cases without a valid number, and roofs of the only results file."""
    document = results(pytester)
    session = session_of(document)
    return records(document), session.not_measured, {roof.name: roof.value for roof in session.roofs}


def test_a_test_that_does_not_pass_after_it_measured_has_an_invalid_row(project: pytest.Pytester) -> None:
    """The number stays in the file with outcome and reason; the rows of other tests stay valid.

    A claim that was disproved is one reason, not two: its row is invalid already.
    """
    project.makepyfile(
        MEASURES
        + """
    @pytest.fixture
    def measured(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    def test_fails(measured):
        assert False, "too slow"

    def test_skips(measured):
        pytest.skip("not here")

    def test_xfails(measured):
        pytest.xfail("known")

    def test_teardown(measured, request):
        request.addfinalizer(lambda: 1 / 0)

    @pytest.mark.xfail(strict=True)
    def test_xpasses(measured):
        pass

    def test_disproved(roofline):
        roofline(nn.Linear(8, 4), torch.full((2, 8), float("nan")))
"""
    )
    project.runpytest_subprocess(*SAVED).assert_outcomes(passed=2, failed=3, skipped=1, xfailed=1, errors=1)
    rows, not_measured, _ = read(project)
    found = {name: [(flag.name, flag.evidence) for flag in row.flags if flag.invalid] for name, row in rows.items()}
    assert [name for name, _ in found.pop("test_disproved")] == ["finite_disproved"]
    said = "the test measured, but did not pass"
    assert found == {
        "test_mine": [],
        "test_fails": [("test_failed", f"{said}: failed: AssertionError: too slow")],
        "test_skips": [("test_skipped", f"{said}: skipped: not here")],
        "test_xfails": [("test_failed", f"{said}: failed: _pytest.outcomes.XFailed: known")],
        "test_teardown": [("test_failed", f"{said}: error: ZeroDivisionError: division by zero")],
        "test_xpasses": [("test_failed", f"{said}: failed: [XPASS(strict)]")],
    }
    assert {entry.id for entry in not_measured} == set(rows) - {"test_mine"}


def test_a_run_whose_only_test_skips_after_it_measured_is_not_green(project: pytest.Pytester) -> None:
    """Exit code 4: there is no valid number."""
    project.makepyfile(MEASURES + "        pytest.skip('not here')\n")
    run = project.runpytest_subprocess(*SAVED)
    assert run.ret == 4
    run.stdout.fnmatch_lines(["ERROR: nothing was measured. 1 case(s) were given up. skipped: not here"])


def test_roofs_beside_cases_that_are_all_skipped_are_no_measurement(project: pytest.Pytester) -> None:
    """Exit code 4: the run was for the cases."""
    project.makepyfile(
        """
        import pytest

        @pytest.mark.roofs
        def test_launch(roofline):
            roofline.roof("launch")

        def test_mine(roofline):
            pytest.skip("not here")
        """
    )
    run = project.runpytest_subprocess(*SAVED)
    run.assert_outcomes(passed=1, skipped=1)
    assert run.ret == 4


def test_a_roof_whose_test_failed_is_none(project: pytest.Pytester) -> None:
    """It is not in the file, so that nothing is held against it."""
    project.makepyfile("def test_launch(roofline):\n    roofline.roof('launch')\n    raise ValueError('odd')\n")
    project.runpytest_subprocess(*SAVED)
    rows, _, roofs = read(project)
    assert not rows["test_launch"].valid
    assert roofs == {}


def test_a_run_that_only_forgot_to_measure_ends_with_4(project: pytest.Pytester) -> None:
    """As every run that measured nothing; with a real failure beside it, that failure's exit code stands."""
    project.makepyfile("def test_idle(roofline): pass")
    run = project.runpytest_subprocess(*QUICK)
    assert run.ret == 4
    run.stdout.fnmatch_lines(["ERROR: nothing was measured. 1 case(s) were given up. failed: this test asks*"])
    project.makepyfile("def test_idle(roofline): pass\ndef test_bad(): assert False")
    assert project.runpytest_subprocess(*QUICK).ret == 1


@pytest.mark.usefixtures("forked_children")
def test_under_xdist_a_smoke_test_is_allowed_where_it_is_asked_for(project: pytest.Pytester) -> None:
    """--benchmark-disable says that nothing shall be measured; beside a folder for results that is an error."""
    project.makepyfile(MEASURES)
    smoke = (*QUICK, "-n", "1", "--benchmark-disable")
    run = project.runpytest_subprocess(*smoke)
    run.assert_outcomes(passed=1)
    assert run.ret == 0
    run = project.runpytest_subprocess(*smoke, "--roofline-results", "results")
    run.assert_outcomes(errors=1)
    run.stdout.fnmatch_lines(["*--benchmark-disable: nothing would be measured.*"])


def test_where_pytest_breaks_the_results_are_named(project: pytest.Pytester) -> None:
    """pytest has no summary then."""
    project.makeconftest("def pytest_runtest_logfinish(nodeid):\n    assert 'last' not in nodeid\n")
    project.makepyfile(MEASURES + "\n    def test_last(): pass\n")
    run = project.runpytest_subprocess(*SAVED)
    assert run.ret == 3
    run.stdout.fnmatch_lines(["INTERNALERROR> *", "results: *.json"])
    assert list(records(results(project))) == ["test_mine"]


@pytest.mark.usefixtures("started_anew")
def test_nothing_of_a_case_lives_when_the_next_is_built(project: pytest.Pytester) -> None:
    """Of one that was measured, of one whose step failed, of one whose fixture failed; not even what holds itself."""
    project.makepyfile(
        """
        import weakref
        import pytest
        import torch
        from torch import nn

        ALIVE = []

        class Breaks(nn.Linear):
            def forward(self, inputs):
                raise ValueError("no")

        def build(kind=nn.Linear):
            assert [kind for reference, kind in ALIVE if reference() is not None] == []
            model = kind(8, 4)
            model.cycle = [model]
            ALIVE.extend((weakref.ref(part), f"{kind.__name__}'s {part}") for part in (model, model.weight))
            return model

        @pytest.fixture
        def broken():
            model = build()
            raise ValueError("no")

        def test_in_its_body(roofline):
            roofline(build(), torch.randn(2, 8))

        def test_step_fails(roofline):
            roofline(build(Breaks), torch.randn(2, 8))

        @pytest.fixture
        def model():
            return build()

        def test_from_a_fixture(model, roofline):
            roofline(model, torch.randn(2, 8))

        def test_fixture_fails(broken, roofline):
            pass

        def test_last(model, roofline):
            roofline(model, torch.randn(2, 8))
        """
    )
    run = project.runpytest_subprocess(*QUICK)
    run.assert_outcomes(passed=3, failed=1, errors=1)
    run.stdout.no_fnmatch_line("*AssertionError*")


def test_plain_benchmarks_are_named_for_the_results_lack_them(project: pytest.Pytester) -> None:
    """A gate never sees them."""
    project.makepyfile(MEASURES + "\n    def test_plain(benchmark): benchmark(lambda: None)\n")
    run = project.runpytest_subprocess(*SAVED)
    run.stdout.fnmatch_lines(["results: *", "not in these results: test_plain, without the fixture roofline.*"])
    assert list(records(results(project))) == ["test_mine"]


@pytest.mark.parametrize(
    ("flags", "plain", "shown"),
    [
        (SAVED, "", False),
        ((*SAVED, "-v"), "", True),
        ((*SAVED, "--benchmark-columns=median"), "", True),
        (SAVED, "    def test_plain(benchmark): benchmark(int)\n", True),
        (QUICK, "", True),
    ],
    ids=["all in ours", "-v", "columns", "a plain one", "no results"],
)
def test_pytest_benchmarks_table(project: pytest.Pytester, flags: tuple[str, ...], plain: str, shown: bool) -> None:
    """It is left out where our own has all of its rows, unless somebody asks for it."""
    project.makepyfile(f"{MEASURES}\n{plain}")
    run = project.runpytest_subprocess(*flags)
    assert run.ret == 0
    assert any(line.startswith("Name (time in") for line in run.outlines) is shown
    assert ("= roofline =" in run.stdout.str()) is (flags != QUICK)
