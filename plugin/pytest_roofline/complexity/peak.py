"""Peak memory of a step: the most bytes that are held at once, from which tensors live when.

Every storage a step makes counts from the operation that made it until nobody holds it any more; what was there before
(parameters, buffers, optimiser state, old gradients, the batch) counts until it is freed. After each operation the
living are added up: what it read, if somebody still holds it, and what it wrote are both among them. That is what a
framework's allocator has given out at that moment. Not in it: rounding to blocks, fragmentation, scratch memory inside
a kernel (a convolution's workspace) and the libraries' own (a CUDA context).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from pytest_roofline.counting.calls import tensors_in
from pytest_roofline.counting.storages import has_storage


class PeakMode(TorchDispatchMode):
    """Follows which storages live while operations run. ``peak_byte`` is the most at once, ``held`` included.

    :param held: tensors that are there before; only weak references to them are kept.
    """

    def __init__(self, held: Iterable[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        # By address, which a weak reference keeps from being used again.
        self._living: dict[int, tuple[StorageWeakRef, int]] = {}
        self._note(held)
        self.peak_byte = sum(byte for _, byte in self._living.values())

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self._note(tensors_in(result))
        self._living = {address: one for address, one in self._living.items() if not one[0].expired()}
        self.peak_byte = max(self.peak_byte, sum(byte for _, byte in self._living.values()))
        return result

    def _note(self, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            if has_storage(tensor):
                storage = tensor.untyped_storage()
                if storage._cdata not in self._living:
                    self._living[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
