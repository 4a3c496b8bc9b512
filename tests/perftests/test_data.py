"""What --data can name, how its loading is planned, and the batches on the device."""

from __future__ import annotations

import json
import re
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from perftests import data, data_options, image_folder, models, sample_images
from perftests.data_options import DataError, DataSpec, LoaderOptions, check_shared_memory

CPU = torch.device("cpu")
SYNTHETIC, FAKE = data_options.parse("synthetic"), data_options.parse("fake")
MLP = models.find("mlp")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Six images in two classes, under a name that isn't the temporary folder's."""
    for number in range(6):
        path = tmp_path / "mini" / "ab"[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.effect_noise((40, 30), 50).convert("RGB").save(path)
    return tmp_path / "mini"


def _folder(root: Path) -> DataSpec:
    return data_options.parse(f"imagefolder:{root}", "--data")


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataSpec:
    """The sample source with two classes of two images, kept in the test's folder."""
    monkeypatch.setenv("ROOFLINE_CACHE", str(tmp_path))
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", sample_images.PHOTOGRAPHS[:2])
    monkeypatch.setattr(sample_images, "IMAGES_PER_CLASS", 2)
    return data_options.parse("sample")


@pytest.mark.parametrize(
    ("text", "kind", "path", "label"),
    [
        (" synthetic ", "synthetic", None, "synthetic"),
        ("fake", "fake", None, "fake"),
        ("sample", "sample", None, "sample"),
        ("imagefolder:~/mini", "imagefolder", Path("~/mini").expanduser(), "imagefolder_mini"),
        ("imagefolder:/data/mini/train", "imagefolder", Path("/data/mini/train"), "imagefolder_mini"),
        ("imagefolder:/data/my pictures::2", "imagefolder", Path("/data/my pictures::2"), "imagefolder_my_pictures_2"),
        ("imagefolder:/", "imagefolder", Path("/"), "imagefolder_root"),
    ],
)
def test_a_source_is_a_word_or_a_folder(text: str, kind: str, path: Path | None, label: str) -> None:
    """A label is fit for a test id: the folder's name and no path, no slash, no blank, no colon."""
    spec = data_options.parse(text, "--roofline-data")
    assert (spec.kind, spec.path, spec.source, spec.label) == (kind, path, "--roofline-data", label)


def test_links_in_a_circle_have_a_label(tmp_path: Path) -> None:
    """Whether the folder is there is checked later, with a message."""
    (tmp_path / "a").symlink_to("a")
    assert _folder(tmp_path / "a").label == "imagefolder_a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not allowed: use synthetic, fake, sample or imagefolder:PATH"),
        ("Synthetic", "'Synthetic' is not allowed: use"),
        ("synthetic:x", "'synthetic:x' is not allowed: use"),
        ("fake:", "'fake:' is not allowed: use"),
        ("x" * 5000, f"{'x' * 5000!r} is not allowed: use"),
        ("/d", "'/d' is not allowed: use synthetic, fake, sample or imagefolder:PATH (for a folder: imagefolder:/d)"),
        ("imagefolder: ", "'imagefolder: ' names no folder: use imagefolder:PATH"),
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(text: str, message: str) -> None:
    """Somebody who gives a bare path is told how."""
    with pytest.raises(DataError, match="^--data: " + re.escape(message)):
        data_options.parse(text)


def _plan(data: str = "sample", device_kind: str = "cpu", effective_cpus: int = 2, **wish: Any) -> tuple[Any, ...]:
    plan = data_options.plan(wish, data=data, device_kind=device_kind, effective_cpus=effective_cpus)
    return plan.options, plan.threads, *(note.partition(";")[0] for note in plan.notes)


@pytest.mark.parametrize(
    ("kind", "cpus", "wish", "workers", "threads", "notes"),
    [
        ("cpu", 1, None, 0, 1, ()),
        ("cpu", 2, None, 1, 1, ()),
        ("cpu", 8, None, 1, 7, ()),
        ("cpu", 16, None, 2, 14, ()),
        ("cpu", 64, None, 8, 56, ()),
        ("cuda", 1, None, 0, 1, ()),
        ("cuda", 2, None, 1, 1, ()),
        ("cuda", 16, None, 15, 1, ()),
        ("cuda", 64, None, 16, 48, ()),
        ("mps", 10, None, 9, 1, ()),
        ("cpu", 4, 0, 0, 4, ()),
        ("cpu", 4, 3, 3, 1, ()),
        ("cpu", 2, 2, 2, 1, ("2 loader workers and 1 thread compete for 2 CPUs",)),
        ("cpu", 2, 32, 32, 1, ("32 loader workers and 1 thread compete for 2 CPUs",)),
    ],
)
def test_workers_and_threads_are_no_more_than_the_cpus(
    kind: str, cpus: int, wish: int | None, workers: int, threads: int, notes: tuple[str, ...]
) -> None:
    """On 2 CPUs one loads and one computes. A wish takes from the threads; for more than there are it is noted."""
    plan = _plan(device_kind=kind, effective_cpus=cpus, workers=wish)
    assert plan == (LoaderOptions(workers=workers), threads, *notes)


def test_more_workers_than_can_be_started_are_refused() -> None:
    """A thousand of them on two CPUs are not ready within minutes."""
    with pytest.raises(DataError, match=r"^--workers 33: .* on 2 CPUs\. Use at most 32\.$"):
        _plan(workers=33)


def test_wishes_without_effect_are_noted() -> None:
    """Ready data need no loader at all. Memory is pinned for CUDA alone; without workers nobody prefetches."""
    assert _plan("synthetic", effective_cpus=4, workers=3, pin_memory=True) == (LoaderOptions(), 4)
    assert _plan(device_kind="cuda", pin_memory=True) == (LoaderOptions(workers=1, pin_memory=True), 1)
    for kind in ("cpu", "mps"):
        options, _, *notes = _plan(device_kind=kind, pin_memory=True)
        assert (options.pin_memory, notes) == (False, ["pinned memory only speeds up copies to CUDA devices"])
    assert _plan(workers=0, prefetch_factor=4)[2:] == ("without workers nobody prefetches",)
    assert _plan(workers=0, prefetch_factor=2)[2:] == ()
    assert _plan(workers=1, prefetch_factor=4) == (LoaderOptions(workers=1, prefetch_factor=4), 1)


def test_options_tell_what_changes_the_work() -> None:
    """As plain values, without a factor that nobody reads: workloads are known by them."""
    assert LoaderOptions(workers=2, no_augment=True).describe() == {
        "workers": 2,
        "pin_memory": False,
        "prefetch_factor": 2,
        "augment": False,
    }
    assert LoaderOptions().describe()["prefetch_factor"] is None


BATCH_BYTE = 32 * 3 * 224 * 224 * 4


def test_batches_that_do_not_fit_into_shared_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of 32 images is 19.3 MB; four workers prepare two ahead each, a ninth is in use.

    The workers that are advised fit. Without workers nothing is handed over, and macOS has no /dev/shm.
    """
    usage, free = namedtuple("usage", "free"), 9 * BATCH_BYTE
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(free))
    check_shared_memory(LoaderOptions(workers=4), BATCH_BYTE, tmp_path)
    free -= 1
    with pytest.raises(DataError) as error:
        check_shared_memory(LoaderOptions(workers=4), BATCH_BYTE, tmp_path)
    assert str(error.value).startswith(
        f"--workers 4: the loader needs 173 MB of shared memory, and {tmp_path} has 173 MB free: 19.3 MB a batch, "
        "4 x 2 prepared ahead and 1 in use. Use --workers 3, "
    )
    check_shared_memory(LoaderOptions(workers=3), BATCH_BYTE, tmp_path)
    check_shared_memory(LoaderOptions(workers=0), 2 * free, tmp_path)
    check_shared_memory(LoaderOptions(workers=4), BATCH_BYTE, tmp_path / "missing")


def test_shared_memory_is_looked_at_before_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size is that of the batches the model gets: 8 x 28 x 28 x 4 bytes."""
    seen = []

    def refuse(options: LoaderOptions, batch_byte: int) -> None:
        seen.append((options.workers, batch_byte))
        raise DataError("too little")

    monkeypatch.setattr(data, "check_shared_memory", refuse)
    with pytest.raises(DataError, match="too little"):
        data.open_batches(FAKE, MLP, 8, CPU, loader=LoaderOptions(workers=3))
    assert seen == [(3, 8 * 28 * 28 * 4)]


def test_synthetic_images_are_standard_normal() -> None:
    """Never zeros, nothing denormal, everything finite; targets are classes of the model."""
    batches = data.open_batches(SYNTHETIC, models.find("resnet18"), 4, CPU)
    (images,), target = batches.next()
    assert (images.shape, images.dtype) == (((4, 3, 224, 224)), torch.float32)
    assert abs(images.mean().item()) < 0.01
    assert abs(images.std().item() - 1) < 0.01
    tiny = torch.finfo(torch.float32).tiny
    assert (images.abs() < tiny).count_nonzero() == 0
    assert target is not None
    assert (target.shape, target.dtype) == ((4,), torch.int64)
    assert 0 <= target.min() <= target.max() < 1000


def test_synthetic_batches_lie_ready_and_are_taken_in_turn() -> None:
    """Several different ones, the same objects again after a round, and no waiting to report."""
    batches = data.open_batches(SYNTHETIC, MLP, 2, CPU)
    first = [batches.next()[0][0] for _ in range(data.READY_BATCHES)]
    again = [batches.next()[0][0] for _ in range(data.READY_BATCHES)]
    assert all(one is other for one, other in zip(first, again, strict=True))
    assert len({image.sum().item() for image in first}) == data.READY_BATCHES > 1
    assert batches.wait_s() is None
    batches.close()


def test_synthetic_values_follow_the_seed() -> None:
    """The same seed gives the same values."""
    first, same, other = (data.open_batches(SYNTHETIC, MLP, 2, CPU, seed=seed).next()[0][0] for seed in (1, 1, 2))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_synthetic_batches_have_the_cases_layout_and_dtype() -> None:
    """Channels-last, in the dtype of the parameters; tokens stay whole numbers, with two positions as targets."""
    spec = models.find("resnet18")
    (images,), _ = data.open_batches(SYNTHETIC, spec, 2, CPU, "channels_last", dtype=torch.bfloat16).next()
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert images.dtype == torch.bfloat16
    spec = models.find("bert_base")
    (tokens,), target = data.open_batches(SYNTHETIC, spec, 8, CPU, dtype=torch.bfloat16).next()
    assert (tokens.shape, tokens.dtype) == ((8, 128), torch.int64)
    assert 0 <= tokens.min() < tokens.max() < 28996
    assert target is not None
    assert target.shape == (8, 2)
    assert 0 <= target.min() <= target.max() < 128


@pytest.mark.parametrize(("name", "shape"), [("mlp", (2, 1, 28, 28)), ("resnet18", (2, 3, 224, 224))])
def test_images_come_in_the_models_shape(root: Path, name: str, shape: tuple[int, ...]) -> None:
    """Gray and small for the small networks, through a worker, with a wait that is counted; inference has no target."""
    for source, classes in ((_folder(root), {0, 1}), (FAKE, set(range(1000)))):
        batches = data.open_batches(source, models.find(name), 2, CPU, loader=LoaderOptions(workers=1))
        (images,), target = batches.next()
        assert images.shape == shape
        assert target is not None
        assert set(target.tolist()) <= classes
        assert batches.wait_s() > 0  # type: ignore[operator]
        batches.close()
    for source in (SYNTHETIC, FAKE):
        assert data.open_batches(source, MLP, 2, CPU, with_target=False).next()[1] is None


def test_sample_images_are_built_and_loaded(sample: DataSpec, tmp_path: Path) -> None:
    """In the cache folder."""
    assert data.check(sample, MLP, 4) == ()
    assert [path.name for path in tmp_path.iterdir()] == [f"sample-{sample_images.VERSION}-2x2"]
    (images,), _ = data.open_batches(sample, MLP, 4, CPU).next()
    assert images.shape == (4, 1, 28, 28)


def test_tokens_take_no_images(root: Path) -> None:
    """A model of tokens is refused other data, with the flag and what to use."""
    for spec in (FAKE, _folder(root)):
        with pytest.raises(DataError, match=r"^--data: .* data are images, and bert_base takes tokens; use synthetic"):
            data.open_batches(spec, models.find("bert_base"), 2, CPU)


def test_a_folder_must_fit_batch_and_model(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full batch, and an output for each class; it is read once, however many cases use it.

    What was left out is noted. Sources without a folder need no check.
    """
    assert data.check(SYNTHETIC, MLP, 10**6) == data.check(FAKE, MLP, 10**6) == ()
    calls = []
    real = image_folder.find
    monkeypatch.setattr(image_folder, "find", lambda *arguments: (calls.append(arguments), real(*arguments))[1])
    (root / "empty").mkdir()
    for batch in (1, 6):
        assert data.check(_folder(root), MLP, batch) == ("classes without an image, left out: empty",)
    assert len(calls) == 1
    with pytest.raises(DataError) as error:
        data.check(_folder(root), MLP, 7)
    assert str(error.value).startswith("--data: 6 images < batch 7: ")
    with pytest.raises(DataError, match=r"has 11 classes, and mlp has 10 outputs"):
        data.check(_folder(_with_classes(root / "eleven", 11)), MLP, 2)
    assert data.check(_folder(_with_classes(root / "ten", 10)), MLP, 2) == ()


def _with_classes(root: Path, count: int) -> Path:
    for number in range(count):
        (root / f"class{number}").mkdir(parents=True)
        (root / f"class{number}" / "1.jpg").touch()
    return root


def test_the_description_holds_no_path(root: Path, sample: DataSpec) -> None:
    """Folder's name, images and classes as plain values: the same data elsewhere is the same workload."""
    assert data.describe(SYNTHETIC) == {"source": "synthetic"}
    assert data.describe(FAKE) == {"source": "fake"}
    assert data.describe(_folder(root)) == {"source": "imagefolder_mini", "images": 6, "classes": 2}
    described = data.describe(sample)
    assert described == {"source": "sample", "images": 4, "classes": 2, "version": sample_images.VERSION}
    assert json.loads(json.dumps(described)) == described
