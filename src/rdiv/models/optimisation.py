"""Updates of a torch module: optimiser, learning rate, clipped gradients, clear failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from math import cos, pi
from typing import Any

from rdiv.models.torch_modules import require_torch
from rdiv.models.training_settings import MOMENTUM, Training

__all__ = ["descend", "memory_sentence", "rate_factor"]


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
    torch = require_torch()
    half = training.mixed_precision and rows[0].device.type == "cuda"
    with torch.autocast("cuda", torch.bfloat16) if half else nullcontext():
        value = loss(module, *rows)
    if not bool(value.isfinite()):
        raise ValueError(
            f"training diverged: the loss became {value.detach().item()}; lower the "
            f"learning rate of {training.learning_rate:g} or check the inputs."
        )
    value.backward()
    if training.clip is not None:
        torch.nn.utils.clip_grad_norm_(module.parameters(), training.clip)
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
    ValueError: training ran out of memory on cpu with batches of 128 rows; lower batch_size ...
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
        raise ValueError(
            f"training ran out of memory on {training.device} with batches of {size} rows; lower "
            "batch_size or the width of the network."
        ) from None


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
