"""Reads pytest-benchmark JSON, places every case on its machine's roofline and judges it.

In a notebook::

    import roofline as rl

    results = rl.load("results/")
    results.cases[["case", "samples_per_s", "fraction_of_roof_low", "bound"]]
    rl.compare("base/", "new/").cases
    rl.plot.roofline(results)

Importing it loads nothing else; what a name needs is loaded with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roofline import plot
    from roofline.api import ReadError, audit, check, compare, devices, history, load, ncu, nsys, trace

__all__ = ["ReadError", "audit", "check", "compare", "devices", "history", "load", "ncu", "nsys", "plot", "trace"]


def __getattr__(name: str) -> Any:
    if name == "plot":
        return import_module("roofline.plot")
    if name in __all__:
        return getattr(import_module("roofline.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
