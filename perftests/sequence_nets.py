"""Two classifiers of token sequences, the usual kinds: a recurrent one and a Transformer encoder, of torch's modules.

They run through torch's fused paths: the LSTM's kernel, and in inference the encoder's.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceConfig:
    """Sizes of both. ``heads`` and ``feedforward`` are the encoder's alone."""

    vocabulary: int = 10_000
    hidden: int = 256
    layers: int = 2
    heads: int = 8
    feedforward: int = 1024
    classes: int = 10


class LSTMClassifier(nn.Module):
    """Embedding, LSTM, and a class from its last state: ``(batch, tokens) -> (batch, classes)``."""

    def __init__(self, config: SequenceConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.hidden)
        self.lstm = nn.LSTM(config.hidden, config.hidden, config.layers, batch_first=True)
        self.head = nn.Linear(config.hidden, config.classes)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.lstm(self.embedding(tokens))
        logits: Tensor = self.head(states[:, -1])
        return logits


class EncoderClassifier(nn.Module):
    """Embedding of tokens and positions, encoder layers, and a class from their mean.

    ``(batch, tokens) -> (batch, classes)``; at most ``tokens`` of them.
    """

    def __init__(self, config: SequenceConfig, tokens: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.hidden)
        self.positions = nn.Parameter(torch.randn(tokens, config.hidden) * 0.02)
        self.layers = nn.Sequential(
            *(
                nn.TransformerEncoderLayer(config.hidden, config.heads, config.feedforward, batch_first=True)
                for _ in range(config.layers)
            )
        )
        self.head = nn.Linear(config.hidden, config.classes)

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.layers(self.embedding(tokens) + self.positions[: tokens.shape[1]])
        logits: Tensor = self.head(states.mean(1))
        return logits
