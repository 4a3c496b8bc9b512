"""``python -m benchmarks``: what is measured is stored, and a missed bound is told by the exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks import figures
from benchmarks.figures import Figure


def measuring(*samples: float) -> Callable[..., tuple[Figure, ...]]:
    """A benchmark whose figure may be at most 1 s."""
    return lambda *, quick: (Figure(name="f", unit="s", samples=(0.0,) if quick else samples, at_most=1.0),)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(figures, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(program, "_machine", lambda: {"cpu": "a CPU"})
    monkeypatch.setattr(program, "BENCHMARKS", {"good": measuring(0.5), "bad": measuring(2.0), "none": lambda **_: ()})
    return tmp_path / "results"


def test_a_result_is_stored_under_its_name(results: Path) -> None:
    """With the machine that it was measured on."""
    assert program.main(["good"]) == 0
    assert [path.name for path in results.iterdir()] == ["good.json"]
    stored = json.loads((results / "good.json").read_text())
    assert stored["machine"] == {"cpu": "a CPU"}
    assert [figure["median"] for figure in stored["figures"]] == [0.5]


def test_a_missed_bound_is_an_exit_status_and_is_stored(results: Path) -> None:
    """What comes after it is measured all the same."""
    assert program.main(["bad", "good"]) == 1
    assert sorted(path.name for path in results.iterdir()) == ["bad.json", "good.json"]


def test_a_quick_run_stores_nothing(results: Path) -> None:
    """Its figures are of too few repetitions, whatever they are."""
    assert program.main(["bad", "--quick"]) == 0
    assert not results.exists()


@pytest.mark.parametrize(
    ("name", "message"), [("none", "none: nothing to judge"), ("other", "unknown benchmark other; there are good, bad")]
)
@pytest.mark.usefixtures("results")
def test_what_cannot_be_measured_is_refused(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A benchmark that isn't there, or has no recording."""
    with pytest.raises(SystemExit, match="2"):
        program.main([name])
    assert message in capsys.readouterr().err
