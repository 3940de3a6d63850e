"""Training a torch module in memory: one plain loop for every network here.

Randomness comes from a numpy generator and torch's own state is left as it was found, so that the
same generator gives the same parameters, to the bit on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.models.torch_modules import require_torch, seeded_torch

__all__ = ["Trained", "Training", "batchable_rows", "train"]

MOMENTUM = 0.9


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

    Examples
    --------
    >>> print(Training(epochs=5, optimizer="sgd").learning_rate)
    0.001
    >>> Training(epochs=0)
    Traceback (most recent call last):
    ...
    ValueError: epochs must be a whole number of at least 1, got 0.
    """

    epochs: int = 100
    steps: int | None = None
    batch_size: int | None = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    optimizer: Literal["adam", "sgd"] = "adam"
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in ("epochs", "steps", "batch_size"):
            value = getattr(self, name)
            if value is None and name != "epochs":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        if not 0 < self.learning_rate < np.inf:
            raise ValueError(f"learning_rate must be a positive number, got {self.learning_rate}.")
        if not 0 <= self.weight_decay < np.inf:
            raise ValueError(f"weight_decay must be 0 or larger, got {self.weight_decay}.")
        if self.optimizer not in ("adam", "sgd"):
            raise ValueError(f"optimizer must be 'adam' or 'sgd', got {self.optimizer!r}.")


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained module, on the processor and in evaluation mode, and its score over the epochs.

    Parameters
    ----------
    module : torch.nn.Module
    scores : tuple of float
        Before the first epoch and after every one; empty if no score was asked for.
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
        Left as it is.
    loss : callable
        From the module and a batch of each tensor to one number, which is made small.
    tensors : sequence of tensors
        Of one length, a row each.
    training : Training
    rng : Generator
        For the order of rows and all that the module draws, such as dropout.
    strata : (n,) array, optional
        Every batch holds rows of each value in proportion, at least two of each; batches become
        larger if they must: see `batchable_rows`.
    score : callable, optional
        From the module and all tensors to one number. It is taken before the first epoch and
        after each, in evaluation mode; the parameters with the largest are returned.

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
    with seeded_torch(rng, training.device) as device:
        copy = deepcopy(module).to(device).train()
        rows = [values.to(device) for values in tensors]
        scores: list[float] = []
        kept: Any = None
        for _ in _descent(copy, loss, rows, training, _epochs(len(rows[0]), training, strata, rng)):
            if score is not None:
                scores.append(_scored(copy, score, rows))
                kept = deepcopy(copy.state_dict()) if scores[-1] == max(scores) else kept
        if kept is not None:
            copy.load_state_dict(kept)
    return Trained(copy.to("cpu").eval(), tuple(scores))


def batchable_rows(
    is_p: NDArray[np.bool_], training: Training, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Rows that fill batches with two rows of either side or more, and need no larger batches.

    All rows, unless one side is so rare that some of the other must be left out.

    Examples
    --------
    >>> is_p = np.arange(1000) < 4
    >>> rows = batchable_rows(is_p, Training(batch_size=100), np.random.default_rng(0))
    >>> print(len(rows), is_p[rows].sum())
    200 4
    """
    n, n_p = len(is_p), int(is_p.sum())
    few = min(n_p, n - n_p)
    most = n if training.batch_size is None else training.batch_size * max(few // 2, 1)
    larger = rng.permutation(np.flatnonzero(is_p == (2 * n_p > n)))
    surplus = larger[max(most - few, few) :]
    return np.setdiff1d(np.arange(n), surplus)


def _descent(
    module: Any,
    loss: Callable[..., Any],
    rows: list[Any],
    training: Training,
    epochs: Iterator[list[Any]],
) -> Iterator[None]:
    """Update the module in place; pauses at the start and after every epoch."""
    optimizer = _optimizer(module, training, rows[0].device)
    yield
    for epoch in epochs:
        for batch in epoch:
            chosen = [values.index_select(0, batch.to(values.device)) for values in rows]
            optimizer.zero_grad(set_to_none=True)
            value = loss(module, *chosen)
            if not bool(value.isfinite()):
                raise ValueError(
                    f"training diverged: the loss became {value.detach().item()}; lower the "
                    f"learning rate of {training.learning_rate:g} or check the inputs."
                )
            value.backward()
            optimizer.step()
        yield


def _epochs(
    n: int, training: Training, strata: NDArray[Any] | None, rng: np.random.Generator
) -> Iterator[list[Any]]:
    """Lists of batches of row numbers, one list an epoch, until epochs or steps run out."""
    torch = require_torch()
    generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
    codes = torch.as_tensor(
        np.zeros(n) if strata is None else np.unique(strata, return_inverse=True)[1]
    )
    count = 1 if training.batch_size is None else -(-n // training.batch_size)
    if strata is not None:
        count = max(min(count, int(codes.bincount().min()) // 2), 1)
    left = training.epochs * count if training.steps is None else training.steps
    for _ in range(training.epochs):
        order = torch.randperm(n, generator=generator)
        parts = [order[codes[order] == code].tensor_split(count) for code in codes.unique()]
        yield [torch.cat(batch) for batch in zip(*parts, strict=True)][:left]
        left -= count
        if left <= 0:
            return


def _scored(module: Any, score: Callable[..., Any], rows: list[Any]) -> float:
    module.eval()
    with require_torch().inference_mode():
        value = float(score(module, *rows))
    module.train()
    return value


def _optimizer(module: Any, training: Training, device: Any) -> Any:
    optim = require_torch().optim
    parameters = [p for p in module.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError(f"{type(module).__name__} has no parameters to train; use another module.")
    settings = {
        "lr": training.learning_rate,
        "weight_decay": training.weight_decay,
        "fused": device.type in ("cpu", "cuda"),
    }
    if training.optimizer == "adam":
        return optim.AdamW(parameters, **settings)
    return optim.SGD(parameters, momentum=MOMENTUM, **settings)
