"""Libraries that models come from: whether one can be imported, and what fits this torch where it can't."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec

from pytest_roofline.missing import reason_of

LIBRARIES = {
    "torchvision": "torchvision.models",
    "timm": "timm",
    "transformers": "transformers.models.auto.modeling_auto",
}
"""What is imported to try each: transformers loads next to nothing before."""


def is_installed(library: str) -> bool:
    return find_spec(library) is not None


@cache
def broken(library: str) -> str | None:
    """Tell why a library that is installed can't be imported, in one line with what would help; None where it can be.

    Tried once in a process: a second import of what failed half way may fail of something else.
    """
    if not is_installed(library):
        return None
    try:
        import_module(LIBRARIES[library])
    except Exception as error:  # noqa: BLE001 - a library that doesn't fit raises whatever it meets first
        said = reason_of(error)
    else:
        return None
    of_torchvision = None if library == "torchvision" else broken("torchvision")
    if of_torchvision is not None:
        return f"{library} needs torchvision: {of_torchvision}"
    torch, own = version("torch"), version(library)
    fits = fitting_torchvision(torch) if library == "torchvision" else None
    remedy = f"torch {_minor(torch)} goes with {library} {fits}" if fits else "install it anew"
    again = ", so install it anew" if fits == _minor(own) else ""
    return f"{library} {own} can't be imported beside torch {torch} ({said}): {remedy}{again}"


def fitting_torchvision(torch: str) -> str | None:
    """The torchvision that goes with a torch, as a minor version; None for a torch that no such rule is known of.

    torch 2.N goes with torchvision 0.(N+15): the table of torchvision's README.
    """
    found = re.match(r"2\.(\d+)", torch)
    return f"0.{int(found[1]) + 15}" if found else None


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def version(library: str) -> str:
    """The installed version of a library, in words where nothing tells it."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "of unknown version"
