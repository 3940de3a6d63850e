"""Models: what a difference between samples is measured with."""

from __future__ import annotations

from rdiv.models.adapters import Estimator, as_model
from rdiv.models.boosting import Boosting
from rdiv.models.cross_fit import CrossFit
from rdiv.models.frozen import Frozen, same_model
from rdiv.models.gaussian_mixture import GaussianMixture
from rdiv.models.given import LoggedLosses, LoggedPredictions
from rdiv.models.kernel_density import KernelDensity
from rdiv.models.linear import Logistic, Ridge
from rdiv.models.mixed import MixedDensity
from rdiv.models.networks.alexnet import AlexNet
from rdiv.models.networks.convnext import ConvNeXt
from rdiv.models.networks.mlp import Mlp
from rdiv.models.networks.resnet18 import ResNet18, SeNet
from rdiv.models.networks.torch_model import TorchModel
from rdiv.models.networks.training import Training
from rdiv.models.networks.vae import Vae
from rdiv.models.networks.vit import ViT
from rdiv.models.onnx_file import OnnxModel
from rdiv.models.principal_components import PrincipalComponents
from rdiv.models.protocol import FittedModel, Model, ModelDescription, describe
from rdiv.models.trained import Trained

__all__ = [
    "BY_NAME",
    "AlexNet",
    "Boosting",
    "ConvNeXt",
    "CrossFit",
    "Estimator",
    "FittedModel",
    "Frozen",
    "GaussianMixture",
    "KernelDensity",
    "LoggedLosses",
    "LoggedPredictions",
    "Logistic",
    "MixedDensity",
    "Mlp",
    "Model",
    "ModelDescription",
    "OnnxModel",
    "PrincipalComponents",
    "ResNet18",
    "Ridge",
    "SeNet",
    "TorchModel",
    "Trained",
    "Training",
    "Vae",
    "ViT",
    "as_model",
    "describe",
    "same_model",
]

BY_NAME: dict[str, type] = {
    "mixed": MixedDensity,
    "kde": KernelDensity,
    "gmm": GaussianMixture,
    "pca": PrincipalComponents,
    "logistic": Logistic,
    "ridge": Ridge,
    "boosting": Boosting,
    "vae": Vae,
    "mlp": Mlp,
    "alexnet": AlexNet,
    "resnet18": ResNet18,
    "senet": SeNet,
    "convnext": ConvNeXt,
    "vit": ViT,
}


def __dir__() -> list[str]:
    return sorted(__all__)
