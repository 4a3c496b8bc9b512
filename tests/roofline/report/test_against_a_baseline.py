"""What a report has beside a baseline: a comment with the worst first, which is never too long, a figure, a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.comparison.comparison import Comparison, compare_paths
from roofline.comparison.comparison_lines import found_in
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.gate import judge
from roofline.machine.published import load
from roofline.model.points import place_all
from roofline.report import folder
from roofline.report.changes_figure import changes_figure
from roofline.report.comment import LONGEST, comment
from roofline.report.page.page_data import PageData
from roofline.results.reader import read, read_file
from roofline.text.units import signed
from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run
from tests.roofline.plots.figure_texts import overlaps

TIMES = {"same": 0.01, "slower": 0.1, "removed": 0.1, "much_slower": 0.1}
NOW = {"same": 0.01, "slower": 0.15, "much_slower": 0.3}
ORDER = [f"{model}-train-b32-fp32" for model in ("much_slower", "slower", "removed", "same")]


def _sides(folder: Path) -> tuple[list[Path], list[Path]]:
    return sessions.side(folder / "base", TIMES), sessions.side(folder / "new", NOW, first=10)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """One case the same, two slower, one gone."""
    base, new = _sides(tmp_path_factory.mktemp("sides"))
    return compare_paths(base, new, Settings(least_effect=0.2), load())


def _comment(comparison: Comparison, longest: int = LONGEST) -> str:
    return comment(comparison, judge(found_in(comparison, verbose=False)), longest)


def _rows(text: str) -> list[str]:
    return [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")][2:]


def test_the_worst_stand_first_and_what_is_the_same_is_counted(comparison: Comparison) -> None:
    """Under a sentence that says what came of it, with what the gate says."""
    text = _comment(comparison)
    assert text.startswith("**Regression: 2 cases slower, of 3 compared (2 slower, 1 removed, 1 same)**")
    assert _rows(text) == ORDER[:3]
    assert "- Not in the table: 1 case the same" in text
    assert "- Error: slower: " in text


def test_what_does_not_fit_is_left_out_and_told(comparison: Comparison) -> None:
    """Rows, from the best on."""
    longest = len(_comment(comparison)) - 10
    text = _comment(comparison, longest)
    assert len(text) <= longest
    assert "for want of room: 2 cases" in text


def test_changes_are_drawn_with_their_intervals(comparison: Comparison) -> None:
    """The worst at the top; a verdict is told by its marker, too, and no text lies on another."""
    figure = changes_figure(comparison)
    assert figure is not None
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [ORDER[0], ORDER[1], ORDER[3]]
    assert [line.get_marker() for line in axes.lines if line.get_marker() != "None"] == ["v", "v", "s"]
    assert "Not drawn, without an estimate: 1 case" in [text.get_text() for text in axes.texts]
    assert overlaps(figure) == []


def test_the_report_has_them_and_json_for_dashboards(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says in report.md what came of it. Figures of the machines are drawn elsewhere."""
    monkeypatch.setattr(folder, "MOST_DRAWN", 0)
    monkeypatch.setattr(folder, "parquet_files", lambda _: ())
    base, new = _sides(tmp_path)
    code, out, _ = run("report", *new, "--baseline", *base, "--dashboards", "--price", "epyc-2cpu=1", "-o", "all")
    assert code == 0
    assert [path for path in out.split("\n\n")[-1].split() if "/page" not in path and "index" not in path] == [
        *("all/changes.png", "all/changes.svg", "all/roofline_points.csv", "all/metrics.csv"),
        *("all/attention.csv", "all/roofs.csv", "all/costs.csv", "all/verdicts.csv"),
        *("all/env.md", "all/comment.md", "all/report.md"),
        *("all/github-action-benchmark-epyc-2cpu.json", "all/bencher-epyc-2cpu.json"),
    ]
    report, told = (Path(f"all/{name}.md").read_text(encoding="utf-8") for name in ("report", "comment"))
    assert f"### Against the baseline\n\n![changes](changes.png)\n\n{told}" in report
    _, first, *_ = Path("all/attention.csv").read_text(encoding="utf-8").splitlines()
    assert first.startswith("slower: ")
    assert f",{ORDER[0]},epyc-2cpu," in first


def test_what_became_slower_stands_first(comparison: Comparison, tmp_path: Path) -> None:
    """On the page, after what is wrong altogether; the verdicts are those of the comment, with all cases. Each
    opens its case, in whose panel the sessions of the baseline can be opened; a case that only those have opens there.
    """
    points = place_all(read(_sides(tmp_path)[1]).files, load())
    base = place_all((read_file(Path(run.file)) for run in comparison.base_runs), load())
    data = PageData(points, comparison, baseline=base)
    overview = data.overview()
    rows = overview["attention"]["shown"][:2]
    assert [row[:3] for row in rows] == [
        [f"slower: {signed(case.change)}", case.match.id, "epyc-2cpu"] for case in comparison.cases[:2]
    ]
    assert [row[1] for row in rows] == ORDER[:2]
    assert overview["attention"]["shown"][2][:2] == ["against the baseline: removed", ORDER[2]]
    assert rows[0][3] == "99 % interval +187.9 to +212.8 %, base 100 ms, new 300 ms"
    verdicts = overview["verdicts"]
    assert verdicts["title"] == "3 of 4 cases compared: 2 slower, 1 removed, 1 same"
    assert [row[0] for row in verdicts["table"]["shown"]] == ORDER
    assert verdicts["table"]["opens"][:2] == [2, 1]
    panels = [panel for script in data.case_scripts() for panel in script]
    removed = panels[verdicts["table"]["opens"][2]]
    assert (removed["id"], removed["standing"]) == (ORDER[2], "Baseline: run of 2026-11-20 03:00 UTC")
    worst = data.sessions()[panels[2]["sessions"]]
    side = [column["title"] for column in worst["columns"]].index("side")
    assert [row[side] for row in worst["shown"]] == ["-"] * 4 + ["baseline"] * 4
    assert [panels[number]["id"] for number in worst["opens"]] == [ORDER[0]] * 8
