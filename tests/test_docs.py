"""README, CONTRIBUTING and docs: their commands run, their links lead somewhere, their figures are the code's.

Commands that take gigabytes or minutes run in .ci/run instead.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import runpy
import shlex
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from PIL import Image

import roofline as rl
from roofline.cli.program import main
from roofline.machine.published import load
from roofline.model.points import points_of
from roofline.report import folder as report_folder
from roofline.results.reader import read_file
from roofline.show.columns import CASE_COLUMNS, MEANINGS
from roofline.text.units import scaled, significant
from tests import forked
from tests.roofline import build, kernels
from tests.roofline.ab.repository import Project

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "results/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
REFERENCE = ROOT / "results" / "amd-epyc-2cpu" / "20261128T044652Z-16dce561.json"
"""The smoke matrix of the committed results: README and docs/time-roofline.md show figures of it."""

BY_CI = {
    "python -m pip install tox && python -m tox -e perf",
    "python -m pip install tox",
    "python -m tox -e docs",
    "python -m tox -e lint",
    "python -m tox -e tests",
}
"""What .ci/run does from a bare checkout."""


PLUGGED_IN = {"complexity", "doctor", "roofs"}
"""Commands of the measuring side, which come with an installed package."""

TABLE = """device,model,precision,batch_size,runs,images_per_s,images_per_s_std,attained_gflop_per_s
rtx4090,resnet50,fp32,64,3,100.00,1.50,2429.90
rtx4090,resnet50,fp32,128,3,110.00,1.20,2672.89
"""
"""A published table without a contradiction, for commands that name TABLE.csv."""

NCU = """"ID","Process ID","Process Name","Kernel Name","Context","Stream","Metric Name","Metric Unit","Metric Value"
"0","1","python","ampere_sgemm_128x64_nn","1","7","gpu__time_duration.sum","ns","117,344"
"0","1","python","ampere_sgemm_128x64_nn","1","7","dram__bytes.sum","byte","27,595,520"
"""
"""What ncu printed, for commands that name NCU.csv."""

TRACE = """{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0.0, "dur": 9.5}
]}"""
"""A trace of torch.profiler, for commands that name TRACE.json."""

SMALL_PROJECT = {
    "pytest.ini": "[pytest]\naddopts = -p no:playwright\nroofline_device = cpu\n",
    "conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--model')\n",
    "perftests/test_models.py": """
import time

import torch
from torch import nn


class Model(nn.Linear):
    def forward(self, rows):
        time.sleep(0.005)
        return super().forward(rows)


def test_a_model(roofline):
    roofline(Model(8, 4), torch.randn(2, 8))
""",
}
"""Files of a project with one case, for commands that measure in turns."""

IN_TURNS = {"ab", "selftest"}


def commands() -> list[str]:
    """Indented command lines of all pages, without their comments."""
    found: dict[str, None] = {}
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            match = re.match(r"    ((?:python|pip|pytest|roofline|tox|pytest-benchmark) .+)", line)
            if match:
                found[match[1].partition("  #")[0].strip()] = None
    return list(found)


def test_the_pages_have_commands() -> None:
    """The pattern above still finds them."""
    assert len(commands()) > 10
    assert set(commands()) >= BY_CI


def _of_tox(*command: str) -> list[str]:
    """What tox runs in its place, where it is ``python -m tox -e perf -- ...``."""
    if command[:5] != ("python", "-m", "tox", "-e", "perf"):
        return list(command)
    assert command[5] == "--"
    settings = configparser.ConfigParser()
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    return shlex.split(settings["testenv:perf"]["commands"].replace("{posargs}", shlex.join(command[6:])))


def _two_runs(old: Path, new: Path) -> None:
    """The committed reference, and the same again as another run of it, for commands that name OLD and NEW."""
    for folder, began in ((old, "2026-01-01"), (new, "2026-01-02")):
        content = json.loads(REFERENCE.read_text(encoding="utf-8"))
        content["roofline"]["started_at"] = f"{began}T00:00:00+00:00"
        for row in content["benchmarks"]:
            # Not to the last bit: that would be the same run.
            rounds = row["extra_info"]["roofline"]["timing"]["rounds"]
            rounds["wall_s"][0] *= 1 + 1e-9 * int(began[-1])
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps(content))


def _journal(path: Path) -> None:
    """What a run leaves that was killed after its first case."""
    document = json.loads(min((ROOT / "results").glob("*/*.json")).read_text(encoding="utf-8"))
    row = document["benchmarks"][0]
    lines = [
        {"document": {**document, "benchmarks": []}, "planned": {row["fullname"]: row["name"]}},
        {"finished": [row["fullname"]], "rows": {"0": row}, "not_measured": [], "session": {}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _nsys_export(path: Path) -> None:
    """An export of nsys with one kernel, for commands that name EXPORT.sqlite."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE StringIds (id INTEGER, value TEXT);
            INSERT INTO StringIds VALUES (1, 'ampere_sgemm_128x64_tn');
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
                (start, end, deviceId, globalPid, streamId, correlationId, demangledName, shortName);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 3000, 0, 0, 7, 1, 1, 1);
            """
        )


@pytest.fixture(scope="module")
def at_hand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that commands name."""
    folder = tmp_path_factory.mktemp("at_hand")
    shutil.copytree(ROOT / "results", folder / "results")
    (folder / "TABLE.csv").write_text(TABLE)
    (folder / "NCU.csv").write_text(NCU)
    (folder / "TRACE.json").write_text(TRACE)
    _journal(folder / "FILE.journal")
    _nsys_export(folder / "EXPORT.sqlite")
    made = kernels.profiled(case=build.case(id="CASE"), counters=kernels.counters(kernels.kernel()))
    build.result(folder / "results" / "made" / "run.json", [made])
    (folder / "my").mkdir()
    (folder / "my" / "config.json").write_text(json.dumps({"model_type": "bert", "num_hidden_layers": 1}))
    _two_runs(folder / "OLD", folder / "NEW")
    assert main(["store", "add", str(folder / "STORE"), str(folder / "results")]) == 0
    (folder / "perftests").mkdir()
    shutil.copy(ROOT / "perftests" / "expected_bounds.toml", folder / "perftests")
    return folder


@pytest.mark.parametrize("command", [command for command in commands() if command not in BY_CI])
def test_every_command_runs(command: str, at_hand: Path, tmp_path: Path) -> None:
    """As it stands: analysis on the committed results, and measuring as far as collecting the cases."""
    program, *arguments = _of_tox(*shlex.split(command))
    if program == "python":
        # An editable install of this very folder is how these tests run, or the wheel in its place.
        assert arguments == ["-m", "pip", "install", "-e", ".[suite,dev]"]
        return
    if program == "roofline" and arguments[0] in PLUGGED_IN and not entry_points(group="roofline.commands"):
        pytest.skip("run from source: the plugin's own commands come with an installed package")
    if program == "roofline":
        folder = shutil.copytree(at_hand, tmp_path / "folder")
        ran = forked.run(program, arguments, folder)
        assert ran.returncode == 0, ran.stderr
        return
    assert program == "pytest"
    if "imagefolder:PATH" in arguments:
        folder = tmp_path / "images"
        for number in range(130):  # a batch of 128 in the smoke tier
            (folder / "a").mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (32, 32), (number, 0, 0)).save(folder / "a" / f"{number}.jpg")
        arguments = [argument.replace("PATH", str(folder)) for argument in arguments]
    if not any(argument.startswith("perftests") for argument in arguments):
        # Else it would collect all tests of this repository.
        arguments = ["perftests", *arguments]
    ran = forked.run(program, [*arguments, "--collect-only", "-q"], ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "tests collected" in ran.stdout


def test_the_tests_of_the_pages_take_a_step(tmp_path: Path) -> None:
    """Files that a page has in full, as somebody else would copy them. What is measured is README's alone."""
    tutorial, models = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("tutorial.md", "models-and-data.md")
    )
    (ini,) = re.findall(r"^```ini\n(.*?)^```$", tutorial, re.DOTALL | re.MULTILINE)
    (tmp_path / "pytest.ini").write_text(ini.replace("roofline_results = results\n", ""))
    for number, page in enumerate((tutorial, models)):
        (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        (tmp_path / f"test_of_page_{number}.py").write_text(code)
    ran = forked.run("pytest", ["--benchmark-disable", "--roofline-device", "cpu", "-q"], tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search("6 passed|4 passed, 2 skipped", ran.stdout)


def _in_blocks() -> list[str]:
    """Return the lines of code blocks that run ``roofline``."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    return re.findall(r"^roofline .+$", text, re.MULTILINE)


@pytest.mark.parametrize("line", [line for line in _in_blocks() if line.split()[1] not in IN_TURNS])
def test_a_line_in_a_block_runs(line: str, at_hand: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures and frames of a report are tried elsewhere."""
    name, *arguments = shlex.split(line, comments=True)[1:]
    if name in PLUGGED_IN and not entry_points(group="roofline.commands"):
        pytest.skip("run from source: the plugin's own commands come with an installed package")
    for prefix, package in (("timm:", "timm"), ("hf:", "transformers")):
        if prefix in line:
            pytest.importorskip(package)
    monkeypatch.chdir(shutil.copytree(at_hand, tmp_path / "folder"))
    monkeypatch.setattr(report_folder, "MOST_DRAWN", 0)
    monkeypatch.setattr(report_folder, "parquet_files", lambda _: ())
    assert main([name, *arguments]) == 0


@pytest.mark.parametrize("line", [line for line in _in_blocks() if line.split()[1] in IN_TURNS])
def test_a_line_that_measures_in_turns_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a small project that has the revisions, with as few turns as there can be: what they show depends on how busy
    the machine is.
    """
    project = Project(tmp_path / "project")
    project.commit(SMALL_PROJECT)
    project.git("tag", "v1.2")
    project.git("update-ref", "refs/remotes/origin/main", "HEAD")
    shutil.copytree(project.root, tmp_path / "old")
    project.commit({"perftests/conftest.py": ""})
    project.git("tag", "v1.3")
    python = tmp_path / "torch-2.9" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(forked.CHILDREN, "yes")
    name, *arguments = [os.path.expanduser(one) for one in shlex.split(line, comments=True)[1:]]
    few = ["--pairs", "1", "--max-time", "0.1"]
    options = [*arguments, *few]
    if "--" in arguments:
        place = arguments.index("--")
        options = [*arguments[:place], *few, *arguments[place:], "--roofline-warmup", "1", "--roofline-steps", "1"]
    ran = forked.run("roofline", [name, *options], project.root)
    assert "turns a side, new/base" in ran.stderr, ran.stdout + ran.stderr
    assert ran.returncode in (0, 1, 3)


def test_the_flags_of_runs_that_are_not_tried_are_known() -> None:
    """In scripts for other machines and in the first lines of container files."""
    files = [ROOT / "docs" / "machines.md", *(ROOT / "containers").iterdir()]
    lines = re.findall(
        r"^(?:srun .*|sudo .*| +|#.*)pytest(?: perftests|-roofline\S*) (-.*)$",
        "\n".join(file.read_text(encoding="utf-8") for file in files),
        re.MULTILINE,
    )
    flags = {flag for line in lines for flag in re.findall(r"(?<!\S)--[\w-]+", line)}
    assert flags >= {"--device", "--label", "--ncu"}
    known = set(re.findall(r"--[\w-]+", _flags_of_a_run()))
    assert flags <= known | {flag.replace("--roofline-", "--") for flag in known}


def _flags_of_a_run() -> str:
    """Return the reference's section on pytest's flags."""
    return (ROOT / "docs" / "reference.md").read_text(encoding="utf-8").partition("\n## Flags of pytest")[2]


def _anchors(page: Path) -> set[str]:
    """Return what a link to a heading of the page may say behind the ``#``, as GitHub makes it of the heading."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("document", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    """Files, pictures and headings that a page links to are there."""
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", document.read_text(encoding="utf-8")):
        linked = document.parent / target if target else document
        assert linked.exists(), target
        assert not anchor or anchor in _anchors(linked), f"{target}#{anchor}"


@pytest.mark.parametrize("document", PAGES, ids=lambda path: path.name)
def test_files_that_a_page_names_are_there(document: Path) -> None:
    """Paths in backquotes that begin with a folder of this repository."""
    folders = "|".join(folder.name for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith("."))
    for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", document.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize(
    ("package", "head"),
    [
        ("roofline/roofline", "| folder of `roofline` | what it holds |"),
        ("plugin/pytest_roofline", "| folder of the plugin | what it holds |"),
    ],
)
def test_contributing_lists_each_folder_of_a_package(package: str, head: str) -> None:
    listed = set(re.findall("`([^`]+)`", " ".join(cells[0] for cells in _rows("CONTRIBUTING.md", head))))
    assert all((ROOT / package / name).exists() for name in listed)
    assert {name for name in listed if "." not in name} == {
        module.parent.name for module in (ROOT / package).glob("*/__init__.py")
    }


def test_contributing_answers_ten_questions_and_ten_changes() -> None:
    """Each with the one or two files that it touches."""
    questions = _rows("CONTRIBUTING.md", "| question | file |")
    changes = _rows("CONTRIBUTING.md", "| a new | files | what to do |")
    assert (len(questions), len(changes)) == (10, 10)
    assert all(len(re.findall("`[^`]+/[^`]*`", files)) in (1, 2) for _, files, *_ in [*questions, *changes])


@pytest.mark.skipif(not entry_points(group="roofline.commands"), reason="run from source: lacks the plugin's commands")
def test_the_reference_is_made_from_the_code() -> None:
    """``python -m docs.reference`` writes it anew."""
    made = runpy.run_path(str(ROOT / "docs" / "reference.py"))["reference"]()
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == made
    assert MEANINGS.keys() <= {column.name for column in CASE_COLUMNS}


def _rows(page: str, head: str) -> list[list[str]]:
    """Return the cells of the table with this head."""
    table = (ROOT / page).read_text(encoding="utf-8").partition(head)[2].partition("\n\n")[0]
    return [[cell.strip("* ") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_readme_s_table_is_of_the_committed_results() -> None:
    """Each of its figures, to the digits that it has."""
    cases = {point.id: point for point in points_of(read_file(REFERENCE), load())}
    rows = _rows("README.md", "| case | samples/s | % of roof | % of SOL | bound |")
    assert len(rows) == 5
    for case, rate, of_roof, of_sol, bound in rows:
        point = cases[case]
        ends = (point.placement.fraction_low, point.placement.fraction_high)
        assert rate == significant(point.samples_per_s or 0)
        assert of_roof.split("-") == list(dict.fromkeys(significant(100 * (end or 0), 2) for end in ends))
        assert of_sol == significant(100 * (point.fraction_of_sol or 0), 2)
        assert bound == point.bound.kind


def test_the_table_of_a_step_s_time_is_of_the_committed_results() -> None:
    """Calls, time and speed of light by what bounds the operations, as docs/time-roofline.md has them."""
    operations = rl.load(REFERENCE).operations
    operations = operations[operations["case"] == "mobilenet_v2-train-b16-fp32"]
    why = operations["bound_why"].where(
        operations["bound_why"] == "far below its roofs", "at a knee, or depends on the cache"
    )
    bound = operations["bound"].astype(str)
    sums = operations.groupby(bound.where(bound != "undetermined", "undetermined: " + why))[
        ["calls", "time_s", "speed_of_light_s"]
    ].sum()
    of_page = {
        label: (calls, time, sol)
        for label, calls, time, _, sol, *_ in _rows(
            "docs/time-roofline.md", "| bound by | calls | time | of the step |"
        )
    }
    for label, (calls, time_s, sol_s) in zip(sums.index, sums.to_numpy(), strict=True):
        assert of_page[label] == (f"{calls:.0f}", scaled(time_s, "s"), scaled(sol_s, "s"))
    assert of_page["step"][0] == f"{sums['calls'].sum():.0f}"


@pytest.fixture
def no_window() -> Iterator[None]:
    """Figures are made where there is no display, and closed at the end."""
    from matplotlib import pyplot, rc_context

    with rc_context({"backend": "agg"}):
        yield
        pyplot.close("all")


@pytest.mark.usefixtures("no_window")
@pytest.mark.parametrize("notebook", sorted((ROOT / "docs").glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_runs(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of it, one after the other, in its own folder as Jupyter runs it; it is stored without outputs."""
    monkeypatch.chdir(notebook.parent)
    names: dict[str, object] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec("".join(cell["source"]), names)
    assert names["results"].cases.shape[0] > 10  # type: ignore[attr-defined]


@pytest.mark.usefixtures("no_window")
def test_the_readme_s_lines_for_a_notebook_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On the committed results."""
    (code,) = re.findall(r"```python\n(import roofline as rl.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    shutil.copytree(ROOT / "results", tmp_path / "results")
    _two_runs(tmp_path / "OLD", tmp_path / "NEW")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(code, names)
    assert names["results"].machines.shape[0] == 1  # type: ignore[attr-defined]
