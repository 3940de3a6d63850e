"""ResNet18, the network of the paper for corrupted images, and SENet, which is built on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rdiv.models.networks.images import check_width, image_recipe, image_shape, with_epochs
from rdiv.models.networks.modules import in_order, require_torch
from rdiv.models.networks.torch_model import FittedTorchModel
from rdiv.models.networks.training import Training
from rdiv.samples.pool import Pool

__all__ = ["ResNet18", "SeNet", "resnet18"]


TRAINING = Training(epochs=20, weight_decay=1e-4)
_LARGE = 96


@dataclass(frozen=True)
class ResNet18:
    """A residual network (He et al. 2016) with two blocks in each of four stages.

    Parameters
    ----------
    width : int
        Channels of the first stage, a multiple of 8; every stage doubles them. 64 is the published
        size: 11,173,962 parameters for 10 classes of small images.
    blocks : tuple of int
        Blocks of each stage.
    training : Training
    epochs : int, optional
        Instead of those in `training`.
    weights : str or Path, optional
        A state dict saved as ``.safetensors``, to start from; names are those of torchvision's.

    Notes
    -----
    For images of at least 8 pixels. Below 96 pixels it starts with one 3 x 3 convolution, as for
    CIFAR; from there on with a 7 x 7 one and pooling, as for ImageNet. The loss is the log loss.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(6) % 2
    >>> pool = Pool(rng.random((6, 1, 8, 8)), y=y, task="classification", classes=np.arange(2))
    >>> print(ResNet18(width=8, epochs=1).fit(pool, rng).losses(pool).shape)
    (6,)
    """

    about = "a residual network of 18 layers"
    row_loss = "log loss"
    suits = "images from 8 pixels on"
    keep_in_mind = "set `width=16` and a few epochs without a GPU"

    width: int = 64
    blocks: tuple[int, ...] = (2, 2, 2, 2)
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
        build = partial(resnet18, width=self.width, blocks=self.blocks)
        recipe = image_recipe(build, "resnet18", self.training, self.epochs, self.weights)
        return recipe.fit(pool, rng)


def resnet18(
    shape: tuple[int, ...],
    n_outputs: int,
    *,
    width: int = 64,
    blocks: tuple[int, ...] = (2, 2, 2, 2),
    excite: bool = False,
    who: str = "resnet18",
) -> Any:
    """ResNet18 for images of a shape, as a torch module; `excite` makes it a SENet."""
    nn = require_torch().nn
    from rdiv.models.networks.blocks import ResidualBlock

    channels, side = image_shape(shape, who, 8)
    large = side >= _LARGE
    kernel, stride, padding = (7, 2, 3) if large else (3, 1, 1)
    parts = {
        "conv1": nn.Conv2d(channels, width, kernel, stride, padding, bias=False),
        "bn1": nn.BatchNorm2d(width),
        "relu": nn.ReLU(),
        "maxpool": nn.MaxPool2d(3, 2, 1) if large else nn.Identity(),
    }
    d_in = width
    for stage, count in enumerate(blocks):
        d_out = width * 2**stage
        strides = [1 if stage == 0 else 2] + [1] * (count - 1)
        row = [
            ResidualBlock(d_in if i == 0 else d_out, d_out, step, excite=excite)
            for i, step in enumerate(strides)
        ]
        parts[f"layer{stage + 1}"] = nn.Sequential(*row)
        d_in = d_out
    parts |= {"avgpool": nn.AdaptiveAvgPool2d(1), "flat": nn.Flatten()}
    parts["fc"] = nn.Linear(d_in, n_outputs)
    return in_order(parts)


SENET_TRAINING = Training(epochs=20, weight_decay=1e-4)


@dataclass(frozen=True)
class SeNet:
    """ResNet18 whose blocks weigh their channels (Hu et al. 2018, reduction 16).

    Parameters
    ----------
    width : int
        Channels of the first stage, a multiple of 8; every stage doubles them. 64 is the published
        size.
    blocks : tuple of int
        Blocks of each stage.
    training : Training
    epochs : int, optional
        Instead of those in `training`.
    weights : str or Path, optional
        A state dict saved as ``.safetensors``, to start from.

    Notes
    -----
    For images of at least 8 pixels. Below 96 pixels it starts with one 3 x 3 convolution, as for
    CIFAR; from there on with a 7 x 7 one and pooling, as for ImageNet. The loss is the log loss.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(6) % 2
    >>> pool = Pool(rng.random((6, 1, 8, 8)), y=y, task="classification", classes=np.arange(2))
    >>> print(SeNet(width=8, epochs=1).fit(pool, rng).losses(pool).shape)
    (6,)
    """

    about = "a residual network whose channels are weighed"
    row_loss = "log loss"
    suits = "as `resnet18`"
    keep_in_mind = "as `resnet18`"

    width: int = 64
    blocks: tuple[int, ...] = (2, 2, 2, 2)
    training: Training = SENET_TRAINING
    epochs: int | None = None
    weights: str | Path | None = None

    task = "classification"

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))
        check_width(self.width)
        with_epochs(self.training, self.epochs)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Train on the images of a pool."""
        build = partial(resnet18, width=self.width, blocks=self.blocks, excite=True, who="senet")
        recipe = image_recipe(build, "senet", self.training, self.epochs, self.weights)
        return recipe.fit(pool, rng)
