"""Training a torch module in memory: settings, batches, updates, one loop for every network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from math import cos, pi
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import DivergedError, InputError
from rdiv.models.networks.inputs import some_rows
from rdiv.models.networks.modules import require_torch, seeded_torch
from rdiv.progress import counting

__all__ = [
    "MOMENTUM",
    "Trained",
    "Training",
    "batch_count",
    "batchable_rows",
    "descend",
    "epochs_of_batches",
    "memory_sentence",
    "rate_factor",
    "total_steps",
    "train",
]


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


def batch_count(n: int, training: Training, strata: NDArray[Any] | None) -> int:
    """Batches an epoch; with strata few enough that each holds two rows of every value.

    Examples
    --------
    >>> print(batch_count(13, Training(batch_size=4), None))
    4
    """
    count = 1 if training.batch_size is None else -(-n // training.batch_size)
    if strata is None:
        return count
    rarest = int(np.unique(strata, return_counts=True)[1].min())
    return max(min(count, rarest // 2), 1)


def total_steps(count: int, training: Training) -> int:
    """Updates that the settings allow, with so many batches an epoch.

    Examples
    --------
    >>> print(total_steps(4, Training(epochs=10)), total_steps(4, Training(epochs=10, steps=7)))
    40 7
    """
    whole = training.epochs * count
    return whole if training.steps is None else min(whole, training.steps)


def epochs_of_batches(
    n: int, training: Training, strata: NDArray[Any] | None, rng: np.random.Generator
) -> Iterator[list[Any]]:
    """Lists of batches of row numbers, one list an epoch, until epochs or steps run out."""
    torch = require_torch()
    generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
    codes = torch.as_tensor(
        np.zeros(n) if strata is None else np.unique(strata, return_inverse=True)[1]
    )
    count = batch_count(n, training, strata)
    left = total_steps(count, training)
    while left > 0:
        order = torch.randperm(n, generator=generator)
        parts = [order[codes[order] == code].tensor_split(count) for code in codes.unique()]
        yield [torch.cat(batch) for batch in zip(*parts, strict=True)][:left]
        left -= count


def descend(
    module: Any,
    loss: Callable[..., Any],
    rows: list[Any],
    training: Training,
    epochs: Iterator[list[Any]],
    steps: int,
) -> Iterator[None]:
    """Update the module in place; pauses at the start and after every epoch."""
    optimizer = _optimizer(module, training, rows[0].device)
    step = 0
    yield
    for epoch in epochs:
        for batch in epoch:
            if training.schedule != "constant":
                rate = training.learning_rate * rate_factor(training.schedule, step / steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate
            chosen = [values.index_select(0, batch.to(values.device)) for values in rows]
            optimizer.zero_grad(set_to_none=True)
            _update(module, loss, chosen, training, optimizer)
            step += 1
        yield


def _update(
    module: Any, loss: Callable[..., Any], rows: list[Any], training: Training, optimizer: Any
) -> None:
    value = loss(module, *rows)
    if not bool(value.isfinite()):
        raise DivergedError(
            f"training diverged: the loss became {value.detach().item()}; lower the "
            f"learning rate of {training.learning_rate:g} or check the inputs."
        )
    value.backward()
    if training.clip is not None:
        require_torch().nn.utils.clip_grad_norm_(module.parameters(), training.clip)
    optimizer.step()


def rate_factor(schedule: str, progress: float) -> float:
    """What the learning rate is multiplied by, given the share of updates that are done.

    Examples
    --------
    >>> print([rate_factor("step", share) for share in (0.0, 0.5, 0.9)])
    [1.0, 0.1, 0.01]
    >>> print(rate_factor("cosine", 0.0), round(rate_factor("cosine", 0.5), 3))
    1.0 0.5
    """
    if schedule == "step":
        return 1.0 if progress < 0.5 else 0.1 if progress < 0.75 else 0.01
    return 0.5 * (1 + cos(pi * progress)) if schedule == "cosine" else 1.0


@contextmanager
def memory_sentence(training: Training) -> Iterator[None]:
    """Turn running out of memory into one sentence with the setting to change.

    Examples
    --------
    >>> with memory_sentence(Training(device="cpu")):
    ...     raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: training ran out of memory on cpu with batches of 128 rows; ...
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        text = str(error).lower()
        if not isinstance(error, MemoryError) and not (
            "out of memory" in text or "allocate memory" in text
        ):
            raise
        size = "all" if training.batch_size is None else training.batch_size
        raise InputError(
            f"training ran out of memory on {training.device} with batches of {size} rows; lower "
            "batch_size or the width of the network."
        ) from None


def _optimizer(module: Any, training: Training, device: Any) -> Any:
    optim = require_torch().optim
    parameters = [p for p in module.parameters() if p.requires_grad]
    if not parameters:
        raise InputError(f"{type(module).__name__} has no parameters to train; use another module.")
    settings = {
        "lr": training.learning_rate,
        "weight_decay": training.weight_decay,
        "fused": device.type in ("cpu", "cuda"),
    }
    if training.optimizer == "adam":
        return optim.AdamW(parameters, **settings)
    return optim.SGD(parameters, momentum=MOMENTUM, **settings)


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
        Left as it is.
    loss : callable
        From the module and a batch of each tensor to one number, which is made small.
    tensors : sequence of tensors
        Of one length, a row each; `rdiv.models.networks.inputs.FedRows` are read batch by batch.
    training : Training
        With ``patience``, training stops when the score has not risen for so many epochs.
    rng : Generator
        For the order of rows and all that the module draws, such as dropout.
    strata : (n,) array, optional
        Every batch holds rows of each value in proportion, at least two of each; batches become
        larger if they must: see `batchable_rows`.
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
    with seeded_torch(rng, training.device) as device, memory_sentence(training):
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
        [some_rows(values, part) for values in rows] for part in (np.sort(order[:few]), kept)
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
