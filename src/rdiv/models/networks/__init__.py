"""The networks of the paper, each a model by name: full size as published, or any size smaller."""

from __future__ import annotations

from rdiv.models.networks.alexnet import AlexNet
from rdiv.models.networks.convnext import ConvNeXt
from rdiv.models.networks.mlp import Mlp
from rdiv.models.networks.resnet18 import ResNet18
from rdiv.models.networks.senet import SeNet
from rdiv.models.networks.vae import Vae
from rdiv.models.networks.vit import ViT

__all__ = ["AlexNet", "ConvNeXt", "Mlp", "ResNet18", "SeNet", "Vae", "ViT"]
