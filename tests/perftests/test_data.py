"""From a data source to batches on the device, with real images and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from PIL import Image

from perftests import data, data_options, image_folder, models, sample_images
from perftests.data_options import DataError, DataSpec, LoaderOptions

CPU = torch.device("cpu")


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
def sample(monkeypatch: pytest.MonkeyPatch) -> DataSpec:
    """The sample source with two classes of two images."""
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", sample_images.PHOTOGRAPHS[:2])
    monkeypatch.setattr(sample_images, "IMAGES_PER_CLASS", 2)
    return data_options.parse("sample")


SYNTHETIC, FAKE = data_options.parse("synthetic"), data_options.parse("fake")
MLP = models.find("mlp")


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
    """Channels-last, in the dtype of the parameters."""
    spec = models.find("resnet18")
    (images,), _ = data.open_batches(SYNTHETIC, spec, 2, CPU, "channels_last", dtype=torch.bfloat16).next()
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert images.dtype == torch.bfloat16


def test_synthetic_tokens_are_in_the_vocabulary() -> None:
    """Whole numbers whatever the dtype of the parameters, and targets that are two positions."""
    spec = models.find("bert_base")
    (tokens,), target = data.open_batches(SYNTHETIC, spec, 8, CPU, dtype=torch.bfloat16).next()
    assert (tokens.shape, tokens.dtype) == ((8, 128), torch.int64)
    assert 0 <= tokens.min() < tokens.max() < 28996
    assert target is not None
    assert target.shape == (8, 2)
    assert 0 <= target.min() <= target.max() < 128


@pytest.mark.parametrize("source", [SYNTHETIC, FAKE])
def test_inference_gets_no_target(source: DataSpec) -> None:
    """From any source."""
    assert data.open_batches(source, MLP, 2, CPU, with_target=False).next()[1] is None


def test_fake_images_come_through_the_loader() -> None:
    """In the model's shape, with a wait that is counted."""
    batches = data.open_batches(FAKE, MLP, 2, CPU)
    (images,), target = batches.next()
    assert images.shape == (2, 1, 28, 28)
    assert target is not None
    waited = batches.wait_s()
    assert waited is not None
    assert waited > 0
    batches.close()


@pytest.mark.parametrize(("name", "shape"), [("mlp", (2, 1, 28, 28)), ("resnet18", (2, 3, 224, 224))])
def test_real_images_come_in_the_models_shape(root: Path, name: str, shape: tuple[int, ...]) -> None:
    """Gray and small for the small networks; with a worker."""
    options = LoaderOptions(workers=1)
    batches = data.open_batches(_folder(root), models.find(name), 2, CPU, loader=options)
    (images,), target = batches.next()
    batches.close()
    assert images.shape == shape
    assert target is not None
    assert set(target.tolist()) <= {0, 1}


def test_sample_images_are_built_and_loaded(sample: DataSpec, tmp_path: Path) -> None:
    """In the cache that is given."""
    assert data.check(sample, MLP, 4, tmp_path) == ()
    assert [path.name for path in tmp_path.iterdir()] == [f"sample-{sample_images.VERSION}-2x2"]
    (images,), _ = data.open_batches(sample, MLP, 4, CPU, cache_folder=tmp_path).next()
    assert images.shape == (4, 1, 28, 28)


def test_tokens_take_no_images(root: Path) -> None:
    """A model of tokens is refused other data, with the flag and what to use."""
    for spec in (FAKE, _folder(root)):
        with pytest.raises(DataError, match=r"^--data: .* data are images, and bert_base takes tokens; use synthetic"):
            data.open_batches(spec, models.find("bert_base"), 2, CPU)


def test_sources_without_a_folder_need_no_check() -> None:
    """Any batch size goes."""
    assert data.check(SYNTHETIC, MLP, 10**6) == ()
    assert data.check(FAKE, MLP, 10**6) == ()


def test_a_good_folder_passes_with_its_notes(root: Path, tmp_path: Path) -> None:
    """What was left out is told."""
    (root / "empty").mkdir()
    assert data.check(_folder(root), MLP, 6, tmp_path) == ("classes without an image, left out: empty",)


def test_fewer_images_than_a_batch_are_refused(root: Path, tmp_path: Path) -> None:
    """Both numbers, the flag, and the largest batch that goes."""
    with pytest.raises(DataError) as error:
        data.check(_folder(root), MLP, 8, tmp_path)
    assert str(error.value) == (
        "--data: 6 images < batch 8: imagefolder_mini has not one full batch. "
        "Use a --batch of at most 6, or more images."
    )


def test_more_classes_than_outputs_are_refused(root: Path, tmp_path: Path) -> None:
    """A target the model has no output for would stop the first step."""
    for number in range(10):
        path = root / f"class{number}" / "1.jpg"
        path.parent.mkdir()
        path.write_bytes((root / "a" / "0.jpg").read_bytes())
    with pytest.raises(DataError, match=r"imagefolder_mini has 12 classes, and mlp has 10 outputs"):
        data.check(_folder(root), MLP, 2, tmp_path)


def test_a_folder_is_read_once_a_session(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many cases use it."""
    calls = []
    real = image_folder.find
    monkeypatch.setattr(image_folder, "find", lambda *arguments: (calls.append(arguments), real(*arguments))[1])
    for batch in (1, 2, 3):
        data.check(_folder(root), MLP, batch, tmp_path)
        data.describe(_folder(root))
    assert len(calls) == 1


def test_the_description_holds_no_path(root: Path, sample: DataSpec, tmp_path: Path) -> None:
    """Folder's name, images and classes as plain values: the same data elsewhere is the same workload."""
    assert data.describe(SYNTHETIC) == {"source": "synthetic"}
    assert data.describe(FAKE) == {"source": "fake"}
    assert data.describe(_folder(root)) == {"source": "imagefolder_mini", "images": 6, "classes": 2}
    described = data.describe(sample, tmp_path)
    assert described == {"source": "sample", "images": 4, "classes": 2, "version": sample_images.VERSION}
    assert json.loads(json.dumps(described)) == described


def test_too_little_shared_memory_is_refused_before_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size is that of the batches the model gets: 8 x 28 x 28 x 4 bytes."""
    seen = []

    def refuse(options: LoaderOptions, batch_byte: int) -> None:
        seen.append((options.workers, batch_byte))
        raise DataError("too little")

    monkeypatch.setattr(data, "check_shared_memory", refuse)
    with pytest.raises(DataError, match="too little"):
        data.open_batches(FAKE, MLP, 8, CPU, loader=LoaderOptions(workers=3))
    assert seen == [(3, 8 * 28 * 28 * 4)]


def test_the_default_loader_has_no_workers() -> None:
    """Options are the caller's to plan."""
    assert LoaderOptions() == LoaderOptions(workers=0, pin_memory=False, prefetch_factor=data_options.PREFETCH_FACTOR)


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"ROOFLINE_CACHE": "/fast/here", "XDG_CACHE_HOME": "/x"}, "linux", "/fast/here"),
        ({"XDG_CACHE_HOME": "/x"}, "linux", "/x/pytest-roofline"),
        ({"ROOFLINE_CACHE": "", "XDG_CACHE_HOME": ""}, "linux", "~/.cache/pytest-roofline"),
        ({}, "darwin", "~/Library/Caches/pytest-roofline"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/pytest-roofline"),
        ({}, "win32", "~/AppData/Local/pytest-roofline"),
    ],
)
def test_the_folder_is_the_users_wish_or_the_platforms_habit(
    environment: dict[str, str], platform: str, expected: str
) -> None:
    """ROOFLINE_CACHE wins; an empty variable is none."""
    assert data.user_cache(environment, platform) == Path(expected).expanduser()


@pytest.mark.parametrize("variable", ["ROOFLINE_CACHE", "XDG_CACHE_HOME"])
def test_a_home_folder_that_is_not_known_is_refused(variable: str) -> None:
    """With the way out."""
    with pytest.raises(DataError, match=r"^ROOFLINE_CACHE: .*~nosuchuser/c, and ~nosuchuser is no known home folder"):
        data.user_cache({variable: "~nosuchuser/c"}, "linux")
