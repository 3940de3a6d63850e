"""Corruptions of images by their published constants: noise of three kinds, and snow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import ndtr

from rdiv.errors import InputError
from rdiv.names import chosen_from
from rdiv.row_blocks import cut
from rdiv.sources.images import linear_weights

__all__ = ["CONSTANTS", "KINDS", "Snowfall", "check_corruption", "corrupt", "partly_corrupted"]


@dataclass(frozen=True)
class Snowfall:
    """Settings of one severity of snow.

    Parameters
    ----------
    mean, spread : float
        Of the normal field that flakes are cut from.
    zoom : float
        How much larger than a pixel its grains are.
    threshold : float
        What is below it in the field is no flake.
    radius, blur : int, float
        Reach and standard deviation of the streak that a flake leaves, in pixels.
    kept : float
        Share of the image that is not whitened.
    """

    mean: float
    spread: float
    zoom: float
    threshold: float
    radius: int
    blur: float
    kept: float


def _snowfalls(kept: tuple[float, ...]) -> tuple[Snowfall, ...]:
    """The five severities; the two benchmarks differ in the share of the image that is kept."""
    fields = (
        (0.1, 0.2, 1, 0.6, 8, 3),
        (0.1, 0.2, 1, 0.5, 10, 4),
        (0.15, 0.3, 1.75, 0.55, 10, 4),
        (0.25, 0.3, 2.25, 0.6, 12, 6),
        (0.3, 0.3, 1.25, 0.65, 14, 12),
    )
    return tuple(Snowfall(*field, share) for field, share in zip(fields, kept, strict=True))


CONSTANTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "cifar10": {
        "gauss": (0.04, 0.06, 0.08, 0.09, 0.10),
        "snow": _snowfalls((0.95, 0.9, 0.9, 0.85, 0.8)),
        "speckle": (0.06, 0.10, 0.12, 0.16, 0.20),
        "impulse": (0.01, 0.02, 0.03, 0.05, 0.07),
    },
    "imagenet": {
        "gauss": (0.04, 0.08, 0.12, 0.15, 0.18),
        "snow": _snowfalls((0.8, 0.8, 0.7, 0.65, 0.6)),
        "speckle": (0.15, 0.20, 0.25, 0.30, 0.35),
        "impulse": (0.01, 0.02, 0.05, 0.08, 0.14),
    },
}
"""Constants of CIFAR-10-C and of the 64 x 64 form of ImageNet-C, severities 1 to 5.

From the scripts of Hendrycks and Dietterich (2019), github.com/hendrycks/robustness.
"""


Floats = NDArray[np.float64]

KINDS = ("gauss", "snow", "speckle", "impulse")
_BLOCK = 256  # images at a time; the numbers drawn for an image do not depend on it


def corrupt(
    images: NDArray[Any],
    kind: str,
    rng: np.random.Generator,
    *,
    severity: int = 5,
    constants: str = "cifar10",
) -> NDArray[Any]:
    """Corrupt images as CIFAR-10-C and ImageNet-C do (Hendrycks and Dietterich 2019).

    Parameters
    ----------
    images : (n, channels, height, width) array
        Bytes, or floats in [0, 1].
    kind : {"gauss", "snow", "speckle", "impulse"}
    rng : Generator
    severity : {1, 2, 3, 4, 5}
    constants : {"cifar10", "imagenet"}
        Those of CIFAR-10-C, or of ImageNet-C at 64 x 64 pixels, which are larger.

    Returns
    -------
    array
        New images of the same shape and type.

    Notes
    -----
    The first images come out the same however many follow them: numbers are drawn image by image.

    - ``gauss`` adds normal noise, to every channel of a pixel by itself.
    - ``speckle`` adds normal noise in proportion to the value.
    - ``impulse`` replaces that share of the values by black or white.
    - ``snow`` whitens the image and adds flakes with streaks, falling within 45 degrees of
      vertical, and the same flakes upside down.

    Two departures from the published scripts: bytes are rounded, where those cut digits off, and
    the layer of snow is not rounded to bytes on its way.

    Examples
    --------
    >>> grey = np.full((1, 3, 32, 32), 0.5)
    >>> noisy = corrupt(grey, "gauss", np.random.default_rng(0), severity=3)
    >>> print(noisy.std().round(2))
    0.08
    """
    check_corruption(kind, severity)
    setting = chosen_from(CONSTANTS, constants, "constants")[kind][severity - 1]
    images, change = _checked(images), _FUNCTIONS[kind]
    made = np.empty_like(images)
    for block in cut(len(images), _BLOCK):
        made[block] = _stored(change(_in_unit(images[block]), setting, rng), images.dtype)
    return made


def partly_corrupted(
    images: NDArray[Any],
    kind: str,
    rng: np.random.Generator,
    *,
    fraction: float,
    severity: int,
    constants: str,
) -> NDArray[Any]:
    """Images each of which is corrupted with a probability, by itself.

    Examples
    --------
    >>> grey = np.full((1000, 1, 8, 8), 0.5)
    >>> made = partly_corrupted(
    ...     grey, "gauss", np.random.default_rng(0), fraction=0.2, severity=1, constants="cifar10"
    ... )
    >>> print((made != grey).any(axis=(1, 2, 3)).mean())
    0.193
    """
    hit = rng.random(len(images)) < fraction
    made = images.copy()
    made[hit] = corrupt(images[hit], kind, rng, severity=severity, constants=constants)
    return made


def check_corruption(kind: str, severity: int, fraction: float = 1.0) -> None:
    """Refuse kinds, severities and fractions that do not exist.

    Examples
    --------
    >>> check_corruption("snow", 6)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: severity must be a whole number from 1 to 5, got 6.
    """
    chosen_from(dict.fromkeys(KINDS), kind, "corruption")
    whole = isinstance(severity, int | np.integer) and not isinstance(severity, bool)
    if not whole or not 1 <= severity <= 5:
        raise InputError(f"severity must be a whole number from 1 to 5, got {severity!r}.")
    if not 0 < fraction <= 1:
        raise InputError(
            f"fraction must be above 0 and at most 1, got {fraction!r}; it is the share of "
            "corrupted rows in q, so 5 % is 0.05."
        )


def _checked(images: NDArray[Any]) -> NDArray[Any]:
    images = np.asarray(images)
    if images.ndim != 4:
        raise InputError(
            "images must have the shape (n, channels, height, width), got an array of shape "
            f"{images.shape}; add the axes that are missing."
        )
    if images.dtype.kind == "f" and (images.size == 0 or 0 <= images.min() <= images.max() <= 1):
        return images
    if images.dtype != np.uint8:
        raise InputError(
            f"images must be bytes or floats in [0, 1], got {images.dtype} with other values; "
            "convert them first."
        )
    return images


def _in_unit(images: NDArray[Any]) -> Floats:
    return images / 255.0 if images.dtype == np.uint8 else images.astype(np.float64)


def _stored(x: Floats, dtype: np.dtype[Any]) -> NDArray[Any]:
    clipped = np.clip(x, 0, 1)
    return (np.rint(clipped * 255) if dtype == np.uint8 else clipped).astype(dtype)


def _gauss(x: Floats, scale: float, rng: np.random.Generator) -> Floats:
    return x + scale * rng.standard_normal(x.shape)


def _speckle(x: Floats, scale: float, rng: np.random.Generator) -> Floats:
    return x + x * scale * rng.standard_normal(x.shape)


def _impulse(x: Floats, share: float, rng: np.random.Generator) -> Floats:
    drawn = rng.random(x.shape)
    return np.where(drawn < share, (drawn < share / 2).astype(np.float64), x)


def _snow(x: Floats, fall: Snowfall, rng: np.random.Generator) -> Floats:
    n, _, h, w = x.shape
    drawn = rng.standard_normal((n, h * w + 1))  # of each image together, so that order is kept
    angles = np.pi * (ndtr(drawn[:, -1]) / 2 - 0.75)  # uniform, from -135 to -45 degrees
    field = fall.mean + fall.spread * drawn[:, :-1].reshape(n, h, w)
    field = _enlarged(field, fall.zoom)
    flakes = np.where(field < fall.threshold, 0.0, np.clip(field, 0, 1))
    flakes = _streaked(flakes, angles, fall.radius, fall.blur)
    white = np.maximum(x, 1.5 * _grey(x) + 0.5)
    fallen = (flakes + flakes[:, ::-1, ::-1])[:, None]
    return fall.kept * x + (1 - fall.kept) * white + fallen


def _grey(x: Floats) -> Floats:
    weights = np.array([0.299, 0.587, 0.114]) if x.shape[1] == 3 else np.ones(x.shape[1])
    grey: Floats = (x * (weights / weights.sum())[:, None, None]).sum(axis=1, keepdims=True)
    return grey


def _enlarged(fields: Floats, zoom: float) -> Floats:
    """The middle of every field, enlarged to its size by linear interpolation."""
    (rows, top), (columns, left) = (_middle(size, zoom) for size in fields.shape[1:])
    part = fields[:, top : top + rows.shape[1], left : left + columns.shape[1]]
    enlarged: Floats = rows @ part @ columns.T
    return enlarged


def _middle(size: int, zoom: float) -> tuple[Floats, int]:
    """Weights ``(size, used)`` that enlarge the middle of a line, and where the middle begins."""
    used = int(np.ceil(size / zoom))
    whole = linear_weights(used, round(used * zoom))
    skipped = (len(whole) - size) // 2
    return whole[skipped : skipped + size], (size - used) // 2


def _streaked(flakes: Floats, angles: Floats, radius: int, blur: float) -> Floats:
    """Every flake drawn out to one side, fading as a normal density does."""
    reach = 2 * radius
    steps = np.arange(reach + 1)
    weights = np.exp(-(steps**2) / (2 * blur**2))
    weights /= weights.sum()
    margins = ((0, 0), (reach, reach), (reach, reach))
    shifted = sliding_window_view(np.pad(flakes, margins, "edge"), flakes.shape[1:], axis=(1, 2))
    streaked = np.zeros_like(flakes)
    for step, weight in zip(steps, weights, strict=True):
        down, right = (np.rint(step * turn(angles)).astype(int) for turn in (np.sin, np.cos))
        streaked += weight * shifted[np.arange(len(flakes)), reach + down, reach + right]
    return streaked


_FUNCTIONS: dict[str, Callable[[Floats, Any, np.random.Generator], Floats]] = {
    "gauss": _gauss,
    "snow": _snow,
    "speckle": _speckle,
    "impulse": _impulse,
}
