"""``roofline lock``: exit codes, messages, the file."""

import json
import os
from pathlib import Path

from roofline.schema.expected_file import read
from roofline.schema.record import Flag, Rounds
from tests.roofline import build
from tests.roofline.conftest import Run
from tests.roofline.expectations import build_points
from tests.roofline.full_disk import nearly_full


def test_it_shows_or_writes_and_names_what_it_left_out(run: Run, tmp_path: Path) -> None:
    """The same entries either way; a second time the same file."""
    cpu, cuda = build.two_machines(tmp_path / "results")
    code, out, err = run("lock", cpu)
    assert code == 0
    assert out.startswith("# Expected bounds:")
    assert "left out mobilenet_v2-infer-b1-fp32 on epyc-2cpu: undetermined (range straddles the knee)" in err
    code, shown, err = run("lock", cpu, cuda, "-o", "suite/e.toml")
    assert (code, shown) == (0, "")
    written = Path("suite/e.toml").read_text()
    entries = read(Path("suite/e.toml"))
    assert err.splitlines()[-1] == "wrote suite/e.toml"
    assert {entry.device for entry in entries} == {"epyc-2cpu", "a100"}
    assert run("lock", cuda, "-o", "suite/e.toml")[0] == 0
    assert Path("suite/e.toml").read_text() == written


def _measured(name: str, step_s: float = 0.1, *, compute: float = 1e13, dram: float = 1e11) -> Path:
    """The file of a session with these roofs."""
    record = build_points.record(timing=build.timing(step_s, margin=0.0))
    roofs = (build.roof("flop", "fp32", compute), build.roof("byte", "dram", dram))
    return build.result(Path(f"{name}.json"), [record], of=build.session(roofs)).path


def test_a_change_of_the_roofs_alone_is_reported_as_one(run: Run) -> None:
    """Both values are told, and the exit code is 3, as of a comparison; a slower case fails under either roofs. A file
    of an older version has no roofs, and fails.
    """
    assert run("lock", _measured("old"), "-o", "e.toml")[0] == 0
    assert dict(read(Path("e.toml"))[0].roofs) == {"fp32": 1e13, "dram": 1e11}
    assert run("check", _measured("same"), "--expect", "e.toml")[0] == 0
    code, out, _ = run("check", _measured("new", compute=2e13), "--expect", "e.toml", "--width", "200")
    assert code == 3
    told = "The roofs changed, not the case: fp32 20.0 TFLOP/s (measured), locked under 10.0 TFLOP/s (measured)"
    assert told in " ".join(out.split())
    assert run("check", _measured("slower", 0.4, compute=2e13), "--expect", "e.toml")[0] == 1
    older = [line for line in Path("e.toml").read_text().splitlines() if not line.startswith("roofs")]
    Path("e.toml").write_text("\n".join(older))
    assert run("check", "new.json", "--expect", "e.toml")[0] == 1


def test_what_lower_roofs_let_hold_passes_with_a_note(run: Run) -> None:
    """A case that is twice as slow holds under roofs of half the value: the exit code stays 0, and both are told.

    Roofs that scatter and decide nothing are no news.
    """
    old = _measured("old")
    assert run("lock", old, "-o", "e.toml")[0] == 0
    assert "roofs changed" not in run("check", old, "--expect", "e.toml")[1]
    code, _, err = run(
        "check", _measured("new", 0.2, compute=5e12, dram=5e10), "--expect", "e.toml", "--format", "json"
    )
    assert code == 0
    told = "held, but roofs changed: fp32 5.00 TFLOP/s (measured), locked under 10.0 TFLOP/s (measured)"
    assert told in err
    assert (
        "roofs changed" not in run("check", _measured("same", compute=0.99e13, dram=0.99e11), "--expect", "e.toml")[1]
    )


def test_another_device_table_is_a_change_of_the_roofs(run: Run, tmp_path: Path) -> None:
    """The results are the same, and so is the machine: only the published figures are others."""

    def table(name: str, compute: float) -> Path:
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f'[[device]]\nname = "{build.CPU.name}"\nsource = "{name} sheet"\ndate = "2026"\nroofs = ['
            f'{{ name = "fp32", value = {compute}, accumulate = "fp32", tensor = false }}, '
            '{ name = "dram", value = 1e11 }]\n'
        )
        return path

    record = build_points.record(timing=build.timing(0.1, margin=0.0))
    path = build.result(tmp_path / "a.json", [record], of=build.session()).path
    assert run("lock", path, "-o", "e.toml", "--devices", table("old", 1e13))[0] == 0
    for compute, code, verdict in ((2e13, 3, "not_evaluable"), (0.8e13, 0, "held")):
        new = table("new", compute)
        ended, out, err = run("check", path, "--expect", "e.toml", "--devices", new, "--format", "json")
        assert (ended, [row["verdict"] for row in json.loads(out)]) == (code, [verdict])
        notes = [note for note in err.splitlines() if "roofs changed" in note]
        assert len(notes) == (1 if code else 0)
        for told in ("fp32 20.0", "(new sheet", "locked under 10.0 TFLOP/s (old sheet") if code else ():
            assert told in notes[0]


def test_disturbed_sessions_are_told_where_somebody_sees_it(run: Run, tmp_path: Path) -> None:
    """On standard error, beside the evidence in the file; the exit code stays 0, for an entry was written."""
    loud = build.timing(rounds=Rounds(steps=5, wall_s=(0.5,) * 20, disturbed=("steal",) * 20))
    records = [build_points.record(timing=loud), build_points.record(case=build.case(model="mlp"))]
    path = build.result(tmp_path / "a.json", records, of=build.session(build_points.roofs())).path
    code, out, err = run("lock", path)
    told = (
        "20 of 20 rounds were disturbed from outside in a.json: no floor comes from such a time. Lock the case from"
        " sessions of a quiet hour."
    )
    assert (code, err) == (0, f"Warning: resnet50-train-b32-fp32 on epyc-2cpu: {told}\n")
    assert told in " ".join(out.replace("#", "").split())


def test_sessions_of_several_commits_are_told_once(run: Run, tmp_path: Path) -> None:
    """For all cases, and in the evidence of each: who reviews the file sees it there."""
    records = [build_points.record(), build_points.record(case=build.case(model="mlp"))]
    for name, commit in (("a", "fedcba9876543210"), ("b", "0123456789abcdef")):
        started = f"2026-11-20T1{int(name, 16) - 10}:00:00+00:00"
        content = build.document(
            records, of=build.session(build_points.roofs(), started_at=started), on=build.machine()
        )
        content["commit_info"]["id"] = commit
        build.write(tmp_path / f"{name}.json", content)
    code, out, err = run("lock", tmp_path / "a.json", tmp_path / "b.json")
    told = "Sessions of several commits are locked together: 0123456789, fedcba9876. Give those of one at a time."
    assert (code, err) == (0, f"Warning: {told}\n")
    assert " ".join(out.replace("#", "").split()).count(told) == 2


def test_a_full_disk_leaves_the_file_as_it_was(run: Run, tmp_path: Path) -> None:
    """It is written whole or not at all."""
    cpu, _ = build.two_machines(tmp_path / "results")
    Path("e.toml").write_text("[[expected]]\ncase = 'a'\nbound = 'compute'\n")
    with nearly_full():
        code, _, err = run("lock", cpu, "-o", "e.toml")
    assert (code, "e.toml: can't be written (File too large)." in err) == (2, True)
    assert Path("e.toml").read_text() == "[[expected]]\ncase = 'a'\nbound = 'compute'\n"
    assert sorted(path.name for path in Path().iterdir()) == ["e.toml"]


def test_nothing_to_lock_is_exit_code_3(run: Run, tmp_path: Path) -> None:
    """And writes nothing."""
    bad = build_points.record(flags=(Flag(name="loss", evidence="nan", invalid=True),))
    path = build.result(tmp_path / "a.json", [bad], of=build.session(build_points.roofs())).path
    code, _, err = run("lock", path, "-o", "e.toml")
    assert code == 3
    assert err.splitlines() == [
        "left out resnet50-train-b32-fp32 on epyc-2cpu: invalid: loss in a.json",
        "Error: nothing to lock: all of the 1 cases were left out.",
    ]
    assert not Path("e.toml").exists()
    roof = build_points.record(case=build.case(id="roof-fp32", mode="roof"))
    path = build.result(tmp_path / "b.json", [roof]).path
    code, _, err = run("lock", path)
    assert (code, err) == (3, "Error: nothing to lock: no case in the results, only roofs.\n")


def test_bad_input_is_a_message(run: Run, tmp_path: Path) -> None:
    """A file that can't be added to, and a safety that is none."""
    cpu, _ = build.two_machines(tmp_path / "results")
    Path("e.toml").write_text("[[expected]]\n")
    code, _, err = run("lock", cpu, "-o", "e.toml")
    assert code == 2
    assert err.splitlines()[-1].startswith("Error: e.toml:1: no case; give the id of one, or a pattern")
    Path("e.toml").write_bytes(b"\xff")
    code, _, err = run("lock", cpu, "-o", "e.toml")
    assert code == 3
    assert "e.toml: not UTF-8 text (byte 0). Lock into another file." in err
    code, _, err = run("lock", cpu, "--safety", "nan")
    assert (code, "'nan' is not a valid number" in err) == (2, True)
    code, _, err = run("lock", cpu, "--safety", "0.5")
    assert code == 2
    assert "0<=x<0.5" in err


def test_a_device_is_written_to(run: Run, tmp_path: Path) -> None:
    """Nothing stands in it that could be kept."""
    cpu, _ = build.two_machines(tmp_path / "results")
    code, _, err = run("lock", cpu, "-o", os.devnull)
    assert (code, err.splitlines()[-1]) == (0, f"wrote {os.devnull}")
