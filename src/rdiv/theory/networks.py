"""Networks for the bounds: norms of their weights, from a torch module or a safetensors file."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError

__all__ = ["NetworkNorms", "frobenius_norms", "lipschitz_constant", "network_norms", "read_weights"]


_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_LONGEST_HEADER = 100_000_000


def read_weights(path: str | os.PathLike[str]) -> dict[str, NDArray[np.float64]]:
    """All floating-point tensors of a safetensors file, by name.

    Parameters
    ----------
    path : path
    """
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"path must be the path of a safetensors file, got {path!r}.")
    name = os.fsdecode(path)
    try:
        with open(name, "rb") as stream:
            data = stream.read()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name} could not be read: {why}; check the file.") from error
    header, start = _header(name, data)
    found = {key: _tensor(name, key, entry, data, start) for key, entry in header.items()}
    return {key: values for key, values in found.items() if values is not None}


def _header(name: str, data: bytes) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(data[:8], "little")
    try:
        if len(data) < 8 + length or length > _LONGEST_HEADER:
            raise ValueError
        header = json.loads(data[8 : 8 + length])
        if not isinstance(header, dict):
            raise ValueError
    except (ValueError, RecursionError):
        raise InputError(
            f"{name} is not a safetensors file; save the weights with "
            "safetensors.torch.save_file(module.state_dict(), ...)."
        ) from None
    header.pop("__metadata__", None)
    return header, 8 + length


def _tensor(name: str, key: str, entry: Any, data: bytes, start: int) -> NDArray[np.float64] | None:
    try:
        kind, shape = str(entry["dtype"]), tuple(int(size) for size in entry["shape"])
        first, last = (int(place) for place in entry["data_offsets"])
        if kind not in _TYPES:
            return None  # counters and masks have no norm
        dtype = np.dtype(_TYPES[kind])
        whole = 0 <= first <= last <= len(data) - start
        if not whole or last - first != math.prod(shape) * dtype.itemsize:
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{name} is damaged at tensor {key!r}; save it again.") from None
    raw = np.frombuffer(data, dtype, math.prod(shape), start + first)
    if kind == "BF16":  # the upper half of a float32
        raw = (raw.astype(np.uint32) << 16).view(np.float32)
    values: NDArray[np.float64] = raw.astype(np.float64).reshape(shape)
    if not np.isfinite(values).all():
        raise InputError(f"{name} holds NaN or infinite weights in {key!r}; train it again.")
    return values


Floats = NDArray[np.float64]
Layer = tuple[Floats, Floats | None]

_ACTIVATIONS = ("ReLU", "LeakyReLU", "Identity", "Flatten", "Dropout")  # 1-Lipschitz, homogeneous


class NetworkNorms(NamedTuple):
    """What the bounds need of a network.

    Attributes
    ----------
    norms : tuple of float
        Frobenius norm of the weights of every layer.
    outputs : int
    biased : bool
        Whether any layer has biases.

    Examples
    --------
    >>> print(NetworkNorms((1.0, 2.0), 1, False).radius(3.0))
    3.0
    """

    norms: tuple[float, ...]
    outputs: int
    biased: bool

    def radius(self, radius: float) -> float:
        """Radius of the inputs, including the constant input that replaces biases.

        Examples
        --------
        >>> print(NetworkNorms((1.0,), 1, True).radius(math.sqrt(3)))
        2.0
        """
        return math.hypot(radius, 1.0) if self.biased else radius


def frobenius_norms(network: Any) -> tuple[float, ...]:
    """Frobenius norm of every weight matrix of a network, in order.

    Parameters
    ----------
    network : torch module
        Linear layers with ReLU-like activations between them.

    Notes
    -----
    The bounds are for networks without biases. A network with biases is rewritten as one without:
    every input gets a constant 1, which each layer except the last passes on, so that a hidden
    matrix becomes ``[[W, b], [0, 1]]`` and the last ``[W, b]``. The norms are those of these
    matrices; the radius grows by `NetworkNorms.radius`.

    Examples
    --------
    >>> import torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> _ = torch.nn.init.constant_(layer.weight, 3.0)
    >>> print([round(norm, 3) for norm in frobenius_norms(layer)])
    [4.243]
    """
    return network_norms(network).norms


def network_norms(network: Any) -> NetworkNorms:
    """Norms, number of outputs and whether there are biases, of a torch module or a file.

    Parameters
    ----------
    network : torch module or path of a safetensors file
        In a file, matrices named ``NAME.weight`` with biases ``NAME.bias``, taken in the natural
        order of the names. Nothing in a file is executed.

    Examples
    --------
    >>> from torch import nn
    >>> found = network_norms(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    >>> print(len(found.norms), found.outputs, found.biased)
    2 2 True
    """
    if isinstance(network, str | os.PathLike):
        layers = _layers_of_file(read_weights(network))
    else:
        layers = _layers_of_module(network)
    biased = any(bias is not None for _, bias in layers)
    squares = [np.sum(w**2) + (0.0 if b is None else np.sum(b**2)) for w, b in layers]
    constants = [float(biased)] * (len(layers) - 1) + [0.0]
    norms = tuple(math.sqrt(s + one) for s, one in zip(squares, constants, strict=True))
    return NetworkNorms(norms, len(layers[-1][0]), biased)


def lipschitz_constant(network: Any) -> float:
    """Upper bound of the Lipschitz constant of a network: the product of its spectral norms.

    Parameters
    ----------
    network : torch module or path of a safetensors file

    Notes
    -----
    For inputs of norm B and no biases the output stays within B times this constant, which helps
    to find the bound ``c`` of a loss. The bounds themselves take the Lipschitz constant of the
    *loss* in the network's output: 1 for a hinge or a binary log loss of a logit, ``2 r`` for the
    squared error of residuals up to r.

    Examples
    --------
    >>> import torch
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = torch.nn.init.eye_(layer.weight)
    >>> print(round(lipschitz_constant(torch.nn.Sequential(layer, torch.nn.ReLU(), layer)), 3))
    1.0
    """
    if isinstance(network, str | os.PathLike):
        layers = _layers_of_file(read_weights(network))
    else:
        layers = _layers_of_module(network)
    return math.prod(float(np.linalg.norm(weight, 2)) for weight, _ in layers)


def _layers_of_module(module: Any) -> list[Layer]:
    if not hasattr(module, "modules"):
        raise InputTypeError(
            f"a network must be a torch module or a safetensors file, got {type(module).__name__}."
        )
    layers: list[Layer] = []
    for part in _leaves(module):
        name = type(part).__name__
        if name == "Linear":
            bias = None if part.bias is None else _numbers(part.bias)
            layers.append((_numbers(part.weight), bias))
        elif name not in _ACTIVATIONS:
            raise InputError(
                f"the bounds are for linear layers and ReLU-like activations, got a {name}; "
                "pass the norms of your own analysis instead."
            )
    return _chained(layers)


def _leaves(module: Any) -> list[Any]:
    """Layers in order; a layer that is used twice is listed twice."""
    inside = list(module._modules.values())
    return [leaf for child in inside for leaf in _leaves(child)] if inside else [module]


def _numbers(tensor: Any) -> Floats:
    numbers: Floats = tensor.detach().cpu().double().numpy()
    return numbers


def _layers_of_file(weights: Mapping[str, Floats]) -> list[Layer]:
    names = sorted((n for n in weights if n.split(".")[-1] == "weight"), key=_natural)
    layers: list[Layer] = []
    for name in names:
        if weights[name].ndim != 2:
            raise InputError(
                f"the bounds are for weight matrices, got {name} of shape {weights[name].shape}; "
                "pass the norms of your own analysis instead."
            )
        layers.append((weights[name], weights.get(name.removesuffix("weight") + "bias")))
    known = {*names, *(name.removesuffix("weight") + "bias" for name in names)}
    unknown = sorted(set(weights) - known)
    if unknown:
        raise InputError(
            f"the file must hold weight matrices and biases alone, got also {unknown[0]!r}; pass "
            "the norms of your own analysis instead."
        )
    return _chained(layers)


def _natural(name: str) -> list[tuple[int, str]]:
    """Key that sorts ``2.weight`` before ``10.weight``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _chained(layers: list[Layer]) -> list[Layer]:
    if not layers:
        raise InputError("the network has no weight matrix; pass one with linear layers.")
    for (before, _), (after, _) in pairwise(layers):
        if after.shape[1] != len(before):
            raise InputError(
                f"layers must follow each other, got one with {len(before)} outputs before one "
                f"with {after.shape[1]} inputs; pass the norms yourself, as norms=[...]."
            )
    return layers
