"""The program: its commands and those plugged in, what they print and write."""

import csv
import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint, PackageNotFoundError
from pathlib import Path

import click
import pytest

import roofline
from roofline.cli import program as cli
from tests.roofline import build
from tests.roofline.conftest import Run

TABLES = (
    *("points none", "metrics none", "summary none", "machines none", "sessions none", "ops none", "audit none"),
    *("check none --baseline none", "compare none --with none", "ncu none", "nsys none", "trace none", "devices"),
    *("ab --base none", "selftest", "doctor", "roofs measure"),
)
"""Command lines that show tables; what they name isn't there."""


def _child(*arguments: object, code: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(roofline.__file__).parents[1]), "PYTHONIOENCODING": "utf-8"}
    command = ["-c", code] if code is not None else ["-m", "roofline", *map(str, arguments)]
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, encoding="utf-8", env=environment, check=False
    )


def test_module_runs_and_help_loads_nothing_heavy() -> None:
    """``python -m roofline --help`` lists every command without loading one, or any library that takes long."""
    code = (
        "import sys; sys.argv = ['roofline', '--help']; from roofline.cli.program import main; code = main();"
        "heavy = {'numpy', 'pandas', 'matplotlib', 'rich', 'msgspec', 'torch', 'scipy'} & set(sys.modules);"
        "assert not heavy, heavy;"
        "assert {name for name in sys.modules if name.startswith('roofline.cli.')} == {'roofline.cli.program'};"
        "sys.exit(code)"
    )
    answer = _child(code=code)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout == _child("--help").stdout


def test_a_table_loads_no_plotting_and_no_pandas(one: Path) -> None:
    """These take longer to load than most commands run; CSV and Parquet alone are of a frame."""
    lines = [["summary"], *(["points", "--format", form] for form in ("table", "json", "markdown"))]
    code = (
        f"import sys; from roofline.cli.program import main; [main([*line, {str(one)!r}]) for line in {lines}];"
        "heavy = {'numpy', 'pandas', 'matplotlib', 'torch', 'scipy'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    assert _child(code=code).stderr == ""


def test_help_groups_the_commands(run: Run) -> None:
    """By what one wants to do; no command is in two groups, none in no group. Each has its own help."""
    code, out, _ = run("--help")
    assert (code, out) == run("-h")[:2]
    headings = [line for line in out.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [
        *("Options:", "Prepare:", "Read results:", "Compare and gate:", "Read profilers' files:", "Audit:"),
    ]
    assert out.count("\n  ops ") == out.count("\n  doctor ") == 1
    assert run("devices", "-h")[1].startswith("Usage: roofline devices")


def test_version(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of the package; a source tree that is only on the path has none, and says so."""
    monkeypatch.setattr(cli, "version", lambda name: {"pytest-roofline": "1.2.3"}[name])
    assert run("--version") == (0, "pytest-roofline 1.2.3\n", "")

    def not_installed(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(cli, "version", not_installed)
    assert run("--version") == (0, "pytest-roofline, from source (not installed)\n", "")


@pytest.mark.parametrize("command", ["summary", "env"])
def test_a_folder_shows_each_of_its_runs(run: Run, results: Path, one: Path, command: str) -> None:
    """As the file alone does, one below the other."""
    code, out, _ = run(command, results)
    assert code == 0
    assert out.startswith(run(command, one)[1].partition("\n")[0] + "\n")
    assert "epyc-2cpu" in out.partition("\n")[2]


@pytest.mark.parametrize(
    ("line", "known"),
    [
        *((f"{line} -o x.xlsx", ".txt, .csv, .json, .parquet, .md.") for line in TABLES),
        ("summary none -o x.XLSX", ".txt, .csv, .json, .parquet, .md."),
        ("env none -o x.xlsx", ".md, .txt."),
        ("history none -o x.pdf", ".txt, .csv, .json, .parquet, .md, .png, .svg."),
        ("lock none -o x.json", ".toml."),
        ("ops none --plot x.pdf", ".png."),
    ],
)
def test_an_unknown_ending_is_refused_first(run: Run, line: str, known: str) -> None:
    """Before anything is read, with those that are known."""
    code, out, err = run(*line.split())
    assert (code, out) == (2, "")
    assert err.rstrip().endswith(f"is no known ending. Use {known}")


@pytest.mark.parametrize(("typed", "told"), [("pionts", "Did you mean points"), ("xyz", "Commands: ")])
def test_an_unknown_command_is_answered_with_near_names(run: Run, typed: str, told: str) -> None:
    """Or all names, where none is near."""
    code, _, err = run(typed)
    assert code == 2
    assert f"No such command '{typed}'. {told}" in err


@pytest.mark.parametrize(
    ("name", "start"), [("x.csv", "machine,"), ("x.json", "["), ("x.md", "**Points"), ("x.txt", "Points")]
)
def test_the_ending_of_the_file_decides(run: Run, results: Path, name: str, start: str) -> None:
    """A folder that isn't there is made; without -o nothing is."""
    assert run("points", results)[0] == 0
    assert list(Path.cwd().iterdir()) == []
    code, out, err = run("points", results, "-o", f"new/{name}")
    assert (code, out, err.splitlines()[0]) == (0, "", f"wrote new/{name}")
    assert Path("new", name).read_text(encoding="utf-8").startswith(start)
    run("points", results, "-o", f"new/{name}", "--format", "json")
    assert json.loads(Path("new", name).read_text(encoding="utf-8"))


def test_env(run: Run, one: Path) -> None:
    """Markdown on stdout or in a file."""
    code, out, _ = run("env", one)
    assert code == 0
    assert out.startswith("# Environment: a100\n")
    code, _, err = run("env", one, "-o", "env.md")
    assert (code, err) == (0, "wrote env.md\n")
    assert Path("env.md").read_text(encoding="utf-8") == out


def test_plot_prints_its_paths(run: Run, one: Path) -> None:
    """The default folder is ``figures``."""
    code, out, _ = run("plot", one)
    assert (code, out.split()) == (
        0,
        [f"figures/{kind}-a100.png" for kind in ("roofline", "throughput", "variability")],
    )
    assert all(Path(line).stat().st_size > 10_000 for line in out.split())


def test_report(run: Run, results: Path) -> None:
    """Tables on the terminal, everything in one folder, and the paths last."""
    code, out, _ = run("report", results, "-o", "all")
    assert code == 0
    assert "Machines side by side" in out
    paths = out.split("\n\n")[-1].split()
    assert paths == [
        "all/index.html",
        *(
            f"all/{kind}-{machine}.{form}"
            for machine in ("a100", "epyc-2cpu")
            for kind in ("roofline", "throughput", "variability")
            for form in ("png", "svg")
        ),
        *(f"all/machines-{kind}.{form}" for kind in ("roofline", "share") for form in ("png", "svg")),
        *(f"all/frames/{name}.parquet" for name in ("cases", "rounds", "roofs", "machines", "missing")),
        *("all/roofline_points.csv", "all/metrics.csv", "all/attention.csv", "all/batch_scaling.csv", "all/pairs.csv"),
        *("all/roofs.csv", "all/machines.csv", "all/env.md", "all/report.md"),
    ]
    beside = Path("all/page")
    written = (path for path in Path("all").rglob("*") if path.is_file() and beside not in path.parents)
    assert sorted([*paths, "all/.roofline-report"]) == sorted(map(str, written))
    assert Path("all/env.md").read_text(encoding="utf-8").count("# Environment:") == 2


def test_devices(run: Run) -> None:
    """Peak per precision of one card, as in a specification table."""
    code, out, _ = run("devices", "nvidia a100 80gb pcie")
    assert code == 0
    assert "NVIDIA A100 80GB PCIe (NVIDIA A100 Tensor Core GPU, data sheet, 2021)" in out
    assert [line.split() for line in out.splitlines() if "tf32" in line] == [
        ["tf32", "156.0", "TFLOP/s", "tensor", "or", "matrix", "cores", "fp32"]
    ]
    assert "memory      1.935 TB/s" in out


def test_a_part_of_a_name_shows_every_device_that_has_it(run: Run) -> None:
    """In any case. A whole name shows that device alone, though another contains it."""

    def shown(*arguments: str) -> set[str]:
        code, out, _ = run("devices", *arguments, "--format", "csv")
        assert code == 0
        return {row["device"] for row in csv.DictReader(out.splitlines())}

    assert {"NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-40GB"} <= shown("a100")
    assert all("A100" in name for name in shown("a100"))
    assert shown("GeForce RTX 4090") == {"NVIDIA GeForce RTX 4090"}


@pytest.mark.parametrize(
    ("asked", "near"),
    [("RTX 4909", "RTX 4090"), ("A1O0", "A100"), ("H1O0", "H100"), ("L4OS", "L40S"), ("NVIDIA FooBar 9000", "")],
)
def test_an_unknown_device_is_answered_with_near_names(run: Run, asked: str, near: str) -> None:
    """Those with one wrong character first; where none is near, with what to do."""
    code, out, err = run("devices", asked)
    assert (code, out) == (2, "")
    assert near in err.partition("Near it: ")[2].partition(",")[0]
    assert f"no published figures for '{asked}'" in err
    assert "--devices FILE" in err


def test_a_users_device_file_gives_roofs(run: Run, tmp_path: Path) -> None:
    """An unknown device is placed by what its owner wrote down."""
    own = tmp_path / "own.toml"
    own.write_text(
        '[[device]]\nname = "AMD EPYC 7B13"\nsource = "box"\ndate = "2026"\nroofs = [{ name = "dram", value = 1e11 },'
        ' { name = "fp32", value = 1e13, accumulate = "fp32", tensor = false }]\n'
    )
    path = build.write(tmp_path / "a.json", build.document([build.record()], of=build.session(), on=build.machine()))
    _, out, _ = run("points", path, "--format", "json", "--devices", own)
    assert json.loads(out)[0]["fraction_of_roof_low"] == pytest.approx(0.1)
    _, out, _ = run("points", path, "--format", "json")
    assert json.loads(out)[0]["fraction_of_roof_low"] is None


def test_interrupt(run: Run, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is neither a regression (1) nor a usage error (2)."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("roofline.cli.read_results.result_tables.read_results", interrupted)
    assert run("summary", one)[0] == 130


def _entry(value: str, name: str = "extra") -> EntryPoint:
    return EntryPoint(name=name, value=value, group=cli.GROUP)


@click.command()
def extra_command() -> int:
    """A command of another package."""
    return 3


def test_a_plugged_in_command_is_listed_and_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing doesn't load it: what it needs may not be there. The name of a command of ours is taken."""
    entries = [
        _entry("tests.roofline.cli.test_program:extra_command"),
        _entry("not_installed:command", "missing"),
        _entry("not_installed:command", "complexity"),
        _entry("tests.roofline.cli.test_program:extra_command", "summary"),
    ]
    monkeypatch.setattr(cli, "entry_points", lambda group: entries if group == cli.GROUP else [])
    _, out, _ = run("--help")
    assert "  extra       (from tests.roofline.cli.test_program:extra_command)" in out
    assert "  missing     (from not_installed:command)" in out
    assert "  complexity  FLOPs, parameters and memory of models" in out
    assert out.count("\n  summary ") == 1
    assert run("extra")[0] == 3
    assert run("summary", "none")[2] != ""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("not_installed:command", "can't be loaded (No module named 'not_installed')"),
        ("tests.roofline.cli.test_program:nothing", "can't be loaded"),
        ("tests.roofline.cli.test_program:_entry", "is no click command"),
    ],
)
def test_a_plugged_in_command_that_cannot_be_loaded(
    run: Run, monkeypatch: pytest.MonkeyPatch, value: str, told: str
) -> None:
    """A usage error that names the command and what is missing, not a traceback."""
    monkeypatch.setattr(cli, "entry_points", lambda group: [_entry(value)] if group == cli.GROUP else [])
    code, _, err = run("extra")
    assert code == 2
    assert "the command 'extra'" in err
    assert told in err
