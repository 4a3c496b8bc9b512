"""What distinguishes two calls of one operation, as short text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from pytest_roofline.counting.calls import Call, tensors_in

_DEFAULTS = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "output_padding": 0}
"""Arguments of convolutions and poolings that are told where they are not this."""


def shape_text(call: Call) -> str:
    """Shapes of the tensor arguments in their order, and the settings of a convolution or pooling that change its work.

    ``32x64x56x56, 64x64x3x3, padding 1`` is a convolution; a list is summed up: ``161 tensors of 25557032``. Without
    tensor arguments the shape of the result stands there.
    """
    tensors = [text for value in call.arguments.values() if (text := _text(value))]
    return ", ".join((*(tensors or [_text(call.result)]), *_settings(call)))


def may_run_as_winograd(call: Call, dtype: str) -> bool:
    """Whether a convolution, or the backward of one, may run with 1/2.25 of its multiplications.

    So it may in fp32 with a 3x3 kernel, stride 1, no dilation and no groups (Lavin and Gray, 2015, F(2x2, 3x3)).
    """
    given = call.arguments
    weight = given.get("weight", given.get("W"))
    if dtype != "fp32" or weight is None or tuple(weight.shape[2:]) != (3, 3):
        return False
    return all(_single(given.get(name, 1)) == 1 for name in ("stride", "dilation", "groups"))


def _settings(call: Call) -> Iterator[str]:
    if "kernel_size" in call.arguments:
        yield f"kernel {_number(call.arguments['kernel_size'])}"
    for name, default in _DEFAULTS.items():
        value = call.arguments.get(name)
        if isinstance(value, int | list | tuple) and value not in ([], ()) and _single(value) != default:
            yield f"{name} {_number(value)}"
    if call.arguments.get("transposed") is True:
        yield "transposed"
    if "output_mask" in call.arguments:
        wanted = zip(("input", "weight"), call.arguments["output_mask"][:2], strict=True)
        yield "gradient of " + " and ".join(name for name, asked in wanted if asked)


def _text(value: object) -> str:
    """Empty where ``value`` holds no tensor."""
    if isinstance(value, Tensor):
        return "nested" if value.is_nested else "x".join(map(str, value.shape)) or "scalar"
    tensors = list(tensors_in(value))
    if not tensors:
        return ""
    if len(tensors) == 1:
        return _text(tensors[0])
    return f"{len(tensors)} tensors of {sum(tensor.numel() for tensor in tensors)}"


def _single(value: object) -> object:
    """The number all of a sequence are, else the sequence."""
    if isinstance(value, Sequence) and len(set(value)) == 1:
        return value[0]
    return value


def _number(value: object) -> str:
    single = _single(value)
    return "x".join(map(str, single)) if isinstance(single, Sequence) else str(single)
