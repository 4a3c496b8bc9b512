"""JUnit XML of a check: a test for each case, and one for the check."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run

TIMES = {"close": 0.01, "slower": 0.1, 'gone<&"\x1b\ufffe': 0.1}


def test_cases_are_tests_with_change_and_interval(run: Run, tmp_path: Path) -> None:
    """A slower case is a failure, one that can't be compared an error, one that isn't settled skipped. A strange name
    stays a name.
    """
    base = sessions.side(tmp_path / "base", TIMES)
    new = sessions.side(tmp_path / "new", {"close": 0.01, "slower": 0.15}, first=10)
    code, _, err = run("check", *new, "--baseline", *base, "--junit", "out/check.xml")
    assert (code, "wrote out/check.xml\n" in err) == (1, True)
    (suite,) = ElementTree.parse("out/check.xml").getroot()
    assert [suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")] == [
        *("roofline check", "4", "2", "1", "1")
    ]
    found = {
        test.get("name"): [(part.tag, (part.get("message") or "").partition(":")[0]) for part in test][-1:]
        for test in suite
    }
    assert found == {
        "slower-train-b32-fp32": [("failure", "slower")],
        'gone<&"\\x1b\\ufffe-train-b32-fp32': [("error", "removed")],
        "close-train-b32-fp32": [("skipped", "inconclusive")],
        "verdict": [("failure", "exit code 1")],
    }
    slower = suite[0]
    assert "+50.2 % (99.9 ms over 4 sessions" in (slower[-1].get("message") or "")
    assert slower.get("classname") == "epyc-2cpu"
    values = {one.get("name"): one.get("value") for one in slower.iter("property")}
    assert list(values) == [
        *("verdict", "change", "change_low", "change_high", "confidence", "least_effect"),
        *("base_step_time_s", "new_step_time_s", "base_sessions", "new_sessions"),
    ]
    assert float(values["change_low"] or 0) < float(values["change"] or 0) < float(values["change_high"] or 0)
    assert slower.get("time") == values["new_step_time_s"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_what_is_slower_is_reported_though_the_file_cannot_be_written(run: Run, tmp_path: Path) -> None:
    base, new = sessions.side(tmp_path / "base", {"a": 0.1}), sessions.side(tmp_path / "new", {"a": 0.15}, first=10)
    code, _, err = run("check", *new, "--baseline", *base, "--junit", "/dev/full")
    assert (code, "slower: a-train-b32-fp32" in err, "/dev/full: can't be written" in err) == (2, True, True)


def test_a_check_that_compares_nothing_is_an_error(run: Run, tmp_path: Path) -> None:
    """Though no case is: CI must not show what was not compared as passed. With a pass there is no element."""
    base, new = sessions.side(tmp_path / "base", {"a": 0.1}), sessions.side(tmp_path / "new", {"a": 0.1}, first=10)
    for sides, code, tags in (((base, new), 0, []), ((base, [_other(tmp_path)]), 3, ["error"])):
        assert run("check", *sides[1], "--baseline", *sides[0], "--allow-removed", "--junit", "x.xml")[0] == code
        assert [part.tag for part in ElementTree.parse("x.xml").getroot()[0][-1]] == tags


def _other(folder: Path) -> Path:
    return sessions.side(folder / "other", {"b": 0.1}, count=1, first=20)[0]
