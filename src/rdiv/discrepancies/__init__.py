"""Discrepancies: how far apart two samples of a pool are."""

from __future__ import annotations

from rdiv.discrepancies.c2st import AccuracyC2st, LogitC2st
from rdiv.discrepancies.cross_risk import CrossRisk
from rdiv.discrepancies.deep_mmd import DeepMmd
from rdiv.discrepancies.energy import Energy
from rdiv.discrepancies.h_divergence import HDivergence
from rdiv.discrepancies.in_use import InUse
from rdiv.discrepancies.inputs import Inputs
from rdiv.discrepancies.l_divergence import LDivergence
from rdiv.discrepancies.loss_distribution import LossDistribution
from rdiv.discrepancies.mean_features.mean_embedding import MeanEmbedding
from rdiv.discrepancies.mean_features.smooth_cf import SmoothCharacteristicFunction
from rdiv.discrepancies.mmd import GaussianMmd
from rdiv.discrepancies.omnibus import Omnibus
from rdiv.discrepancies.protocol import Description, Discrepancy, Learner, describe
from rdiv.discrepancies.r_divergence import RDivergence
from rdiv.discrepancies.score import Score
from rdiv.inference.prepared import Prepared

__all__ = [
    "BY_NAME",
    "AccuracyC2st",
    "CrossRisk",
    "DeepMmd",
    "Description",
    "Discrepancy",
    "Energy",
    "GaussianMmd",
    "HDivergence",
    "InUse",
    "Inputs",
    "LDivergence",
    "Learner",
    "LogitC2st",
    "LossDistribution",
    "MeanEmbedding",
    "Omnibus",
    "Prepared",
    "RDivergence",
    "Score",
    "SmoothCharacteristicFunction",
    "describe",
]

BY_NAME: dict[str, type] = {
    "in-use": InUse,
    "r-div": RDivergence,
    "h-div": HDivergence,
    "l-div": LDivergence,
    "cross-risk": CrossRisk,
    "score": Score,
    "omnibus": Omnibus,
    "me": MeanEmbedding,
    "scf": SmoothCharacteristicFunction,
    "c2st-s": AccuracyC2st,
    "c2st-l": LogitC2st,
    "mmd-o": GaussianMmd,
    "mmd-d": DeepMmd,
    "energy": Energy,
    "inputs": Inputs,
    "ks-loss": LossDistribution,
}


def __dir__() -> list[str]:
    return sorted(__all__)
