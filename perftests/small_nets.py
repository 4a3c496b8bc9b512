"""The MLP and the CNN of report 004, layer by layer as printed there.

Their oddities are kept, for they are the work that was measured: the MLP has a ReLU after its last layer, the CNN has
single-channel convolutions with nothing between convolution and pooling, and both end in a softmax.
"""

from __future__ import annotations

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
