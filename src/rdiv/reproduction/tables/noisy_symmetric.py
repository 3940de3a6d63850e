"""The figure on labels that flip to any other class."""

from __future__ import annotations

from rdiv.reproduction.noise_table import NoiseTable

__all__ = ["TABLE"]

TABLE = NoiseTable("symmetric")
