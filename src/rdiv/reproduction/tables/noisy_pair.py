"""The figure on labels that flip to the next class."""

from __future__ import annotations

from rdiv.reproduction.noise_table import NoiseTable

__all__ = ["TABLE"]

TABLE = NoiseTable("pair")
