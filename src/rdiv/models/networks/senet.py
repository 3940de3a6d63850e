"""SENet: ResNet18 with squeeze and excitation, from the table of architectures of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rdiv.models.networks.images import check_width, image_recipe, with_epochs
from rdiv.models.networks.resnet18 import resnet18
from rdiv.models.torch_model import FittedTorchModel
from rdiv.models.training_settings import Training
from rdiv.samples.pool import Pool

__all__ = ["SeNet"]

TRAINING = Training(epochs=20, weight_decay=1e-4)


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
        build = partial(resnet18, width=self.width, blocks=self.blocks, excite=True, who="senet")
        recipe = image_recipe(build, "senet", self.training, self.epochs, self.weights)
        return recipe.fit(pool, rng)
