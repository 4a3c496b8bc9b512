"""FLOPs of recurrent layers that run as one fused operation.

Those that run cell by cell need nothing here: their products and gates are dispatched one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from pytest_roofline.counting import formulas
from pytest_roofline.counting.calls import Call, tensors_in
from pytest_roofline.counting.functions import DROPOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a cell does besides its products in one time step, in FLOPs per element of the hidden state.

    ``gates``: how many products of the input and of the state there are, each with its bias. ``gates_forward``: what
    is done with them all. ``gates_backward``: the way back through that. ``joins``: sums of the gradients that come to
    the state from the next step and from the layer's result.
    """

    gates: int
    gates_forward: int
    gates_backward: int
    joins: int

    def forward(self, *, biased: bool) -> int:
        return self.gates_forward + self._biases(biased)

    def backward(self, *, biased: bool) -> int:
        """The gradient of each bias is a sum over all steps."""
        return self.gates_backward + self.joins + self._biases(biased)

    def _biases(self, biased: bool) -> int:
        return 2 * self.gates if biased else 0


RNN_RELU = Cell(gates=1, gates_forward=2, gates_backward=1, joins=1)
"""The sum of both products, and the function."""

RNN_TANH = Cell(gates=1, gates_forward=2, gates_backward=3, joins=1)

LSTM = Cell(gates=4, gates_forward=13, gates_backward=22, joins=1)
"""Four sums of both products, three sigmoids, two tanh, three products and a sum. Back: three for each of the five
functions (their gradient is two FLOPs, and a product), six products, and the sum of both ways to the cell's state."""

GRU = Cell(gates=3, gates_forward=10, gates_backward=15, joins=2)
"""Three sums, two sigmoids, tanh, a product, and the mean of old and new (3). Back: nine for three functions, four
products, a sign and a sum."""

_CELLS = (RNN_RELU, RNN_TANH, LSTM, GRU)
"""By the numbers that cuDNN, MIOpen and oneDNN give them."""


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


def _gates(call: Call, *, backward: bool, cell: Cell, layers: int, hidden: int, biased: bool) -> int:
    """Of so many layers, each direction one: steps of all sequences times their hidden states."""
    each = cell.backward(biased=biased) if backward else cell.forward(biased=biased)
    return each * prod(call.shape("input")[:-1]) * layers * hidden


def _onednn_gates(*, backward: bool) -> Callable[[Call], int]:
    def flop(call: Call) -> int:
        given = call.arguments
        cell, hidden, biased = _CELLS[given["mode"]], given["hidden_size"], given["has_biases"]
        return _gates(call, backward=backward, cell=cell, layers=1, hidden=hidden, biased=biased)

    return flop


def _listed_gates(*, backward: bool) -> Callable[[Call], int]:
    """cuDNN and MIOpen: all layers and directions at once, dropout between layers included."""

    def flop(call: Call) -> int:
        given = call.arguments
        wanted = not backward or given["output_mask"][3]
        biased = wanted and any(weight.dim() == 1 for weight in given["weight"])
        directions = 2 if given["bidirectional"] else 1
        gates = _gates(
            call,
            backward=backward,
            cell=_CELLS[given["mode"]],
            layers=given["num_layers"] * directions,
            hidden=given["hidden_size"],
            biased=biased,
        )
        return gates + _dropout(call, directions * (given.get("proj_size") or given["hidden_size"]))

    return flop


def _mps_gates(*, backward: bool) -> Callable[[Call], int]:
    def flop(call: Call) -> int:
        given = call.arguments
        directions = 2 if given["bidirectional"] else 1
        hidden = given["params"][0].shape[0] // LSTM.gates
        layers, biased = given["num_layers"] * directions, given["has_biases"]
        gates = _gates(call, backward=backward, cell=LSTM, layers=layers, hidden=hidden, biased=biased)
        return gates + _dropout(call, directions * hidden)

    return flop


def _dropout(call: Call, width: int) -> int:
    """Of what each layer but the last hands on, the same on the way back."""
    given = call.arguments
    between: int = given["num_layers"] - 1 if given["train"] and given["dropout"] else 0
    return DROPOUT * prod(call.shape("input")[:-1]) * width * between


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

OTHER: Mapping[str, Callable[[Call], int]] = {
    "aten::mkldnn_rnn_layer": _onednn_gates(backward=False),
    "aten::mkldnn_rnn_layer_backward": _onednn_gates(backward=True),
    "aten::_cudnn_rnn": _listed_gates(backward=False),
    "aten::_cudnn_rnn_backward": _listed_gates(backward=True),
    "aten::miopen_rnn": _listed_gates(backward=False),
    "aten::miopen_rnn_backward": _listed_gates(backward=True),
    "aten::_lstm_mps": _mps_gates(backward=False),
    "aten::lstm_mps_backward": _mps_gates(backward=True),
}
"""FLOPs of biases, gates and dropout of one call, by qualified name.

Cell by cell it is as much, but for the ends (no gradient joins another at the last step, none goes on to the first
state where that needs none) and for the gradients of the weights, which are added up step by step instead of in the
products.
"""
