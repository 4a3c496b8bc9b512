"""Models by name, with random weights: torchvision's, timm's and transformers', and those a project adds."""

from __future__ import annotations

from pytest_roofline.workload.models.registry import Registry, label
from pytest_roofline.workload.models.spec import BrokenLibrary, Loss, ModelSpec, UnknownModel

__all__ = ["BrokenLibrary", "Loss", "ModelSpec", "Registry", "UnknownModel", "label"]
