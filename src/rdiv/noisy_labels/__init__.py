"""Wrong labels: simulate them, find them, train despite them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdiv.noisy_labels.corruption import flip_labels, transition_matrix
    from rdiv.noisy_labels.detection import LabelNoiseDetector
    from rdiv.noisy_labels.result import LabelNoise
    from rdiv.noisy_labels.robust import RobustClassifier
    from rdiv.noisy_labels.splitting import split_by_loss
    from rdiv.noisy_labels.sweep import NoiseSweep, noise_sweep

__all__ = [
    "LabelNoise",
    "LabelNoiseDetector",
    "NoiseSweep",
    "RobustClassifier",
    "flip_labels",
    "noise_sweep",
    "split_by_loss",
    "transition_matrix",
]

_HOMES = {
    "LabelNoise": "result",
    "LabelNoiseDetector": "detection",
    "NoiseSweep": "sweep",
    "RobustClassifier": "robust",
    "flip_labels": "corruption",
    "noise_sweep": "sweep",
    "split_by_loss": "splitting",
    "transition_matrix": "corruption",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use: `RobustClassifier` imports scikit-learn."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
