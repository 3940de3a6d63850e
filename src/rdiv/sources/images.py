"""What sources of images share: other sizes, disjoint draws from one file, what to say of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.row_blocks import cut

__all__ = [
    "channels_first",
    "check_size",
    "disjoint",
    "linear_weights",
    "noted",
    "overlap",
    "resized",
]

Bytes = NDArray[np.uint8]

LARGE_SHARE = 0.1
"""Share of a file from which on draws count as overlapping."""

_BLOCK = 512


def check_size(size: int) -> None:
    """Refuse sides of images that make no sense.

    Examples
    --------
    >>> check_size(4)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: size must be a whole number of at least 8 pixels, got 4.
    """
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    if not whole or size < 8:
        raise InputError(f"size must be a whole number of at least 8 pixels, got {size!r}.")


def resized(images: Bytes, size: int, *, by: Literal["distance", "blocks"] = "distance") -> Bytes:
    """Square images of another side, ``(n, channels, size, size)``.

    Parameters
    ----------
    images : bytes ``(n, channels, side, side)``
    size : int
    by : {"distance", "blocks"}
        With ``"distance"`` each pixel is a weighted mean of those that it covers or lies between,
        rounded, by weights that fall linearly with the distance; when images shrink the weights
        reach as far as a new pixel is wide. With ``"blocks"`` it is the mean of the pixels that it
        covers, cut off to a whole number; `size` must divide the side. The measured tables on
        noisy labels rest on blocks.

    Examples
    --------
    >>> checks = np.tile(np.uint8([[0, 200], [200, 0]]), (8, 8))[None, None]
    >>> print(resized(checks, 8)[0, 0, 3, 2:6])
    [100 100 100 100]
    """
    side = images.shape[-1]
    if size == side:
        return images
    if by == "blocks":
        return _block_means(images, size)
    weights = _weights(side, size)
    made = np.empty((*images.shape[:2], size, size), dtype=np.uint8)
    for block in cut(len(images), _BLOCK):
        made[block] = np.rint(weights @ images[block].astype(np.float64) @ weights.T)
    return made


def _block_means(images: Bytes, size: int) -> Bytes:
    n, channels, side, _ = images.shape
    if side % size:
        raise InputError(f"blocks need a size that divides {side}, got {size}.")
    step = side // size
    blocks = images.reshape(n, channels, size, step, size, step)
    means: Bytes = blocks.mean(axis=(3, 5)).astype(np.uint8)
    return means


@lru_cache(maxsize=32)
def _weights(side: int, size: int) -> NDArray[np.float64]:
    """Weights ``(size, side)`` of the old pixels in the new ones."""
    scale = side / size
    centres = (np.arange(size) + 0.5) * scale - 0.5
    away = np.abs(np.arange(side) - centres[:, None]) / max(scale, 1.0)
    weights = np.clip(1 - away, 0, None)
    weights /= weights.sum(axis=1, keepdims=True)
    weights.flags.writeable = False
    return weights


def linear_weights(side: int, size: int) -> NDArray[np.float64]:
    """Weights ``(size, side)`` that interpolate a line from end to end.

    Examples
    --------
    >>> print(linear_weights(2, 3))
    [[1.  0. ]
     [0.5 0.5]
     [0.  1. ]]
    """
    at = np.linspace(0, side - 1, size)
    weights: NDArray[np.float64] = np.clip(1 - np.abs(np.arange(side) - at[:, None]), 0, None)
    return weights


def disjoint(
    there: int, n: int, m: int, rng: np.random.Generator, what: str
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of ``n`` and of ``m`` other rows among those that are there.

    Examples
    --------
    >>> p, q = disjoint(10, 6, 4, np.random.default_rng(0), "toy has 10 images")
    >>> print(sorted([*p.tolist(), *q.tolist()]))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    if n + m > there:
        raise InputError(f"{what}, got a draw of {n} + {m} disjoint ones; ask for fewer.")
    order = rng.permutation(there)
    return order[:n], order[n : n + m]


def overlap(*parts: tuple[int, int, str]) -> str | None:
    """A sentence about draws that take a large share of what is there, or None.

    Parameters
    ----------
    parts : (used, there, what)
        How many of how many a draw takes; the largest share is spoken of.

    Examples
    --------
    >>> print(overlap((100, 1000, "images")), overlap((300, 1000, "images"))[:19])
    None draws overlap: 300
    """
    used, there, what = max(parts, key=lambda part: part[0] / part[1])
    if used <= LARGE_SHARE * there:
        return None
    return (
        f"draws overlap: {used} of {there} {what} each time, so the interval describes this file, "
        "not the population"
    )


def noted(*sentences: str | None) -> str | None:
    """Several remarks as one, without those that are None."""
    said = [sentence for sentence in sentences if sentence]
    return "; ".join(said) or None


def channels_first(images: NDArray[Any]) -> Bytes:
    """Images as files hold them, ``(n, h, w, c)``, as networks want them, ``(n, c, h, w)``."""
    return np.ascontiguousarray(np.moveaxis(images, -1, 1))
