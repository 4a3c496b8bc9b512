"""The suite's own settings: which cases, on which data."""

from __future__ import annotations

from perftests.sharing import STRATEGIES
from pytest_roofline.settings import Setting, choice, truth, whole, words
from pytest_roofline.workload.precision import PRECISIONS

LOADER: tuple[Setting, ...] = (
    Setting(
        name="workers",
        metavar="N",
        parse=whole(0, 1024),
        help="Data loader workers. Default: what the CPUs leave free.",
    ),
    Setting(name="pin_memory", parse=truth, default=False, switch=True, help="Load into pinned memory (CUDA)."),
    Setting(
        name="prefetch_factor",
        metavar="N",
        parse=whole(1, 1024),
        default=2,
        help="Batches each worker prepares ahead. Default: 2.",
    ),
    Setting(
        name="no_augment",
        parse=truth,
        default=False,
        switch=True,
        help="Resize and centre crop instead of random crop and flip.",
    ),
)
"""How data are loaded: each is a field of `data_options.LoaderOptions` by its name."""

SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="matrix",
        metavar="TIERS",
        parse=words,
        joined_by=",",
        default=("smoke",),
        help="Tiers of perftests/matrix.toml (smoke, reports), or a TOML file of your own. Default: smoke.",
    ),
    Setting(
        name="model",
        metavar="NAMES",
        parse=words,
        joined_by=",",
        help="Models: mlp, cnn, bert_base, lstm, transformer_encoder, torchvision's classification models, timm:NAME, "
        "hf:MODEL_TYPE.",
    ),
    Setting(name="batch", metavar="SIZES", parse=words, joined_by=",", help="Batch sizes, such as 16,32."),
    Setting(
        name="precision",
        metavar="NAMES",
        parse=words,
        joined_by=",",
        help=f"{', '.join(PRECISIONS)}.",
    ),
    Setting(name="mode", metavar="NAMES", parse=words, joined_by=",", help="train, infer."),
    Setting(name="layout", metavar="NAMES", parse=words, joined_by=",", help="contiguous, channels_last."),
    Setting(name="channels_last", parse=truth, default=False, switch=True, help="The same as --layout channels_last."),
    Setting(
        name="data",
        metavar="SOURCE",
        parse=str,
        help="synthetic (ready on the device), fake (torchvision's FakeData), sample (real photographs) "
        "or imagefolder:PATH.",
    ),
    *LOADER,
    Setting(
        name="grad_accum_steps",
        metavar="N",
        parse=whole(1, 4096),
        default=1,
        help="Batches whose gradients one step adds up.",
    ),
    Setting(
        name="strategy",
        metavar="NAME",
        parse=choice(*STRATEGIES),
        default="ddp",
        help="How ranks that torchrun started share a training (test_scaling.py): ddp (DistributedDataParallel) or "
        "fsdp (FSDP2). Default: ddp.",
    ),
    Setting(
        name="no_memory_check",
        metavar="",
        parse=truth,
        default=False,
        switch=True,
        help="Build cases that need more memory than is free, too: the system may end the run.",
    ),
)
