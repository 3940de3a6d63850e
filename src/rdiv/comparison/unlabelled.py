"""Current rows without labels: a test of the losses to be expected of them, and what it rests on.

Part A of the reference teaches the expected loss g. It is compared between the rest of the
reference, B, and the current rows C by permutation: exact if the inputs of B and C are alike. Up to
there nothing reads a target of B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.expected import (
    FEWEST_ROWS,
    LossRegression,
    learn_from_part,
    learn_from_rows,
)
from rdiv.comparison.expected_gap import ExpectedGap, ExpectedLosses, expected_gap
from rdiv.comparison.models import Models
from rdiv.comparison.questions import Answer
from rdiv.comparison.support import support_of
from rdiv.discrepancies.in_use import InUse, TrainedOnReference
from rdiv.errors import InputError
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.prepared import Prepared
from rdiv.models.protocol import (
    FittedModel,
    check_losses,
    fit_model,
    is_given,
    loss_name,
    losses_of,
)
from rdiv.results import TwoSampleResult
from rdiv.samples.grouping import FEWEST_UNITS
from rdiv.samples.pool import Pool
from rdiv.samples.pooled import LookedAt
from rdiv.samples.pooling import PooledSamples
from rdiv.two_sample import (
    ReferenceSplit,
    check_samples,
    part_of_reference,
    run_learned,
    split_reference,
)

__all__ = ["ExpectedOnCurrent", "Unlabelled", "ask_unlabelled", "learn_expected"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExpectedOnCurrent:
    """The expected losses of rows that are not in part A, as a test of them.

    Parameters
    ----------
    g : LossRegression
    learned : TrainedOnReference or FittedModel
        The model in use.
    """

    g: LossRegression
    learned: TrainedOnReference | FittedModel

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Expected losses of every row; targets, where there are any, are not read."""
        del rng
        return mean_gap(self.g.of(pool), groups=pool.groups, strata=pool.strata)

    def losses(self, pool: Pool) -> Floats:
        """Losses of the model in use on rows with a target."""
        if isinstance(self.learned, TrainedOnReference):
            return self.learned.losses(pool)
        return check_losses(losses_of(self.learned, pool), pool, "the model in use")


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """What was found without a label on current.

    Parameters
    ----------
    answer : Answer
        The expected losses of the compared rows.
    result : TwoSampleResult
        The test of them.
    test : ExpectedOnCurrent
    split : ReferenceSplit
    part : (k,) integers
        Part A.
    known_losses : (m,) array, optional
        Losses of the reference rows that were compared, where they were computed.
    """

    answer: Answer
    result: TwoSampleResult
    test: ExpectedOnCurrent
    split: ReferenceSplit
    part: NDArray[np.intp]
    known_losses: Floats | None = None

    def reference_losses(self, rows: NDArray[np.intp] | None = None) -> Floats:
        """Losses of the reference rows that were compared, or of some of them, in their order."""
        if self.known_losses is not None:
            return self.known_losses
        tested = self.split.tested
        rows = np.flatnonzero(tested.is_p) if rows is None else rows
        return self.test.losses(tested.with_labels(rows))

    def within(self, looked: LookedAt) -> Unlabelled:
        """The same for the rows that are looked at; now their targets are read.

        The result of the test stays that of all rows.
        """
        if looked.whole:
            return self
        which, _ = looked.inside(self.split.rows)
        of_p = self.split.tested.is_p[which]
        if min(of_p.sum(), (~of_p).sum()) < FEWEST_UNITS:
            raise InputError(
                f"of {len(looked.rows)} rows that are looked at, {int(of_p.sum())} compared ones "
                f"are of the reference and {int((~of_p).sum())} of current, too few of one of "
                "them; raise sample_rows, or compare samples of more even sizes."
            )
        answer = self.answer.within(looked)
        assert answer.rows is not None
        return replace(
            self,
            answer=answer,
            split=replace(self.split, tested=answer.samples, rows=answer.rows),
            part=looked.inside(self.part)[1],
            known_losses=self.reference_losses(which[of_p]),
        )

    def expected(self, pooled: PooledSamples, alpha: float) -> ExpectedGap:
        """The gap to be expected, with its interval; now the targets of the reference are read.

        For a given model all reference rows are used, each with a g that was learned from others.
        """
        tested = self.split.tested
        streams = tested.stream("drivers").spawn(11)[8:]
        support = support_of(pooled, self.part, self.split.rows, streams[0])
        g, pool = self.test.g, tested.pool
        squared = pool.task == "regression" and g.part.loss is None
        losses = self.reference_losses()
        whole = None
        if not isinstance(self.test.learned, TrainedOnReference) and pool.strata is None:
            whole = self._cross_fitted(pooled, losses, streams[2])
        if whole is None:
            known = ExpectedLosses(self.answer.losses, g.features(pool), losses, squared)
            return expected_gap(known, tested, support, alpha, streams[1])
        values, all_losses = whole
        known = ExpectedLosses(values, g.features(pooled.pool), all_losses, squared)
        if support is not None:
            outside = np.zeros(len(pooled.is_p), dtype=bool)
            outside[self.split.rows] = support.outside
            support = replace(support, outside=outside)
        return expected_gap(known, pooled, support, alpha, streams[1])

    def _cross_fitted(
        self, pooled: PooledSamples, losses: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Floats] | None:
        """Expected losses of all rows and losses of all reference rows, for a given model.

        Part A gets a second g, learned from the reference rows that were compared; current rows
        get the mean of both. None where those are too few to learn from.
        """
        own = np.flatnonzero(self.split.tested.is_p)
        rest = self.split.tested.with_labels(own, anew=True)
        assert not isinstance(self.test.learned, TrainedOnReference)
        other = learn_from_rows(self.test.learned, rest, rng)
        if other is None:
            return None
        values, rows, is_p = np.empty(len(pooled.is_p)), self.split.rows, pooled.is_p
        values[self.part] = other.of(pooled.pool.take(self.part))
        values[rows] = self.answer.losses
        current = np.flatnonzero(~is_p)
        values[current] = (values[current] + other.of(pooled.pool.take(current))) / 2
        all_losses = np.empty(len(is_p))
        all_losses[self.part] = self.test.losses(pooled.with_labels(self.part))
        all_losses[rows[own]] = losses
        return values, all_losses[is_p]


def ask_unlabelled(
    models: Models,
    pooled: PooledSamples,
    settings: PermutationSettings,
    *,
    train_share: float,
) -> Unlabelled:
    """Test whether the losses to be expected differ between reference and current."""
    used, _ = models.settled(pooled.pool)
    part = part_of_reference(pooled, train_share)
    if len(part) < FEWEST_ROWS:
        raise InputError(
            f"without labels on current the loss to expect is learned from a part of the "
            f"reference, which has {len(part)} rows here, fewer than {FEWEST_ROWS}; give more "
            "reference rows, or labels."
        )
    split = split_reference(pooled, train_share, part, fit_rows=models.fit_rows)
    check_samples(split.tested, settings.alpha)
    in_use = InUse(used, train_share=train_share, fit_rows=models.fit_rows, n_jobs=settings.n_jobs)
    test = learn_expected(in_use, split)
    given = is_given(used)
    said: dict[str, Any] = {} if given else dict(models.used_notes)
    result, prepared = run_learned(in_use, test, split, pooled, settings, notes=said)
    result = replace(result, notes=_notes(result.notes, given=given))
    loss = loss_name(used, split.train)
    answer = Answer(prepared, split.tested, split.rows, True, loss, test.learned)
    return Unlabelled(answer, result, test, split, part)


def learn_expected(in_use: InUse, split: ReferenceSplit) -> ExpectedOnCurrent:
    """Train the model in use on part A, or take the given one, and learn its expected loss."""
    rng = split.tested.stream("fit")
    if is_given(in_use.model):
        fitted = fit_model(in_use.model, split.train, split.tested.stream("learn"))
        found = learn_from_rows(fitted, split.train, rng)
        learned: TrainedOnReference | FittedModel = fitted
    else:
        trained: TrainedOnReference = split.learned(in_use)
        found, learned = learn_from_part(trained, rng, left_out=True), trained
    if found is None:
        raise InputError(
            f"part A of the reference, with {len(split.train)} rows, cannot teach which loss to "
            "expect; give more reference rows that differ, or labels."
        )
    return ExpectedOnCurrent(found, learned)


def _notes(notes: Mapping[str, Any], *, given: bool) -> dict[str, Any]:
    """Notes of the test: what its numbers are, and what part A served for."""
    known = dict(notes)
    if given:
        known["rows to learn from"] = known.pop("rows trained on")
    return {**known, "numbers": "expected losses"}
