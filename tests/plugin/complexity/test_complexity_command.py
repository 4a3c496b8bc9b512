"""``roofline complexity``: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from pytest_roofline.complexity import complexity_command as command
from pytest_roofline.complexity.complexity_command import memory_byte


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with a model of its own."""
    (tmp_path / "pyproject.toml").write_text('[tool.roofline]\nmodels = "own_models_of_a_test:MODELS"\n')
    (tmp_path / "own_models_of_a_test.py").write_text(
        "from dataclasses import replace\n"
        "from torch import nn\n"
        "from pytest_roofline.workload.models import ModelSpec, Registry, losses\n"
        "SPEC = ModelSpec(name='own', build=lambda: nn.Linear(8, 2), input_shape=(8,), input_kind='image', classes=2,\n"
        "    sample_unit='image', loss=losses.cross_entropy, loss_name='cross_entropy')\n"
        "NORMED = replace(SPEC, name='normed', min_train_batch=2, build=lambda: nn.Sequential(nn.Linear(8, 2),\n"
        "    nn.BatchNorm1d(2)))\n"
        "MODELS = Registry({'own': lambda: SPEC, 'normed': lambda: NORMED})\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command.complexity, arguments)


def test_a_text_per_model_and_a_summary_are_written(folder: Path) -> None:
    """In the folder that was asked for; the numbers are the layer's by hand."""
    result = run("--model", "own", "--batch", "2", "4", "--device-memory", "1kB", "--summaries", "model_summaries")
    assert result.exit_code == 0, result.output
    summary = json.loads((folder / "model_summaries" / "summary.json").read_text())
    own = summary["models"]["own"]
    assert own["parameter_count"] == 18
    assert own["forward_mac_per_sample"] == 16
    assert own["forward_flop_per_sample"] == 32
    assert [step["batch"] for step in own["steps"]] == [2, 4]
    # The gradient of the input isn't needed: forward and weight gradient.
    assert [step["flop_per_step"] for step in own["steps"]] == [2 * 64, 4 * 64]
    assert [step["mac_per_step"] for step in own["steps"]] == [2 * 32, 4 * 32]
    assert own["steps"][0]["parameter_byte"] == own["steps"][0]["gradient_byte"] == 72
    assert own["steps"][0]["optimizer_state_byte"] == 72
    assert [(layer["name"], layer["kind"], layer["flop"]) for layer in own["layers"]] == [("(model)", "Linear", 32)]
    text = (folder / "model_summaries" / "own.txt").read_text()
    largest = own["largest_batch"]
    for line in (
        "figure +batch 2 +batch 4",
        "parameters +18 +18",
        "FLOP forward per sample +32.00 +32.00",
        "FLOP by dtype +100 % fp32 +100 % fp32",
        rf"largest batch that fits +{largest} +{largest}",
    ):
        assert re.search(rf"^{line} *$", text, re.MULTILINE), line


def test_the_table_holds_everything_by_name_and_unit(folder: Path) -> None:
    """CSV to the terminal, a row per batch; nothing is written unasked."""
    before = set(folder.iterdir())
    result = run("--model", "own,own", "--batch", "2,4", "--mode", "infer", "--format", "csv")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["model"], row["batch"], row["flop_per_step"]) for row in rows] == [
        ("own", "2", "64.0"),
        ("own", "4", "128.0"),
    ]
    assert rows[0]["gradient_byte"] == rows[0]["saved_for_backward_byte"] == ""
    assert run("--model", "own").exit_code == 0
    assert {one for one in folder.iterdir() if one.name != "__pycache__"} == before


@pytest.mark.usefixtures("folder")
def test_every_heading_of_markdown_is_another() -> None:
    """Without its neighbours each says what it is, with the unit."""
    result = run("--model", "own", "--format", "markdown")
    heading = next(line for line in result.stdout.splitlines() if line.startswith("| model"))
    titles = [title.strip() for title in heading.strip("|").split("|")]
    assert len(set(titles)) == len(titles)
    assert {"MAC per step", "FLOP per step", "FLOP forward per sample"} <= set(titles)


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_a_model_that_works_in_another_thread_is_refused(folder: Path, mode: str) -> None:
    """A part of the model that can't be watched would make every count too small without a word."""
    (folder / f"threaded_models_{mode}.py").write_text(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from torch import nn\n"
        "from pytest_roofline.workload.models import ModelSpec, Registry, losses\n"
        "class Threaded(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.away, self.here = nn.Linear(8, 8), nn.Linear(8, 2)\n"
        "    def forward(self, x):\n"
        "        with ThreadPoolExecutor(1) as pool:\n"
        "            return self.here(pool.submit(self.away, x).result())\n"
        "SPEC = ModelSpec(name='own', build=Threaded, input_shape=(8,), input_kind='image', classes=2,\n"
        "    sample_unit='image', loss=losses.cross_entropy, loss_name='cross_entropy')\n"
        "MODELS = Registry({'threaded': lambda: SPEC})\n"
    )
    (folder / "pyproject.toml").write_text(f'[tool.roofline]\nmodels = "threaded_models_{mode}:MODELS"\n')
    result = run("--model", "threaded", "--mode", mode)
    assert result.exit_code == 2
    assert re.search("own can't .*other threads run can't be seen", " ".join(result.output.split()))


@pytest.mark.usefixtures("folder")
def test_what_can_not_be_counted_is_left_out_and_named() -> None:
    """Of a batch that a model refuses, and of a model that refuses all; the exit code tells that there was one."""
    result = run("--model", "own,normed", "--batch", "1,2", "--mode", "train", "--format", "csv")
    assert result.exit_code == 1
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["model"], row["batch"]) for row in rows] == [("own", "1"), ("own", "2"), ("normed", "2")]
    *_, last = result.stderr.splitlines()
    assert last == "left out: normed: train batch must be >= 2 (a batch norm sees a single value)"
    result = run("--model", "normed,own", "--summaries", "out", "--format", "csv")
    assert result.exit_code == 1
    assert [row["model"] for row in csv.DictReader(io.StringIO(result.stdout))] == ["own"]
    assert json.loads(Path("out", "summary.json").read_text())["models"].keys() == {"own"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "resnet5"], "near matches: .*resnet50"),
        (["--model", "own", "--batch", "0"], "'0' is no batch size: use a whole number from 1 to 1000000000"),
        (["--model", "own", "--batch", "9" * 5000], "is no batch size: use a whole number from 1 to 1000000000"),
        (["--model", "own", "--device-memory", "lots"], "'lots' is no size of memory"),
        (["--model", "normed"], "normed: train batch must be >= 2"),
        (["--model", "own", "--summaries", "pyproject.toml/x"], "can't be written"),
        (["--model", " , "], "--model names no model: give one or more"),
        ([], "Missing option '--model'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_can_not_be_used_is_a_usage_error(arguments: list[str], message: str) -> None:
    """Exit code 2 and what to do, never a traceback."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert re.search(message, " ".join(result.output.split()))


@pytest.mark.usefixtures("folder")
def test_without_torch_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that only reads results has none."""
    monkeypatch.setattr(command, "find_spec", lambda _name: None)
    result = run("--model", "resnet50")
    assert result.exit_code == 2
    assert "complexity needs torch, which is not installed: pip install torch" in result.output


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ('"nowhere_at_all:MODELS"', "can't be loaded .*; name it as module:attribute"),
        ('"json:dumps"', "is no pytest_roofline.workload.models.Registry but function"),
        ("3", "models = 3 is no text"),
        ('"', "pyproject.toml can't be read: "),
    ],
)
def test_a_project_that_names_no_registry(folder: Path, named: str, message: str) -> None:
    """The message says the file, what stands there, and how it should."""
    (folder / "pyproject.toml").write_text(f"[tool.roofline]\nmodels = {named}\n")
    result = run("--model", "resnet50")
    assert result.exit_code == 2
    assert re.search(message, " ".join(result.output.split()))


@pytest.mark.parametrize(
    ("text", "byte"),
    [("24GiB", 24 << 30), ("80 GB", 80 * 10**9), ("1.5kB", 1500), ("512Mi", 512 << 20), ("7", 7), ("2kiB", 2048)],
)
def test_sizes(text: str, byte: int) -> None:
    """Decimal and binary units, with or without the B."""
    assert memory_byte(text) == byte


@pytest.mark.parametrize("text", ["", "GiB", "-1GB", "1e9", "24 gigabytes", "0GB", "nan", "9" * 400])
def test_no_sizes(text: str) -> None:
    """The message says what is one."""
    with pytest.raises(click.BadParameter, match="is no size of memory: use a number with a unit, such as 24GiB"):
        memory_byte(text)
