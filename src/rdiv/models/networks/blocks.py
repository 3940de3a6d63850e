"""Pieces of networks as torch modules; this file is imported when a network is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

__all__ = [
    "Autoencoder",
    "ConvNeXtBlock",
    "DropPath",
    "EncoderBlock",
    "FirstToken",
    "LayerNorm2d",
    "ResidualBlock",
    "SqueezeExcitation",
    "Tokens",
    "initialise",
]

Tensor = Any  # what calls of torch modules return


class SqueezeExcitation(nn.Module):
    """Weigh channels by what their means say (Hu et al. 2018); the reduction is 16."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, max(channels // 16, 1))
        self.excite = nn.Linear(max(channels // 16, 1), channels)

    def forward(self, x: Tensor) -> Tensor:
        """Channels times a weight in (0, 1) each."""
        weights = self.excite(functional.relu(self.squeeze(x.mean(dim=(2, 3)))))
        return x * weights.sigmoid()[:, :, None, None]


class ResidualBlock(nn.Module):
    """Two convolutions and a shortcut (He et al. 2016), with squeeze and excitation on demand."""

    def __init__(self, d_in: int, d_out: int, stride: int, *, excite: bool = False) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(d_in, d_out, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(d_out)
        self.conv2 = nn.Conv2d(d_out, d_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(d_out)
        self.excitation = SqueezeExcitation(d_out) if excite else nn.Identity()
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or d_in != d_out:
            shortcut = nn.Conv2d(d_in, d_out, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(d_out))

    def forward(self, x: Tensor) -> Tensor:
        """Images of the same size, or half of it."""
        inner = functional.relu(self.bn1(self.conv1(x)))
        inner = self.excitation(self.bn2(self.conv2(inner)))
        return functional.relu(inner + self.downsample(x))


class LayerNorm2d(nn.LayerNorm):
    """Layer norm over the channels of an image."""

    def forward(self, x: Tensor) -> Tensor:
        """Every pixel with mean 0 and spread 1 over its channels, then scaled."""
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


class DropPath(nn.Module):
    """Leave a branch out for random rows in training (stochastic depth, Huang et al. 2016)."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """Rows as they are, or in training zero with the given probability."""
        if not self.training or self.share == 0:
            return x
        kept = torch.rand(len(x), *[1] * (x.ndim - 1), device=x.device) >= self.share
        return x * kept / (1 - self.share)


class ConvNeXtBlock(nn.Module):
    """Depthwise convolution, norm, two layers per pixel, all on a shortcut (Liu et al. 2022)."""

    def __init__(self, channels: int, drop: float) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.expand = nn.Linear(channels, 4 * channels)
        self.contract = nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 1e-6))
        self.drop = DropPath(drop)

    def forward(self, x: Tensor) -> Tensor:
        """Images of the same shape."""
        inner = self.norm(self.depthwise(x).movedim(1, -1))
        inner = self.scale * self.contract(functional.gelu(self.expand(inner)))
        return x + self.drop(inner.movedim(-1, 1))


class Tokens(nn.Module):
    """Patches of an image as vectors with their places, after one token for the class."""

    def __init__(self, channels: int, width: int, patch: int, count: int) -> None:
        super().__init__()
        self.embed = nn.Conv2d(channels, width, patch, patch)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(0.02 * torch.randn(1, count + 1, width))

    def forward(self, x: Tensor) -> Tensor:
        """From ``(n, channels, height, width)`` to ``(n, 1 + count, width)``."""
        patches = self.embed(x).flatten(2).transpose(1, 2)
        return torch.cat([self.first.expand(len(x), -1, -1), patches], dim=1) + self.places


class EncoderBlock(nn.Module):
    """Attention and two layers per token, each on a shortcut after a norm (Vaswani et al. 2017)."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.mix = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens of the same shape."""
        x = x + self.drop(self._attend(self.norm1(x)))
        inner = self.drop(functional.gelu(self.expand(self.norm2(x))))
        return x + self.drop(self.contract(inner))

    def _attend(self, x: Tensor) -> Tensor:
        n, tokens, width = x.shape
        split = self.mix(x).reshape(n, tokens, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.out(mixed.transpose(1, 2).reshape(n, tokens, width))


class FirstToken(nn.Module):
    """The token of the class, after the last norm."""

    def forward(self, x: Tensor) -> Tensor:
        """From ``(n, tokens, width)`` to ``(n, width)``."""
        return x[:, 0]


class Autoencoder(nn.Module):
    """A variational autoencoder of flat rows (Kingma and Welling 2014).

    Outputs of a row: the decoded numbers of each sample of its code, mean and log variance of the
    code, and the log of the noise. In training the code is drawn once; else it is its mean, or it
    is moved by the fixed draws of ``noise``, the same for every row.
    """

    def __init__(self, widths: Sequence[int], latent: int, samples: int) -> None:
        super().__init__()
        self.encoder = _layers([*widths, 2 * latent])
        self.decoder = _layers([latent, *reversed(widths)])
        self.log_noise = nn.Parameter(torch.zeros(1))
        noise = torch.randn(samples, latent) if samples else torch.zeros(1, latent)
        self.register_buffer("noise", noise)

    def forward(self, x: Tensor) -> Tensor:
        """From ``(n, ...)`` to ``(n, samples * d + 2 * latent + 1)``."""
        mean, log_variance = self.encoder(x.flatten(1)).chunk(2, dim=1)
        log_variance = log_variance.clamp(-20, 20)
        noise = torch.randn_like(mean)[:, None] if self.training else self.noise
        codes = mean[:, None] + (log_variance / 2).exp()[:, None] * noise
        decoded = self.decoder(codes).flatten(1)
        return torch.cat([decoded, mean, log_variance, self.log_noise.expand(len(x), 1)], dim=1)


def _layers(widths: Sequence[int]) -> nn.Sequential:
    from rdiv.models.networks.modules import perceptron

    layers: nn.Sequential = perceptron(widths)
    return layers


def initialise(module: nn.Module, deviation: float = 0.02) -> nn.Module:
    """Small normal weights and zero biases for every linear layer and convolution, in place."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            nn.init.trunc_normal_(part.weight, std=deviation)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    return module
