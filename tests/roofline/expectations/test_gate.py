"""What is in the way of a pass is told, each kind by itself; what passes all the same is a warning."""

from dataclasses import replace
from pathlib import Path

from roofline.comparison.gate import Gate, judge
from roofline.expectations.bounds_table import found_in, table
from roofline.expectations.checked import Checked
from roofline.expectations.judging import check_expectations
from roofline.schema.expected import Expected
from tests.roofline.expectations import build_points


def _checked(folder: Path, *bounds: str) -> Checked:
    entries = [Expected(bound=bound, source="e.toml:3") for bound in bounds]  # type: ignore[arg-type]
    return check_expectations(build_points.points(folder, build_points.record()), entries)


def test_findings_are_told_in_one_line(tmp_path: Path) -> None:
    """A failed one is exit code 1, nothing expected 3."""
    checked = _checked(tmp_path, "compute", "memory")
    assert judge(found_in(checked), strict=False) == Gate(exit_code=1, failures=("Expected bounds: 1 failed, 1 held",))
    told = "Expected bounds: nothing is expected of these results"
    assert judge(found_in(_checked(tmp_path)), strict=False) == Gate(exit_code=3, failures=(told,))


def test_a_file_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    """All findings hold, so they are not in the way; the title says that it is no pass all the same."""
    checked = replace(_checked(tmp_path, "compute"), unreadable=("a.json: can't be read",))
    outcome = judge(found_in(checked), strict=False)
    assert outcome == Gate(exit_code=3, failures=("not read: a.json: can't be read",))
    assert table(checked, passed=False).title == "Expected bounds: not passed: 1 held, 1 file not read"


def test_an_unknown_device_is_a_warning_and_by_strict_a_failure(tmp_path: Path) -> None:
    """A failed finding stays exit code 1."""
    checked = replace(_checked(tmp_path, "compute"), unknown_devices=("device 'cpuu'",))
    assert judge(found_in(checked), strict=False) == Gate(exit_code=0, warnings=("device 'cpuu'",))
    assert judge(found_in(checked), strict=True) == Gate(exit_code=3, failures=("device 'cpuu'",), strict=True)
    failed = replace(_checked(tmp_path, "memory"), unknown_devices=("device 'cpuu'",))
    outcome = judge(found_in(failed), strict=True)
    assert outcome.exit_code == 1
    assert outcome.failures == ("Expected bounds: 1 failed, 1 unknown device", "device 'cpuu'")
