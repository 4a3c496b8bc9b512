"""Where a project's own models come from: ``[tool.roofline] models = "module:REGISTRY"`` in its pyproject.toml."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path

from pytest_roofline.workload.models import Registry

_FILE = "pyproject.toml"


class ProjectError(ValueError):
    """The project's models can't be loaded. The message says which file says so, and why."""


def registry(folder: Path) -> Registry:
    """The registry that the project in ``folder`` names; one without models of its own where none is named.

    :raises ProjectError: what is named can't be loaded, or is no `Registry`.
    """
    named = _named(folder / _FILE)
    if named is None:
        return Registry()
    where = f"{_FILE}: [tool.roofline] models = {named!r}"
    module, _, attribute = named.partition(":")
    if str(folder) not in sys.path:
        # As with `python -m`: what is run in a folder finds what lies in it.
        sys.path.insert(0, str(folder))
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ProjectError(f"{where} can't be loaded ({error}); name it as module:attribute") from error
    if not isinstance(found, Registry):
        raise ProjectError(f"{where} is no pytest_roofline.workload.models.Registry but {type(found).__name__}")
    return found


def _named(path: Path) -> str | None:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ProjectError(f"{path.name} can't be read: {error}") from error
    named = content.get("tool", {}).get("roofline", {}).get("models")
    if named is not None and not isinstance(named, str):
        raise ProjectError(f"{path.name}: [tool.roofline] models = {named!r} is no text; name it as module:attribute")
    return named
