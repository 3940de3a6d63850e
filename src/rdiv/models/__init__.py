"""Models: what a difference between samples is measured with."""

from __future__ import annotations

from rdiv.models.boosting import Boosting
from rdiv.models.cross_fit import CrossFit
from rdiv.models.estimators import Estimator, as_model
from rdiv.models.frozen import Frozen
from rdiv.models.gaussian_mixture import GaussianMixture
from rdiv.models.kernel_density import KernelDensity
from rdiv.models.linear import Logistic, Ridge
from rdiv.models.principal_components import PrincipalComponents
from rdiv.models.protocol import FittedModel, Model

__all__ = [
    "BY_NAME",
    "Boosting",
    "CrossFit",
    "Estimator",
    "FittedModel",
    "Frozen",
    "GaussianMixture",
    "KernelDensity",
    "Logistic",
    "Model",
    "PrincipalComponents",
    "Ridge",
    "as_model",
]

BY_NAME: dict[str, type] = {
    "kde": KernelDensity,
    "gmm": GaussianMixture,
    "pca": PrincipalComponents,
    "logistic": Logistic,
    "ridge": Ridge,
    "boosting": Boosting,
}
