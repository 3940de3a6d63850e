"""Retraining a network with a clean and a noisy part of every batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.losses import PROBABILITY_FLOOR
from rdiv.models.networks.modules import require_torch, tensor
from rdiv.models.networks.objectives import class_logits
from rdiv.models.networks.torch_model import FittedTorchModel, Recipe
from rdiv.models.networks.training import train
from rdiv.names import chosen_from
from rdiv.samples.pool import Pool

__all__ = ["OBJECTIVES", "batch_risk", "retrain"]

CLEAN_WEIGHT, NOISY_WEIGHT = 0.7, 0.3  # of the published script


def _complementary(costs: Any, complements: Any, noisy: Any, wrong: Any) -> Any:
    """A noisy label is probably not the class of the row: ``-log(1 - prob(label))``."""
    doubted = wrong * complements + (1 - wrong) * costs
    return require_torch().where(noisy, doubted, costs).mean()


def _weighted(costs: Any, complements: Any, noisy: Any, wrong: Any) -> Any:
    """The objective of the published script: both parts, the noisy one with less weight."""
    return CLEAN_WEIGHT * costs[~noisy].mean() + NOISY_WEIGHT * costs[noisy].mean()


def _difference(costs: Any, complements: Any, noisy: Any, wrong: Any) -> Any:
    """The objective of the paper: risk of the clean part minus that of the noisy one, unbounded."""
    return costs[~noisy].mean() - costs[noisy].mean()


OBJECTIVES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "complementary": _complementary,
    "weighted": _weighted,
    "difference": _difference,
}
"""Objectives of a batch by name: of log losses, complementary losses, noisy rows, doubts."""


def batch_risk(
    logits: Any, y: Any, suspicion: Any, wrong: Any, share: float, objective: str
) -> Any:
    """The objective that retraining minimises on one batch.

    Parameters
    ----------
    logits : (b, K) tensor
    y : (b,) tensor of codes
    suspicion : (b,) tensor
        The ``round(share * b)`` rows with the largest values are noisy, but never all rows.
    wrong : (b,) tensor
        Probability that the label of a row is wrong, for the complementary objective.
    share : float
    objective : str
        A name in `OBJECTIVES`.

    Examples
    --------
    >>> import torch
    >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0]])
    >>> y, wrong = torch.tensor([0, 1]), torch.tensor([0.0, 1.0])
    >>> for name in OBJECTIVES:
    ...     print(name, round(batch_risk(logits, y, wrong, wrong, 0.5, name).item(), 3))
    complementary 0.127
    weighted 0.727
    difference -2.0
    """
    torch = require_torch()
    logs = torch.log_softmax(logits, dim=1)
    own = logs.gather(1, y[:, None])[:, 0]
    count = min(round(share * len(y)), len(y) - 1)
    if count < 1:
        return -own.mean()
    noisy = torch.zeros(len(y), dtype=torch.bool, device=y.device)
    noisy[torch.topk(suspicion, count).indices] = True
    others = logs.masked_fill(torch.nn.functional.one_hot(y, logs.shape[1]).bool(), -torch.inf)
    complements = -others.logsumexp(dim=1).clamp(min=float(np.log(PROBABILITY_FLOOR)))
    return chosen_from(OBJECTIVES, objective, "objective")(-own, complements, noisy, wrong)


def retrain(
    recipe: Recipe,
    pool: Pool,
    suspicion: NDArray[Any],
    wrong: NDArray[np.float64],
    share: float,
    objective: str,
    rng: np.random.Generator,
) -> FittedTorchModel:
    """Train a network from its start; every batch is split by how suspicious its rows are.

    Parameters
    ----------
    recipe : Recipe
        The recipe of the pretrained network.
    suspicion : (n,) array
        Losses of the pretrained network, or any other order of the rows.
    wrong : (n,) array
        Probability that the label of a row is wrong; 1 where nothing is known.
    share : float
        Share of every batch that is treated as noisy.
    objective : str
        A name in `OBJECTIVES`.
    """
    torch = require_torch()
    start = recipe.start(pool, int(rng.integers(2**63)))
    n_classes = start.objective.n_outputs
    module = recipe.build(start.shape, n_classes, rng)
    x, y = start.rows(pool)
    rows = [tensor(x, module), y, torch.as_tensor(suspicion.astype(np.float64))]
    rows.append(tensor(wrong, module))

    def loss(net: Any, x: Any, y: Any, suspicion: Any, wrong: Any) -> Any:
        return batch_risk(class_logits(net(x), n_classes), y, suspicion, wrong, share, objective)

    trained = train(module, loss, rows, recipe.training, rng)
    return replace(start, module=trained.module)
