"""Finding wrong labels: one cross-fit, then arithmetic on its probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.losses import log_loss
from rdiv.models import BY_NAME, CrossFit, as_model
from rdiv.models.cross_fit import FittedCrossFit
from rdiv.models.protocol import (
    FittedModel,
    Model,
    fit_model,
    is_held_out,
    losses_of,
    probabilities_of,
    task_of,
)
from rdiv.names import spelled
from rdiv.noisy_labels.averaging import averaged_wrong, in_order
from rdiv.noisy_labels.corruption import check_rate
from rdiv.noisy_labels.labelled import LabelledRows, pool_labelled, with_labels
from rdiv.noisy_labels.posterior import Posterior, fit_posterior
from rdiv.noisy_labels.predictability import Predictability, measure_predictability
from rdiv.noisy_labels.result import LabelNoise, NoiseRate, estimate_rate
from rdiv.noisy_labels.splitting import paper_share, part_gap, top_rows
from rdiv.parallel.threads import one_thread
from rdiv.samples.arguments import check_settings
from rdiv.samples.pool import Pool

__all__ = ["LabelNoiseDetector", "class_probabilities", "detect"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelNoiseDetector:
    """Find the rows whose labels are probably wrong.

    Parameters
    ----------
    model : str, Model, torch module or scikit-learn classifier
        The model that learns the labels; see `rdiv.models.as_model`. By default boosting.
    noise_rate : float, "auto" or "paper"
        Share of rows to suspect. ``"auto"`` estimates it, with an interval, and suspects no row
        where the model barely beats always guessing the most frequent label. ``"paper"`` is the
        paper's rule: of the shares 0.1 to 0.7, the one whose discrepancy is nearest to the mean
        discrepancy. The paper finds such a share good for retraining; it is about twice the share
        of wrong labels.
    folds : int or None
        Every row is judged by a model fitted to the other folds. None judges all rows by one
        model that saw them, as the paper does; the share must then be given or ``"paper"``.
    ranking : {"posterior", "loss"}
        Rank rows by the probability that their label is wrong, which takes into account which
        labels are mistaken for which; or by the loss, which makes `suspected` the split of
        `split_by_loss`. Without folds rows are always ranked by the loss.
    n_jobs : int, optional
        Folds fitted at a time; the result does not depend on it.

    Notes
    -----
    `docs/guide/noisy_labels.md` says how the probabilities and the rate are estimated, and
    `docs/measured/noisy_labels_study.md` how well, compared with cleanlab.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rdiv.noisy_labels import flip_labels
    >>> x, y = load_iris(return_X_y=True)
    >>> wrong = flip_labels(y, "pair", 0.1, rng=0)
    >>> noise = LabelNoiseDetector("logistic").fit(x, wrong, rng=0)
    >>> print((wrong != y).sum(), noise.suspected.sum(), (noise.suspected & (wrong != y)).sum())
    22 23 19
    """

    model: Any = "boosting"
    noise_rate: float | Literal["auto", "paper"] = "auto"
    folds: int | None = 5
    ranking: Literal["posterior", "loss"] = "posterior"
    n_jobs: int | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.noise_rate, str):
            if self.noise_rate not in ("auto", "paper"):
                raise InputError(
                    "noise_rate must be a share of at least 0 and below 1, 'auto' or 'paper', got "
                    f"{self.noise_rate!r}."
                )
        else:
            check_rate(self.noise_rate, "noise_rate")
        if self.ranking not in ("posterior", "loss"):
            raise InputError(f"ranking must be 'posterior' or 'loss', got {self.ranking!r}.")
        if self.folds is None and self.noise_rate == "auto":
            raise InputError(
                "noise_rate='auto' needs folds, as a model that saw a label cannot tell whether it "
                "is wrong; use folds or give the rate."
            )

    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        target: str | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> LabelNoise:
        """Judge the labels of some rows.

        Parameters
        ----------
        x : array, frame, tensor, torch dataset or pair ``(X, y)``
            Rows; images keep their shape.
        y : (n,) labels, optional
            Numbers or text. Floats are labels only where all of them are whole numbers.
        target : str, optional
            Name of the column of a frame that holds the labels, instead of ``y``.
        rng : int or Generator, optional
            The same seed gives the same result, for any order of the rows.

        Returns
        -------
        LabelNoise
        """
        check_settings(folds=self.folds, n_jobs=self.n_jobs)
        rows = pool_labelled(x, y, target=target, rng=rng)
        with one_thread():
            model = self.settled(rows.pool)
            return detect(rows, model, fit_model(model, rows.pool, rows.stream()), self)

    def settled(self, pool: Pool) -> Model:
        """The model that judges the rows of a pool, with its folds."""
        model = as_model(self.model)
        task = task_of(model)
        if task not in (None, "classification"):
            raise InputError(
                f"labels need a model for classification, got {spelled(model, BY_NAME)}, which "
                f"does {task}; choose boosting, logistic or a network."
            )
        if self.folds is None or is_held_out(model):
            return model
        check_class_sizes(pool, self.folds)
        return CrossFit(model, self.folds, self.n_jobs, repeats=1)


def detect(
    rows: LabelledRows, model: Model, fitted: FittedModel, settings: LabelNoiseDetector
) -> LabelNoise:
    """Judge the labels by an already fitted model."""
    pool = rows.pool
    assert pool.y is not None
    assert pool.classes is not None
    predicted = class_probabilities(fitted, pool)
    losses = log_loss(pool.y, predicted)
    held_out = is_held_out(model)
    posterior = fit_posterior(predicted, pool.y) if held_out else None
    predictable = measure_predictability(predicted, pool.y) if held_out else None
    estimate = None
    if posterior is not None and predictable is not None:
        estimate = estimate_rate(posterior, predictable)
    rate = _rate(settings.noise_rate, losses, estimate, held_out)
    by_loss = settings.ranking == "loss" or posterior is None
    order = losses if by_loss or posterior is None else _order(posterior.wrong, losses)
    suspicion = rows.as_given(order)
    wrong = _wrong(predicted, losses, pool.y, posterior, predictable)
    suspected = top_rows(suspicion, rate)  # ties are broken by the given order of the rows
    guesses = rows.as_given(_guesses(predicted, posterior, pool.y))
    return LabelNoise(
        losses=rows.as_given(losses),
        probabilities=rows.as_given(wrong),
        ranks=_ranks(suspicion),
        suspected=suspected,
        given=rows.labels,
        suggested=pool.classes[np.where(suspected, guesses[:, 1], guesses[:, 0])],
        noise_rate=rate,
        noise_interval=estimate,
        discrepancy=part_gap(rows.as_given(losses), suspected),
        classes=pool.classes,
        transition=None if posterior is None else posterior.transition,
        model=spelled(model, BY_NAME),
        folds=model.folds if isinstance(model, CrossFit) else None,
        seed=rows.seed,
        notes=_notes(settings, by_loss, predictable),
        _doubts=None if posterior is None else rows.as_given(posterior.wrong),
    )


def class_probabilities(fitted: FittedModel, pool: Pool) -> Floats:
    """Class probabilities per row, ``(n, K)``; from the losses where a model has only those."""
    assert pool.classes is not None
    known = probabilities_of(fitted)
    if known is not None and probabilities_of(first_fit(fitted)) is not None:
        return known(pool)
    if isinstance(fitted, FittedCrossFit):
        first = fitted.draws[0]
        parts = np.empty((len(pool), len(pool.classes)))
        for k, fit in enumerate(first.fits):
            chosen = np.flatnonzero(first.fold == k)
            if len(chosen):
                parts[chosen] = class_probabilities(fit, pool.take(chosen))
        return parts
    columns = [
        losses_of(fitted, with_labels(pool, np.full(len(pool), code, dtype=np.intp)))
        for code in range(len(pool.classes))
    ]
    odds: Floats = np.exp(-np.stack(columns, axis=1))
    shares: Floats = odds / odds.sum(axis=1, keepdims=True)
    return shares


def first_fit(fitted: FittedModel) -> FittedModel:
    """The model of the first fold of a cross-fitted model; any other model itself."""
    return fitted.fits[0] if isinstance(fitted, FittedCrossFit) else fitted


def check_class_sizes(pool: Pool, folds: int) -> None:
    """Refuse a class that cannot be in every fold."""
    assert pool.y is not None
    assert pool.classes is not None
    counts = np.bincount(pool.y, minlength=len(pool.classes))
    if counts.min() < folds:
        rarest = pool.classes[int(counts.argmin())]
        few = int(counts.min())
        raise InputError(
            f"every class needs at least as many rows as there are folds ({folds}), got {few} of "
            f"class {rarest!s}; use fewer folds, or drop or merge the class."
        )


def _order(wrong: Floats, losses: Floats) -> Floats:
    """Ranks by the probability of being wrong; where that rounds to the same, by the loss."""
    places = np.empty(len(losses))
    places[np.lexsort((losses, wrong))] = np.arange(len(losses))
    return places


def _wrong(
    predicted: Floats,
    losses: Floats,
    given: NDArray[np.intp],
    posterior: Posterior | None,
    predictable: Predictability | None,
) -> Floats:
    """Probability that each label is wrong; NaN where nothing can be said about wrong labels."""
    if posterior is None or predictable is None or not predictable.told_apart:
        return np.full(len(losses), np.nan)
    wrong = averaged_wrong(predicted, given, posterior.transition, predictable.error)
    return in_order(wrong, _order(posterior.wrong, losses))


def _rate(asked: float | str, losses: Floats, estimate: NoiseRate | None, held_out: bool) -> float:
    """The share of rows to suspect; none where wrong labels cannot be told from others."""
    if asked == "paper":
        return paper_share(losses)
    if asked == "auto":
        if not held_out:
            raise InputError("noise_rate='auto' needs a model that did not see the rows; use folds")
        return 0.0 if estimate is None else estimate.rate
    return float(asked)


def _guesses(
    predicted: Floats, posterior: Posterior | None, given: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Codes of the likeliest class, and of the likeliest other than the given one, ``(n, 2)``."""
    likely = (predicted if posterior is None else posterior.true_labels).copy()
    first = likely.argmax(axis=1)
    likely[np.arange(len(given)), given] = -1
    return np.stack([first, likely.argmax(axis=1)], axis=1)


def _ranks(suspicion: Floats) -> NDArray[np.intp]:
    ranks = np.empty(len(suspicion), dtype=np.intp)
    ranks[np.argsort(-suspicion, kind="stable")] = np.arange(1, len(suspicion) + 1)
    return ranks


def _notes(
    settings: LabelNoiseDetector, by_loss: bool, predictable: Predictability | None
) -> dict[str, Any]:
    notes: dict[str, Any] = {"ranking": "loss" if by_loss else "posterior"}
    if isinstance(settings.noise_rate, str):
        notes["noise rate"] = settings.noise_rate
    if predictable is None:
        notes["folds"] = "in-sample losses, which are low for labels that the model memorised"
    elif not predictable.told_apart:
        notes["predictability"] = predictable.sentence()
    return notes
