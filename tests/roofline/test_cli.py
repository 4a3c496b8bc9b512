"""The program: commands, exit codes, files, and no traceback for bad input."""

import csv
import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint, PackageNotFoundError
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import roofline
from roofline import cli
from roofline.record import KEY
from tests.roofline import build
from tests.roofline.conftest import Run


@pytest.fixture
def results(tmp_path: Path) -> Path:
    build.two_machines(tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def one(results: Path) -> Path:
    return next((results / "a100").iterdir())


def _child(*arguments: object, code: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(roofline.__file__).parents[1]), "PYTHONIOENCODING": "utf-8"}
    command = ["-c", code] if code is not None else ["-m", "roofline", *map(str, arguments)]
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, encoding="utf-8", env=environment, check=False
    )


def test_module_runs_and_help_loads_nothing_heavy() -> None:
    """``python -m roofline --help`` lists every command without loading one, or any library that takes long."""
    code = (
        "import sys; sys.argv = ['roofline', '--help']; from roofline.cli import main; code = main();"
        "heavy = {'numpy', 'pandas', 'matplotlib', 'rich', 'cattrs', 'torch', 'scipy'} & set(sys.modules);"
        "assert not heavy, heavy;"
        "assert not [name for name in sys.modules if name.startswith('roofline.commands')]; sys.exit(code)"
    )
    answer = _child(code=code)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout == _child("--help").stdout
    for name in ("points", "metrics", "plot", "report", "summary", "machines", "env", "devices"):
        assert f"\n  {name} " in answer.stdout


def test_summary_loads_no_plotting(one: Path) -> None:
    """It runs after every measurement and must be quick."""
    code = (
        f"import sys; from roofline.cli import main; code = main(['summary', {str(one)!r}]);"
        "heavy = {'numpy', 'pandas', 'matplotlib', 'torch', 'scipy'} & set(sys.modules);"
        "assert not heavy, heavy; sys.exit(code)"
    )
    assert _child(code=code).stderr == ""


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("points", "--help"), ("devices", "--help")])
def test_help(run: Run, arguments: tuple[str, ...]) -> None:
    """Of the program and of each command."""
    code, out, _ = run(*arguments)
    assert code == 0
    assert out.startswith("Usage: roofline")


def test_version(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of the package; a source tree that is only on the path has none, and says so."""
    monkeypatch.setattr(cli, "version", lambda name: {"pytest-roofline": "1.2.3"}[name])
    assert run("--version") == (0, "pytest-roofline 1.2.3\n", "")

    def not_installed(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(cli, "version", not_installed)
    assert run("--version") == (0, "pytest-roofline, from source (not installed)\n", "")


def test_summary(run: Run, one: Path) -> None:
    """Cases, then roofs, in the width asked for."""
    code, out, err = run("summary", one, "--width", 80)
    assert (code, err) == (0, "")
    assert out.startswith("a100, NVIDIA A100-SXM4-80GB")
    assert "\nRoofs\n" in out
    assert max(map(len, out.splitlines())) <= 80


def test_points_writes_its_csv(run: Run, results: Path) -> None:
    """Without a format: the table, and roofline_points.csv beside where it was called."""
    code, out, err = run("points", results)
    assert code == 0
    assert "Points on the roofline" in out
    assert err == "wrote roofline_points.csv\n"
    with Path("roofline_points.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 84


def test_metrics_writes_its_csv(run: Run, results: Path) -> None:
    """Every benchmark, to metrics.csv."""
    code, _, err = run("metrics", results)
    assert (code, err) == (0, "wrote metrics.csv\n")
    with Path("metrics.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 84


@pytest.mark.parametrize("command", ["points", "metrics", "machines", "summary"])
def test_every_format_of_every_table(run: Run, results: Path, one: Path, command: str) -> None:
    """On stdout, and nothing else is written."""
    given_path = one if command == "summary" else results
    code, out, _ = run(command, given_path, "--format", "csv")
    assert code == 0
    assert len(next(csv.reader(out.splitlines()))) > 5
    code, out, _ = run(command, given_path, "--format", "markdown")
    assert out.startswith("**")
    code, out, _ = run(command, given_path, "--format", "json")
    document = json.loads(out, parse_constant=pytest.fail)
    assert code == 0
    assert document
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("name", "start"), [("x.csv", "machine,"), ("x.json", "{"), ("x.md", "**Points"), ("x.txt", "Points")]
)
def test_the_ending_of_the_file_decides(run: Run, results: Path, name: str, start: str) -> None:
    """A folder that isn't there is made."""
    code, out, err = run("points", results, "-o", f"new/{name}")
    assert (code, out, err) == (0, "", f"wrote new/{name}\n")
    assert Path("new", name).read_text(encoding="utf-8").startswith(start)


def test_format_before_ending(run: Run, results: Path) -> None:
    """What is said counts before what is guessed."""
    run("points", results, "-o", "x.txt", "--format", "json")
    assert json.loads(Path("x.txt").read_text(encoding="utf-8"))["rows"]


def test_machines(run: Run, results: Path) -> None:
    """Exit 0: other machines are shown, not judged."""
    code, out, _ = run("machines", results)
    assert code == 0
    assert out.startswith("Machines side by side; speed-up over a100")
    assert "Only on epyc-2cpu: resnet18-train-b8-fp32" in out


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
    assert (code, out.split()) == (0, ["figures/roofline-a100.png", "figures/throughput-a100.png"])
    assert all(Path(line).stat().st_size > 10_000 for line in out.split())


def test_report(run: Run, results: Path) -> None:
    """Tables on the terminal, everything in one folder, and the paths last."""
    code, out, _ = run("report", results, "-o", "all")
    assert code == 0
    assert "Machines side by side" in out
    paths = out.split("\n\n")[-1].split()
    assert paths == [
        "all/roofline-a100.png",
        "all/throughput-a100.png",
        "all/roofline-epyc-2cpu.png",
        "all/throughput-epyc-2cpu.png",
        "all/roofline_points.csv",
        "all/metrics.csv",
        "all/env.md",
        "all/summary.md",
    ]
    assert sorted(paths) == sorted(str(path) for path in Path("all").iterdir())
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


def test_devices_all_as_csv(run: Run) -> None:
    """Value, accumulation, dense, tensor, source and date of each figure; a laptop card has a note and no value."""
    _, out, _ = run("devices", "--format", "csv")
    rows = list(csv.DictReader(out.splitlines()))
    fp16 = [row for row in rows if row["device"] == "NVIDIA GeForce RTX 4090" and row["roof"] == "fp16"]
    assert [(row["value"], row["accumulate"], row["tensor"], row["dense"]) for row in fp16] == [
        ("165200000000000.0", "fp32", "true", "true"),
        ("330300000000000.0", "fp16", "true", "true"),
    ]
    (laptop,) = (row for row in rows if row["device"] == "NVIDIA GeForce RTX 4090 Laptop GPU")
    assert (laptop["value"], laptop["roof"]) == ("", "")
    assert "Measure the roofs" in laptop["note"]


def test_an_unknown_device_is_a_usage_error(run: Run) -> None:
    """With what to do."""
    code, _, err = run("devices", "NVIDIA FooBar 9000")
    assert code == 2
    assert "no published figures for 'NVIDIA FooBar 9000'" in err
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
    assert json.loads(out)["rows"][0]["fraction_of_roof_low"] == pytest.approx(0.1)
    _, out, _ = run("points", path, "--format", "json")
    assert json.loads(out)["rows"][0]["fraction_of_roof_low"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("nonsense",), 2, "No such command 'nonsense'"),
        (("points",), 2, "Missing argument 'RESULTS...'"),
        (("points", "none.json"), 2, "'none.json' does not exist"),
        (("points", "{one}", "--format", "xml"), 2, "'xml' is not one of 'table', 'csv', 'json', 'markdown'"),
        (("points", "{one}", "--width", "10"), 2, "10 is not in the range x>=40"),
        (("points", "{one}", "--devices", "none.toml"), 2, "'none.toml' does not exist"),
        (("points", "{one}", "--devices", "{one}"), 2, "--devices: {one}: not TOML"),
        (("points", "{one}", "-o", "{one}/x.csv"), 2, "{one}/x.csv: can't be written"),
        (("plot", "{one}", "-o", "{one}/x"), 2, "can't be written"),
        (("summary", "{results}"), 2, "is a directory"),
        (("summary", "{broken}"), 3, "{broken}: empty."),
        (("points", "{broken}"), 3, "{broken}: empty."),
        (("machines", "{text}"), 3, "{text}:1: not JSON"),
        (("env", "{text}"), 3, "{text}:1: not JSON"),
        (("plot", "{text}"), 3, "{text}:1: not JSON"),
        (("report", "{nothing}"), 3, "no result file to read"),
    ],
)
def test_errors(
    run: Run, results: Path, one: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    """Usage errors end with 2, data that can't be used with 3, and the message names what and where."""
    names = {"one": one, "results": results, "broken": tmp_path / "broken.json", "text": tmp_path / "text.json"}
    names["nothing"] = tmp_path / "nothing"
    names["nothing"].mkdir()
    names["broken"].write_text("")
    names["text"].write_text("hello")
    answer, out, err = run(*(argument.format(**names) for argument in arguments))
    assert (answer, out) == (code, "")
    assert told.format(**names) in err
    assert "Traceback" not in err


def test_a_broken_file_in_a_folder_is_named(run: Run, results: Path) -> None:
    """The others are used, and what was left out stands on stderr."""
    (results / "crashed.json").write_text("")
    code, _, err = run("machines", results)
    assert code == 0
    assert err.startswith(f"skipped {results / 'crashed.json'}: empty.")


def test_nonfinite_values_are_told(run: Run, tmp_path: Path) -> None:
    """A foreign file with NaN is read; the keys stand on stderr."""
    content = build.document([None])
    content["benchmarks"][0]["extra_info"] = {f"x{index}": float("nan") for index in range(7)}
    path = build.write(tmp_path / "a.json", content)
    code, _, err = run("metrics", path, "--format", "csv")
    assert code == 0
    assert f"{path}: not finite, taken as missing: benchmarks[0].extra_info.x0, " in err
    assert err.endswith(" and 2 more\n")


def test_a_closed_pipe_is_no_error(one: Path) -> None:
    """``roofline points ... | head`` ends in silence."""
    environment = {**os.environ, "PYTHONPATH": str(Path(roofline.__file__).parents[1])}
    command = [sys.executable, "-m", "roofline", "metrics", str(one), "--format", "json"]
    reader, writer = os.pipe()
    os.close(reader)  # before anything is written: one that goes later may come too late to matter
    try:
        process = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
    finally:
        os.close(writer)
    assert process.stderr == b""
    assert process.returncode == 0


def test_interrupt(run: Run, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is neither a regression (1) nor a usage error (2)."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("roofline.commands.summary.read_one", interrupted)
    assert run("summary", one)[0] == 130


def _entry(value: str, name: str = "extra") -> EntryPoint:
    return EntryPoint(name=name, value=value, group=cli.GROUP)


@click.command()
def extra_command() -> int:
    """A command of another package."""
    return 3


def test_a_plugged_in_command_is_listed_and_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing doesn't load it: what it needs may not be there."""
    entries = [_entry("tests.roofline.test_cli:extra_command"), _entry("not_installed:command", "missing")]
    monkeypatch.setattr(cli, "entry_points", lambda group: entries if group == cli.GROUP else [])
    _, out, _ = run("--help")
    assert "  extra     (from tests.roofline.test_cli:extra_command)" in out
    assert "  missing   (from not_installed:command)" in out
    assert run("extra")[0] == 3


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("not_installed:command", "can't be loaded (No module named 'not_installed')"),
        ("tests.roofline.test_cli:nothing", "can't be loaded"),
        ("tests.roofline.test_cli:_entry", "is no click command"),
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


def test_a_plugged_in_command_cannot_replace_ours(run: Run, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a built-in command is taken."""
    entries = [_entry("tests.roofline.test_cli:extra_command", "summary")]
    monkeypatch.setattr(cli, "entry_points", lambda **_: entries)
    assert run("summary", one)[0] == 0
    assert run("--help")[1].count("\n  summary ") == 1


_NUMBERS = st.one_of(
    st.none(), st.just(0), st.just(-1.0), st.just(float("nan")), st.just(float("inf")), st.just(1e300), st.just(1e-300)
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_strange_numbers_never_give_a_traceback(run: Run, tmp_path: Path, data: st.DataObject) -> None:
    """Zero, negative, huge, tiny and non-finite numbers anywhere in a record: a table with gaps, or exit code 3."""
    path = _strange(tmp_path, data)
    for command in ("points", "metrics", "summary", "machines"):
        for form in ("table", "csv", "json"):
            code, _, err = run(command, path, "--format", form)
            assert code in (0, 3), err


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_strange_numbers_never_break_a_figure(run: Run, tmp_path: Path, data: st.DataObject) -> None:
    """The same, drawn."""
    assert run("plot", _strange(tmp_path, data))[0] in (0, 3)


def _numbers(value: Any, places: list[tuple[Any, Any]]) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(item, int | float) and not isinstance(item, bool) and key != "schema":
            places.append((value, key))
        _numbers(item, places)


def _strange(tmp_path: Path, data: st.DataObject) -> Path:
    record = build.record(operations=(build.operation(),), timing=build.timing(input_wait_s=0.01))
    content = build.document([record, build.record()], of=build.session(build.roofs()), on=build.machine())
    places: list[tuple[Any, Any]] = []
    for value in (content["benchmarks"][0]["extra_info"][KEY], content[KEY], content["benchmarks"][0]["stats"]):
        _numbers(value, places)
    for place, key in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=4, unique_by=id)):
        place[key] = data.draw(_NUMBERS)
    return build.write(tmp_path / "a.json", content)


def test_a_bad_record_is_told_and_its_row_is_invalid(run: Run, tmp_path: Path) -> None:
    """The other rows stand; the bad one keeps its time."""
    content = build.document([build.record(), build.record()])
    content["benchmarks"][1]["extra_info"][KEY]["case"]["batch"] = 10**29
    path = build.write(tmp_path / "a.json", content)
    code, out, err = run("summary", path, "--format", "json")
    assert code == 0
    assert "record not read, only its times are used" in err
    row = json.loads(out)["rows"][1]
    assert row["step_time_s"] == 0.1
    assert any("unreadable_record" in flag for flag in row["flags"])
    assert "unreadable_record (invalid)" in run("summary", path)[1]


def test_half_a_surrogate_pair_is_written(run: Run, tmp_path: Path) -> None:
    """JSON may hold what UTF-8 has no bytes for."""
    content = build.document([None])
    content["benchmarks"][0]["name"] = "test_\ud800"
    output = tmp_path / "out.csv"
    code, _, _ = run("points", build.write(tmp_path / "a.json", content), "-o", output)
    assert code == 0
    assert "test_\\ud800" in output.read_text(encoding="utf-8")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize(("target", "code", "told"), [("> /dev/full", 3, "No space left"), (">&-", 2, "closed")])
def test_output_that_takes_nothing(one: Path, target: str, code: int, told: str) -> None:
    """A full disk and a closed standard output give a message, not a traceback."""
    environment = {**os.environ, "PYTHONPATH": str(Path(roofline.__file__).parents[1])}
    command = f'"$0" -m roofline summary "$1" {target}'
    answer = subprocess.run(
        ["sh", "-c", command, sys.executable, str(one)], stderr=subprocess.PIPE, text=True, env=environment, check=False
    )
    assert answer.returncode == code
    assert told in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_measuring_sides_command_is_described(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line stands in the list without loading it."""
    entry = _entry("pytest_roofline.complexity.command:complexity", "complexity")
    monkeypatch.setattr(cli, "entry_points", lambda group: [entry] if group == cli.GROUP else [])
    assert "  complexity  FLOPs, parameters and memory of models" in run("--help")[1]


def test_a_limit_beyond_floats_is_shown_as_it_stands(run: Run, tmp_path: Path) -> None:
    """Limits are whatever the system said, so no bound holds for them."""
    content = build.document([build.record()], of=build.session(), on=build.machine(limits={"memory_byte": 10**400}))
    code, out, _ = run("env", build.write(tmp_path / "a.json", content))
    assert code == 0
    assert str(10**400) in out
