"""Models by name, with random weights: torchvision's, timm's and transformers', and those a project adds."""

from __future__ import annotations

from pytest_roofline.models.registry import Registry, label
from pytest_roofline.models.spec import Loss, ModelSpec, UnknownModel

__all__ = ["Loss", "ModelSpec", "Registry", "UnknownModel", "label"]
