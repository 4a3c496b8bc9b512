"""Find models by name: the project's own, torchvision's, ``timm:NAME`` and ``hf:MODEL_TYPE``.

A project names its own in its pyproject.toml: ``[tool.roofline] models = "module:REGISTRY"``.
"""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from pytest_roofline.workload.models import libraries, timm_models, torchvision_models, transformers_models
from pytest_roofline.workload.models.spec import BrokenLibrary, ModelSpec, UnknownModel

_TIMM, _HF = "timm:", "hf:"


@dataclass(frozen=True, slots=True)
class Registry:
    """Finds models by name.

    :param built_in: a project's own models: name -> what makes its `ModelSpec`. Looking one up loads nothing else.
    """

    built_in: Mapping[str, Callable[[], ModelSpec]] = field(default_factory=dict)

    def find(self, name: str) -> ModelSpec:
        """The model of that name.

        :raises UnknownModel: there is none.
        """
        if name in self.built_in:
            return self.built_in[name]()
        self.check(name)
        if name.startswith(_TIMM):
            return timm_models.find(name.removeprefix(_TIMM), label(name))
        if name.startswith(_HF):
            return transformers_models.find(name.removeprefix(_HF))
        return torchvision_models.find(name)

    def check(self, name: str) -> None:
        """Make sure that the name is known. Builds nothing; imports the library the model is of.

        :raises UnknownModel: it isn't.
        :raises BrokenLibrary: its library can't be imported, so nobody knows.
        """
        if name in self.built_in:
            return
        library = {_TIMM: "timm", _HF: "transformers"}.get(name[: name.find(":") + 1], "torchvision")
        why = libraries.broken(library)
        if why is not None:
            raise BrokenLibrary(f"no {name}: {why}")
        if name.startswith(_TIMM):
            timm_models.check(name.removeprefix(_TIMM))
        elif name.startswith(_HF):
            transformers_models.check(name.removeprefix(_HF))
        elif name not in torchvision_models.names():
            raise UnknownModel(self._unknown(name))

    def names(self) -> tuple[str, ...]:
        """Every name without a prefix, built-in ones first. Builds nothing; imports torchvision."""
        return (*self.built_in, *torchvision_models.names())

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name.lower().replace("-", "_"), self.names(), n=3)
        own = f"built in are {', '.join(self.built_in)}" if self.built_in else "others are timm:NAME and hf:MODEL_TYPE"
        hint = f"near matches: {', '.join(near)}" if near else own
        of_torchvision = len(torchvision_models.names())
        source = (
            f"{of_torchvision} torchvision classification models are known by name"
            if of_torchvision
            else "torchvision is not installed, so its models are missing: pip install torchvision"
        )
        return f"unknown model {name!r}; {hint}; {source}"


def label(name: str) -> str:
    """The name as it stands in ids and file names: ``timm_resnet50``, ``hf_bert``, ``hf_bert_1a2b3c4d`` (of a file).

    :raises UnknownModel: it names a file that can't be read.
    """
    text = transformers_models.label(name.removeprefix(_HF)) if name.startswith(_HF) else name
    return re.sub(r"[^A-Za-z0-9_.]+", "_", text)


_FILE = "pyproject.toml"


class ProjectError(ValueError):
    """The project's models can't be loaded. The message says which file says so, and why."""


def registry_of(folder: Path) -> Registry:
    """The registry_of that the project in ``folder`` names; one without models of its own where none is named.

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
