"""FLOPs of recurrent layers that run as one fused operation.

Those that run cell by cell need nothing here: their products and gates are dispatched one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from pytest_roofline.counting import formulas
from pytest_roofline.counting.calls import Call, tensors_in


def _layers(*weights: str) -> Callable[[Call], int]:
    """All layers and directions of a call; ``weights`` names the arguments (tensors or lists) that hold weights."""

    def flop(call: Call) -> int:
        # (time, batch, features) in either order, or packed (time steps of all sequences, features).
        steps = prod(call.shape("input")[:-1])
        held = tensors_in([call.arguments[name] for name in weights])
        return formulas.recurrent_flop(steps, [tuple(weight.shape) for weight in held])

    return flop


def _both_gradients(forward: Callable[[Call], int]) -> Callable[[Call], int]:
    """The gradients of input and state take one more pass over the weights, those of the weights another."""
    return lambda call: 2 * forward(call)


def _masked_gradients(forward: Callable[[Call], int]) -> Callable[[Call], int]:
    """cuDNN and MIOpen: the pass through time is always made, the weights' gradients where asked for (last mask)."""
    return lambda call: (2 if call.arguments["output_mask"][3] else 1) * forward(call)


_ONEDNN = _layers("weight0", "weight1")
_ONEDNN_BACKWARD = _layers("weight1", "weight2")
_LIST = _layers("weight")
_MPS = _layers("params")

FLOP: Mapping[str, Callable[[Call], int | None]] = {
    # One layer and direction a call: input weight, hidden weight (then biases).
    "aten::mkldnn_rnn_layer": _ONEDNN,
    "aten::mkldnn_rnn_layer_backward": _both_gradients(_ONEDNN_BACKWARD),
    "aten::_cudnn_rnn": _LIST,
    "aten::_cudnn_rnn_backward": _masked_gradients(_LIST),
    "aten::miopen_rnn": _LIST,
    "aten::miopen_rnn_backward": _masked_gradients(_LIST),
    "aten::_lstm_mps": _MPS,
    "aten::lstm_mps_backward": _both_gradients(_MPS),
}
"""FLOPs of one call by qualified name."""
