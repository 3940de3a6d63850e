"""Sources: benchmark pairs, each with a true null."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rdiv.errors import InputTypeError
from rdiv.names import chosen
from rdiv.samples.files import read
from rdiv.sources.blob import Blob
from rdiv.sources.corrupted_images import CorruptedCifar10, CorruptedImagenet
from rdiv.sources.hdgm import Hdgm
from rdiv.sources.higgs import Higgs
from rdiv.sources.mnist import ColoredMnist, Mnist
from rdiv.sources.pacs import Pacs
from rdiv.sources.protocol import Drawn, Pair, Source, SourceDescription, describe

__all__ = [
    "BY_NAME",
    "Blob",
    "ColoredMnist",
    "CorruptedCifar10",
    "CorruptedImagenet",
    "Drawn",
    "Hdgm",
    "Higgs",
    "Mnist",
    "Pacs",
    "Pair",
    "Source",
    "SourceDescription",
    "as_source",
    "describe",
]

BY_NAME: dict[str, type] = {
    "blob": Blob,
    "hdgm": Hdgm,
    "higgs": Higgs,
    "mnist": Mnist,
    "colored-mnist": ColoredMnist,
    "pacs": Pacs,
    "cifar10-corrupted": CorruptedCifar10,
    "imagenet-corrupted": CorruptedImagenet,
}


def as_source(obj: Any) -> Source:
    """Make a source of a name, a source, a function, or a pair of samples or files.

    Parameters
    ----------
    obj : str, Source, callable or pair

    Examples
    --------
    >>> print(as_source("hdgm"))
    Hdgm(d=10, rotated=False, ratio=1.0)
    """
    if isinstance(obj, str):
        named: Source = chosen(obj, BY_NAME, "source")()
        return named
    if isinstance(obj, type):
        raise InputTypeError(f"a source must be an object, got the class {obj.__name__}; add ().")
    if hasattr(obj, "draw"):
        source: Source = obj
        return source
    if isinstance(obj, tuple) and len(obj) == 2:
        if all(isinstance(part, str | Path) for part in obj):
            p, q = (read(part) for part in obj)
            return Pair(p, q, name=" + ".join(Path(part).name for part in obj))
        return Pair(*obj)
    if callable(obj):
        return Drawn(obj)
    raise InputTypeError(
        "a source must be a name, an object with draw(n, rng, null), a function or a pair of "
        f"samples, got {type(obj).__name__}."
    )


def __dir__() -> list[str]:
    return sorted(__all__)
