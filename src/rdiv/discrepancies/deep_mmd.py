"""MMD-D: maximum mean discrepancy with a kernel learned for power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.gram import check_memory, gaussian_gram, unbiased_mmd
from rdiv.errors import InputError, InputTypeError
from rdiv.inference.prepared import Prepared
from rdiv.models.networks.inputs import NetworkInputs, fit_inputs
from rdiv.models.networks.modules import (
    evaluate,
    hidden_width,
    is_module,
    perceptron,
    require_torch,
    seeded_torch,
    tensor,
)
from rdiv.models.networks.training import Training, train
from rdiv.models.networks.updates import batchable_rows
from rdiv.parallel.threads import one_thread
from rdiv.row_blocks import cut
from rdiv.samples.pool import Pool

__all__ = ["DeepKernelMmd", "DeepMmd", "power_objective"]

TRAINING = Training(epochs=400, steps=400, batch_size=256, learning_rate=2e-3)
SHARE = 0.05  # weight of the plain kernel before training
_FLOOR = 1e-8  # added to the variance, as in the published code
_ROWS_AT_ONCE = 512
_START_ROWS = 1000  # rows used for the starting bandwidths and the reported objective


@dataclass(frozen=True)
class DeepMmd:
    """Maximum mean discrepancy of the inputs with a deep kernel (Liu et al. 2020).

    The kernel is ``((1 - eps) k(phi(x), phi(y)) + eps) k'(x, y)``: two Gaussian kernels, one of
    the features phi that a network makes of the rows. Network, bandwidths and eps are trained on
    one half of each sample for the power of the test; the unbiased MMD of the other half is
    permuted.

    Parameters
    ----------
    model : torch.nn.Module, optional
        The feature network, from rows to vectors; copied and trained from its present weights. By
        default a perceptron of four layers, each three times as wide as the input but at least
        50 and at most 300.
    training : Training
        By default 400 updates of Adam on batches of 256 rows.
    subsample : int, optional
        Compare at most this many held-out rows, chosen without the labels.

    Notes
    -----
    The objective is the MMD over its standard deviation under the alternative (their Eq. 3), which
    decides the power for many rows. With f the mean kernel with p minus that with q, the variance
    is ``8 (n_q var_p f + n_p var_q f) / (n_p + n_q)``: for equal sizes their estimate without its
    pairing of rows. The ``notes`` of a result hold the objective before and after the training; it
    is computed on training rows and therefore far too large. Hidden units are rectified linear
    units: softplus, as published, needs several times as many updates for the same objective.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(60, 2)), 2 * rng.normal(size=(60, 2))
    >>> test = DeepMmd(training=Training(epochs=20))
    >>> print(two_sample_test(p, q, test, rng=0).pvalue)
    0.001
    """

    compares = "means of a kernel on the features of a network"
    takes = "torch module"
    learning = "the kernel, on one half"
    cost = "training a small network; all pairs of held-out rows"
    sees = "differences in shape that one bandwidth misses"
    citation = "Liu et al. 2020"
    directed = False

    model: Any = None
    training: Training = TRAINING
    subsample: int | None = None

    task = "density"
    model_role = "feature network"
    learns = "halves"

    def __post_init__(self) -> None:
        if self.model is not None and not is_module(self.model):
            raise InputTypeError(
                "mmd-d needs a torch module as its feature network, got "
                f"{type(self.model).__name__}; leave model= out for a default one."
            )
        if self.subsample is not None and self.subsample < 4:
            raise InputError(f"subsample must be at least 4 rows, got {self.subsample}.")

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> DeepKernelMmd:
        """Train the kernel on these rows."""
        _rows_compared(pool, self.subsample)  # refuse it before the training
        inputs = fit_inputs(pool, keep_shape=self.model is not None, who="mmd-d")
        rows = batchable_rows(is_p, self.training, rng)
        x, is_p = inputs(pool)[rows], is_p[rows]
        kernel = self._untrained(x, rng)
        tensors = [tensor(x, kernel), require_torch().as_tensor(is_p)]
        trained = train(kernel, _loss, tensors, self.training, rng, strata=is_p).module
        some = [np.flatnonzero(side)[: _START_ROWS // 2] for side in (is_p, ~is_p)]
        shown = [values[np.concatenate(some)] for values in tensors]
        scales = trained["scales"]
        return DeepKernelMmd(
            trained["features"],
            inputs,
            feature_bandwidth=float(scales["features"].detach().exp()),
            bandwidth=float(scales["rows"].detach().exp()),
            share=float(scales["share"].detach().sigmoid()),
            subsample=self.subsample,
            device=self.training.device,
            objective=(_objective(kernel, shown), _objective(trained, shown)),
        )

    def _untrained(self, x: NDArray[np.float64], rng: np.random.Generator) -> Any:
        """Feature network and kernel parameters, all logarithms or log odds, as one module."""
        torch = require_torch()
        features = self.model
        if features is None:
            with seeded_torch(rng, self.training.device):
                width = hidden_width(x.shape[1])
                features = perceptron([x.shape[1]] + 4 * [width])
        some = x[:_START_ROWS]
        start = {
            "features": np.log(_median_distance(evaluate(features, some))),
            "rows": np.log(_median_distance(some)),
            "share": np.log(SHARE / (1 - SHARE)),
        }
        scales = {
            name: torch.nn.Parameter(tensor(np.array(v), features)) for name, v in start.items()
        }
        return torch.nn.ModuleDict({"features": features, "scales": torch.nn.ParameterDict(scales)})


@dataclass(frozen=True, eq=False)
class DeepKernelMmd:
    """A trained deep kernel, to be tested on the held-out half.

    Parameters
    ----------
    features : torch.nn.Module
    inputs : NetworkInputs
    feature_bandwidth, bandwidth : float
        Standard deviations of the kernels of features and of (scaled) rows.
    share : float
        Weight of the plain kernel, eps.
    subsample : int, optional
    device : str
    objective : pair of float
        MMD over its standard deviation on the training rows, before and after training.
    """

    features: Any
    inputs: NetworkInputs
    feature_bandwidth: float
    bandwidth: float
    share: float
    subsample: int | None
    device: str
    objective: tuple[float, float]

    task = "density"

    def gram(self, pool: Pool) -> NDArray[np.float64]:
        """The kernel of all pairs of rows, ``(n, n)``."""
        x = self.inputs(pool)
        features = evaluate(self.features, x, self.device).reshape(len(x), -1)[pool.first_copy]
        gram = gaussian_gram(features, self.feature_bandwidth)
        gram *= 1 - self.share
        gram += self.share
        _times_gaussian(gram, x.reshape(len(x), -1) / self.bandwidth)
        return gram

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Compute the kernel of all pairs once."""
        del rng
        n = _rows_compared(pool, self.subsample)
        notes: dict[str, Any] = {
            "objective before training": self.objective[0],
            "objective after training": self.objective[1],
        }
        if n < len(pool):
            notes["rows compared"] = n
        return Prepared(unbiased_mmd(self.gram(pool.take(np.arange(n)))), notes=notes)


def _rows_compared(pool: Pool, subsample: int | None) -> int:
    """The number of rows of the kernel matrix; refused when it would not fit into memory."""
    n = len(pool) if subsample is None else min(subsample, len(pool))
    check_memory(n, "mmd-d", "DeepMmd(subsample=10000), --subsample 10000")
    return n


def _objective(kernel: Any, tensors: list[Any]) -> float:
    with one_thread(), require_torch().inference_mode():
        return -float(_loss(kernel.eval(), *tensors))


def _loss(kernel: Any, x: Any, is_p: Any) -> Any:
    """The negative of the objective: MMD over its standard deviation, for a batch of rows."""
    scales = kernel["scales"]
    features = kernel["features"](x)
    plain = _distances(x) * (-0.5 * (-2 * scales["rows"]).exp())
    deep = plain - _distances(features) * (0.5 * (-2 * scales["features"]).exp())
    share = scales["share"].sigmoid()
    gram = (1 - share) * deep.exp() + share * plain.exp()
    return -power_objective(gram, is_p)


def power_objective(gram: Any, is_p: Any) -> Any:
    """MMD over its standard deviation under the alternative, from tensors.

    Parameters
    ----------
    gram : (n, n) tensor
        Ones on its diagonal.
    is_p : (n,) tensor of bools

    Examples
    --------
    >>> import torch
    >>> gram = torch.tensor([[1, 0.9, 0.1, 0], [0.9, 1, 0, 0], [0.1, 0, 1, 0.8], [0, 0, 0.8, 1]])
    >>> print(round(power_objective(gram, torch.tensor([True, True, False, False])).item(), 1))
    23.3
    """
    sign = is_p.to(gram.dtype)
    n_p, n_q = sign.sum(), (1 - sign).sum()
    with_p = gram @ sign - sign  # of every row, itself left out
    with_q = gram @ (1 - sign) - (1 - sign)
    witness = with_p / (n_p - sign) - with_q / (n_q - (1 - sign))
    of_p, of_q = witness[is_p], witness[~is_p]
    variance = 8 * (n_q * of_p.var(correction=0) + n_p * of_q.var(correction=0)) / (n_p + n_q)
    return (of_p.mean() - of_q.mean()) / (variance + _FLOOR).sqrt()


def _distances(x: Any) -> Any:
    """Squared distances of all pairs of rows; its gradient is safe where they are 0."""
    flat = x.reshape(len(x), -1)
    squares = flat.square().sum(dim=1)
    return (squares[:, None] + squares - 2 * (flat @ flat.T)).clamp_min(0)


def _times_gaussian(gram: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    """Multiply a kernel by the Gaussian one of unit bandwidth, a few rows at a time, in place."""
    centred = x - x.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    for rows in cut(len(x), _ROWS_AT_ONCE):
        log_kernel = centred[rows] @ centred.T
        log_kernel -= 0.5 * squares
        log_kernel -= 0.5 * squares[rows, None]
        gram[rows] *= np.exp(np.minimum(log_kernel, 0.0, out=log_kernel), out=log_kernel)


def _median_distance(x: NDArray[np.float64]) -> float:
    """Median distance between different rows; 1 if all rows are the same."""
    from scipy.spatial.distance import pdist

    distances = pdist(x.reshape(len(x), -1))
    return float(np.median(distances)) or float(distances.max(initial=0.0)) or 1.0
