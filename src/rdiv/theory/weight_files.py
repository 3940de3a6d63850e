"""Tensors from a safetensors file: a length, a header of JSON and raw numbers, nothing to run."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_weights"]

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_LONGEST_HEADER = 100_000_000


def read_weights(path: str | os.PathLike[str]) -> dict[str, NDArray[np.float64]]:
    """All floating-point tensors of a safetensors file, by name.

    Parameters
    ----------
    path : path
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as stream:
            data = stream.read()
    except OSError as error:
        raise ValueError(f"{name} could not be read: {error.strerror}; check the file.") from error
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
        raise ValueError(
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
        raise ValueError(f"{name} is damaged at tensor {key!r}; save it again.") from None
    raw = np.frombuffer(data, dtype, math.prod(shape), start + first)
    if kind == "BF16":  # the upper half of a float32
        raw = (raw.astype(np.uint32) << 16).view(np.float32)
    values: NDArray[np.float64] = raw.astype(np.float64).reshape(shape)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds NaN or infinite weights in {key!r}; train it again.")
    return values
