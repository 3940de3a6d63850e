"""Batches of row numbers, and updates of a torch module: optimiser, rate, clear failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import cos, pi
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import DivergedError, InputError
from rdiv.models.networks.modules import require_torch

if TYPE_CHECKING:
    from rdiv.models.networks.training import Training

__all__ = [
    "MOMENTUM",
    "batch_count",
    "batchable_rows",
    "descend",
    "epochs_of_batches",
    "explain_out_of_memory",
    "rate_factor",
    "total_steps",
]


def batchable_rows(
    is_p: NDArray[np.bool_], training: Training, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Rows that fill batches with two rows of either side or more, and need no larger batches.

    All rows, unless one side is so rare that some of the other must be left out.

    Examples
    --------
    >>> from rdiv.models.networks.training import Training
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
    """Batches per epoch; with strata few enough that each holds two rows of every value.

    Examples
    --------
    >>> from rdiv.models.networks.training import Training
    >>> print(batch_count(13, Training(batch_size=4), None))
    4
    """
    count = 1 if training.batch_size is None else -(-n // training.batch_size)
    if strata is None:
        return count
    rarest = int(np.unique(strata, return_counts=True)[1].min())
    return max(min(count, rarest // 2), 1)


def total_steps(count: int, training: Training) -> int:
    """Updates that the settings allow, with so many batches per epoch.

    Examples
    --------
    >>> from rdiv.models.networks.training import Training
    >>> print(total_steps(4, Training(epochs=10)), total_steps(4, Training(epochs=10, steps=7)))
    40 7
    """
    whole = training.epochs * count
    return whole if training.steps is None else min(whole, training.steps)


def epochs_of_batches(
    n: int, training: Training, strata: NDArray[Any] | None, rng: np.random.Generator
) -> Iterator[list[Any]]:
    """Lists of batches of row numbers, one list per epoch, until epochs or steps run out."""
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


MOMENTUM = 0.9


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
def explain_out_of_memory(training: Training) -> Iterator[None]:
    """Turn running out of memory into one sentence with the setting to change.

    Examples
    --------
    >>> from rdiv.models.networks.training import Training
    >>> with explain_out_of_memory(Training(device="cpu")):
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
