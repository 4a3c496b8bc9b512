"""From tiers and overrides to cases."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perftests import matrix, models
from perftests.matrix import CaseSpec, MatrixError, Override, TomlError

ROOT = Path(__file__).parents[2]

HEAD = 'device = "cpu"\nmodel = "mlp"\nmode = "train"\nbatch = 8\nprecision = "fp32"\n'


def _any_model(_: str) -> None:
    """Accepts every name, so that a test needs no torchvision."""


def _load(*tiers: str, **overrides: str) -> tuple[CaseSpec, ...]:
    given = {axis: Override(tuple(text.split(",")) if text else (), f"--{axis}") for axis, text in overrides.items()}
    return matrix.load(tiers or ("smoke",), given, check_model=_any_model)


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


def test_report_001_ran_channels_last() -> None:
    """Its three networks are in both layouts; nothing else is channels-last."""
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


def test_a_case_of_several_blocks_is_one_case(file: Path) -> None:
    """Equal cases are merged, and meant for the devices of all their blocks; their order is that of the first."""
    file.write_text(f"[[t]]\n{HEAD}[[t]]\n{HEAD.replace('cpu', 'mps').replace('8', '[4, 8, 8]')}")
    cases = _load("own.toml")
    assert [(case.id, case.devices) for case in cases] == [
        ("mlp-train-b8-fp32", {"cpu", "mps"}),
        ("mlp-train-b4-fp32", {"mps"}),
    ]


def test_a_value_may_stand_without_brackets_and_axes_combine(file: Path) -> None:
    """A block is every combination of its axes, batch before precision."""
    block = HEAD.replace("8", "[1, 2]").replace('"fp32"', '["fp32", "bf16"]')
    file.write_text(f"[[t]]\n{block}")
    assert [case.id for case in _load("own.toml")] == [
        "mlp-train-b1-fp32",
        "mlp-train-b1-bf16",
        "mlp-train-b2-fp32",
        "mlp-train-b2-bf16",
    ]


def test_several_tiers_follow_each_other() -> None:
    """The cases of all of them, each once."""
    both, smoke, reports = _load("smoke", "reports"), _load("smoke"), _load("reports")
    assert [case.id for case in both[: len(smoke)]] == [case.id for case in smoke]
    assert {case.id for case in both} == {case.id for case in (*smoke, *reports)}
    assert max(Counter(case.id for case in both).values()) == 1


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


def test_several_values_are_all_run_and_repeated_ones_once() -> None:
    """``--batch 4,2,4,02`` is two batch sizes."""
    cases = _load("smoke", model="mlp", batch="4,2,4,02")
    assert _ids(cases, "cpu") == ["mlp-train-b4-fp32", "mlp-train-b2-fp32"]


def test_a_listed_model_keeps_its_own_blocks() -> None:
    """``--model mlp`` is what the tier says of the MLP, not every other model's axes."""
    assert _ids(_load("smoke", model="mlp"), "cpu") == ["mlp-train-b128-fp32"]


def test_a_model_that_is_not_listed_gets_the_axes_for_others() -> None:
    """They are the blocks with ``model = "*"``, which give no case by themselves."""
    assert _ids(_load("smoke", model="vgg11"), "cpu") == ["vgg11-train-b8-fp32", "vgg11-infer-b8-fp32"]
    assert "*" not in {case.model for case in _load("smoke")}


def test_a_model_is_looked_up_for_every_kind_of_device() -> None:
    """resnet50 is listed for CUDA alone in smoke: a CPU runs it as a model that isn't listed."""
    cases = _load("smoke", model="resnet50")
    assert _ids(cases, "cpu") == ["resnet50-train-b8-fp32", "resnet50-infer-b8-fp32"]
    assert "resnet50-train-b64-tf32" in _ids(cases, "cuda")


def test_all_axes_together_are_exactly_what_was_asked_for() -> None:
    """With every axis given the tier adds nothing."""
    cases = _load(model="resnet18,vgg16", mode="train", batch="2,4", precision="fp32", layout="contiguous", data="fake")
    assert [case.id for case in cases] == [
        "resnet18-train-b2-fp32-fake",
        "resnet18-train-b4-fp32-fake",
        "vgg16-train-b2-fp32-fake",
        "vgg16-train-b4-fp32-fake",
    ]
    assert {case.devices for case in cases} == {frozenset({"cpu", "cuda", "mps"})}


def test_a_tier_without_axes_for_others_says_so(file: Path) -> None:
    """A model that no block lists can't be guessed the other axes of."""
    file.write_text(f"[[t]]\n{HEAD}")
    with pytest.raises(MatrixError, match=r"^--model: no block of the tier lists 'vgg11', and none has model = \"\*\""):
        _load("own.toml", model="vgg11")


@pytest.mark.parametrize(
    ("axis", "value", "message"),
    [
        ("batch", "0", "--batch: batch '0' is not allowed: use a whole number from 1 to 1000000"),
        ("batch", "1_6", "--batch: batch '1_6' is not allowed: use a whole number from 1 to 1000000"),
        (
            "precision",
            "amp",
            "--precision: 'amp' is not allowed: use fp32, tf32, torch_default, amp_bf16, amp_fp16, bf16 or fp16 "
            "(near match: amp_bf16 or amp_fp16)",
        ),
        ("batch", "1000001", "--batch: batch '1000001' is not allowed: use a whole number from 1 to 1000000"),
        ("batch", "9" * 5000, f"--batch: batch '{'9' * 40}...' is not allowed: use a whole number from 1 to 1000000"),
        ("model", "", "--model: no model given, so no case is left"),
    ],
)
def test_a_wrong_value_names_the_flag_and_what_is_allowed(axis: str, value: str, message: str) -> None:
    """So does an axis with no value at all."""
    with pytest.raises(MatrixError) as error:
        _load("smoke", **{axis: value})
    assert str(error.value) == message


def test_an_unknown_model_names_the_flag_and_near_matches() -> None:
    """The real list is asked."""
    with pytest.raises(MatrixError, match=r"^--model: unknown model 'resnet19'; near matches: resnet1\d+"):
        matrix.load(("smoke",), {"model": Override(("resnet19",), "--model")})


@pytest.mark.parametrize(
    ("tier", "message"),
    [
        ("smoek", "--matrix: no tier 'smoek' (near match: smoke); use smoke or reports, or FILE.toml for your own"),
        ("none.toml", "--matrix: none.toml can't be read: No such file or directory"),
        ("own.toml:c", "--matrix: no tier 'c'; use a or b"),
        ("own.toml", "--matrix: own.toml has 2 tiers; name one: own.toml:a or own.toml:b"),
    ],
)
def test_an_unknown_tier_names_the_ones_there_are(file: Path, tier: str, message: str) -> None:
    """By name, in the user's file, and a file that isn't there."""
    file.write_text(f"[[a]]\n{HEAD}[[b]]\n{HEAD}")
    with pytest.raises(MatrixError) as error:
        _load(tier)
    assert str(error.value) == message


def test_a_tier_of_a_file_can_be_named(file: Path) -> None:
    """``FILE.toml:TIER`` where a file has several."""
    file.write_text(f"[[a]]\n{HEAD}[[b]]\n{HEAD.replace('8', '9')}")
    assert [case.id for case in _load("own.toml:b")] == ["mlp-train-b9-fp32"]


def test_no_tier_at_all_is_refused() -> None:
    """``--matrix ,`` names none."""
    with pytest.raises(MatrixError, match=r"^--matrix: no tier given; tiers are smoke, reports$"):
        matrix.load(())


@pytest.mark.parametrize(
    ("line", "changed", "message"),
    [
        (
            'precision = "fp32"',
            'precison = "fp32"',
            "own.toml:7: unknown key 'precison' (near match: precision); keys are ",
        ),
        (
            'precision = "fp32"',
            "",
            "own.toml:2: the block has no 'precision'; it needs device, model, mode, batch, prec",
        ),
        ("batch = 8", "batch = 0", "own.toml:6: batch '0' is not allowed: use a whole number from 1"),
        ("batch = 8", 'batch = "8"', "own.toml:6: batch of type str is not allowed: use a whole number, or a list"),
        ("batch = 8", "batch = true", "own.toml:6: batch of type bool is not allowed: use a whole number, or a list"),
        ("batch = 8", "batch = []", "own.toml:6: batch is empty, so the block has no case; give it a value or remove"),
        ('mode = "train"', "mode = 1", "own.toml:5: mode of type int is not allowed: use a text, or a list of them"),
        (
            'mode = "train"',
            'mode = ["tran"]',
            "own.toml:5: 'tran' is not allowed: use train or infer (near match: train)",
        ),
        ('device = "cpu"', 'device = "tpu"', "own.toml:3: 'tpu' is not allowed: use cpu, cuda or mps"),
        ('model = "mlp"', 'model = "mlpp"', "own.toml:4: unknown model 'mlpp'; near matches: mlp"),
        ("batch = 8", "batch = 8\ndata = 'x'", "own.toml:7: 'x' is not allowed: use synthetic, fake, sample or image"),
        ("batch = 8", "batch = ", "own.toml:6: Invalid value"),
        (
            "batch = 8",
            f"batch = 0x{'f' * 5000}",
            "own.toml:6: batch '1000001' is not allowed: use a whole number from 1",
        ),
        ('mode = "train"', "mode = [[1]]", "own.toml:5: mode of type list is not allowed: use a text"),
        ('mode = "train"', "mode.a = 1", "own.toml:2: mode of type dict is not allowed: use a text"),
        ("batch = 8", f"batch = {'9' * 5000}", "own.toml:"),
        ("batch = 8", f"batch = {'[' * 5000}{']' * 5000}", "own.toml:"),
    ],
)
def test_an_error_in_a_file_reads_path_line_message(file: Path, line: str, changed: str, message: str) -> None:
    """The line is that of the key, or of the block where a key is missing."""
    file.write_text(f"\n[[t]]\n{HEAD}".replace(line, changed))
    with pytest.raises(MatrixError) as error:
        matrix.load(("own.toml",), check_model=models.check)
    assert str(error.value).startswith(message)


def test_the_largest_batch_is_allowed_however_it_is_written() -> None:
    """Zeros in front don't count, were there thousands."""
    assert _ids(_load("smoke", model="mlp", batch=f"{'0' * 5000}1000000"), "cpu") == ["mlp-train-b1000000-fp32"]


def test_two_folders_of_one_name_are_refused(file: Path) -> None:
    """Their cases would have the same id and be two workloads."""
    file.write_text(f'[[t]]\n{HEAD}data = ["imagefolder:/a/mini", "imagefolder:/b/mini/train"]\n')
    with pytest.raises(MatrixError, match=re.escape("imagefolder:/a/mini and imagefolder:/b/mini/train would give")):
        _load("own.toml")


def test_loading_needs_no_torch() -> None:
    """A tier of built-in models alone is read without torch or torchvision."""
    code = (
        "import sys; from perftests import matrix; from perftests.matrix import Override as O;"
        "matrix.load(['smoke'], {'model': O(('mlp',), '')}, check_model=lambda name: None);"
        "print(sorted({'torch', 'torchvision', 'numpy', 'PIL'} & sys.modules.keys()))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout.strip() == "[]"


def test_a_value_is_looked_at_once_however_many_cases_have_it() -> None:
    """Ten thousand cases ask for each block's models and nothing more."""
    asked: list[str] = []
    batches = Override(tuple(map(str, range(1, 601))), "--batch")
    cases = matrix.load(("smoke",), {"batch": batches}, check_model=asked.append)
    assert len({case.id for case in cases}) == len(cases) > 10_000
    assert len(asked) < 30


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(text: str) -> Path:
    path = Path("m.toml")
    path.write_text(text)
    return path


def test_tables_are_read_in_order_with_their_lines() -> None:
    """Header and keys each have the line they stand on, also behind a multi-line value and a comment."""
    path = _write("# c\n[[a]]\nx = [\n  1,\n]\n\n[['b']]\ny = 2\n[[a]] # again\n\"x\" = 3\n")
    tables = matrix.read_tables(path)
    assert list(tables) == ["a", "b"]
    assert [table.values for table in tables["a"]] == [{"x": [1]}, {"x": 3}]
    assert [table.where() for table in tables["a"]] == ["m.toml:2", "m.toml:9"]
    assert [table.where("x") for table in tables["a"]] == ["m.toml:3", "m.toml:10"]
    assert tables["b"][0].where("y") == "m.toml:8"


def test_a_key_that_is_not_there_is_at_the_header() -> None:
    """What is missing is reported where the table begins."""
    assert matrix.read_tables(_write("\n[[a]]\nx = 1\n"))["a"][0].where("z") == "m.toml:2"


def test_tables_written_inline_are_read_without_lines() -> None:
    """Valid TOML is never refused for its spelling; its errors point at the file's beginning."""
    table = matrix.read_tables(_write("\na = [{x = 1}]\n"))["a"][0]
    assert (table.values, table.where("x")) == ({"x": 1}, "m.toml:1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[a]]\nx = \n", "m.toml:2: Invalid value"),
        ("[[a]]\nx = 1\nx = 2\n", "m.toml:3: Cannot overwrite a value"),
        ("[[a]]\nx = [1,", "m.toml:2: Invalid value"),
        ("[[a]]\n\n[a]\n", "m.toml:3: Cannot declare ('a',) twice"),
        ("\n[a]\nx = 1\n", "m.toml:2: 'a' is not a list of tables; begin each with [[a]]"),
        ("x = 1\n[[a]]\n", "m.toml:1: 'x' is not a list of tables; begin each with [[x]]"),
        ("a = []\n", "m.toml:1: 'a' is not a list of tables; begin each with [[a]]"),
        ("# nothing\n", "m.toml:1: holds no table; begin each with [[NAME]]"),
    ],
)
def test_an_error_reads_path_line_message(text: str, message: str) -> None:
    """A broken file and a file of another shape are refused with the line."""
    with pytest.raises(TomlError) as error:
        matrix.read_tables(_write(text))
    assert str(error.value) == message


def test_a_file_that_is_no_text_is_refused() -> None:
    """The byte that isn't UTF-8 is named."""
    Path("m.toml").write_bytes(b"[[a]]\n\xff")
    with pytest.raises(TomlError, match=r"^m.toml:1: not UTF-8 text \(byte 6\)$"):
        matrix.read_tables(Path("m.toml"))


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    """Some editors begin a file with one."""
    Path("m.toml").write_bytes(b"\xef\xbb\xbf[[a]]\nx = 1\n")
    table = matrix.read_tables(Path("m.toml"))["a"][0]
    assert (table.values, table.where("x")) == ({"x": 1}, "m.toml:2")


def test_an_absolute_path_is_shown_from_here(tmp_path: Path) -> None:
    """Messages hold no machine's folders where it can be helped."""
    _write("x")
    with pytest.raises(TomlError, match=r"^m\.toml:1: "):
        matrix.read_tables(tmp_path / "m.toml")


def test_a_pipe_is_refused() -> None:
    """Reading it would wait for its writer."""
    os.mkfifo("m.toml")
    with pytest.raises(TomlError, match=r"^m\.toml: can't be read \(no regular file\); give a TOML file$"):
        matrix.read_tables(Path("m.toml"))
