"""The questions of a comparison: the model in use, and one model that has seen both samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.models import Models
from rdiv.comparison.retraining_gain import Retraining, Training, retraining_of
from rdiv.discrepancies.in_use import InUse, TrainedOnReference
from rdiv.discrepancies.r_divergence import RDivergence
from rdiv.errors import OutOfReachError
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.prepared import Prepared
from rdiv.inference.widened import LossShape, loss_shape
from rdiv.models import CrossFit, Model
from rdiv.models.cross_fit import PlannedFits, plan_fits
from rdiv.models.protocol import (
    FittedModel,
    fit_model,
    has_own_scale,
    is_given,
    is_held_out,
    loss_name,
    most_rows,
    runs_in_threads,
)
from rdiv.parallel.workers import useful_jobs
from rdiv.results import TwoSampleResult
from rdiv.row_blocks import gathered
from rdiv.samples.pooled import LookedAt
from rdiv.samples.pooling import PooledSamples
from rdiv.two_sample import (
    check_samples,
    part_of_reference,
    run_fitted,
    run_learned,
    run_model_tests,
    split_reference,
)

__all__ = ["FEWEST_TRAINED", "Answer", "Answers", "ask", "leading_answer", "limited_fits"]

FEWEST_TRAINED = 50
"""With fewer rows in part A, rdiv trains no model in use: it would say little about yours."""

OWN_SCALE = "without a target, each fit puts the columns on a scale of its own"
"""Why losses of two densities are not compared."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answer:
    """The losses that answer a question, and the rows that they belong to.

    Parameters
    ----------
    prepared : Prepared
    samples : PooledSamples
        The rows that were compared.
    rows : (n,) integers or None
        Their places in the whole pool; None: they are all of it.
    held_out : bool
        Whether no row's loss is of a model that was fitted to the row.
    loss : str
        What the losses are.
    fitted : TrainedOnReference, FittedModel or None
        The model in use: what was trained on part A, or the given one.
    part : (m,) integers, optional
        Places of part A in the whole pool.
    folds : pair of int
        Folds of the model that was fitted to these rows, and how often they were drawn.
    """

    prepared: Prepared
    samples: PooledSamples
    rows: NDArray[np.intp] | None
    held_out: bool
    loss: str
    fitted: TrainedOnReference | FittedModel | None = None
    part: NDArray[np.intp] | None = None
    folds: tuple[int, int] = (1, 1)

    def within(self, looked: LookedAt) -> Answer:
        """The same for the rows that are looked at, whose places are then those among them."""
        if looked.whole:
            return self
        which, rows = looked.rows, np.arange(len(looked.rows))
        if self.rows is not None:
            which, rows = looked.inside(self.rows)
        samples, fitted = looked.samples.part(rows, self.samples.entropy), self.fitted
        if isinstance(fitted, TrainedOnReference) and self.part is not None:
            own, at = looked.inside(self.part)
            fitted = fitted.on_part(own, looked.samples.pool.take(at))
        pool = samples.pool
        prepared = mean_gap(self.losses[which], groups=pool.groups, strata=pool.strata)
        predicted = self.prepared.predictions
        if predicted is not None:
            prepared = replace(prepared, predictions=predicted[which])
        return replace(
            self, prepared=prepared, samples=samples, rows=rows, fitted=fitted, part=None
        )

    @property
    def losses(self) -> Floats:
        """Loss of every row that was compared."""
        assert self.prepared.losses is not None
        return self.prepared.losses

    def gap(self) -> tuple[float, float]:
        """Mean loss on current minus that on reference, and its standard error."""
        observed = self.prepared.observe(self.samples.is_p)
        assert observed.gap is not None
        assert observed.error is not None
        return observed.gap, observed.error

    def shape(self, alpha: float) -> LossShape:
        """How skewed, rare and few the losses of both samples are; looked at once per alpha."""
        pool, known = self.samples.pool, self._shapes
        if alpha not in known:
            known[alpha] = loss_shape(
                self.losses, self.samples.is_p, alpha, groups=pool.groups, strata=pool.strata
            )
        return known[alpha]

    @cached_property
    def _shapes(self) -> dict[float, LossShape]:
        return {}


@dataclass(frozen=True, eq=False)
class Answers:
    """What was found for each question.

    Parameters
    ----------
    in_use, shared : Answer or None
        None where the question was not asked.
    score : Prepared or None
        Gradients of the shared model.
    results : dict of TwoSampleResult
    notes : dict
    same_loss : bool
        Whether both models have the same kind of loss, on one scale.
    """

    in_use: Answer | None
    shared: Answer | None
    score: Prepared | None
    results: dict[str, TwoSampleResult]
    notes: dict[str, Any]
    same_loss: bool

    @property
    def leading(self) -> Answer:
        """The answer that words, direction and margins are about."""
        found = self.shared if self.in_use is None else self.in_use
        assert found is not None
        return found

    def score_rows(self, answer: Answer) -> NDArray[np.intp] | None:
        """The places of the rows of an answer among the gradients of `score`; None: all rows."""
        if self.score is None or self.score.gradients is None:
            return None
        return None if len(answer.losses) == len(self.score.gradients) else answer.rows

    def retraining(self, alpha: float) -> Retraining | None:
        """What the shared model would win on the rows that both were measured on."""
        if self.in_use is None or self.shared is None or not self.same_loss:
            return None
        if not self.shared.held_out:
            return None
        shared, rows = self.shared.losses, self.in_use.rows
        won = self.in_use.losses - (shared if rows is None else gathered(shared, rows))
        fitted, folds, draws = self.in_use.fitted, *self.shared.folds
        used = len(fitted.trained) if isinstance(fitted, TrainedOnReference) else 0
        training = Training(used, len(shared), folds, draws)
        return retraining_of(won, self.in_use.samples, training, alpha)


def ask(
    models: Models,
    pooled: PooledSamples,
    settings: PermutationSettings,
    *,
    train_share: float,
    looked: LookedAt | None = None,
    drivers: bool = False,
    last: bool = False,
) -> Answers:
    """Ask all questions that can be asked of these models.

    Parameters
    ----------
    models : Models
    pooled : PooledSamples
    settings : PermutationSettings
    train_share : float
    looked : LookedAt, optional
        The rows whose gradients are looked at, where these are not all.
    drivers : bool
        Whether what carries the shift will be looked for.
    last : bool
        Whether nothing else is asked of all rows; see `run_model_tests`.
    """
    used, shared = models.settled(pooled.pool)
    notes = dict(models.notes)
    planned = None if shared is None or is_given(used) else _begun(shared, pooled)
    in_use, results = _ask_in_use(
        used, pooled, settings, train_share, notes, said=models.used_notes,
        fit_rows=models.fit_rows,
    )  # fmt: skip
    trained = None if in_use is None else in_use.fitted
    if drivers and isinstance(trained, TrainedOnReference):
        if looked is not None and not looked.whole:
            _ = trained.left_out  # its rows come and go before gradients need memory
        elif planned is not None and pooled.pool.strata is None and not pooled.pool.is_images:
            trained.begin_left_out()  # its losses split the gap
    together, score, same = None, None, False
    if shared is not None:
        found, prepared = run_model_tests(
            shared, pooled, settings, notes=models.notes, fit_rows=models.fit_rows, looked=looked,
            keep=in_use is None, last=last, planned=planned,
        )  # fmt: skip
        results |= found
        loss = loss_name(shared, pooled.pool)
        held_out = is_held_out(shared)
        times = len(prepared["r-div"].draws) or 1
        folds = (shared.folds, times) if isinstance(shared, CrossFit) else (1, 1)
        together = Answer(prepared["r-div"], pooled, None, held_out, loss, folds=folds)
        score = prepared.get("score")
        known = loss != "loss" or not is_given(used)
        same = in_use is not None and in_use.loss == loss and known
        if same and has_own_scale(shared, pooled.pool):
            same, notes["retraining"] = False, OWN_SCALE
    return Answers(in_use, together, score, results, notes, same)


def _begun(shared: Model, pooled: PooledSamples) -> PlannedFits | None:
    """The fits of the shared model, begun beside those of the model in use; None if they wait."""
    if not isinstance(shared, CrossFit) or not runs_in_threads(shared.model):
        return None
    if pooled.pool.in_partitions or useful_jobs(shared.n_jobs) == 1:
        return None
    planned = plan_fits(shared, pooled.pool, pooled.stream("fit"))
    planned.begin()
    return planned


def limited_fits(models: Models, pooled: PooledSamples, answers: Answers) -> dict[str, Any]:
    """A note where models were fitted to some rows only."""
    used, shared = models.settled(pooled.pool)
    asked = shared is not None and answers.shared is not None
    fitted = [("shared model", shared, len(pooled.pool))] if asked else []
    if answers.in_use is not None and isinstance(answers.in_use.fitted, TrainedOnReference):
        fitted += [("model in use", used, len(answers.in_use.fitted.trained))]
    limits = [
        f"the {name} was fitted to {most} of {rows} rows"
        for name, model, rows in fitted
        if (most := most_rows(getattr(model, "model", model), models.fit_rows)) is not None
        and rows > most
    ]
    return {"fit rows": f"{' and '.join(limits)}; all rows were judged"} if limits else {}


def leading_answer(
    models: Models, pooled: PooledSamples, settings: PermutationSettings, *, train_share: float
) -> Answer:
    """The losses that the verdict is about: of the model in use, or else of the shared model."""
    used, shared = models.settled(pooled.pool)
    in_use, _ = _ask_in_use(
        used, pooled, settings, train_share, {}, said={}, fit_rows=models.fit_rows
    )
    if in_use is not None:
        return in_use
    assert shared is not None
    fitted = fit_model(shared, pooled.pool, pooled.stream("fit"), fit_rows=models.fit_rows)
    prepared = RDivergence(shared).from_fit(fitted, pooled.pool)
    loss = loss_name(shared, pooled.pool)
    return Answer(prepared, pooled, None, is_held_out(shared), loss)


def _ask_in_use(
    model: Model,
    pooled: PooledSamples,
    settings: PermutationSettings,
    train_share: float,
    notes: dict[str, Any],
    *,
    said: Mapping[str, Any],
    fit_rows: int | None,
) -> tuple[Answer | None, dict[str, TwoSampleResult]]:
    """The losses of the model in use, on rows that it was not trained on."""
    jobs = settings.n_jobs
    test = InUse(model, train_share=train_share, fit_rows=fit_rows, n_jobs=jobs)
    loss = loss_name(model, pooled.pool)
    if is_given(model):
        fitted = fit_model(model, pooled.pool, pooled.stream("fit"))
        result, prepared = run_fitted(test, fitted, pooled, settings, keep=True)
        return Answer(prepared, pooled, None, True, loss, fitted), {"in-use": result}
    part = part_of_reference(pooled, train_share)
    if len(part) < FEWEST_TRAINED:
        notes["in use"] = (
            f"no model in use was measured: rdiv would train it on {len(part)} reference rows, "
            f"fewer than {FEWEST_TRAINED}"
        )
        return None, {}
    split = split_reference(pooled, train_share, part, fit_rows=fit_rows)
    try:
        check_samples(split.tested, settings.alpha)
    except OutOfReachError as error:
        notes["in use"] = (
            f"no model in use was measured: besides those that train it, {error}".rstrip(".")
        )
        return None, {}
    learned = split.learned(test)
    result, prepared = run_learned(test, learned, split, pooled, settings, notes=said, keep=True)
    answer = Answer(prepared, split.tested, split.rows, True, loss, learned, part)
    return answer, {"in-use": result}
