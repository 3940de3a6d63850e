"""Training a torch module: the settings, and one loop for every network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.models.networks.inputs import select_rows
from rdiv.models.networks.modules import require_torch, seeded_torch
from rdiv.models.networks.updates import (
    batch_count,
    descend,
    epochs_of_batches,
    explain_out_of_memory,
    total_steps,
)
from rdiv.progress import counting

__all__ = ["Trained", "Training", "train"]


@dataclass(frozen=True)
class Training:
    """How a torch module is trained.

    Parameters
    ----------
    epochs : int
        Passes over the rows.
    steps : int, optional
        Stop after this many updates, also within an epoch: bounds the time on many rows.
    batch_size : int, optional
        Rows an update looks at; None takes all of them. Batches are made equally large.
    learning_rate, weight_decay : float
        The decay shrinks the weights a little with every update of Adam, beside the gradient; with
        SGD it is a penalty on their squares.
    optimizer : {"adam", "sgd"}
        ``"sgd"`` has a momentum of 0.9.
    device : str
        ``"auto"`` is the first GPU, or the processor where there is none; else a name for torch.
    schedule : {"constant", "step", "cosine"}
        How the learning rate falls with the updates: not at all; to a tenth after half of them and
        to a hundredth after three quarters; or to zero along half a cosine.
    clip : float, optional
        Longest gradient of an update; longer ones are scaled down to it.
    patience : int, optional
        Hold back a tenth of the rows, drawn at random and blind to samples and labels, and stop
        when the loss on them has not fallen for this many epochs; the best parameters are kept.

    Examples
    --------
    >>> print(Training(epochs=5, optimizer="sgd").learning_rate)
    0.001
    >>> Training(epochs=0)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: epochs must be a whole number of at least 1, got 0.
    """

    epochs: int = 100
    steps: int | None = None
    batch_size: int | None = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    optimizer: Literal["adam", "sgd"] = "adam"
    device: str = "auto"
    schedule: Literal["constant", "step", "cosine"] = "constant"
    clip: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "steps", "batch_size", "patience"):
            value = getattr(self, name)
            if value is None and name != "epochs":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be a whole number of at least 1, got {value!r}.")
        if not 0 < self.learning_rate < np.inf:
            raise InputError(f"learning_rate must be a positive number, got {self.learning_rate}.")
        if not 0 <= self.weight_decay < np.inf:
            raise InputError(f"weight_decay must be 0 or larger, got {self.weight_decay}.")
        if self.clip is not None and not 0 < self.clip < np.inf:
            raise InputError(f"clip must be a positive number or None, got {self.clip}.")
        if self.optimizer not in ("adam", "sgd"):
            raise InputError(f"optimizer must be 'adam' or 'sgd', got {self.optimizer!r}.")
        if self.schedule not in ("constant", "step", "cosine"):
            raise InputError(
                f"schedule must be 'constant', 'step' or 'cosine', got {self.schedule!r}."
            )


_HELD_BACK = 0.1
_ROWS_SCORED_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained module, on the processor and in evaluation mode, and its score over the epochs.

    Parameters
    ----------
    module : torch.nn.Module
    scores : tuple of float
        Before the first epoch and after every one; empty if nothing was scored.
    """

    module: Any
    scores: tuple[float, ...] = ()


def train(
    module: Any,
    loss: Callable[..., Any],
    tensors: Sequence[Any],
    training: Training,
    rng: np.random.Generator,
    *,
    strata: NDArray[Any] | None = None,
    score: Callable[..., Any] | None = None,
) -> Trained:
    """Train a copy of a module by gradient descent.

    Parameters
    ----------
    module : torch.nn.Module
        Not changed.
    loss : callable
        From the module and a batch of each tensor to one number, which is minimised.
    tensors : sequence of tensors
        Of one length, a row each; `rdiv.models.networks.inputs.StreamedInputs` are read a batch at
        a time.
    training : Training
        With ``patience``, training stops when the score has not risen for so many epochs.
    rng : Generator
        For the order of rows and all that the module draws, such as dropout.
    strata : (n,) array, optional
        Every batch holds rows of each value in proportion, at least two of each; batches become
        larger if they must: see `rdiv.models.networks.updates.batchable_rows`.
    score : callable, optional
        From the module and all tensors to one number. It is taken before the first epoch and
        after each, in evaluation mode; the parameters with the largest are returned. Without one,
        ``patience`` scores by the loss of rows that it holds back from training.

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[0.0], [1.0], [2.0]])
    >>> def squares(module, x):
    ...     return (module(x) - 3 * x).square().mean()
    >>> line = torch.nn.Linear(1, 1, bias=False)
    >>> training = Training(epochs=200, learning_rate=0.1)
    >>> line = train(line, squares, [x], training, np.random.default_rng(0)).module
    >>> print(round(line.weight.item(), 2))
    3.0
    """
    with seeded_torch(rng, training.device) as device, explain_out_of_memory(training):
        copy = deepcopy(module).to(device).train()
        rows = [values.to(device) for values in tensors]
        if score is None and training.patience is not None and len(rows[0]) > 1:
            rows, strata, score = _hold_back(rows, strata, loss, rng)
        count = batch_count(len(rows[0]), training, strata)
        steps = total_steps(count, training)
        epochs = epochs_of_batches(len(rows[0]), training, strata, rng)
        scores: list[float] = []
        kept: Any = None
        with counting("epoch", -(-steps // count)) as at:
            for done, _ in enumerate(descend(copy, loss, rows, training, epochs, steps)):
                at(done)
                if score is not None:
                    scores.append(_scored(copy, score, rows))
                    kept = deepcopy(copy.state_dict()) if scores[-1] == max(scores) else kept
                if _stalled(scores, training.patience):
                    break
        if kept is not None:
            copy.load_state_dict(kept)
    return Trained(copy.to("cpu").eval(), tuple(scores))


def _stalled(scores: list[float], patience: int | None) -> bool:
    """Whether the last `patience` scores bring nothing better than what was before."""
    if patience is None or not scores:
        return False
    return len(scores) - 1 - scores.index(max(scores)) >= patience


def _hold_back(
    rows: list[Any],
    strata: NDArray[Any] | None,
    loss: Callable[..., Any],
    rng: np.random.Generator,
) -> tuple[list[Any], NDArray[Any] | None, Callable[..., Any]]:
    """Rows to train on, their strata, and the negative loss of the others as a score."""
    order = rng.permutation(len(rows[0]))
    few = max(round(_HELD_BACK * len(order)), 1)
    kept = np.sort(order[few:])
    held, rest = (
        [select_rows(values, part) for values in rows] for part in (np.sort(order[:few]), kept)
    )

    def score(module: Any, *_: Any) -> float:
        blocks = zip(*(values.split(_ROWS_SCORED_AT_ONCE) for values in held), strict=True)
        return -sum(float(loss(module, *block)) * len(block[0]) for block in blocks) / few

    return rest, None if strata is None else strata[kept], score


def _scored(module: Any, score: Callable[..., Any], rows: list[Any]) -> float:
    module.eval()
    with require_torch().inference_mode():
        value = float(score(module, *rows))
    module.train()
    return value
