"""Torch modules inside tests: made, seeded, loaded, evaluated; torch's own state is left alone."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, MissingExtraError, MissingFileError
from rdiv.parallel.threads import one_thread
from rdiv.row_blocks import rows_at_once

__all__ = [
    "evaluate",
    "full_blocks",
    "hidden_width",
    "in_order",
    "is_module",
    "load_weights",
    "perceptron",
    "require_torch",
    "rows_evaluated",
    "seeded_torch",
    "tensor",
]


def require_torch() -> Any:
    """The torch library, or one sentence that says how to install it."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError(
            "a network needs torch, which is not installed; "
            'run pip install "rdiv[torch]" or choose a test without a network.'
        ) from None
    return torch


def in_order(parts: dict[str, Any]) -> Any:
    """Named parts of a convolutional network, one after the other.

    Its weights, and so the images within it, lie with the channels of a pixel side by side, which a
    processor convolves a fifth to two fifths faster.

    Examples
    --------
    >>> conv = in_order({"conv": require_torch().nn.Conv2d(3, 8, 3)}).conv
    >>> print(conv.weight.stride())
    (27, 1, 9, 3)
    """
    torch = require_torch()
    return torch.nn.Sequential(OrderedDict(parts)).to(memory_format=torch.channels_last)


def is_module(obj: object) -> bool:
    """Whether an object is a torch module; torch is not imported to find out.

    Examples
    --------
    >>> print(is_module("mlp"))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(obj, torch.nn.Module)


_torch_state = RLock()  # only the thread that holds it draws random numbers from torch


@contextmanager
def seeded_torch(rng: np.random.Generator, device: str = "auto") -> Iterator[Any]:
    """Seed torch's random state from a generator inside the block, on one thread; then undo both.

    The block gets the device. Torch has one random state for the whole process, and neither the
    weights of a new layer nor dropout can be drawn from another one. So only one thread at a time
    may be inside: threads that train networks take turns, and the same seed gives the same network
    in all of them.

    Examples
    --------
    >>> import torch
    >>> with seeded_torch(np.random.default_rng(0)):
    ...     first = torch.rand(1)
    >>> with seeded_torch(np.random.default_rng(0)):
    ...     print(bool(torch.rand(1) == first))
    True
    """
    torch = require_torch()
    place = _device(device)
    seed = int(rng.integers(2**63))
    cuda = list(range(torch.cuda.device_count())) if place.type == "cuda" else []
    with _torch_state, one_thread(), torch.random.fork_rng(devices=cuda):
        torch.default_generator.manual_seed(seed)
        if cuda:
            torch.cuda.manual_seed_all(seed)
        yield place


def perceptron(widths: Sequence[int], activation: str = "ReLU") -> Any:
    """A multilayer perceptron, fresh from torch's random state: see `seeded_torch`.

    Parameters
    ----------
    widths : sequence of int
        Columns of the input, of every hidden layer and of the output.
    activation : str
        Name of a class in ``torch.nn``, put between layers.

    Examples
    --------
    >>> print(len(perceptron([2, 50, 50, 1])))
    5
    """
    nn = require_torch().nn
    layers: list[Any] = []
    for d_in, d_out in pairwise(widths):
        layers += [nn.Linear(d_in, d_out), getattr(nn, activation)()]
    return nn.Sequential(*layers[:-1])


def hidden_width(d: int) -> int:
    """Width of hidden layers for ``d`` inputs: ``3 d``, at least 50 and at most 300.

    Examples
    --------
    >>> print(hidden_width(2), hidden_width(40), hidden_width(1000))
    50 120 300
    """
    return min(max(3 * d, 50), 300)


def evaluate(module: Any, x: NDArray[Any], device: str = "auto") -> NDArray[np.float64]:
    """Outputs of a module in evaluation mode, ``(n, m)``, in double precision.

    A row's outputs do not depend on the rows beside it: see `full_blocks` and `_align_products`.

    Examples
    --------
    >>> import torch
    >>> print(evaluate(torch.nn.Flatten(), np.array([[[1.0, 2.0]]])))
    [[1. 2.]]
    """
    torch = require_torch()
    place = _device(device)
    net = deepcopy(module).to(place).eval()
    _align_products(net)
    with one_thread(), torch.inference_mode():
        blocks = full_blocks(tensor(x, net))
        parts = [net(block.to(place)).cpu() for block in blocks]
    outputs: NDArray[np.float64] = torch.cat(parts)[: len(x)].double().numpy()
    return outputs


_ROWS_EVALUATED = 256
_WHOLE_LINES = 16  # numbers, or rows, that begin and end with a line of the cache


def _align_products(net: Any) -> None:
    """Let linear layers multiply rows of whole cache lines, filled up with zeros.

    The library's product of other rows rounds differently by where in memory a row begins.
    """
    functional = require_torch().nn.functional

    def product(layer: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        lacking = (0, -layer.in_features % _WHOLE_LINES)
        rows, weight = (functional.pad(part, lacking) for part in (inputs[0], layer.weight))
        return functional.linear(rows, weight, layer.bias)

    for layer in net.modules():
        if type(layer) is require_torch().nn.Linear and layer.in_features % _WHOLE_LINES:
            layer.register_forward_hook(product)


def full_blocks(values: Any, step: int | None = None) -> list[Any]:
    """Rows of a tensor in blocks that all have as many: the last is filled with its first row.

    Libraries choose how they multiply by the number of rows, so that a row's outputs would change
    with the batch that it is in.

    Parameters
    ----------
    values : tensor (n, ...)
    step : int, optional
        Rows of a block; by default it follows from the shape of a row.

    Examples
    --------
    >>> import torch
    >>> print([block.tolist() for block in full_blocks(torch.tensor([1, 2, 3]), 2)])
    [[1, 2], [3, 3]]
    """
    step = rows_evaluated(values.shape[1:]) if step is None else step
    blocks = list(values.split(step))
    lacking = step - len(blocks[-1])
    if lacking and len(values):
        filling = blocks[-1][:1].expand(lacking, *values.shape[1:])
        blocks[-1] = require_torch().cat([blocks[-1], filling])
    return blocks


def rows_evaluated(shape: Sequence[int]) -> int:
    """Rows of a shape that a network evaluates at a time."""
    most = min(_ROWS_EVALUATED, rows_at_once(shape))
    return most - most % _WHOLE_LINES if most > _WHOLE_LINES else most


def tensor(x: NDArray[Any], module: Any = None) -> Any:
    """Numbers as a tensor of the module's precision; single where none is given."""
    torch = require_torch()
    parameters = () if module is None else module.parameters()
    precision = next((p.dtype for p in parameters if p.is_floating_point()), torch.float32)
    return torch.as_tensor(np.ascontiguousarray(x)).to(precision)


def _device(name: str) -> Any:
    torch = require_torch()
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(name)
    except RuntimeError:
        raise InputError(f"device must be 'auto' or a name for torch, got {name!r}.") from None


def load_weights(module: Any, path: str | Path) -> None:
    """Put saved weights into a module; a last layer of another size keeps its fresh ones.

    Parameters
    ----------
    module : torch.nn.Module
        Changed in place.
    path : str or Path
        A ``.safetensors`` file with a tensor for every name in the module's state dict.

    Examples
    --------
    >>> load_weights(None, "weights.pt")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: weights must be a .safetensors file, which cannot run code, got ...
    """
    if Path(path).suffix != ".safetensors":
        raise InputError(
            f"weights must be a .safetensors file, which cannot run code, got {str(path)!r}; save "
            "the state dict with safetensors.torch.save_file."
        )
    saved, own = _read(path), module.state_dict()
    fresh = _names_of_last_linear(module)
    fits = {name: name in saved and saved[name].shape == own[name].shape for name in own}
    missing = [name for name, ok in fits.items() if not ok and name not in fresh]
    if missing or not any(fits.values()):
        raise InputError(
            f"the weights in {Path(path).name} do not fit the network: {_count(len(missing))} "
            f"absent or of another shape, such as {missing[0] if missing else 'all'}; use a file "
            "saved from the same class with the same width and depth."
        )
    module.load_state_dict({name: saved[name] if fits[name] else own[name] for name in own})


def _count(tensors: int) -> str:
    return "1 tensor is" if tensors == 1 else f"{tensors} tensors are"


def _read(path: str | Path) -> Any:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError:
        raise MissingExtraError(
            "weights= needs safetensors, which is not installed; "
            'run pip install "rdiv[torch]" or leave weights out.'
        ) from None
    if not Path(path).is_file():
        raise MissingFileError(f"no file {str(path)!r} with weights; check the path.")
    try:
        return load_file(path)
    except SafetensorError:
        raise InputError(
            f"{Path(path).name} is not a safetensors file in spite of its name; save the state "
            "dict with safetensors.torch.save_file."
        ) from None


def _names_of_last_linear(module: Any) -> set[str]:
    linear = require_torch().nn.Linear
    names = [name for name, part in module.named_modules() if isinstance(part, linear)]
    return {f"{names[-1]}.{part}" for part in ("weight", "bias")} if names else set()
