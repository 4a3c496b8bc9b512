"""Tables are read by layout; what can't be read is refused with its place, never guessed."""

import re
from pathlib import Path

import pytest

from roofline.audits.csv_rows import kind_of, number, table_of
from roofline.audits.row import Number, StatedRow, exact
from roofline.files.decoding import ReadError

PATH = Path("t.csv")
INFER = (
    "model,infer_img_size,infer_batch_size,infer_samples_per_sec,infer_step_time,infer_gmacs,infer_macts,param_count"
)


def rows_of(path: Path, text: str) -> tuple[StatedRow, ...]:
    return table_of(path, text)[0]


def test_a_plain_table() -> None:
    """Units stand in the names, digits tell the slack, what no rule knows is left alone."""
    text = "device,model,precision,batch_size,runs,images_per_s,images_per_s_std,attained_gflop_per_s,host\n"
    (row,) = rows_of(PATH, text + "mps,ResNet-50,fp32,64,3,88.60,2.40,1452.78,mac\n")
    assert (row.file, row.number, row.place) == ("t.csv", 2, "line 2")
    assert (row.model, row.device, row.device_kind, row.precision) == ("ResNet-50", "mps", "accelerator", "fp32")
    assert row.name == "mps ResNet-50 fp32 batch 64"
    assert row.batch == exact(64.0)
    assert row.runs == exact(3.0)
    assert row.samples_per_s is not None
    assert row.samples_per_s.low == pytest.approx(88.595)
    assert row.attained_flop_per_s is not None
    assert row.attained_flop_per_s.high == pytest.approx(1452.785e9)
    assert row.mode is None


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        (INFER, "resnet50,224,1024.0,3021.24,338.922,4.11,11.11,25.56"),
        (
            "model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts",
            "resnet50,224,3021.24,338.922,1024,25.56,4.11,11.11",
        ),
    ],
)
def test_timm_inference_in_any_order(header: str, cells: str) -> None:
    """Step time in ms, multiply-adds in 1e9, the batch a whole number even where it is printed with a point."""
    (row,) = rows_of(PATH, f"{header}\n{cells}\n")
    assert (row.model, row.mode) == ("resnet50", "infer")
    assert row.batch == exact(1024.0)
    assert row.size_pixel == exact(224.0)
    assert row.step_time_s is not None
    assert row.step_time_s.value == pytest.approx(0.338922)
    assert row.mac_per_sample is not None
    assert row.mac_per_sample.value == pytest.approx(4.11e9)


def test_timm_training() -> None:
    text = "model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count\n"
    (row,) = rows_of(PATH, text + "resnet50,826.06,618.983,512,224,25.56\n")
    assert (row.mode, row.batch) == ("train", exact(512.0))


def test_timm_with_both_is_two_rows_a_line() -> None:
    header = f"{INFER},train_samples_per_sec,train_step_time,train_batch_size"
    rows = rows_of(PATH, f"{header}\nresnet50,224,1024,3021.24,338.922,4.11,11.11,25.56,826.06,618.983,512\n")
    assert [(row.mode, row.number) for row in rows] == [("infer", 2), ("train", 2)]


def test_timm_rows_without_a_result_are_missing_not_zero() -> None:
    (row,) = rows_of(PATH, f"{INFER}\neva02,224,,,,1.0,2.0,3.0\n")
    assert (row.samples_per_s, row.step_time_s, row.batch) == (None, None, None)


def test_percentiles_and_modes() -> None:
    text = "model;mode;mean_ms;p95_ms;min_us\nbert;Inference;12;10.5;1.5e2\n"
    (row,) = rows_of(PATH, text)
    assert row.mode == "infer"
    assert [(share, time.value) for share, time in row.percentiles] == [
        (0.0, pytest.approx(150e-6)),
        (0.95, pytest.approx(10.5e-3)),
    ]


@pytest.mark.parametrize(
    ("cell", "side"),
    [
        ("224", 224),
        ("224x224", 224),
        ("3 x 224 x 224", 224),
        ("128X512", 256),
        ("224\u00d7224", 224),
        ("1,024", 1024),
        ("", None),
    ],
)
def test_the_size_of_an_image_in_any_spelling(cell: str, side: int | None) -> None:
    """Its side; of another image than a square one that of as many pixels."""
    (row,) = rows_of(PATH, f'model,resolution,throughput\nm,"{cell}",10\n')
    assert row.size_pixel == (None if side is None else exact(float(side)))


def test_layout_and_data_tell_cases_apart_together() -> None:
    text = "model,layout,data,batch,throughput\nm,contiguous,fake,8,10\nm,contiguous,,8,10\nm,,fake,8,10\n"
    both, layout, data = rows_of(PATH, text)
    assert (both.variant, layout.variant, data.variant) == ("contiguous, fake", "contiguous", "fake")
    assert len({both.work, layout.work, data.work}) == 3


def test_sizes_and_parameters() -> None:
    """Millions where the name says so, and in timm's tables."""
    text = "model,seq_len,Params (M),mean_ms\nbert,128,109.48,5\nbert,512,109.48,25\n"
    short, long = rows_of(PATH, text)
    assert short.length_token == exact(128.0)
    assert short.name == "bert 128 tokens"
    assert short.work != long.work
    assert short.parameter_count is not None
    assert short.parameter_count.value == pytest.approx(109.48e6)
    (row,) = rows_of(PATH, "model,parameter_count,mean_ms\nm,25557032,5\n")
    assert row.parameter_count == exact(25_557_032.0)
    (row,) = rows_of(PATH, f"{INFER}\nresnet50,224,1024,3021.24,338.922,4.11,11.11,25.56\n")
    assert row.parameter_count is not None
    assert (row.parameter_count.low, row.parameter_count.high) == pytest.approx((25.555e6, 25.565e6))


def test_rows_of_one_work_have_one_key_whatever_the_device() -> None:
    header = "device,model,precision,batch,throughput"
    lines = "cpu,ResNet-50,FP32,8,10", "cuda:0,resnet50,fp32,8,100", "cpu,resnet50,fp32,16,10"
    cpu, cuda, larger = rows_of(PATH, "\n".join((header, *lines)))
    assert cpu.work == cuda.work != larger.work
    assert (cpu.device_kind, cuda.device_kind) == ("cpu", "accelerator")


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("0.10", Number(0.10, 0.095, 0.105)),
        ("1,598.31", Number(1598.31, 1598.305, 1598.315)),
        ("359", Number(359.0, 358.5, 359.5)),
        ("1.5e3", Number(1500.0, 1450.0, 1550.0)),
        (".5", Number(0.5, 0.45, 0.55)),
    ],
)
def test_printed_numbers(text: str, figure: Number) -> None:
    read = number(text)
    assert read is not None
    assert (read.value, read.low, read.high) == pytest.approx((figure.value, figure.low, figure.high))


@pytest.mark.parametrize("text", ["", "-", "n/a", "NaN", " inf ", "None"])
def test_missing_numbers(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize("text", ["abc", "65,77", "1.234,5", "12,34", "-5", "1e99", ".", "1 000", "0x10", "1e-99"])
def test_what_is_no_number_is_refused(text: str) -> None:
    """A decimal comma is not read as a group, nor the other way round."""
    with pytest.raises(ValueError, match=re.escape(text)):
        number(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv: no line in it."),
        ("\n \n", "t.csv: no line in it."),
        ("model,throughput\n", "t.csv: a header and no row."),
        ("model,throughput\nr,1,2\n", "t.csv:2: 3 cells under 2 columns."),
        ("model,throughput\n\nr\n", "t.csv:3: 1 cells under 2 columns."),
        ("model,throughput\nr,fast\n", "t.csv:2: column 'throughput': 'fast' is no number that was measured."),
        (
            "model,throughput,images_per_s\nr,1,2\n",
            "t.csv:1: the columns 'throughput' and 'images_per_s' mean the same.",
        ),
        ("model,arch,throughput\nr,r,2\n", "t.csv:1: the columns 'model' and 'arch' mean the same."),
        ('model,throughput\n"r,1\n', "not a CSV table"),
    ],
)
def test_refusals_say_where_and_what(text: str, message: str) -> None:
    with pytest.raises(ReadError) as error:
        rows_of(PATH, text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "header", ["date_ms,commit,name,iter_per_sec", "model,precision", "model,infer_samples_per_sec", "infer_step_time"]
)
def test_an_unknown_layout_is_refused_with_what_is_there_and_what_is_needed(header: str) -> None:
    with pytest.raises(ReadError) as error:
        rows_of(PATH, f"{header}\n" + ",".join("1" for _ in header.split(",")))
    message = str(error.value)
    assert f"Columns found: {', '.join(header.split(','))}." in message
    assert "Needed: one of images_per_s" in message
    assert "model, infer_samples_per_sec, infer_step_time, infer_batch_size" in message


def test_a_refusal_names_the_first_of_many_columns() -> None:
    """A profiler's table has hundreds."""
    names = [f"c{number}" for number in range(100)]
    with pytest.raises(ReadError) as error:
        rows_of(PATH, ",".join(names))
    assert "Columns found: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 90 more. Needed:" in str(error.value)


@pytest.mark.parametrize(
    ("device", "kind"),
    [
        ("cpu", "cpu"),
        ("Mac CPU", "cpu"),
        ("cuda:0", "accelerator"),
        ("mps", "accelerator"),
        ("NVIDIA A100-SXM4-80GB", "accelerator"),
        ("AMD EPYC 9654", "cpu"),
        ("NVIDIA Grace CPU", "cpu"),
        ("rtx4090", None),
        (None, None),
    ],
)
def test_kind_of_a_device_by_its_name(device: str | None, kind: str | None) -> None:
    """A name that does not tell is not guessed at."""
    assert kind_of(device) == kind


def test_columns_that_no_rule_knows_are_named() -> None:
    """A misspelt figure must not pass for one that was looked at; timm's tables have columns of their own."""

    def unread(header: str) -> tuple[str, ...]:
        return table_of(PATH, f"{header}\n{','.join('1' for _ in header.split(','))}\n")[1]

    assert unread("model,images/s,GFLOPs,gflops_attained,,batch_size") == ("GFLOPs", "gflops_attained")
    assert unread("model,images_per_s") == ()
    assert unread("model,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count") == ()
