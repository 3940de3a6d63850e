"""How a torch module is trained: one frozen object of settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["MOMENTUM", "Training"]

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
    mixed_precision : bool
        Half precision where a GPU has it; the processor stays in full precision.

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
    schedule: Literal["constant", "step", "cosine"] = "constant"
    clip: float | None = None
    patience: int | None = None
    mixed_precision: bool = False

    def __post_init__(self) -> None:
        for name in ("epochs", "steps", "batch_size", "patience"):
            value = getattr(self, name)
            if value is None and name != "epochs":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        if not 0 < self.learning_rate < np.inf:
            raise ValueError(f"learning_rate must be a positive number, got {self.learning_rate}.")
        if not 0 <= self.weight_decay < np.inf:
            raise ValueError(f"weight_decay must be 0 or larger, got {self.weight_decay}.")
        if self.clip is not None and not 0 < self.clip < np.inf:
            raise ValueError(f"clip must be a positive number or None, got {self.clip}.")
        if self.optimizer not in ("adam", "sgd"):
            raise ValueError(f"optimizer must be 'adam' or 'sgd', got {self.optimizer!r}.")
        if self.schedule not in ("constant", "step", "cosine"):
            raise ValueError(
                f"schedule must be 'constant', 'step' or 'cosine', got {self.schedule!r}."
            )
