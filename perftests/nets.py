"""The suite's small models and its losses: an MLP, a CNN, an LSTM and a Transformer encoder.

MLP and CNN are those of report 004, layer by layer as printed there. Their oddities are kept, for they are the work
that was measured: the MLP has a ReLU after its last layer, the CNN has single-channel convolutions with nothing between
convolution and pooling, and both end in a softmax. The LSTM and the encoder run through torch's fused paths: the LSTM's
kernel, and in inference the encoder's. A loss is ``(output, target) -> scalar``, a mean over the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody gives it
from torch import Tensor, nn


class SimpleMLP(nn.Module):
    """784-256-128-10, probabilities out: ``(batch, 1, 28, 28) -> (batch, 10)``."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 256)
        self.fc2 = nn.Linear(256, 128)
        self.fc3 = nn.Linear(128, 10)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x: Tensor) -> Tensor:
        x = x.view(-1, 784)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = F.relu(self.fc3(x))
        probabilities: Tensor = self.softmax(x)
        return probabilities


class SimpleCNN(nn.Module):
    """Two 5x5 convolutions of one channel, each max-pooled, then 16-100-10: ``(batch, 1, 28, 28) -> (batch, 10)``."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 1, 5)
        self.pool1 = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(1, 1, 5)
        self.pool2 = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(1 * 4 * 4, 100)
        self.fc2 = nn.Linear(100, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool1(self.conv1(x))
        x = self.pool2(self.conv2(x))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc2(x), dim=-1)


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


def negative_probability(output: Tensor, target: Tensor) -> Tensor:
    """Minus the probability of the right class, of probabilities ``(batch, classes)``.

    What report 004 trained its MLP and CNN with: ``nll_loss`` on a softmax, hence its negative losses. Nothing takes
    the logarithm, so it isn't the cross entropy; the arithmetic measured is theirs.
    """
    return F.nll_loss(output, target)


def answer_span(output: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
    """Mean cross entropy of where an answer starts and ends.

    :param output: start and end logits, each ``(batch, tokens)``.
    :param target: first and last token of the answer, ``(batch, 2)``.
    """
    start, end = output
    return (F.cross_entropy(start, target[:, 0]) + F.cross_entropy(end, target[:, 1])) / 2
