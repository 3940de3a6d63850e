"""Any torch module as a model: trained by the shared loop, evaluated by one loss per row."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.models.networks.inputs import fit_inputs, training_inputs
from rdiv.models.networks.modules import (
    evaluate,
    full_blocks,
    is_module,
    load_weights,
    require_torch,
    rows_evaluated,
    seeded_torch,
    tensor,
)
from rdiv.models.networks.objectives import (
    Objective,
    class_probabilities,
    fit_objective,
    last_layer_gradients,
)
from rdiv.models.networks.training import Training, train
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool

__all__ = ["FittedTorchModel", "Recipe", "TorchModel"]

TRAINING = Training(epochs=50)

Inputs = Callable[[Pool], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class TorchModel:
    """A torch module as a model.

    Parameters
    ----------
    module : torch.nn.Module or callable
        A module is copied and trained from its present weights. A callable makes a new one for
        every fit, with weights drawn from the run's own stream; one with required parameters is
        called with the shape of a row and the number of outputs.
    loss : callable, optional
        From outputs and targets to one number per row, such as ``nn.L1Loss(reduction="none")``;
        several numbers of a row are added up. Targets are class codes, numbers, or without a
        target the inputs themselves, and outputs get their shape where the sizes agree. By default
        the log loss, the squared error, or the squared error of the reconstructed inputs.
    training : Training
    weights : str or Path, optional
        A state dict saved as ``.safetensors``, to start from.
    task : {"classification", "regression", "density"}, optional
        By default the task of the data.

    Notes
    -----
    Columns of tables are centred and scaled; images reach the module in their shape, bytes as
    numbers in [0, 1]. With the default loss a numeric target is standardised for the module, and
    the losses are in the units of the target all the same. A log loss is at most 27.6.

    Examples
    --------
    >>> import rdiv
    >>> from torch import nn
    >>> rng = np.random.default_rng(0)
    >>> p, q = (rng.normal(size=(60, 2)) for _ in range(2))
    >>> y = [x[:, 0] > 0 for x in (p, q)]
    >>> def network():
    ...     return nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    >>> model = TorchModel(network, training=Training(epochs=20))
    >>> result = rdiv.two_sample_test((p, y[0]), (q, ~y[1]), model=model, rng=0)
    >>> print(result.n_p, result.model)
    60 TorchModel(network)
    """

    module: Any
    loss: Callable[..., Any] | None = None
    training: Training = TRAINING
    weights: str | Path | None = None
    task: Literal["classification", "regression", "density"] | None = None

    def __post_init__(self) -> None:
        if not is_module(self.module) and not callable(self.module):
            raise InputTypeError(
                "a TorchModel needs a torch module or a function that makes one, got "
                f"{type(self.module).__name__}."
            )

    def __repr__(self) -> str:
        own = type(self.module).__name__ if is_module(self.module) else None
        return f"TorchModel({own or getattr(self.module, '__name__', 'factory')})"

    __str__ = __repr__

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Train on the rows of a pool."""
        prepare = partial(fit_inputs, keep_shape=True, who="a network")
        recipe = Recipe(self.module, self.training, prepare, self.loss, self.weights, self.task)
        return recipe.fit(pool, rng)


@dataclass(frozen=True, eq=False)
class Recipe:
    """All that it takes to fit a network to a pool.

    Parameters
    ----------
    module : torch.nn.Module or callable
    training : Training
    prepare_inputs : callable
        From a pool to a function from pools to inputs, such as `NetworkInputs`.
    loss, weights, task
        As in `TorchModel`.
    report : callable, optional
        As in `Objective`: from losses of the training to those of the results.
    """

    module: Any
    training: Training
    prepare_inputs: Callable[[Pool], Inputs]
    loss: Callable[..., Any] | None = None
    weights: str | Path | None = None
    task: str | None = None
    report: Callable[[Any], Any] | None = None

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Settle inputs and loss on the pool, make the module, train it."""
        return self.start(pool, int(rng.integers(2**63))).fit_anew(pool, rng)

    def start(self, pool: Pool, entropy: int) -> FittedTorchModel:
        """Inputs and loss as the pool settles them, and the module given, untrained.

        Parameters
        ----------
        pool : Pool
        entropy : int
            Seeds the random combinations of `FittedTorchModel.gradients`.
        """
        require_torch()
        inputs = self.prepare_inputs(pool)
        shape = tuple(inputs(pool.take(np.arange(1))).shape[1:])
        objective = fit_objective(pool, shape, self.task, self.loss, self.report)
        module = self.module if is_module(self.module) else None
        return FittedTorchModel(self, module, inputs, objective, shape, entropy)

    def build(self, shape: tuple[int, ...], n_outputs: int, rng: np.random.Generator) -> Any:
        """A module to start from: the one given, or a new one seeded by the generator."""
        with seeded_torch(rng, self.training.device):
            module = self.module
            if not is_module(module):
                module = module(shape, n_outputs) if _wants_sizes(module) else module()
                if not is_module(module):
                    raise InputTypeError(
                        "a function given as module must return a torch module, got "
                        f"{type(module).__name__}."
                    )
        if self.weights is not None:
            module = deepcopy(module)
            load_weights(module, self.weights)
        return module


@dataclass(frozen=True, eq=False)
class FittedTorchModel:
    """A trained module, how rows are fed to it, and its loss."""

    recipe: Recipe
    module: Any
    inputs: Inputs
    objective: Objective
    shape: tuple[int, ...]
    entropy: int

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``; rows of a dataset are read a few at a time."""
        return np.concatenate([self._losses(block) for block in pool.blocks()])

    def _losses(self, pool: Pool) -> NDArray[np.float64]:
        torch = require_torch()
        x, y = self.rows(pool)
        outputs = torch.as_tensor(evaluate(self.module, x, self.recipe.training.device))
        step = rows_evaluated(x.shape[1:])
        blocks = zip(*(full_blocks(v, step) for v in (outputs, torch.as_tensor(x), y)), strict=True)
        with one_thread():
            rows = torch.cat([self.objective.reported_losses(*block) for block in blocks])
        losses: NDArray[np.float64] = rows[: len(x)].double().numpy()
        return losses

    def probabilities(self, pool: Pool) -> NDArray[np.float64]:
        """Predicted probability of every class, ``(n, n_classes)``."""
        if self.objective.task != "classification":
            raise InputError(f"a network for {self.objective.task} has no classes to predict.")
        device, blocks = self.recipe.training.device, pool.blocks()
        outputs = [evaluate(self.module, self._checked_inputs(block), device) for block in blocks]
        return class_probabilities(np.concatenate(outputs), self.objective.n_outputs)

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """Derivatives of every row's loss in the last layer, ``(n, m)``, at most 4096 of them.

        With more than 64 outputs or 63 features these are replaced by random combinations.
        """
        parts = []
        for block in pool.blocks():
            x, y = self.rows(block)
            rows = tensor(x, self.module)
            parts.append(last_layer_gradients(self.module, self.objective, rows, y, self.entropy))
        return np.concatenate(parts)

    def refit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Train on, from the present weights, on other rows."""
        return self._trained(self.module, pool, rng)

    def fit_anew(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Train a new module, keeping the inputs' scaling and the loss."""
        return self._trained(
            self.recipe.build(self.shape, self.objective.n_outputs, rng), pool, rng
        )

    def _trained(self, module: Any, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        objective = self.objective
        self._checked_inputs(pool.take(np.arange(1)))
        if len(pool) == 1:  # batch norms need a second row; the mean loss stays what it was
            pool = pool.take(np.zeros(2, dtype=np.intp))
        rows = [training_inputs(self.inputs, pool, module), objective.targets(pool)]

        def loss(net: Any, x: Any, y: Any) -> Any:
            return objective.row_losses(net(x), x, y).mean()

        return replace(self, module=train(module, loss, rows, self.recipe.training, rng).module)

    def rows(self, pool: Pool) -> tuple[NDArray[np.float64], Any]:
        """Inputs of every row, as the module wants them, and targets as a tensor."""
        return self._checked_inputs(pool), self.objective.targets(pool)

    def _checked_inputs(self, pool: Pool) -> NDArray[np.float64]:
        x = self.inputs(pool)
        if x.shape[1:] != self.shape:
            raise InputError(
                f"the network was fitted to rows of shape {self.shape}, got {x.shape[1:]}; pass "
                "rows of the same shape."
            )
        return x


def _wants_sizes(factory: Callable[..., Any]) -> bool:
    try:
        given = signature(factory).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.default is Parameter.empty and p.kind in kinds for p in given)
