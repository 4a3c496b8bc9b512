"""`roofline audit`: exit codes, formats, and what it says where it can't say anything."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from roofline.audits import RULES
from roofline.cli import program as cli
from tests.roofline.audits.make import POOLED

Run = Callable[..., tuple[int, str, str]]

GOOD = "model,batch,images_per_s,step_time_ms\nm,32,100.0,320.0\n"
BAD = "model,batch,images_per_s,step_time_ms\nm,32,100.0,350.0\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """The program in a folder with three tables: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("good.csv", GOOD), ("bad.csv", BAD), ("pooled.csv", POOLED), ("odd.csv", "a,b\n1,2\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(["audit", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_nothing_found(run: Run) -> None:
    code, out, err = run("good.csv")
    assert (code, err) == (0, "")
    assert "0 contradictions found" in out
    assert "good.csv: 1 row, 0 in a contradiction" in out


def test_columns_that_were_not_read_are_named(run: Run, tmp_path: Path) -> None:
    """On stderr, with how a name is made; the audit goes on."""
    (tmp_path / "own.csv").write_text(GOOD.replace("images_per_s", "images_per_s,gflops").replace("100.0", "100.0,5"))
    code, out, err = run("own.csv")
    assert code == 0
    assert "1 row, 0 in a contradiction" in out
    assert "own.csv: columns left out, for no rule knows them: gflops. A name says what is meant" in err


def test_contradictions_found(run: Run) -> None:
    """File, row, rule and arithmetic; other files don't hide it."""
    code, out, _ = run("good.csv", "bad.csv", "--width", "200")
    assert code == 1
    assert "1 contradiction found" in out
    assert "bad.csv: throughput x latency is not the batch (throughput_times_latency)" in out
    assert "line 2  m batch 32: 100 samples/s x 350.00 ms = 35, but the batch is 32 (+9.4 %)" in out


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_the_table_fits_the_terminal(run: Run, width: str) -> None:
    _, out, _ = run("pooled.csv", "--width", width)
    headings = ("pooled.csv: ",)
    assert all(len(line) <= int(width) for line in out.splitlines() if not line.startswith(headings))


def test_json_has_file_row_rule_and_arithmetic(run: Run) -> None:
    code, out, err = run("pooled.csv", "--rule", "unexplained_rate", "--format", "json")
    assert code == 1
    rows = json.loads(out)
    assert [(one["file"], one["row"], one["rule"]) for one in rows] == [
        ("pooled.csv", number, "unexplained_rate") for number in (2, 5, 9)
    ]
    assert rows[0]["other_rows"] == ["line 5"]
    assert "= 250 samples/s" in rows[0]["arithmetic"]
    assert err == "pooled.csv: 8 rows, 3 in a contradiction\n"


def test_rules_without_anything_to_look_at_are_counted_and_named_on_demand(run: Run) -> None:
    """One line by default; JSON and ``-v`` have the names."""
    counted = f"of {len(RULES)} rules had something to look at; --rules explains them"
    brief = " ".join(run("good.csv")[1].split())
    assert f"{counted}, -v names the others" in brief
    assert "rate_times_time" not in brief
    full = " ".join(run("good.csv", "-v")[1].split())
    (note,) = [note for note in run("good.csv", "--format", "json")[2].splitlines() if counted in note]
    assert note in full
    assert "rate_times_time" in note


def test_csv_and_markdown_to_files(run: Run, tmp_path: Path) -> None:
    code, out, err = run("bad.csv", "-o", "out/found.csv")
    assert (code, out, err.splitlines()[0]) == (1, "", f"wrote {Path('out/found.csv')}")
    (row,) = csv.DictReader((tmp_path / "out/found.csv").read_text(encoding="utf-8").splitlines())
    assert (row["file"], row["row"], row["counted_in"]) == ("bad.csv", "2", "line")
    run("bad.csv", "-o", "found.md")
    assert "| bad.csv: throughput x latency is not the batch" in (tmp_path / "found.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("tolerance", "code"),
    [
        ((), 1),
        (("0.1",), 0),
        (("throughput_times_latency=0.1",), 0),
        (("rate_times_time=0.1",), 1),
        (("0.1", "throughput_times_latency=0.01"), 1),
    ],
)
def test_tolerance(run: Run, tolerance: tuple[str, ...], code: int) -> None:
    """Of all rules, or of one; the later counts."""
    assert run("bad.csv", *(word for one in tolerance for word in ("--tolerance", one)))[0] == code


def test_a_device_named_on_the_command_line_brings_its_published_roof(run: Run, tmp_path: Path) -> None:
    """3000 images/s x 24.299 GFLOP are 73 TFLOP/s: too much for an L4 in fp32 or TF32, not for an A100."""
    table = "device,model,mode,precision,throughput\ncloud,resnet50,train,fp32,3000\n"
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    assert run("t.csv", "--device", "cloud=NVIDIA A100 80GB PCIe")[0] == 0
    code, out, _ = run("t.csv", "--device", "cloud=NVIDIA L4", "--width", "200")
    assert code == 1
    assert "FLOP as counted x samples/s 72.897 TFLOP/s is 1.21 times the 60.000 TFLOP/s of NVIDIA L4 in tf32" in out
    (tmp_path / "t.csv").write_text("model,mode,throughput\nresnet50,infer,100000\n", encoding="utf-8")
    assert run("t.csv", "--device", "NVIDIA A100 80GB PCIe")[0] == 1  # of rows that state none


def test_an_unreadable_file_is_3_and_the_others_are_still_shown(run: Run) -> None:
    code, out, err = run("odd.csv", "bad.csv")
    assert code == 3
    assert "1 contradiction found" in out
    assert "odd.csv:1: a table of an unknown layout. Columns found: a, b. Needed: one of images_per_s" in err


def test_a_folder_is_audited_and_what_is_no_table_there_is_named(run: Run, tmp_path: Path) -> None:
    """It blocks nothing."""
    code, out, err = run(".")
    assert code == 1
    assert "good.csv: 1 row, 0 in a contradiction" in out
    assert "bad.csv: 1 row, 1 in a contradiction" in out
    assert "pooled.csv: 8 rows" in out
    assert err.startswith("skipped odd.csv:1: a table of an unknown layout. Columns found: a, b.")
    (tmp_path / "bad.csv").unlink()
    (tmp_path / "pooled.csv").unlink()
    assert run(".")[0] == 0


def test_a_folder_with_nothing_to_read_is_3(run: Run, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    code, out, err = run("none")
    assert (code, out) == (3, "")
    assert "none: nothing to read; looked for .csv, .json and .journal files." in err
    code, _, err = run("good.csv", "none")
    assert (code, err) == (0, "skipped none: no file there ends in .csv or .json or .journal\n")


def test_silence_of_rules_that_saw_nothing_is_no_pass(run: Run) -> None:
    code, _, err = run("good.csv", "--rule", "above_roof")
    assert code == 3
    assert "no rule had anything to look at" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'FILES...'"),
        (("good.csv", "--tolerance", "nan"), "--tolerance nan: 'nan' is not a valid number"),
        (("good.csv", "--tolerance", "1"), "1.0 is not in the range 0<=x<1"),
        (("good.csv", "--tolerance", "pooled=0.1"), "'pooled' is no rule with a tolerance; those are above_roof,"),
        (("good.csv", "--tolerance", "=0.1"), "'' is no rule with a tolerance"),
        (("good.csv", "--rule", "magic"), "'magic' is not one of 'rate_times_time'"),
        (("good.csv", "--device", "x=RTX 4090"), "--device x=RTX 4090: no published figures for 'RTX 4090'."),
    ],
)
def test_usage_errors(run: Run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())


@pytest.mark.parametrize(
    ("table", "code", "told"),
    [
        ("device,peak_tflop_per_s\nA,312\nB,312\n", 3, "no rule had anything to look at"),
        ("model,gmacs,gflops\nown,4.09,2.05\n", 1, "flop_of_mac"),
        ("model,batch_size,mean_latency_ms,images_per_s\na,1,0.002,459.3\n", 1, "throughput_times_latency"),
        ("model,batch_size,latency_ms,p99_ms\na,1,12,10\n", 1, "mean_above_percentile"),
        (
            "model,batch_size,step_time_ms,images_per_s\na,1,inf,nan\na,1,12.5,80\n",
            0,
            "line 2: images_per_s nan, step_time_ms inf: no measurement",
        ),
    ],
    ids=["peaks alone", "FLOP beside MAC", "mean latency", "latency above p99", "nan and inf"],
)
def test_what_a_table_states(run: Run, tmp_path: Path, table: str, code: int, told: str) -> None:
    """Looked at where a rule can, and named where none can."""
    path = tmp_path / "table.csv"
    path.write_text(table, encoding="utf-8")
    found, out, err = run(str(path))
    assert (found, told in " ".join(f"{out} {err}".split())) == (code, True)


def test_the_rules_are_a_table_like_any_other(run: Run) -> None:
    """In every form, without a file; with neither there is nothing to do."""
    assert [row["rule"] for row in json.loads(run("--rules", "--format", "json")[1])] == [rule.name for rule in RULES]
    code, _, err = run()
    assert (code, "Missing argument 'FILES...'" in err) == (2, True)
