"""Whether a training step ran some of its model where a dispatch mode doesn't see it.

Modes belong to a thread: of a forward pass, or a part of one, in another thread nothing is seen, while its backward
pass may well be. What such a step counts is too little and looks like any other number. It shows in the parameters: one
that gets a gradient must have been read by an operation of the forward pass. (Hooks on modules would tell it of
inference as well, but they switch the fast path of ``nn.TransformerEncoder`` off, and global ones make torch warn.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from torch import Tensor, nn

from pytest_roofline.counting.storages import has_storage


class Elsewhere:
    """Parameters of ``model`` that got a gradient, and those that an operation read before.

    Known by their storage: a flattened view, or the transpose that a product takes, is the parameter too.
    """

    def __init__(self, model: nn.Module) -> None:
        self._watched = {name: parameter for name, parameter in model.named_parameters() if _gets_gradient(parameter)}
        self._with_gradient: list[str] = []
        self._read: set[int] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take notice of gradients, whatever thread they are made in."""

        def noticing(name: str) -> object:
            return lambda _: self._with_gradient.append(name)

        with ExitStack() as stack:
            for name, parameter in self._watched.items():
                stack.callback(parameter.register_post_accumulate_grad_hook(noticing(name)).remove)
            yield

    def read(self, tensors: Iterable[Tensor]) -> None:
        """An operation of the forward pass takes these."""
        self._read.update(tensor.untyped_storage()._cdata for tensor in tensors if has_storage(tensor))

    @property
    def reason(self) -> str | None:
        """Why the count of the step is not all of it; None where nothing speaks for that."""
        read = self._read
        hidden = [
            name
            for name in dict.fromkeys(self._with_gradient)
            if self._watched[name].untyped_storage()._cdata not in read
        ]
        if not hidden:
            return None
        return (
            f"{len(hidden)} of {len(self._watched)} parameters ({hidden[0]} is the first) got a gradient, but no"
            " operation seen in this thread read them before: what other threads run can't be seen, nor what is no"
            " operation of torch"
        )


def _gets_gradient(parameter: Tensor) -> bool:
    return parameter.requires_grad and parameter.is_leaf and has_storage(parameter)
