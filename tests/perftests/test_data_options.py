"""What --data can name, and how images are loaded."""

from __future__ import annotations

import re
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from perftests import data_options
from perftests.data_options import DataError, DataSpec, LoaderOptions, check_shared_memory


@pytest.mark.parametrize("kind", ["synthetic", "fake", "sample"])
def test_a_word_names_a_source(kind: str) -> None:
    """Blanks around it don't matter, and the flag is kept for messages."""
    spec = data_options.parse(f" {kind} ", "--roofline-data")
    assert (spec.kind, spec.path, spec.source, spec.label) == (kind, None, "--roofline-data", kind)


def test_an_image_folder_has_a_path() -> None:
    """What follows the colon is the path; ~ is the home folder."""
    assert data_options.parse("imagefolder:~/pictures") == DataSpec(
        kind="imagefolder", path=Path("~/pictures").expanduser(), source="--data"
    )


@pytest.mark.parametrize("text", ["", "imagenet", "Synthetic", "synthetic:x", "sample:3", "fake:"])
def test_anything_else_is_refused_with_what_is_allowed(text: str) -> None:
    """The message holds the flag, the text and the choice."""
    expected = f"--data: {text!r} is not allowed: use synthetic, fake, sample or imagefolder:PATH"
    with pytest.raises(DataError, match=re.escape(expected) + "$"):
        data_options.parse(text)


def test_a_bare_path_is_refused_with_the_right_spelling(tmp_path: Path) -> None:
    """Somebody who gives a folder is told how."""
    with pytest.raises(DataError, match=re.escape(f"(for a folder: imagefolder:{tmp_path})")):
        data_options.parse(str(tmp_path))


@pytest.mark.parametrize("text", ["imagefolder:", "imagefolder: "])
def test_an_image_folder_without_a_path_is_refused(text: str) -> None:
    """There is no default folder."""
    with pytest.raises(DataError, match=re.escape(f"--data: {text!r} names no folder: use imagefolder:PATH")):
        data_options.parse(text)


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/data/imagenet-mini", "imagefolder_imagenet-mini"),
        ("/data/imagenet-mini/", "imagefolder_imagenet-mini"),
        ("/data/imagenet-mini/train", "imagefolder_imagenet-mini"),
        ("/data/my pictures::2", "imagefolder_my_pictures_2"),
        ("/", "imagefolder_root"),
    ],
)
def test_a_label_holds_the_folders_name_and_no_path(path: str, label: str) -> None:
    """It is fit for a test id: no slash, no blank, no colon."""
    assert data_options.parse(f"imagefolder:{path}").label == label


def test_links_in_a_circle_have_a_label(tmp_path: Path) -> None:
    """Whether the folder is there is checked later, with a message."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert data_options.parse(f"imagefolder:{tmp_path}/a").label in ("imagefolder_a", "imagefolder_b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("imagefolder:~nosuchuser/x", "--data: imagefolder:~nosuchuser/x: ~nosuchuser is no known home folder; give"),
        ("imagefolder:a\0b", "--data: imagefolder:'a\\x00b': a path holds no NUL character"),
        ("x" * 5000, f"--data: {'x' * 5000!r} is not allowed: use synthetic"),
    ],
)
def test_what_can_be_no_path_is_refused(text: str, message: str) -> None:
    """Somebody else's home folder that isn't known, a character no path has, and a name no file system takes."""
    with pytest.raises(DataError, match="^" + re.escape(message)):
        data_options.parse(text)


Usage = namedtuple("Usage", "total used free")


def _plan(**changes: Any) -> data_options.LoaderPlan:
    return data_options.plan(**({"data": "sample", "device_kind": "cpu", "effective_cpus": 2} | changes))


@pytest.mark.parametrize(
    ("kind", "cpus", "workers", "threads"),
    [
        ("cpu", 1, 0, 1),
        ("cpu", 2, 1, 1),
        ("cpu", 8, 1, 7),
        ("cpu", 16, 2, 14),
        ("cpu", 64, 8, 56),
        ("cuda", 1, 0, 1),
        ("cuda", 2, 1, 1),
        ("cuda", 16, 15, 1),
        ("cuda", 64, 16, 48),
        ("mps", 10, 9, 1),
    ],
)
def test_workers_and_threads_are_no_more_than_the_cpus(kind: str, cpus: int, workers: int, threads: int) -> None:
    """On 2 CPUs one loads and one computes; nothing is noted."""
    plan = _plan(device_kind=kind, effective_cpus=cpus)
    assert (plan.options.workers, plan.threads, plan.notes) == (workers, threads, ())
    assert workers + threads <= cpus


def test_ready_data_leaves_every_cpu_to_the_model() -> None:
    """Synthetic batches need no worker, whatever was asked for."""
    plan = _plan(data="synthetic", effective_cpus=4, workers=3, pin_memory=True)
    assert (plan.options, plan.threads, plan.notes) == (LoaderOptions(), 4, ())


@pytest.mark.parametrize(("workers", "threads"), [(0, 4), (1, 3), (3, 1)])
def test_a_wish_for_workers_takes_from_the_threads(workers: int, threads: int) -> None:
    """Together they stay as many as there are CPUs."""
    plan = _plan(effective_cpus=4, workers=workers)
    assert (plan.options.workers, plan.threads, plan.notes) == (workers, threads, ())


def test_a_wish_for_too_many_workers_is_granted_and_noted() -> None:
    """Eight workers on two CPUs: the user's to try, and the reader's to know."""
    plan = _plan(workers=8)
    assert (plan.options.workers, plan.threads) == (8, 1)
    assert plan.notes == ("8 loader workers and 1 thread compete for 2 CPUs",)


@pytest.mark.parametrize(("kind", "pinned"), [("cuda", True), ("cpu", False), ("mps", False)])
def test_memory_is_pinned_for_cuda_alone(kind: str, pinned: bool) -> None:
    """Elsewhere it has no use and torch warns; the note says so."""
    plan = _plan(device_kind=kind, pin_memory=True)
    assert plan.options.pin_memory is pinned
    assert [note.split(";")[0] for note in plan.notes] == [
        "pinned memory only speeds up copies to CUDA devices" for _ in range(not pinned)
    ]


def test_a_prefetch_factor_without_workers_is_noted() -> None:
    """Nobody prefetches; its default is no wish and isn't noted."""
    assert _plan(workers=0, prefetch_factor=4).notes == (
        "without workers nobody prefetches; the prefetch factor has no effect",
    )
    assert _plan(workers=0, prefetch_factor=2).notes == ()
    assert _plan(workers=1, prefetch_factor=4).options.prefetch_factor == 4


def test_options_tell_what_changes_the_work() -> None:
    """As plain values; how workers were started and a factor nobody reads are none of it."""
    assert LoaderOptions(workers=2, augment=False, start_method="spawn").describe() == {
        "workers": 2,
        "pin_memory": False,
        "prefetch_factor": 2,
        "augment": False,
    }
    assert LoaderOptions().describe()["prefetch_factor"] is None


BATCH_BYTE = 32 * 3 * 224 * 224 * 4


def _free(monkeypatch: pytest.MonkeyPatch, byte: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(byte, 0, byte))


def test_batches_that_do_not_fit_are_refused_with_both_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of 32 images is 19.3 MB; a worker prepares two ahead, a third is in use; there are 4 MB."""
    _free(monkeypatch, 4_000_000)
    with pytest.raises(DataError) as error:
        check_shared_memory(LoaderOptions(workers=1), BATCH_BYTE, tmp_path)
    assert str(error.value) == (
        f"--workers 1: the loader needs 57.8 MB of shared memory, and {tmp_path} has 4.00 MB free: 19.3 MB a batch, "
        "1 x 2 prepared ahead and 1 in use. Use --workers 0, a smaller --batch, or give the container more "
        "(docker: --shm-size or --ipc=host)."
    )


def test_the_limit_is_exact_and_the_advice_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine batches fit in room for nine; in a byte less the workers that are advised do."""
    options = LoaderOptions(workers=4)
    _free(monkeypatch, 9 * BATCH_BYTE)
    check_shared_memory(options, BATCH_BYTE, tmp_path)
    _free(monkeypatch, 9 * BATCH_BYTE - 1)
    with pytest.raises(DataError, match="Use --workers 3,"):
        check_shared_memory(options, BATCH_BYTE, tmp_path)
    check_shared_memory(LoaderOptions(workers=3), BATCH_BYTE, tmp_path)


def test_without_workers_or_shared_memory_nothing_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The main process hands nothing over, and macOS has no /dev/shm to fill."""
    _free(monkeypatch, 0)
    check_shared_memory(LoaderOptions(workers=0), BATCH_BYTE, tmp_path)
    check_shared_memory(LoaderOptions(workers=4), BATCH_BYTE, tmp_path / "missing")


def test_more_workers_than_can_be_started_are_refused() -> None:
    """A thousand of them on two CPUs are not ready within minutes."""
    data_options.plan(data="fake", device_kind="cpu", effective_cpus=2, workers=32)
    with pytest.raises(DataError, match=r"^--workers 33: .* on 2 CPUs\. Use at most 32\.$"):
        data_options.plan(data="fake", device_kind="cpu", effective_cpus=2, workers=33)
