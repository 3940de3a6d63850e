"""What networks for images share: the shapes they take, the sizes they come in, their recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rdiv.errors import InputError
from rdiv.models.networks.inputs import fit_inputs
from rdiv.models.networks.torch_model import Recipe
from rdiv.models.networks.training import Training

__all__ = ["check_width", "image_recipe", "image_shape", "with_epochs"]

CHANNELS = (1, 3)


def image_shape(shape: tuple[int, ...], who: str, smallest: int) -> tuple[int, int]:
    """Channels and shorter side of images of that shape; other shapes are refused.

    Examples
    --------
    >>> print(image_shape((3, 32, 40), "resnet18", 8))
    (3, 32)
    >>> image_shape((32, 32, 3), "resnet18", 8)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: resnet18 needs images with the channels first, got rows ...
    """
    if len(shape) == 3 and shape[-1] in CHANNELS and shape[0] not in CHANNELS:
        raise InputError(
            f"{who} needs images with the channels first, got rows of shape {shape}; pass "
            "np.moveaxis(x, -1, 1)."
        )
    if len(shape) != 3:
        how = "pass x[:, None]" if len(shape) == 2 else "use mlp or vae for tables"
        raise InputError(
            f"{who} needs images of shape (n, channels, height, width), got rows of shape {shape}; "
            f"{how}."
        )
    side = min(shape[1:])
    if side < smallest:
        raise InputError(
            f"{who} needs images of at least {smallest} x {smallest} pixels, got {shape[1]} x "
            f"{shape[2]}; enlarge them or use mlp."
        )
    return shape[0], side


def check_width(width: int) -> None:
    """Refuse widths that are no multiple of 8.

    Examples
    --------
    >>> check_width(12)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: width must be a multiple of 8, got 12.
    """
    if isinstance(width, bool) or not isinstance(width, int) or width < 8 or width % 8:
        raise InputError(f"width must be a multiple of 8, got {width!r}.")


def with_epochs(training: Training, epochs: int | None) -> Training:
    """Training settings with another number of epochs, where one is given.

    Examples
    --------
    >>> print(with_epochs(Training(), 3).epochs, with_epochs(Training(), None).epochs)
    3 100
    """
    return training if epochs is None else replace(training, epochs=epochs)


def image_recipe(
    build: Callable[..., Any],
    who: str,
    training: Training,
    epochs: int | None,
    weights: str | Path | None,
) -> Recipe:
    """How a classifier of images is fitted: in their shape, by the log loss."""
    return Recipe(
        build,
        with_epochs(training, epochs),
        partial(fit_inputs, keep_shape=True, who=who),
        weights=weights,
        task="classification",
    )
