"""Input and output that can't be used: a message with what and where, an exit code, and no traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import roofline
from roofline.schema.record import KEY
from tests.roofline import build
from tests.roofline.conftest import Run


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("points",), 2, "Missing argument 'RESULTS...'"),
        (("compare", "{one}"), 2, "Missing option '--with'"),
        (("points", "{one}", "--format", "xml"), 2, "'xml' is not one of 'table', 'csv', 'json', 'markdown'"),
        (("points", "{one}", "--width", "10"), 2, "10 is not in the range x>=40"),
        (("points", "{one}", "--devices", "{one}"), 3, "--devices: {one}: not TOML"),
        (("points", "{one}", "-o", "{one}/x.csv"), 2, "{one}/x.csv: can't be written"),
        (("plot", "{one}", "-o", "{one}/x"), 2, "can't be written"),
        (("report", "{one}", "-o", "{one}/x"), 2, "can't be written"),
        (("points", "{one}", "-o", "{one}"), 2, "is one of the files to read"),
        (("points", "{results}", "-o", "{one}"), 2, "-o {one} is a result, which it would overwrite"),
        (("summary", "{broken}"), 3, "{broken}: empty."),
        (("env", "{text}"), 3, "{text}:1: not JSON"),
        (("report", "{one}", "--price", "3.67"), 2, "'3.67' is no LABEL=PER_HOUR, such as a100=3.67."),
        (("report", "{one}", "--price", "a100=3", "--price", "a100=4"), 2, "'a100' has two prices."),
        (("report", "{one}", "--price", "a100=cheap"), 2, "'cheap' is not a valid number."),
        (("report", "{one}", "--price", "h100=3"), 2, "--price: no machine 'h100' in the results: there is a100."),
        (("report", "{nothing}"), 3, "no result file to read"),
        (("ab", "--base-path", "{one}"), 3, "--base-path: {one}: no such folder."),
        (("ab", "--base-path", ".", "--new-path", "none"), 3, "--new-path: none: no such folder."),
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


@pytest.mark.parametrize(
    "line",
    [
        *("points {}", "metrics {}", "plot {}", "report {}", "summary {}", "ops {}", "machines {}", "sessions {}"),
        "history {}",
        *("lock {}", "env {}", "audit {}", "ncu {}", "nsys {}", "trace {}", "compare {} --with {one}"),
        *("compare {one} --with {}", "check {one} --baseline {}", "check {} --expect", "check {one} --expect {}"),
        *("points {one} --devices {}", "devices --devices {}", "audit {one} --devices {}", "lock {one} --devices {}"),
    ],
)
@pytest.mark.parametrize("name", ["missing", "link", "bytes", "folder"])
def test_data_that_cannot_be_read_has_one_exit_code(run: Run, one: Path, line: str, name: str) -> None:
    """A missing file, a link to nothing, one that is not UTF-8, an empty folder: 3 in every command, and the name."""
    Path("link").symlink_to("nowhere")
    Path("bytes").write_bytes(b"\xff\xfe\x00{")
    Path("folder").mkdir()
    code, _, err = run(*line.format(name, one=one).split())
    assert code == 3
    assert name in err


@pytest.mark.parametrize("command", ["points", "audit", "ncu", "nsys", "trace"])
@pytest.mark.parametrize(
    ("begin", "told"),
    [
        (b"\x1f\x8b\x08\x00", "compressed (gzip): unpack it first."),
        (b"\xfd7zXZ\x00", "compressed (xz): unpack it first."),
        (b"\x28\xb5\x2f\xfd\x24", "compressed (zstd): unpack it first."),
        (b"PK\x03\x04", "an archive (zip): unpack it first."),
        (b"PAR1\x15\x04", "a Parquet file."),
        (b"\x89PNG\r\n\x1a\n", "an image (PNG)."),
        (b"NVR\0", "a report of Nsight Compute"),
    ],
    ids=["gzip", "xz", "zstd", "zip", "parquet", "png", "ncu"],
)
def test_a_binary_file_is_called_what_it_is(run: Run, command: str, begin: bytes, told: str) -> None:
    """By its first bytes, whatever its name. A trace may be in gzip."""
    path = Path("given.json")
    path.write_bytes(begin + b"\xff")
    code, _, err = run(command, path)
    assert code == 3
    assert f"{path}: {told}" in err or (command, begin[:2]) == ("trace", b"\x1f\x8b")


@pytest.mark.parametrize("command", ["points", "audit", "ncu", "trace"])
def test_a_report_of_nsys_is_known_by_its_name(run: Run, command: str) -> None:
    """It begins with nothing that NVIDIA has told."""
    path = Path("given.nsys-rep")
    path.write_bytes(b"\x00\xff")
    assert "given.nsys-rep: a report of nsys; `roofline nsys` says" in run(command, path)[2]


def test_nonfinite_values_are_told(run: Run, tmp_path: Path) -> None:
    """A foreign file with NaN is read; the keys stand on stderr."""
    content = build.document([None])
    content["benchmarks"][0]["extra_info"] = {f"x{index}": float("nan") for index in range(7)}
    path = build.write(tmp_path / "a.json", content)
    code, _, err = run("metrics", path, "--format", "csv")
    assert code == 0
    assert f"{path}: not finite, taken as missing: benchmarks[0].extra_info.x0, " in err
    assert err.endswith(" and 2 more\n")


def test_a_bad_record_is_told_and_its_row_is_invalid(run: Run, tmp_path: Path) -> None:
    """The other rows stand; the bad one keeps its time."""
    content = build.document([build.record(), build.record()])
    content["benchmarks"][1]["extra_info"][KEY]["case"]["batch"] = 10**29
    path = build.write(tmp_path / "a.json", content)
    code, out, err = run("summary", path, "--format", "json")
    assert code == 0
    assert "record not read, only its times are used" in err
    row = json.loads(out)[1]
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


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_terminal_without_other_letters_is_shown_escapes(tmp_path: Path, form: str) -> None:
    """What it lacks is an escape: whoever parses JSON gets a name as it was."""
    path = build.write(tmp_path / "a.json", build.document([build.record(case=build.case(id="日😀é"))]))
    answer = _shell(f'-m roofline points "{path}" --format {form}', PYTHONIOENCODING="ascii")
    assert (answer.returncode, answer.stderr) == (0, "")
    if form == "json":
        assert json.loads(answer.stdout)[0]["case"] == "日😀é"
    else:
        assert r"\u65e5\U0001f600\xe9" in answer.stdout


def _shell(line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with what a shell makes of this line."""
    environment = {**os.environ, "PYTHONPATH": str(Path(roofline.__file__).parents[1]), **variables}
    return subprocess.run(
        f'"{sys.executable}" {line}', shell=True, capture_output=True, text=True, env=environment, check=False
    )


def test_closed_standard_error(one: Path, tmp_path: Path) -> None:
    """What would be told there isn't mixed into the output, which a program may read."""
    (tmp_path / "empty").mkdir()
    shown = _shell(f'-m roofline points --format json "{one}" "{tmp_path / "empty"}" 2>&-')
    assert json.loads(shown.stdout)
    nothing = _shell("-m roofline points --format json none 2>&-")
    assert (nothing.returncode, nothing.stdout) == (3, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_output_that_takes_nothing(one: Path) -> None:
    """A full disk gives a message, not a traceback."""
    answer = _shell(f"-m roofline summary {one} > /dev/full")
    assert answer.returncode == 3
    assert "standard output: can't be written (No space left" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_closed_pipe_is_no_error(one: Path) -> None:
    """``roofline points ... | head`` ends in silence."""
    reader, writer = os.pipe()
    os.close(reader)  # before anything is written: one that goes later may come too late to matter
    environment = {**os.environ, "PYTHONPATH": str(Path(roofline.__file__).parents[1])}
    command = [sys.executable, "-m", "roofline", "metrics", str(one), "--format", "json"]
    process = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writer)
    assert (process.returncode, process.stderr) == (0, b"")


_NUMBERS = st.one_of(
    st.none(), st.just(0), st.just(-1.0), st.just(float("nan")), st.just(float("inf")), st.just(1e300), st.just(1e-300)
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_strange_numbers_never_give_a_traceback(run: Run, tmp_path: Path, data: st.DataObject) -> None:
    """Zero, negative, huge, tiny and non-finite numbers anywhere in a record: a table with gaps, or exit code 3."""
    path = _strange(tmp_path, data)
    for command, form in (("points", "csv"), ("metrics", "table"), ("summary", "table"), ("machines", "json")):
        code, _, err = run(command, path, "--format", form)
        assert code in (0, 3), err
    if data.draw(st.booleans()):  # drawing takes longest
        assert run("plot", path)[0] in (0, 3)


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
