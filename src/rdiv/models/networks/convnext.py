"""ConvNeXt, from the table of architectures of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rdiv.models.networks.images import check_width, image_recipe, image_shape, with_epochs
from rdiv.models.networks.modules import require_torch
from rdiv.models.networks.torch_model import FittedTorchModel
from rdiv.models.networks.training import Training
from rdiv.samples.pool import Pool

__all__ = ["ConvNeXt", "convnext"]

TRAINING = Training(epochs=20, weight_decay=0.05, schedule="cosine")


@dataclass(frozen=True)
class ConvNeXt:
    """ConvNeXt (Liu et al. 2022), by default of the size T.

    Parameters
    ----------
    width : int
        Channels of the first stage, a multiple of 8; every stage doubles them. 96 with the default
        blocks is ConvNeXt-T: 28,589,128 parameters for 1000 classes.
    blocks : tuple of int
        Blocks of each stage.
    drop_path : float
        Probability with which the last block is left out for a row in training; it rises from 0.
    training : Training
    epochs : int, optional
        Instead of those in `training`.
    weights : str or Path, optional
        A state dict saved as ``.safetensors``, to start from.

    Notes
    -----
    For images of at least 16 pixels. The first convolution, 4 x 4, moves by 4 pixels as published
    from 64 pixels on and by 2 below; the weights are the same. The loss is the log loss.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(6) % 2
    >>> pool = Pool(rng.random((6, 1, 16, 16)), y=y, task="classification", classes=np.arange(2))
    >>> tiny = ConvNeXt(width=8, blocks=(1, 1, 1, 1), epochs=1)
    >>> print(tiny.fit(pool, rng).losses(pool).shape)
    (6,)
    """

    about = "convolutions in the manner of a transformer"
    row_loss = "log loss"
    suits = "images from 16 pixels on"
    keep_in_mind = "learns slowly from few rows"

    width: int = 96
    blocks: tuple[int, ...] = (3, 3, 9, 3)
    drop_path: float = 0.1
    training: Training = TRAINING
    epochs: int | None = None
    weights: str | Path | None = None

    task = "classification"

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))
        check_width(self.width)
        with_epochs(self.training, self.epochs)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Train on the images of a pool."""
        build = partial(convnext, width=self.width, blocks=self.blocks, drop_path=self.drop_path)
        recipe = image_recipe(build, "convnext", self.training, self.epochs, self.weights)
        return recipe.fit(pool, rng)


def convnext(
    shape: tuple[int, ...],
    n_outputs: int,
    *,
    width: int = 96,
    blocks: tuple[int, ...] = (3, 3, 9, 3),
    drop_path: float = 0.1,
) -> Any:
    """ConvNeXt for images of a shape, as a torch module."""
    torch = require_torch()
    nn = torch.nn
    from rdiv.models.networks.blocks import ConvNeXtBlock, LayerNorm2d, initialise

    channels, side = image_shape(shape, "convnext", 16)
    stride, padding = (4, 0) if side >= 64 else (2, 1)
    layers = [nn.Conv2d(channels, width, 4, stride, padding), LayerNorm2d(width, eps=1e-6)]
    drops = iter(np.linspace(0, drop_path, sum(blocks)).tolist())
    size = width
    for stage, count in enumerate(blocks):
        if stage:
            layers += [LayerNorm2d(size, eps=1e-6), nn.Conv2d(size, 2 * size, 2, 2)]
            size *= 2
        layers += [ConvNeXtBlock(size, next(drops)) for _ in range(count)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(size, eps=1e-6)]
    return initialise(nn.Sequential(*layers, nn.Linear(size, n_outputs)))
