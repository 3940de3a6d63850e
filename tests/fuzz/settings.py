"""Settings for calls of the public functions that take no samples."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import rdiv
from rdiv import noisy_labels, theory
from rdiv.models import as_model
from rdiv.sources import as_source

__all__ = ["Asked", "asked"]

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    *(
        getattr(theory, name)
        for name in theory.__all__
        if inspect.isfunction(getattr(theory, name))
    ),
    noisy_labels.flip_labels,
    noisy_labels.split_by_loss,
    noisy_labels.transition_matrix,
    rdiv.read,
    rdiv.scan,
    rdiv.power_study,
    rdiv.MonitorState.from_json,
    as_model,
    as_source,
)
"""The bounds, and what works on labels, losses, names and paths."""

_SIZES = [0.5, 1.0, 0.0]
_SHARES = [0.1, 0.05, 0.5]
_PLAUSIBLE: dict[str, list[Any]] = {
    **dict.fromkeys(["c", "lipschitz", "radius", "l_divergence", "r_divergence"], _SIZES),
    **dict.fromkeys(["complexity_p", "complexity_q"], _SIZES),
    **dict.fromkeys(["delta", "rate", "noise_rate", "confidence"], _SHARES),
    "n": [100, 1],
    "norms": [[1.0, 2.0], (0.5,), np.ones(3)],
    "outputs": [1, 2],
    "expected": [True, False],
    "hypotheses": [np.ones((2, 5)), np.eye(4)],
    "draws": [10],
    "rng": [0, None],
    "y": [[0, 1, 1, 0, 2] * 4, ["a", "b"] * 9],
    "kind": ["symmetric", "pair"],
    "n_classes": [2, 5],
    "losses": [np.arange(9.0), [0.5, 1.0, 0.2]],
    "network": [[np.ones((2, 2))], {"0.weight": np.ones((3, 2))}],
    "path": ["absent.csv", "/dev/null", "."],
    "source": ["blob", "hdgm", "absent/*.parquet", "/dev/null"],
    "data_dir": [None, "absent"],
    "max_decompressed": [1000],
    "discrepancies": [["energy"], "energy", ["r-div:gmm"]],
    "sizes": [20, [20]],
    "trials": [1],
    "repeats": [1],
    "n_resamples": [39],
    "alpha": [0.05, [0.05, 0.1]],
    "train": ["half"],
    "null": [True, False],
    "share_fits": [True, False],
    "n_jobs": [1],
    "text": ["{}", "[]", "null", '{"schema": "rdiv-watch-1"}', '{"schema": 1, "digest": 2}'],
    "obj": ["blob", "ridge", "gmm", "mnist"],
}
_NEVER = {"out", "scheduler", "extend", "progress"}  # folders, processes, functions of the caller
_ODD: list[Any] = [None, 0, 1, -1, 2.5, 1e400, float("nan"), "", "x", True, [], {}, ("a", "b")]
_ODD += [
    b"x",
    3 + 1j,
    np.zeros(3),
    [None],
    np.array("x"),
    "\x00",
    "a" * 300,
    [1, "a"],
    [[1], [1, 2]],
]


@dataclass(frozen=True)
class Asked:
    """A call by its function and its settings."""

    function: Callable[..., Any]
    options: tuple[tuple[str, Any], ...]


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    """Calls that should work, but for at most two settings."""
    function = draw(st.sampled_from(FUNCTIONS))
    names = inspect.signature(function).parameters
    needed = [name for name, one in names.items() if one.default is inspect.Parameter.empty]
    others = sorted(set(names) - set(needed) - _NEVER)
    chosen = draw(st.lists(st.sampled_from(others), max_size=3, unique=True)) if others else []
    options = {name: draw(st.sampled_from(_PLAUSIBLE[name])) for name in [*needed, *chosen]}
    if function is rdiv.power_study:
        options = {"trials": 1, "n_resamples": 39, **options}
    for name in draw(st.lists(st.sampled_from(sorted(options)), max_size=2)):
        options[name] = draw(st.sampled_from(_ODD))
    return Asked(function, tuple(options.items()))
