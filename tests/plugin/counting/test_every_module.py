"""Every module of torch.nn: its arithmetic is counted or named, forward and backward, in training and inference."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_roofline.counting import Counted, count_step
from pytest_roofline.counting.calls import tensors_in

pytestmark = [
    pytest.mark.filterwarnings("ignore:lstm/gru with projections"),
    pytest.mark.filterwarnings("ignore:Initializing zero-element tensors"),
]

NO_ARITHMETIC = {
    "ChannelShuffle": "moves data",
    "Flatten": "a view",
    "Identity": "hands on what it gets",
    "PixelShuffle": "moves data",
    "PixelUnshuffle": "moves data",
    "Unflatten": "a view",
    "UpsamplingNearest2d": "looks up",
    "Upsample": "by default it looks up",
    "Embedding": "looks up",
    "EmbeddingBag": "looks up",
    "Fold": "puts data in places",
    "Unfold": "moves data",
    "MaxUnpool1d": "puts data in places",
    "MaxUnpool2d": "puts data in places",
    "MaxUnpool3d": "puts data in places",
    **{
        f"{kind}Pad{dimensions}d": "moves data"
        for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
        for dimensions in (1, 2, 3)
    },
}
"""Modules whose forward pass computes nothing, and why."""

NOT_CALLED = {
    "Module": "a base",
    "Container": "a base",
    "Sequential": "calls others",
    "ModuleDict": "holds others",
    "ModuleList": "holds others",
    "ParameterDict": "holds parameters",
    "ParameterList": "holds parameters",
    "Buffer": "a tensor",
    "Parameter": "a tensor",
    "UninitializedBuffer": "a tensor",
    "UninitializedParameter": "a tensor",
    "LinearCrossEntropyOptions": "settings",
    "NLLLoss2d": "an old name of NLLLoss",
    "RNNBase": "a base",
    "RNNCellBase": "a base",
    "DataParallel": "needs several devices",
    "AdaptiveLogSoftmaxWithLoss": "below: its result is no tensor",
}

IMAGE = {dimensions: (2, 4, *[8] * dimensions) for dimensions in (1, 2, 3)}


def floats(*shape: int) -> Tensor:
    return torch.randn(shape, requires_grad=True)


def classes(*shape: int, of: int) -> Tensor:
    return torch.arange(torch.Size(shape).numel()).reshape(shape) % of


def transformer(**options: Any) -> dict[str, Any]:
    return {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": True, **options}


SPECIAL: dict[str, Callable[[], tuple[dict[str, Any], tuple[object, ...]]]] = {
    "Bilinear": lambda: ({"in1_features": 3, "in2_features": 4, "out_features": 5}, (floats(2, 3), floats(2, 4))),
    "CTCLoss": lambda: (
        {},
        (floats(6, 2, 4).log_softmax(2).detach().requires_grad_(), classes(2, 3, of=3) + 1, [6, 5], [3, 2]),
    ),
    "ChannelShuffle": lambda: ({"groups": 2}, (floats(*IMAGE[2]),)),
    "CosineEmbeddingLoss": lambda: ({}, (floats(2, 4), floats(2, 4), torch.tensor([1.0, -1.0]))),
    "CosineSimilarity": lambda: ({}, (floats(2, 4), floats(2, 4))),
    "CrossEntropyLoss": lambda: ({}, (floats(2, 4), classes(2, of=4))),
    "Embedding": lambda: ({"num_embeddings": 5, "embedding_dim": 4}, (classes(2, 3, of=5),)),
    "EmbeddingBag": lambda: ({"num_embeddings": 5, "embedding_dim": 4}, (classes(2, 3, of=5),)),
    "Flatten": lambda: ({}, (floats(*IMAGE[2]),)),
    "Fold": lambda: ({"output_size": (4, 4), "kernel_size": 2}, (floats(2, 8, 9),)),
    **{name: lambda: ({"input_size": 8, "hidden_size": 6}, (floats(5, 2, 8),)) for name in ("GRU", "LSTM", "RNN")},
    **{name: lambda: ({"dim": 1}, (floats(*IMAGE[2]),)) for name in ("LogSoftmax", "Softmax", "Softmin")},
    "KLDivLoss": lambda: ({"reduction": "batchmean"}, (floats(2, 4), torch.rand(2, 4))),
    "GaussianNLLLoss": lambda: ({}, (floats(2, 4), floats(2, 4).detach(), torch.ones(2, 4))),
    "GroupNorm": lambda: ({"num_groups": 2, "num_channels": 4}, (floats(*IMAGE[2]),)),
    "LayerNorm": lambda: ({"normalized_shape": 8}, (floats(*IMAGE[2]),)),
    "Linear": lambda: ({"in_features": 8, "out_features": 3}, (floats(2, 8),)),
    "LinearCrossEntropyLoss": lambda: ({"in_features": 8, "num_classes": 5}, (floats(6, 8), classes(6, of=5))),
    "MarginRankingLoss": lambda: ({}, (floats(4), floats(4), torch.ones(4))),
    "MultiLabelMarginLoss": lambda: ({}, (floats(2, 4), torch.tensor([[1, 0, -1, 2], [3, -1, 0, 1]]))),
    "MultiMarginLoss": lambda: ({}, (floats(2, 4), classes(2, of=4))),
    "MultiheadAttention": lambda: ({"embed_dim": 8, "num_heads": 2}, (floats(5, 2, 8),) * 3),
    "NLLLoss": lambda: ({}, (floats(2, 4), classes(2, of=4))),
    "PairwiseDistance": lambda: ({}, (floats(2, 4), floats(2, 4))),
    "PixelShuffle": lambda: ({"upscale_factor": 2}, (floats(*IMAGE[2]),)),
    "PixelUnshuffle": lambda: ({"downscale_factor": 2}, (floats(*IMAGE[2]),)),
    "RMSNorm": lambda: ({"normalized_shape": 8}, (floats(*IMAGE[2]),)),
    "Threshold": lambda: ({"threshold": 0.1, "value": 0.0}, (floats(*IMAGE[2]),)),
    "Transformer": lambda: (
        transformer(num_encoder_layers=1, num_decoder_layers=1),
        (floats(2, 5, 8), floats(2, 3, 8)),
    ),
    "TransformerDecoder": lambda: (
        {"decoder_layer": nn.TransformerDecoderLayer(**transformer()), "num_layers": 1},
        (floats(2, 3, 8), floats(2, 5, 8)),
    ),
    "TransformerDecoderLayer": lambda: (transformer(), (floats(2, 3, 8), floats(2, 5, 8))),
    "TransformerEncoder": lambda: (
        {"encoder_layer": nn.TransformerEncoderLayer(**transformer()), "num_layers": 1},
        (floats(2, 5, 8),),
    ),
    "TransformerEncoderLayer": lambda: (transformer(), (floats(2, 5, 8),)),
    "TripletMarginLoss": lambda: ({}, (floats(2, 4), floats(2, 4), floats(2, 4))),
    "TripletMarginWithDistanceLoss": lambda: ({}, (floats(2, 4), floats(2, 4), floats(2, 4))),
    "Unflatten": lambda: ({"dim": 1, "unflattened_size": (2, 2)}, (floats(*IMAGE[2]),)),
    "Unfold": lambda: ({"kernel_size": 2}, (floats(*IMAGE[2]),)),
    "Upsample": lambda: ({"scale_factor": 2}, (floats(*IMAGE[2]),)),
    "UpsamplingBilinear2d": lambda: ({"scale_factor": 2}, (floats(*IMAGE[2]),)),
    "UpsamplingNearest2d": lambda: ({"scale_factor": 2}, (floats(*IMAGE[2]),)),
}
"""What a module needs that doesn't follow from the names of its parameters: options, and what it is called with."""

NEEDED = {
    "in_channels": 4,
    "out_channels": 4,
    "num_features": 4,
    "kernel_size": 3,
    "output_size": 2,
    "padding": 1,
    "norm_type": 2,
    "size": 3,
    "value": 0.0,
    "input_size": 8,
    "hidden_size": 6,
}
"""Options that many modules ask for."""


def plain(kind: Any) -> tuple[dict[str, Any], tuple[object, ...]]:
    """Options and input of a module that takes an image (of its name's dimensions), a sequence or a loss's pair."""
    asked = inspect.signature(kind).parameters.values()
    options: dict[str, Any] = {
        one.name: NEEDED[one.name] for one in asked if one.default is one.empty and one.name in NEEDED
    }
    if kind.__name__.startswith("FractionalMaxPool"):
        options["output_size"] = 4
    dimensions = int(kind.__name__[-2]) if kind.__name__[-1] == "d" and kind.__name__[-2].isdigit() else 2
    if kind.__name__.startswith("MaxUnpool"):
        places = torch.zeros(IMAGE[dimensions], dtype=torch.int64)
        return {"kernel_size": 2}, (floats(*IMAGE[dimensions]), places)
    if "input_size" in options:
        return options, (floats(2, 8) if kind.__name__.endswith("Cell") else floats(5, 2, 8),)
    if kind.__name__.endswith("Loss"):
        return options, (torch.rand(2, 4, requires_grad=True), torch.ones(2, 4))
    return options, (floats(*IMAGE[dimensions]),)


MODULES = sorted(
    name
    for name in nn.modules.__all__
    if name not in NOT_CALLED and not name.startswith("Lazy") and isinstance(getattr(nn, name), type)
)


def counted(name: str, *, train: bool) -> tuple[Counted, Counted | None]:
    """Forward and, in training, backward pass; both of operations that are all told in ``operations``."""
    torch.manual_seed(0)
    kind = getattr(nn, name)
    options, given = SPECIAL[name]() if name in SPECIAL else plain(kind)
    module = kind(**options).train(train)
    results: list[object] = []

    def forward() -> None:
        with torch.inference_mode(not train):
            results.append(module(*given))

    there = count_step(forward, model=module)
    wanted = [tensor for tensor in tensors_in(results) if tensor.requires_grad]
    if not train or not wanted:
        return there, None
    gradients = [torch.ones_like(tensor) for tensor in wanted]
    return there, count_step(lambda: torch.autograd.backward(wanted, gradients), model=module)


@pytest.mark.parametrize("train", [True, False], ids=["train", "infer"])
@pytest.mark.parametrize("name", MODULES)
def test_nothing_is_silently_zero(name: str, train: bool) -> None:
    """Floating-point arithmetic makes FLOPs or is named; what makes none has its reason in a list."""
    there, back = counted(name, train=train)
    for one in (there, back):
        if one is not None:
            assert one.work.uncovered == ()
    flop = there.work.flop_per_step + (there.work.other_flop_per_step or 0)
    idle = name in NO_ARITHMETIC or ("Dropout" in name and not train)
    assert (flop == 0) == idle


def test_adaptive_softmax() -> None:
    """Its result is a tuple with a loss; head and tails are linear layers."""
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])
    loss = layer(floats(4, 8), classes(4, of=5)).loss
    work = count_step(loss.backward, model=layer).work
    assert work.uncovered == ()
    assert work.flop_per_step > 0


def test_the_lists_name_modules_there_are() -> None:
    """A name that torch drops must leave the lists; one that is newer than the oldest torch may be missing there."""
    newer = {"LinearCrossEntropyLoss"}
    assert {*NO_ARITHMETIC, *SPECIAL} - newer <= set(nn.modules.__all__)
