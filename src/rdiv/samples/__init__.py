"""From what users have (arrays, frames, files) to one pool of rows."""

from __future__ import annotations

from rdiv.samples.files import read
from rdiv.samples.partitions import Partitions, scan
from rdiv.samples.pool import Pool, require_finite
from rdiv.samples.pooling import PooledSamples, pool_samples, resolve_seed

__all__ = [
    "Partitions",
    "Pool",
    "PooledSamples",
    "pool_samples",
    "read",
    "require_finite",
    "resolve_seed",
    "scan",
]


def __dir__() -> list[str]:
    return sorted(__all__)
