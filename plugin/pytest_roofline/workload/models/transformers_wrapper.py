"""A model of transformers as a plain module: one tensor in, tensors out."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


class FeatureModel(nn.Module):
    """``tokens (batch, length)`` or ``images -> (last hidden state[, pooled])``.

    An encoder-decoder gets the same tokens on both sides. Nothing is cached for a later token: it is one pass.
    """

    def __init__(self, model: nn.Module, config: Any) -> None:
        super().__init__()
        self.model = model
        self._name = str(model.main_input_name)
        self._two_sided = bool(config.is_encoder_decoder)
        if self._name == "input_ids" and hasattr(config, "use_cache"):
            config.use_cache = False

    def forward(self, source: Tensor) -> tuple[Tensor, ...]:
        inputs = {self._name: source}
        if self._two_sided:
            inputs["decoder_input_ids"] = source
        output = self.model(**inputs)
        # The pooled output last: without it in the loss its weights would get no gradient.
        parts = (output.last_hidden_state, getattr(output, "pooler_output", None))
        return tuple(part for part in parts if part is not None)


def build(config: Any) -> nn.Module:
    """The model of a configuration, with random weights, in torch's default dtype."""
    from copy import deepcopy

    from transformers import AutoModel

    config = deepcopy(config)
    # Typed by halves, where it is installed at all.
    auto: Any = AutoModel
    return FeatureModel(auto.from_config(config), config)
