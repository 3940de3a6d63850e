"""Discrepancies: how far apart two samples of a pool are."""

from __future__ import annotations

from rdiv.discrepancies.energy import Energy
from rdiv.discrepancies.loss_distribution import LossDistribution
from rdiv.discrepancies.mmd import GaussianMmd
from rdiv.discrepancies.protocol import Discrepancy, Learner, Prepared
from rdiv.discrepancies.r_divergence import RDivergence

__all__ = [
    "BY_NAME",
    "Discrepancy",
    "Energy",
    "GaussianMmd",
    "Learner",
    "LossDistribution",
    "Prepared",
    "RDivergence",
]

BY_NAME: dict[str, type] = {
    "r-div": RDivergence,
    "ks-loss": LossDistribution,
    "mmd-o": GaussianMmd,
    "energy": Energy,
}
