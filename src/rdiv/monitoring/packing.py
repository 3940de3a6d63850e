"""A state as text: arrays exact to the bit, and a checksum over all of it."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError

__all__ = ["packed_bits", "packed_floats", "packed_whole", "sealed", "unpacked", "unsealed"]

KIND = "rdiv monitor state"


def packed_floats(values: NDArray[np.float64]) -> str:
    """Floats as base64 text.

    Examples
    --------
    >>> print(unpacked(packed_floats(np.array([0.1, 2.0])), "<f8"))
    [0.1 2. ]
    """
    return b64encode(values.astype("<f8").tobytes()).decode()


def packed_whole(values: NDArray[np.int64] | None) -> str | None:
    """Whole numbers as base64 text."""
    return None if values is None else b64encode(values.astype("<i8").tobytes()).decode()


def packed_bits(mask: NDArray[np.bool_] | None) -> str | None:
    """A mask as base64 text."""
    return None if mask is None else b64encode(np.packbits(mask).tobytes()).decode()


def unpacked(text: str, kind: str) -> NDArray[Any]:
    """The array behind a text."""
    return np.frombuffer(b64decode(text, validate=True), dtype=kind).copy()


def sealed(content: Mapping[str, Any], schema: int) -> str:
    """A state as the text of its file, with a checksum.

    Examples
    --------
    >>> print(unsealed(sealed({"rows": 3}, 1), 1)["rows"])
    3
    """
    body = {"kind": KIND, "schema": schema, **content}
    return _text({**body, "checksum": _checksum(body)})


def unsealed(text: str, schema: int) -> dict[str, Any]:
    """The content of a state, if it is as it was written."""
    try:
        body = json.loads(text)
        if body["kind"] != KIND:
            raise KeyError("kind")
        version = int(body["schema"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise InputError(
            "this is not the state of a monitor, or it was cut off; name the file that rdiv watch "
            "start wrote, or start again."
        ) from None
    if version != schema:
        raise InputError(
            f"the state was written by another version of rdiv (schema {version}, this one reads "
            f"{schema}); use that version, or start again."
        )
    said = body.pop("checksum", None)
    if said != _checksum(body):
        raise InputError(
            "the state was changed after it was written, its checksum does not match; restore the "
            "file from a copy, or start again."
        )
    return dict(body)


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _checksum(body: Mapping[str, Any]) -> str:
    return blake2b(_text(body).encode(), digest_size=16).hexdigest()
