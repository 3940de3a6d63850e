"""A variational autoencoder: the model of the paper for MNIST, and a density model for tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import log, pi, prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.models.networks.images import with_epochs
from rdiv.models.networks.inputs import NetworkInputs, fit_inputs
from rdiv.models.networks.modules import require_torch
from rdiv.models.networks.torch_model import FittedTorchModel, Recipe
from rdiv.models.networks.training import Training
from rdiv.samples.pool import Pool

__all__ = ["NegativeElbo", "Vae", "vae"]

TRAINING = Training(epochs=100)
_LEAST_LOG_NOISE = -3.0


@dataclass(frozen=True)
class Vae:
    """A fully connected variational autoencoder; the loss is the negative bound on log density.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the encoder's hidden layers; the decoder mirrors them.
    latent : int
        Numbers of a code.
    likelihood : {"auto", "bernoulli", "gaussian"}
        ``"bernoulli"`` wants numbers in [0, 1] and takes them as they are; ``"gaussian"`` scales
        the columns and learns one spread of the noise. ``"auto"`` is Bernoulli for images with
        values in [0, 1] or bytes, else Gaussian.
    samples : int
        Codes per row in evaluation: 0 takes the mean of its posterior, more are drawn from it with
        noise that is fixed at the fit and the same for every row.
    training : Training
    epochs : int, optional
        Instead of those in `training`.
    weights : str or Path, optional
        A state dict saved as ``.safetensors``, to start from.

    Notes
    -----
    The loss of a row is the reconstruction term, summed over its numbers, plus the divergence of
    its posterior from a standard normal code, in nats. 32 x 32 images go 1024-128-64-8 and back.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pool = Pool((rng.random((30, 1, 8, 8)) < 0.5).astype(float))
    >>> losses = Vae(epochs=5).fit(pool, rng).losses(pool)
    >>> print(bool(abs(losses.mean() / (64 * np.log(2)) - 1) < 0.1))
    True
    """

    about = "a variational autoencoder"
    row_loss = "reconstruction plus divergence of the code, summed, in nats"
    suits = "small images, tables with many columns"
    keep_in_mind = "a network: needs torch"

    hidden: tuple[int, ...] = (128, 64)
    latent: int = 8
    likelihood: Literal["auto", "bernoulli", "gaussian"] = "auto"
    samples: int = 0
    training: Training = TRAINING
    epochs: int | None = None
    weights: str | Path | None = None

    task = "density"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        with_epochs(self.training, self.epochs)
        if self.likelihood not in ("auto", "bernoulli", "gaussian"):
            raise InputError(
                f"likelihood must be 'auto', 'bernoulli' or 'gaussian', got {self.likelihood!r}."
            )
        for name, least in (("latent", 1), ("samples", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(
                    f"{name} must be a whole number of at least {least}, got {value!r}."
                )

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Train on the rows of a pool."""
        likelihood = self.likelihood
        if likelihood == "auto":
            likelihood = "bernoulli" if _unit_images(pool) else "gaussian"
        prepare_inputs = partial(fit_inputs, keep_shape=False, who="vae")
        return Recipe(
            partial(vae, hidden=self.hidden, latent=self.latent, samples=self.samples),
            with_epochs(self.training, self.epochs),
            prepare_inputs if likelihood == "gaussian" else _unit_inputs,
            NegativeElbo(likelihood, self.latent),
            self.weights,
            "density",
        ).fit(pool, rng)


def vae(
    shape: tuple[int, ...],
    n_outputs: int,
    *,
    hidden: tuple[int, ...] = (128, 64),
    latent: int = 8,
    samples: int = 0,
) -> Any:
    """A variational autoencoder of rows of a shape, as a torch module."""
    from rdiv.models.networks.blocks import Autoencoder

    del n_outputs
    return Autoencoder([prod(shape), *hidden], latent, samples)


@dataclass(frozen=True)
class NegativeElbo:
    """Reconstruction plus divergence of the code, one number per row, in nats (or of densities).

    Parameters
    ----------
    likelihood : {"bernoulli", "gaussian"}
    latent : int

    Examples
    --------
    One number, code and noise at zero: a fair coin.

    >>> import torch
    >>> print(NegativeElbo("bernoulli", 1)(torch.zeros(1, 4), torch.ones(1, 1)).round(decimals=3))
    tensor([0.6930])
    """

    likelihood: str
    latent: int

    def __call__(self, outputs: Any, x: Any) -> Any:
        """From the outputs of the autoencoder and its inputs to losses ``(n,)``."""
        functional = require_torch().nn.functional
        rows = x.reshape(len(x), 1, -1)
        k = self.latent
        decoded = outputs[:, : -2 * k - 1].reshape(len(rows), -1, rows.shape[2])
        mean, log_variance = outputs[:, -2 * k - 1 : -k - 1], outputs[:, -k - 1 : -1]
        rows = rows.expand_as(decoded)
        if self.likelihood == "bernoulli":
            costs = functional.binary_cross_entropy_with_logits(decoded, rows, reduction="none")
        else:
            log_noise = outputs[:, -1:, None].clamp(min=_LEAST_LOG_NOISE)
            costs = ((rows - decoded) / log_noise.exp()).square() / 2 + log_noise + log(2 * pi) / 2
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=1) / 2
        return costs.sum(dim=2).mean(dim=1) + divergence


def _unit_inputs(pool: Pool) -> UnitInputs:
    inputs = UnitInputs(NetworkInputs(None, "vae"))
    for block in pool.blocks():
        inputs(block)  # refuses what is out of range in any row
    return inputs


@dataclass(frozen=True, eq=False)
class UnitInputs:
    """Rows as they are, which must lie in [0, 1]."""

    plain: NetworkInputs

    def __call__(self, pool: Pool) -> NDArray[np.float64]:
        """Inputs of every row, in their shape."""
        x = self.plain(pool)
        if x.min() < 0 or x.max() > 1:
            raise InputError(
                f"a Bernoulli vae needs numbers in [0, 1], got {x.min():g} to {x.max():g}; divide "
                'by the largest or use likelihood="gaussian".'
            )
        return x


def _unit_images(pool: Pool) -> bool:
    if not pool.is_images:
        return False
    return pool.x.dtype == np.uint8 or all(
        bool(block.x.min() >= 0 and block.x.max() <= 1) for block in pool.blocks()
    )
