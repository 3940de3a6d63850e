"""The vision transformer, from the table of architectures of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from rdiv.errors import InputError
from rdiv.models.networks.images import check_width, image_recipe, image_shape, with_epochs
from rdiv.models.networks.modules import require_torch
from rdiv.models.networks.torch_model import FittedTorchModel
from rdiv.models.networks.training import Training
from rdiv.samples.pool import Pool

__all__ = ["ViT", "vit"]

TRAINING = Training(epochs=20, learning_rate=3e-4, weight_decay=0.05, schedule="cosine", clip=1.0)
_MOST_HEADS = 12


@dataclass(frozen=True)
class ViT:
    """A vision transformer (Dosovitskiy et al. 2021), by default of the size B.

    Parameters
    ----------
    width : int
        Numbers of a token, a multiple of 8. 768 with 12 blocks and patches of 16 pixels is
        ViT-B/16: 86,567,656 parameters for 1000 classes and 224 pixels.
    depth : int
        Blocks.
    patch : int, optional
        Side of a patch in pixels; it must divide height and width. By default 16 from 128 pixels
        on, 8 from 64 and 4 below.
    dropout : float
    training : Training
    epochs : int, optional
        Instead of those in `training`.
    weights : str or Path, optional
        A state dict saved as ``.safetensors``, to start from.

    Notes
    -----
    Attention has as many heads as divide both 12 and an eighth of the width. The loss is the log
    loss.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(6) % 2
    >>> pool = Pool(rng.random((6, 1, 8, 8)), y=y, task="classification", classes=np.arange(2))
    >>> print(ViT(width=8, depth=1, epochs=1).fit(pool, rng).losses(pool).shape)
    (6,)
    """

    about = "a transformer of the patches of an image"
    row_loss = "log loss"
    suits = "many images"
    keep_in_mind = "learns slowly from few rows"

    width: int = 768
    depth: int = 12
    patch: int | None = None
    dropout: float = 0.0
    training: Training = TRAINING
    epochs: int | None = None
    weights: str | Path | None = None

    task = "classification"

    def __post_init__(self) -> None:
        check_width(self.width)
        with_epochs(self.training, self.epochs)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Train on the images of a pool."""
        build = partial(
            vit, width=self.width, depth=self.depth, patch=self.patch, dropout=self.dropout
        )
        recipe = image_recipe(build, "vit", self.training, self.epochs, self.weights)
        return recipe.fit(pool, rng)


def vit(
    shape: tuple[int, ...],
    n_outputs: int,
    *,
    width: int = 768,
    depth: int = 12,
    patch: int | None = None,
    dropout: float = 0.0,
) -> Any:
    """A vision transformer for images of a shape, as a torch module."""
    nn = require_torch().nn
    from rdiv.models.networks.blocks import EncoderBlock, FirstToken, Tokens, initialise

    channels, side = image_shape(shape, "vit", 8)
    size = (16 if side >= 128 else 8 if side >= 64 else 4) if patch is None else patch
    if shape[1] % size or shape[2] % size:
        raise InputError(
            f"vit cuts images into patches of {size} x {size} pixels, got images of {shape[1]} x "
            f"{shape[2]}; set patch= to a number that divides both sides."
        )
    count = (shape[1] // size) * (shape[2] // size)
    blocks = [EncoderBlock(width, gcd(_MOST_HEADS, width // 8), dropout) for _ in range(depth)]
    end = [nn.LayerNorm(width, eps=1e-6), FirstToken(), nn.Linear(width, n_outputs)]
    return initialise(nn.Sequential(Tokens(channels, width, size, count), *blocks, *end))
