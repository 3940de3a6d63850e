"""AlexNet, the network of the paper for PACS."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rdiv.models.networks.images import check_width, image_recipe, image_shape, with_epochs
from rdiv.models.networks.modules import in_order, require_torch
from rdiv.models.networks.torch_model import FittedTorchModel
from rdiv.models.networks.training import Training
from rdiv.samples.pool import Pool

__all__ = ["AlexNet", "alexnet"]

TRAINING = Training(epochs=20, learning_rate=3e-4, weight_decay=1e-4, clip=5.0)


@dataclass(frozen=True)
class AlexNet:
    """AlexNet (Krizhevsky 2014, one tower): five convolutions and three dense layers.

    Parameters
    ----------
    width : int
        Channels of the first convolution, a multiple of 8; all others are in proportion. 64 is the
        published size: 61,100,840 parameters for 1000 classes.
    dropout : float
        Share of numbers left out before the first two dense layers, in training.
    training : Training
    epochs : int, optional
        Instead of those in `training`.
    weights : str or Path, optional
        A state dict saved as ``.safetensors``, to start from; names are those of torchvision's.

    Notes
    -----
    For images of at least 28 pixels. The first convolution moves by 4 pixels as published from
    128 pixels on, by 2 from 64 and by 1 below; the weights are the same. The loss is the log loss.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(6) % 2
    >>> pool = Pool(rng.random((6, 1, 28, 28)), y=y, task="classification", classes=np.arange(2))
    >>> print(AlexNet(width=8, epochs=1).fit(pool, rng).losses(pool).shape)
    (6,)
    """

    about = "five convolutions and three dense layers"
    row_loss = "log loss"
    suits = "photographs; starts from saved weights"
    keep_in_mind = "61 million parameters at full width"

    width: int = 64
    dropout: float = 0.5
    training: Training = TRAINING
    epochs: int | None = None
    weights: str | Path | None = None

    task = "classification"

    def __post_init__(self) -> None:
        check_width(self.width)
        with_epochs(self.training, self.epochs)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Train on the images of a pool."""
        build = partial(alexnet, width=self.width, dropout=self.dropout)
        recipe = image_recipe(build, "alexnet", self.training, self.epochs, self.weights)
        return recipe.fit(pool, rng)


def alexnet(
    shape: tuple[int, ...], n_outputs: int, *, width: int = 64, dropout: float = 0.5
) -> Any:
    """AlexNet for images of a shape, as a torch module."""
    nn = require_torch().nn
    channels, side = image_shape(shape, "alexnet", 28)
    stride = 4 if side >= 128 else 2 if side >= 64 else 1
    sizes = [width, 3 * width, 6 * width, 4 * width, 4 * width]
    features = [nn.Conv2d(channels, sizes[0], 11, stride, padding=2), nn.ReLU()]
    features += [nn.MaxPool2d(3, 2), nn.Conv2d(sizes[0], sizes[1], 5, padding=2), nn.ReLU()]
    features += [nn.MaxPool2d(3, 2)]
    for d_in, d_out in pairwise(sizes[1:]):
        features += [nn.Conv2d(d_in, d_out, 3, padding=1), nn.ReLU()]
    features += [nn.MaxPool2d(3, 2)]
    dense = [nn.Dropout(dropout), nn.Linear(36 * sizes[-1], 64 * width), nn.ReLU()]
    dense += [nn.Dropout(dropout), nn.Linear(64 * width, 64 * width), nn.ReLU()]
    dense += [nn.Linear(64 * width, n_outputs)]
    parts = {
        "features": nn.Sequential(*features),
        "pool": nn.AdaptiveAvgPool2d(6),
        "flat": nn.Flatten(),
        "classifier": nn.Sequential(*dense),
    }
    return in_order(parts)
