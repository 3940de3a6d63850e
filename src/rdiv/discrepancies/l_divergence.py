"""L-divergence: the largest gap between two risks that any hypothesis has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.inference.mean_gaps import mean_gap, mean_gaps
from rdiv.inference.prepared import Masks, Observed, Prepared
from rdiv.models.adapters import as_model
from rdiv.models.networks.default_networks import BoundedNetwork
from rdiv.models.networks.modules import is_module, tensor
from rdiv.models.networks.torch_model import FittedTorchModel
from rdiv.models.networks.training import Training, train
from rdiv.models.networks.updates import batchable_rows
from rdiv.models.protocol import FittedModel, Model, check_losses, fit_model, losses_of, task_of
from rdiv.samples.pool import Pool

__all__ = ["LDivergence", "LearnedGap", "climb_gap"]

ASCENT = Training(epochs=300, steps=300, batch_size=1024, learning_rate=3e-3)


@dataclass(frozen=True)
class LDivergence:
    """Supremum over hypotheses of ``|risk_p(h) - risk_q(h)|``.

    Parameters
    ----------
    model : torch.nn.Module or BoundedNetwork, optional
        The hypotheses are the networks of this shape, with a loss between 0 and 1: see
        `rdiv.models.networks.default_networks.BoundedNetwork`, which is also the default.
    hypotheses : sequence, optional
        A finite list instead. Each is a fitted model (it has ``losses(pool)``) or a function from
        the pool to one loss per row, trained on neither sample; or a model or its name, which is
        fitted on the pool. Losses are not rescaled.
    ascent : Training
        How the network climbs from the pooled fit: by default 300 steps of up to 1024 rows.

    Notes
    -----
    A network is learned on one half of each sample and the labels of the other are permuted. It
    starts from the fit to the pooled half, climbs once towards each sign of the gap, and keeps
    the best network found, so its gap on the training rows is never below the R-divergence there
    (`notes` has both). The training gap overstates the supremum, by up to the complexity of the
    hypotheses. The reported ``statistic`` is the absolute gap of the learned hypothesis on the
    other half. Without the absolute value it would be unbiased for the gap of that hypothesis,
    which is at most the supremum; the absolute value raises it where the gap is within the noise
    of the tested rows.

    A finite list needs no half: the supremum is computed for every split of all rows, so the test
    is exact. The statistic then overstates the true supremum, because it is the largest of several
    noisy gaps; so do its permutations.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(60, 1)), rng.normal(size=(60, 1)) + 1
    >>> thresholds = [lambda pool, t=t: pool.matrix()[:, 0] > t for t in (-1.0, 0.0, 1.0)]
    >>> result = two_sample_test(p, q, LDivergence(hypotheses=thresholds), rng=0)
    >>> print(result.pvalue, round(result.statistic, 2))
    0.001 0.38
    """

    compares = "the largest gap of a bounded loss over a set of hypotheses"
    takes = "torch module"
    learning = "on one half; a finite list of hypotheses: no"
    cost = "training a small network; a list: one evaluation each"
    sees = "a gap that some hypothesis has, whether it fits the data or not"
    citation = "Ben-David et al. 2010; Zhao and Cao 2023"
    directed = False

    model: Any = None
    hypotheses: tuple[Any, ...] | None = None
    ascent: Training = ASCENT

    model_role = "hypothesis"

    def __post_init__(self) -> None:
        if self.hypotheses is None:
            object.__setattr__(self, "model", _as_hypothesis(self.model))
            return
        if self.model is not None:
            raise InputError("l-div takes a model= or a list of hypotheses=, got both; drop one.")
        listed = isinstance(self.hypotheses, Sequence) and not isinstance(self.hypotheses, str)
        if not listed or not self.hypotheses:
            raise InputError(f"hypotheses must be a list of at least one, got {self.hypotheses!r}.")
        object.__setattr__(self, "hypotheses", tuple(_as_listed(h) for h in self.hypotheses))

    @property
    def learns(self) -> bool:
        """Whether a hypothesis is learned with labels on one half."""
        return self.hypotheses is None

    @property
    def task(self) -> str | None:
        """The one task that the models of a finite list can do; None leaves it to the samples."""
        tasks = [task_of(hypothesis) for hypothesis in self.hypotheses or ()]
        targeted = sorted({task for task in tasks if task not in (None, "density")})
        if len(targeted) > 1:
            raise InputError(
                f"hypotheses must share one task, got models for {' and for '.join(targeted)}; "
                "test them one by one."
            )
        return targeted[0] if targeted else "density" if set(tasks) == {"density"} else None

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> LearnedGap:
        """Climb from the pooled fit to a hypothesis with a large gap on these rows."""
        pooled = self.model.fit(pool, rng)
        climbed = [climb_gap(pooled, pool, is_p, self.ascent, rng, sign) for sign in (1, -1)]
        gaps = [_gap(fitted, pool, is_p) for fitted in (pooled, *climbed)]
        best = int(np.argmax(gaps))
        notes = {"r-div on the training rows": gaps[0], "l-div on the training rows": gaps[best]}
        return LearnedGap((pooled, *climbed)[best], notes)

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Losses of every hypothesis of a finite list, once."""
        if self.hypotheses is None:
            raise InputError("l-div with a network must learn before it is prepared.")
        losses = np.stack(
            [
                _listed_losses(h, pool, stream)
                for h, stream in zip(self.hypotheses, rng.spawn(len(self.hypotheses)), strict=True)
            ],
            axis=1,
        )
        gaps = mean_gaps(losses, studentize=False, groups=pool.groups, strata=pool.strata)

        def supremum(masks: Masks) -> NDArray[np.float64]:
            largest: NDArray[np.float64] = np.abs(gaps(masks)).max(axis=1)
            return largest

        def observed(is_p: NDArray[np.bool_]) -> Observed:
            best = losses[:, int(np.argmax(np.abs(gaps(is_p[None])[0])))]
            return Observed(risk_p=float(best[is_p].mean()), risk_q=float(best[~is_p].mean()))

        return Prepared(supremum, observed=observed)


@dataclass(frozen=True, eq=False)
class LearnedGap:
    """One hypothesis that was learned with labels, to be tested on the held-out half.

    Parameters
    ----------
    fitted : FittedModel
    notes : mapping
        Gaps on the training rows.
    """

    fitted: FittedModel
    notes: Mapping[str, Any] = field(default_factory=dict)

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Losses of every row, once."""
        del rng
        losses = check_losses(self.fitted.losses(pool), pool, "the hypothesis")
        prepared = mean_gap(losses, studentize=False, groups=pool.groups, strata=pool.strata)
        return replace(prepared, notes=self.notes)


def climb_gap(
    start: FittedTorchModel,
    pool: Pool,
    is_p: NDArray[np.bool_],
    ascent: Training,
    rng: np.random.Generator,
    sign: int,
) -> FittedTorchModel:
    """Gradient ascent of the signed gap between the risks of p and q, from a fitted network.

    The best network on the way is returned, including the start.
    """
    rows = batchable_rows(is_p, ascent, rng)
    is_p = is_p[rows]
    inputs, targets = start.rows(pool.take(rows))
    x = tensor(inputs, start.module)
    side = x.new_tensor(is_p.astype(np.float64))

    def gap(net: Any, x: Any, y: Any, side: Any) -> Any:
        losses = start.objective.reported_losses(net(x), x, y)
        of_p, of_q = side / side.sum(), (1 - side) / (1 - side).sum()
        return sign * ((of_p - of_q) * losses).sum()

    def loss(*batch: Any) -> Any:
        return -gap(*batch)

    climbed = train(start.module, loss, [x, targets, side], ascent, rng, strata=is_p, score=gap)
    return replace(start, module=climbed.module)


def _gap(fitted: FittedModel, pool: Pool, is_p: NDArray[np.bool_]) -> float:
    losses = fitted.losses(pool)
    return abs(float(losses[is_p].mean() - losses[~is_p].mean()))


def _as_hypothesis(model: Any) -> BoundedNetwork:
    if isinstance(model, BoundedNetwork):
        return model
    if model is None or is_module(model):
        return BoundedNetwork(model)
    raise InputTypeError(
        f"l-div climbs over torch modules, got {model!r} as model=; pass a module, nothing for "
        "a small network, or LDivergence(hypotheses=[...]) for a finite list."
    )


def _as_listed(hypothesis: Any) -> Any:
    ready = isinstance(hypothesis, FittedModel) or callable(hypothesis)
    return hypothesis if ready and not isinstance(hypothesis, Model) else as_model(hypothesis)


def _listed_losses(hypothesis: Any, pool: Pool, rng: np.random.Generator) -> NDArray[np.float64]:
    if isinstance(hypothesis, Model):
        losses = losses_of(fit_model(hypothesis, pool, rng), pool)
    elif isinstance(hypothesis, FittedModel):
        losses = losses_of(hypothesis, pool)
    else:
        losses = hypothesis(pool)
    return check_losses(losses, pool, "every hypothesis")
