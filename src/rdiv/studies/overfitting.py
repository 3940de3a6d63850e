"""Risks on both samples under the models of r-div, h-div and l-div: who overfits.

The paper's overfitting table, for any network: one model of the pool, one model for each sample, a
model that was never trained, and one that climbs towards the largest gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.l_divergence import climb_gap
from rdiv.errors import InputTypeError
from rdiv.models import Model, Training, Vae
from rdiv.models.networks.torch_model import FittedTorchModel
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples

__all__ = ["ASCENT", "METHODS", "Overfitting", "Risks", "climb", "overfitting", "summarise"]

METHODS = ("r-div", "h-div", "l-div, untrained", "l-div, ascent")
ASCENT = Training(epochs=20, batch_size=None, learning_rate=1e-3)
MODEL = Vae(training=Training(epochs=1000, steps=2000, batch_size=100))


@dataclass(frozen=True)
class Risks:
    """Mean losses of p and of q; for h-div each under the model of its own sample.

    Examples
    --------
    >>> print(Risks(3.0, 1.0).gap)
    2.0
    """

    risk_p: float
    risk_q: float

    @property
    def gap(self) -> float:
        """Absolute difference of the two risks."""
        return abs(self.risk_p - self.risk_q)


@dataclass(frozen=True)
class Overfitting:
    """What one draw shows.

    Parameters
    ----------
    trained : mapping
        From a name in `METHODS` to the risks on the rows that were given.
    fresh : mapping
        The same hypotheses on rows that none of them has seen; empty if there were none.
    """

    trained: Mapping[str, Risks]
    fresh: Mapping[str, Risks]


def overfitting(
    p: Any,
    q: Any,
    *,
    fresh: tuple[Any, Any] | None = None,
    model: Model = MODEL,
    ascent: Training = ASCENT,
    rng: int = 0,
) -> Overfitting:
    """Risks on both samples of one fitted network a method.

    Parameters
    ----------
    p, q : samples
        As for `rdiv.two_sample_test`, without a target.
    fresh : pair of samples, optional
        More rows of both distributions, on which the same hypotheses are judged once more.
    model : Model
        A network by name; by default the autoencoder of the paper and 2000 updates, so that the
        network of the pool and those of the samples are trained equally long.
    ascent : Training
        How the network of the pool climbs towards the largest gap: by default 20 updates.
    rng : int

    Returns
    -------
    Overfitting

    Notes
    -----
    ``r-div`` is the network fitted to the pool. ``h-div`` fits one to each sample, from fresh
    weights. ``l-div, untrained`` is one draw of fresh weights: for 32 x 32 pixels and a Bernoulli
    loss about ``1024 ln 2`` nats plus a small divergence, on any images. ``l-div, ascent`` climbs
    from the network of the pool towards either sign of the gap and keeps the best it meets, so
    its gap is never below that of ``r-div``. A Bernoulli loss has no largest value, hence no
    largest gap either: the number is what so many updates reach, and more would reach further.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.random((20, 1, 8, 8)), 0.5 * rng.random((20, 1, 8, 8))
    >>> found = overfitting(p, q, model=Vae((16,), 2, epochs=5)).trained
    >>> print(list(found), bool(found["l-div, ascent"].gap >= found["r-div"].gap))
    ['r-div', 'h-div', 'l-div, untrained', 'l-div, ascent'] True
    """
    pooled = pool_samples(p, q, rng=rng, kind="density")
    pool, is_p = pooled.pool, pooled.is_p
    streams = pooled.stream("fit").spawn(5)
    with one_thread():
        fitted = _network(model, pool, streams[0])
        sides = [
            fitted.fit_anew(pool.take(np.flatnonzero(side)), stream)
            for side, stream in ((is_p, streams[1]), (~is_p, streams[2]))
        ]
        untrained = replace(
            fitted,
            module=fitted.recipe.build(fitted.shape, fitted.objective.n_outputs, streams[3]).eval(),
        )
        climbed = climb(fitted, pool, is_p, ascent, streams[4])
        judges = dict(zip(METHODS, (fitted, sides, untrained, climbed), strict=True))
        own = {name: _risks(judge, pool, is_p) for name, judge in judges.items()}
        if fresh is None:
            return Overfitting(own, {})
        others = pool_samples(*fresh, rng=rng, kind="density")
        seen = {name: _risks(judge, others.pool, others.is_p) for name, judge in judges.items()}
    return Overfitting(own, seen)


def climb(
    start: FittedTorchModel,
    pool: Pool,
    is_p: NDArray[np.bool_],
    ascent: Training,
    rng: np.random.Generator,
) -> FittedTorchModel:
    """The largest gap between the risks that gradient ascent finds from a fitted network.

    It climbs once towards each sign and keeps the best it has met, the start included.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pool, is_p = Pool(rng.random((20, 1, 4, 4))), np.arange(20) < 8
    >>> start = Vae((8,), 2, epochs=2).fit(pool, rng)
    >>> climbed = climb(start, pool, is_p, Training(epochs=5, batch_size=None), rng)
    >>> print(_risks(climbed, pool, is_p).gap >= _risks(start, pool, is_p).gap)
    True
    """
    found = [start, *(climb_gap(start, pool, is_p, ascent, rng, sign) for sign in (1, -1))]
    return found[int(np.argmax([_risks(fitted, pool, is_p).gap for fitted in found]))]


def summarise(found: Sequence[Mapping[str, Risks]]) -> dict[str, NDArray[np.float64]]:
    """Mean and standard deviation over draws of risk on p, risk on q and gap, ``(3, 2)`` each.

    Examples
    --------
    >>> draws = [{"r-div": Risks(3.0, 1.0)}, {"r-div": Risks(5.0, 1.0)}]
    >>> print(summarise(draws)["r-div"].round(2).tolist())
    [[4.0, 1.41], [1.0, 0.0], [3.0, 1.41]]
    """
    table = {}
    for name in found[0]:
        numbers = np.array([[r.risk_p, r.risk_q, r.gap] for r in (draw[name] for draw in found)])
        spread = numbers.std(axis=0, ddof=1) if len(numbers) > 1 else np.zeros(3)
        table[name] = np.stack([numbers.mean(axis=0), spread], axis=1)
    return table


def _network(model: Model, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
    fitted = model.fit(pool, rng)
    if not isinstance(fitted, FittedTorchModel):
        raise InputTypeError(
            f"the table of overfitting needs a network, got {model!r}; pass vae or a TorchModel."
        )
    return fitted


def _risks(judge: Any, pool: Pool, is_p: NDArray[np.bool_]) -> Risks:
    """Risks under one hypothesis, or those of p under the first and of q under the second."""
    judges = judge if isinstance(judge, list) else [judge, judge]
    means = [
        float(np.mean(fitted.losses(pool)[side]))
        for fitted, side in zip(judges, (is_p, ~is_p), strict=True)
    ]
    return Risks(*means)
