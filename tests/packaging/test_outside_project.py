"""The wheel is for others: a fresh project that has it measures its own model in ten lines."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from roofline.schema.record import KEY, Record
from roofline.schema.record_json import from_json
from roofline.schema.session import Machine, Session

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]


def documented(language: str) -> str:
    """The only block of the language in README's section on other projects."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("\n## Measure your own model\n")[1].split("\n## ")[0]
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return str(block)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of somebody else with the wheel unpacked beside it."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; it is in the extra dev")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pytest.ini").write_text(documented("ini") + "addopts = --strict-markers\nfilterwarnings = error\n")
    (folder / "test_mine.py").write_text(documented("python"))
    (folder / "test_place.py").write_text(
        "import pytest_roofline\n"
        "def test_place():\n"
        f"    assert pytest_roofline.__file__.startswith({str(tmp_path / 'site')!r})\n"
    )
    return folder


def run_pytest(folder: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(folder.parent / "site")
    child = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    return child.stdout


def test_ten_lines_measure_a_model(project: Path) -> None:
    """README's example, as it stands there, is measured, proven and counted, and its record reads back."""
    assert len(documented("python").strip().splitlines()) <= 10
    printed = run_pytest(project, "--roofline-max-time", "0.2", "--roofline-device", "cpu")
    # A CPU without instructions for bfloat16 skips the other case.
    assert re.search("3 passed|2 passed, 1 skipped", printed)
    (path,) = (project / "results").rglob("*.json")
    content = json.loads(path.read_text())
    from_json(Session, content[KEY], path.name)
    from_json(Machine, content["machine_info"][KEY], path.name)
    benchmark = content["benchmarks"][0]
    assert benchmark["name"] == "test_my_model[fp32]"
    record = from_json(Record, benchmark["extra_info"][KEY], path.name)
    assert record.valid
    assert (record.case.mode, record.case.batch, record.case.sample_unit) == ("train", 8, "row")
    assert record.timing is not None
    rounds = record.timing.rounds
    assert benchmark["stats"]["data"] == pytest.approx([wall_s / rounds.steps for wall_s in rounds.wall_s])
    assert record.work is not None
    # Forward and both gradients, less the gradient of the input, at 2 FLOP a multiply-add.
    assert record.work.flop_per_step == 2 * 8 * (2 * 64 * 32 + 3 * 32 * 10)
    # pytest-benchmark's own program groups by a parameter that every row has to have.
    program = [sys.executable, "-m", "pytest_benchmark", "compare", "--group-by=param:case", str(path)]
    grouped = subprocess.run(program, capture_output=True, text=True, check=False, cwd=project)
    assert grouped.returncode == 0, grouped.stderr
    assert "benchmark 'case=test_my_model[fp32]': 1 tests" in grouped.stdout
