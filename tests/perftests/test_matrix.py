"""From tiers and overrides to cases."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from perftests import matrix, models
from perftests.matrix import CaseSpec, MatrixError, Override

ROOT = Path(__file__).parents[2]

HEAD = 'device = "cpu"\nmodel = "mlp"\nmode = "train"\nbatch = 8\nprecision = "fp32"\n'


def _load(*tiers: str, **overrides: str) -> tuple[CaseSpec, ...]:
    given = {axis: Override(tuple(text.split(",")) if text else (), f"--{axis}") for axis, text in overrides.items()}
    with patch.object(models, "check"):  # no test needs torchvision
        return matrix.load(tiers or ("smoke",), given)


def _ids(cases: tuple[CaseSpec, ...], kind: str) -> list[str]:
    return [case.id for case in cases if kind in case.devices]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("own.toml")


def test_smoke_is_small_on_a_cpu() -> None:
    """About ten cases: at the default budget of 10 s each they are measured within five minutes."""
    assert _ids(_load("smoke"), "cpu") == [
        "resnet18-train-b8-fp32",
        "resnet18-train-b16-fp32",
        "resnet18-train-b16-amp_bf16",
        "resnet18-infer-b1-fp32",
        "resnet18-infer-b16-fp32",
        "resnet18-infer-b16-bf16",
        "mobilenet_v2-train-b16-fp32",
        "mlp-train-b128-fp32",
        "cnn-train-b128-fp32",
        "bert_base-infer-b1-fp32",
    ]


def test_smoke_has_cases_for_every_kind_of_device() -> None:
    """An accelerator gets both modes, and more than one precision and batch size."""
    for kind in ("cuda", "mps"):
        cases = [case for case in _load("smoke") if kind in case.devices]
        assert len(cases) >= 10
        assert {case.mode for case in cases} == {"train", "infer"}
        assert len({case.precision for case in cases}) > 1
        assert len({case.batch for case in cases if case.model == "resnet50"}) > 1


def test_the_reports_matrices_are_as_printed() -> None:
    """Batch sizes and precisions per model, mode and kind of device, of reports 000 to 004 together."""
    axes: dict[tuple[str, str, str], tuple[set[int], set[str]]] = {}
    for case in _load("reports"):
        for kind in case.devices:
            batches, precisions = axes.setdefault((case.model, case.mode, kind), (set(), set()))
            batches.add(case.batch)
            precisions.add(case.precision)
    default, with_amp = {"torch_default"}, {"torch_default", "amp_fp16"}
    big = {(model, "train", "cuda"): ({32, 64, 128, 256}, with_amp) for model in ("resnet50", "vgg16", "mobilenet_v2")}
    small = {
        (model, "train", kind): ({16, 32, 64}, default)
        for model in ("resnet50", "vgg16", "mobilenet_v2")
        for kind in ("cpu", "mps")
    }
    nets = {
        (model, mode, kind): ({1, 64, 128}, default)
        for model in ("mlp", "cnn")
        for mode in ("train", "infer")
        for kind in ("cpu", "cuda")
    }
    bert = {
        ("bert_base", mode, kind): ({1, 8, 16, 32}, default) for mode in ("train", "infer") for kind in ("cpu", "cuda")
    }
    resnet18 = {
        ("resnet18", "train", "cuda"): ({1, 64, 128}, default),
        ("resnet18", "train", "cpu"): ({64}, default),
        ("resnet18", "infer", "cuda"): ({1, 64, 128}, default),
        ("resnet18", "infer", "cpu"): ({1, 64, 128}, default),
    }
    assert axes == big | small | nets | bert | resnet18
    channels_last = {case.model for case in _load("reports") if case.layout == "channels_last"}
    assert channels_last == {"resnet50", "vgg16", "mobilenet_v2"}


def test_the_tiers_names_are_real_models() -> None:
    """Both tiers go through with the real list of models."""
    assert matrix.load(("smoke", "reports"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "resnet50-train-b32-amp_bf16"),
        ({"layout": "channels_last"}, "resnet50-train-b32-amp_bf16-channels_last"),
        ({"data": "sample"}, "resnet50-train-b32-amp_bf16-sample"),
        ({"layout": "channels_last", "data": "fake"}, "resnet50-train-b32-amp_bf16-channels_last-fake"),
        ({"data": "imagefolder:/d/mini/train"}, "resnet50-train-b32-amp_bf16-imagefolder_mini"),
        ({"compile": True}, "resnet50-train-b32-amp_bf16-compile"),
        ({"data": "sample", "compile": True}, "resnet50-train-b32-amp_bf16-sample-compile"),
    ],
)
def test_an_id_says_what_is_not_the_default(changes: dict[str, Any], expected: str) -> None:
    """Model, mode, batch and precision always; layout, data and compiling only where they differ. Never a path."""
    axes: dict[str, Any] = {"layout": "contiguous", "data": "synthetic"} | changes
    case = CaseSpec(model="resnet50", mode="train", batch=32, precision="amp_bf16", devices=frozenset({"cuda"}), **axes)
    assert case.id == expected


def test_a_block_is_every_combination_and_a_case_of_several_blocks_is_one(file: Path) -> None:
    """Batch before precision; equal cases are for the devices of all their blocks. A value may stand without brackets.

    Some editors begin a file with a byte order mark.
    """
    pairs = HEAD.replace("8", "[4, 8, 8]").replace('"fp32"', '["fp32", "bf16"]').replace("cpu", "mps")
    file.write_text(f"[[t]]\n{HEAD}[[t]]\n{pairs}", encoding="utf-8-sig")
    assert [(case.id, case.devices) for case in _load("own.toml")] == [
        ("mlp-train-b8-fp32", {"cpu", "mps"}),
        ("mlp-train-b4-fp32", {"mps"}),
        ("mlp-train-b4-bf16", {"mps"}),
        ("mlp-train-b8-bf16", {"mps"}),
    ]


def test_several_tiers_follow_each_other() -> None:
    """The cases of all of them, each once."""
    both, smoke, reports = _load("smoke", "reports"), _load("smoke"), _load("reports")
    assert [case.id for case in both[: len(smoke)]] == [case.id for case in smoke]
    assert sorted(case.id for case in both) == sorted({case.id for case in (*smoke, *reports)})


@pytest.mark.parametrize(
    ("axis", "value"),
    [
        ("mode", "infer"),
        ("batch", "3"),
        ("precision", "bf16"),
        ("layout", "channels_last"),
        ("data", "sample"),
    ],
)
def test_an_override_replaces_its_axis_everywhere(axis: str, value: str) -> None:
    """Every case has the value, and other axes are as they were."""
    cases = _load("smoke", **{axis: value})
    assert {str(getattr(case, axis)) for case in cases} == {value}
    assert {case.model for case in cases} == {case.model for case in _load("smoke")}


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"model": "mlp", "batch": "4,2,4,02"}, ["mlp-train-b4-fp32", "mlp-train-b2-fp32"]),
        # A listed model keeps its own blocks, another gets those with model = "*".
        ({"model": "mlp"}, ["mlp-train-b128-fp32"]),
        ({"model": "vgg11"}, ["vgg11-train-b8-fp32", "vgg11-infer-b8-fp32"]),
        # It is listed for CUDA alone in smoke: a CPU runs it as a model that isn't listed.
        ({"model": "resnet50"}, ["resnet50-train-b8-fp32", "resnet50-infer-b8-fp32"]),
        (
            {"model": "resnet18,vgg16", "mode": "train", "batch": "2", "precision": "fp32", "data": "fake"},
            ["resnet18-train-b2-fp32-fake", "vgg16-train-b2-fp32-fake"],
        ),
    ],
)
def test_what_flags_leave_of_a_tier(overrides: dict[str, str], expected: list[str]) -> None:
    """Several values are all run, repeated ones once."""
    assert _ids(_load("smoke", **overrides), "cpu") == expected


def test_a_model_is_looked_up_for_every_kind_of_device() -> None:
    """A block with ``model = "*"`` gives no case by itself."""
    assert "resnet50-train-b64-tf32" in _ids(_load("smoke", model="resnet50"), "cuda")
    assert "*" not in {case.model for case in _load("smoke")}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"batch": "1000001"}, "--batch: '1000001' is not allowed: use a whole number from 1 to 1000000"),
        ({"model": ""}, "--model: no model given, so no case is left"),
        ({"model": "vgg11"}, "--model: no block of the tier lists 'vgg11', and none has model = \"*\""),
        # Their cases would have the same id and be two workloads.
        (
            {"model": "mlp", "data": "imagefolder:/a/mini,imagefolder:/b/mini/train"},
            "--data: imagefolder:/a/mini and imagefolder:/b/mini/train would give cases of the same name",
        ),
    ],
)
def test_a_flag_that_can_not_be_used_is_refused(file: Path, overrides: dict[str, str], message: str) -> None:
    """More of them are in test_errors.py, with their exit code."""
    file.write_text(f"[[t]]\n{HEAD}")
    with pytest.raises(MatrixError, match=f"^{re.escape(message)}"):
        _load("own.toml", **overrides)


@pytest.mark.parametrize(
    ("tiers", "message"),
    [
        ([], "no tier given; tiers are smoke, reports"),
        (["none.toml"], "none.toml: can't be read (No such file or directory)"),
        (["own.toml:c"], "no tier 'c'; use a or b"),
        (["own.toml"], "own.toml has 2 tiers; name one: own.toml:a or own.toml:b"),
    ],
)
def test_an_unknown_tier_names_the_ones_there_are(file: Path, tiers: list[str], message: str) -> None:
    """One of a file can be named."""
    file.write_text(f"[[a]]\n{HEAD}[[b]]\n{HEAD.replace('8', '9')}")
    assert [case.id for case in _load("own.toml:b")] == ["mlp-train-b9-fp32"]
    with pytest.raises(MatrixError, match=f"^--matrix: {re.escape(message)}"):
        matrix.load(tiers)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("precision =", "precison =", "block 1 of [[t]]: unknown key 'precison'; use device, model, mode, "),
        ('precision = "fp32"', "", "block 1 of [[t]]: no 'precision'; a block needs device, model, mode, batch, prec"),
        ("batch = 8", "batch = 0", "block 1 of [[t]]: batch: '0' is not allowed: use a whole number from 1"),
        ("batch = 8", "batch = true", "block 1 of [[t]]: batch: type bool is not allowed: use a whole number"),
        ("batch = 8", "batch = []", "block 1 of [[t]]: batch is empty, so the block has no case"),
        ('"train"', "[[1]]", "block 1 of [[t]]: mode: type list is not allowed: use a text, or a list of them"),
        ('"train"', '["tran"]', "block 1 of [[t]]: mode: 'tran' is not allowed: use train or infer (near match"),
        ('"cpu"', '"tpu"', "block 1 of [[t]]: device: 'tpu' is not allowed: use cpu, cuda or mps"),
        ('"mlp"', '"mlpp"', "block 1 of [[t]]: model: unknown model 'mlpp'; near matches: mlp"),
        ("batch = 8", "data = 'x'", "block 1 of [[t]]: no 'batch'"),
        ("batch = 8", "batch = 8\ndata = 'x'", "block 1 of [[t]]: data: 'x' is not allowed: use synthetic, fake"),
        ("batch = 8", "batch = ", "Invalid value (at line 5, column 9)"),
        ("batch = 8", f"batch = {'9' * 5000}", "Exceeds the limit"),
        ("batch = 8", f"batch = {'[' * 5000}{']' * 5000}", ""),
        ("[[t]]", "[t]", "'t' is not a list of tables; begin each with [[t]]"),
        ("[[t]]", "t = []\n[[u]]", "'t' is not a list of tables"),
        (f"[[t]]\n{HEAD}", "# nothing", "holds no table; begin each with [[NAME]]"),
    ],
)
def test_an_error_in_a_file_says_where_it_is(file: Path, old: str, new: str, message: str) -> None:
    """File, tier, block and key."""
    file.write_text(f"[[t]]\n{HEAD}".replace(old, new))
    with pytest.raises(MatrixError) as error:
        matrix.load(("own.toml",))
    assert str(error.value).startswith("--matrix: ")
    assert f"own.toml: {message}" in str(error.value)


def test_loading_needs_no_torch() -> None:
    """A tier of built-in models alone is read without torch or torchvision."""
    code = (
        "import sys; from perftests import matrix, models; from perftests.matrix import Override as O;"
        "models.check('mlp'); models.check = lambda name: None;"
        "matrix.load(['smoke'], {'model': O(('mlp',), '')});"
        "print(sorted({'torch', 'torchvision', 'numpy', 'PIL'} & sys.modules.keys()))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout.strip() == "[]"


def test_a_value_is_looked_at_once_however_many_cases_have_it() -> None:
    """Ten thousand cases ask for each block's models and nothing more."""
    batches = Override(tuple(map(str, range(1, 601))), "--batch")
    with patch.object(models, "check") as asked:
        cases = matrix.load(("smoke",), {"batch": batches})
    assert len({case.id for case in cases}) == len(cases) > 10_000
    assert asked.call_count < 30
