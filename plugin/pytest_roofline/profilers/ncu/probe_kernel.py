"""Launches one kernel that does nothing, through the driver alone: what the pre-flight has ncu count.

Run by its path, in an interpreter without any package: loading torch would take longer than all the rest.
"""

from __future__ import annotations

import ctypes
import sys

SAYS = "roofline probe: "
"""Before all that it says, so that it can be distinguished from what ncu says."""

NO_GPU = f"{SAYS}no GPU: "
"""The same where there is no driver, or no device: nothing that another try would change."""

NAME = b"roofline_probe"

# For the oldest device that a driver still knows: it translates for the one there is.
_PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry roofline_probe()
{
    ret;
}
"""


class CudaError(Exception):
    """A call of the driver, by the name ``call``, failed."""

    def __init__(self, call: str, code: int, text: str) -> None:
        super().__init__(f"{call} failed with {code} ({text})")
        self.call = call


class Driver:
    """The calls of the CUDA driver that are needed here (CUDA Driver API)."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def call(self, name: str, *arguments: object) -> None:
        """:raises CudaError: its result is not CUDA_SUCCESS."""
        code = int(getattr(self._library, name)(*arguments))
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            raise CudaError(name, code, (text.value or b"unknown").decode("ascii", "replace"))

    def launch(self) -> None:
        """One block of one thread on the first device.

        :raises CudaError: something is in the way.
        """
        device = ctypes.c_int()
        context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", ctypes.byref(module), _PTX)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, NAME)
        ones = [ctypes.c_uint(1)] * 6
        self.call("cuLaunchKernel", function, *ones, ctypes.c_uint(0), None, None, None)
        self.call("cuCtxSynchronize")


def main() -> int:
    """0, or 1 and a line on standard error."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = Driver(ctypes.CDLL(name))
    except OSError as error:
        print(f"{NO_GPU}no NVIDIA driver ({error})", file=sys.stderr)
        return 1
    try:
        driver.launch()
    except CudaError as error:
        print(f"{NO_GPU if error.call in ('cuInit', 'cuDeviceGet') else SAYS}{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
