"""BERT with a question-answering head (Devlin et al., 2019), built from torch alone.

Layers, sizes and parameter count are those of BERT-base cased; attention goes through torch's
``scaled_dot_product_attention``. Sequences fill their length, so there is no padding mask.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody gives it
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class BertConfig:
    """Sizes of a BERT; the defaults are BERT-base cased."""

    layers: int = 12
    hidden: int = 768
    heads: int = 12
    intermediate: int = 3072
    vocabulary: int = 28996
    positions: int = 512
    segments: int = 2
    dropout: float = 0.1
    norm_epsilon: float = 1e-12


class BertForQuestionAnswering(nn.Module):
    """``tokens (batch, length) int64 -> (start logits, end logits)``, each ``(batch, length)``."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.embeddings = _Embeddings(config)
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.layers))
        self.answer = nn.Linear(config.hidden, 2)
        self.apply(_initialise)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        start, end = self.answer(x).unbind(dim=-1)
        return start, end


class _Embeddings(nn.Module):
    """Word, position and segment embeddings, summed and normalised. Every token is in the first segment."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocabulary, config.hidden)
        self.position = nn.Embedding(config.positions, config.hidden)
        self.segment = nn.Embedding(config.segments, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.word(tokens) + self.position(positions) + self.segment(torch.zeros_like(tokens))
        embedded: Tensor = self.dropout(self.norm(x))
        return embedded


class _Layer(nn.Module):
    """Self-attention and feed-forward, each followed by dropout, the residual sum and a norm."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.hidden, config.hidden)
        self.key = nn.Linear(config.hidden, config.hidden)
        self.value = nn.Linear(config.hidden, config.hidden)
        self.attended = nn.Linear(config.hidden, config.hidden)
        self.attention_norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.widen = nn.Linear(config.hidden, config.intermediate)
        self.narrow = nn.Linear(config.intermediate, config.hidden)
        self.output_norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention_norm(x + self.dropout(self.attended(self._attend(x))))
        normed: Tensor = self.output_norm(x + self.dropout(self.narrow(F.gelu(self.widen(x)))))
        return normed

    def _attend(self, x: Tensor) -> Tensor:
        query, key, value = (self._split(part(x)) for part in (self.query, self.key, self.value))
        dropout = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
        return context.transpose(1, 2).flatten(2)

    def _split(self, x: Tensor) -> Tensor:
        """``(batch, length, hidden) -> (batch, heads, length, hidden / heads)``."""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)


def _initialise(module: nn.Module) -> None:
    """Normal with standard deviation 0.02, biases zero, norms one, as published."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
