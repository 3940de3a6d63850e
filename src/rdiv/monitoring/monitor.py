"""Monitor: a reference, and one step from a state and a batch to the next state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.models import SAME, choose_models
from rdiv.errors import InputError
from rdiv.inference.betting import PACE
from rdiv.models.protocol import check_losses
from rdiv.monitoring.late_labels import Arrived, arrived
from rdiv.monitoring.looks import Look, Watched
from rdiv.monitoring.process import BATCH_PACE, Process, steady
from rdiv.monitoring.reference import Reference
from rdiv.monitoring.state import MonitorState
from rdiv.parallel.threads import one_thread
from rdiv.samples.arguments import check_settings, described
from rdiv.samples.batch_tables import read_batch_table
from rdiv.samples.batches import BatchReader, Roles
from rdiv.samples.dropping import drop_columns
from rdiv.samples.fitting_rows import FIT_ROWS, SAMPLE_ROWS
from rdiv.samples.logged import Prediction
from rdiv.samples.partitioned import PartitionedRows
from rdiv.samples.partitions import as_partitions
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_alone, resolve_seed
from rdiv.samples.sample import as_sample, has_target

__all__ = ["Monitor"]

Floats = NDArray[np.float64]

UNITS = ("row", "batch")
FEWEST_BATCHES = 10
"""Batches of the reference that batch means are ranked among, at least."""


class Monitor:
    """Watch a stream of batches; look after each, and the false-alarm rate still holds.

    Parameters
    ----------
    reference : array, frame, tensor, dataset, pair (X, y), or table in partitions
        The rows that the stream is compared with. A table in partitions (`rdiv.scan`, a LazyFrame
        and the like) of more than 2 000 000 rows stays where it is; its losses are read part by
        part. The model is trained on at most 1 000 000 rows of part A.
    model, target, prediction, loss, task
        The model in use, as in `rdiv.compare`: a name, which rdiv trains on part A of the
        reference; a `rdiv.models.Frozen` model; logged predictions; or logged losses.
    drop : str or sequence of str
        Columns to leave out.
    train_share : float
        Share of the reference that trains the model, where rdiv trains it.
    unit : {"row", "batch"}
        What is ranked: rows, which must then be exchangeable across batches, or means of whole
        batches, where days have effects of their own.
    batches : str, optional
        With ``unit="batch"``, the column that names the batches of the reference; not an input.
    alpha : float
        The chance of ever raising a false alarm, over all looks.
    min_gap : float, optional
        Raise the alarm only for a mean loss above that of the reference by more than this.
    rng : int or Generator, optional
        Seed; the same seed gives the same states. None draws one and records it.

    Notes
    -----
    See `rdiv.inference.betting` for the bets and their theorems. The guarantee is one across calls:
    every batch must come through `update` once, in the order of arrival, and nobody may leave out
    batches because of what is in them. If the first batch lacks labels, expected losses are watched
    beside the known ones, each with half of alpha; this is settled then, once and for all.

    Examples
    --------
    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> monitor = Monitor(pl.DataFrame({"loss": rng.exponential(size=400)}), loss="loss", rng=0)
    >>> state = monitor.start()
    >>> for day, scale in enumerate([1, 1, 2]):
    ...     batch = pl.DataFrame({"loss": scale * rng.exponential(size=100)})
    ...     state = monitor.update(state, batch, name=f"day {day}")
    >>> print(state.alarm, state.since.name)
    True day 2
    """

    def __init__(
        self,
        reference: Any,
        *,
        model: Any = None,
        target: str | None = None,
        prediction: Prediction = None,
        loss: str | None = None,
        drop: str | Sequence[str] = (),
        task: str | None = None,
        train_share: float = 0.5,
        unit: str = "row",
        batches: str | None = None,
        alpha: float = 0.05,
        min_gap: float | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> None:
        check_settings(
            target=target, loss=loss, drop=drop, task=task, train_share=train_share, alpha=alpha,
            gap=min_gap, rng=rng,
        )  # fmt: skip
        _check_units(unit, batches)
        if min_gap is not None and not min_gap >= 0:
            raise InputError(f"min_gap must be 0 or more, got {min_gap!r}.")
        self.alpha, self.min_gap, self.unit = float(alpha), min_gap, unit
        self.seed = resolve_seed(rng)
        supervised = has_target(reference, target)
        with one_thread():
            models = choose_models(
                model, prediction=prediction, loss=loss, retrain=SAME, folds=None,
                supervised=supervised,
            )  # fmt: skip
            taken = {"target": target, "loss": loss, "batches": batches, "prediction": prediction}
            kept = drop_columns(reference, reference, drop, taken)[0]
            pooled = pool_alone(
                kept, target=target, task=task, groups=batches, prediction=prediction, loss=loss,
                rng=self.seed, kind=models.kind, keep_rows=SAMPLE_ROWS,
            )  # fmt: skip
            self.reference = Reference(pooled, models.settled(pooled.pool)[0], train_share)
        ignored = [*([drop] if isinstance(drop, str) else drop), *([batches] if batches else [])]
        roles = Roles(target, prediction, loss, ignored)
        supervised = supervised and pooled.pool.task != "density"
        self._reader = BatchReader(
            _inputs(kept, roles, pooled.pool), pooled.pool, roles, supervised, FIT_ROWS
        )

    def start(self) -> MonitorState:
        """The state before the first batch."""
        with one_thread():
            numbers = self._numbers("labelled")
        reference = self.reference
        watched = Watched(
            alpha=self.alpha,
            unit=self.unit,
            min_gap=self.min_gap,
            seed=self.seed,
            reference=f"{reference.digest:032x}",
            quantiles=_quantiles(numbers),
            model=reference.model_name,
            loss=reference.loss,
            task=reference.pool.task,
            rows_trained_on=reference.trained_on,
            rows_compared=len(reference.pool) - reference.trained_on,
        )
        return MonitorState(watched, {"labelled": self._process(numbers, self.alpha)})

    def update(self, state: MonitorState, batch: Any, *, name: Any = None) -> MonitorState:
        """The state after one more batch, or after labels of an earlier one.

        Parameters
        ----------
        state : MonitorState
            It is not changed.
        batch : as `reference`
            Its rows. Those of a table in partitions with more than 2 000 000 rows stay where they
            are, and their losses are read part by part. The target or loss may be missing, in
            single rows or as a column.
        name : str, optional
            By default the next number. A name that is there already is refused, unless the batch
            differs from that one only in labels that have come since.
        """
        if not isinstance(state, MonitorState):
            raise InputError(f"state must be a MonitorState, got {described(state)}; see start().")
        with one_thread():
            self.check(state)
            name = self._next_name(state) if name is None else str(name)
            called = f"the batch {name!r}"
            table = as_partitions(batch, called)
            read = (
                self._reader.read(batch, called)
                if table is None
                else read_batch_table(self._reader, table, called, SAMPLE_ROWS)
            )
            came = arrived(read, state.history, name)
            state = self._settled(state, came)
            return self._added(state, came)

    def check(self, state: MonitorState) -> None:
        """Refuse a state of another reference, model or setting."""
        watched, reference = state.watched, self.reference
        if watched.reference != f"{reference.digest:032x}":
            raise InputError(
                "the reference has changed since the monitor was started; give the same rows, or "
                "start a new monitor."
            )
        own = (self.alpha, self.unit, self.min_gap, self.seed, reference.model_name)
        if own != (watched.alpha, watched.unit, watched.min_gap, watched.seed, watched.model):
            raise InputError(
                "the settings differ from those that the monitor was started with; give the same "
                "model, alpha, unit, min_gap and rng."
            )
        if not np.allclose(_quantiles(self._numbers("labelled")), watched.quantiles, rtol=1e-6):
            raise InputError(
                "the losses of the reference are not those that the monitor was started with, so "
                "the model is another one; give the same model and versions, or start again."
            )

    def _numbers(self, process: str) -> Floats:
        """Numbers of the reference's units."""
        reference = self.reference
        if process == "labelled":
            found = reference.units(reference.numbers)
        else:
            assert reference.regression is not None
            found = reference.units(reference.expected_numbers, reference.regression[1])
        if self.unit == "batch" and len(found) < FEWEST_BATCHES:
            raise InputError(
                f"batch means are ranked among at least {FEWEST_BATCHES} batches of the reference, "
                f"got {len(found)}; give a longer reference, or watch rows."
            )
        return found

    def _process(self, numbers: Floats, alpha: float) -> Process:
        pace = BATCH_PACE if self.unit == "batch" else PACE
        return Process.of(numbers, alpha, self.min_gap, pace)

    def _next_name(self, state: MonitorState) -> str:
        names = {look.name for look in state.history}
        number = len(names) + 1
        while str(number) in names:
            number += 1
        return str(number)

    def _settled(self, state: MonitorState, came: Arrived) -> MonitorState:
        """The state with as many processes as the first batch asks for."""
        if state.labels_late is not None:
            return state
        if not came.waiting.any():
            return replace(state, labels_late=False)
        if self.reference.regression is None:
            raise InputError(
                f"the first batch has no label in {int(came.waiting.sum())} of "
                f"{len(came.waiting)} rows, and the reference has too few rows or no inputs to "
                "expect losses from; add batches when their labels are there."
            )
        half = self.alpha / 2
        processes = {
            one: self._process(self._numbers(one), half) for one in ("labelled", "expected")
        }
        return replace(state, labels_late=True, processes=processes)

    def _added(self, state: MonitorState, came: Arrived) -> MonitorState:
        chain = blake2b(f"{state.chain}:{came.inputs}:{came.labels}".encode(), digest_size=16)
        seeds = (self.seed, self.reference.digest, int(chain.hexdigest(), 16))
        streams = np.random.default_rng(np.random.SeedSequence(seeds)).spawn(2)
        processes, evidence = dict(state.processes), {}
        losses = self._units(came, self.reference.losses) if len(came.labelled) else np.empty(0)
        if len(losses):
            processes["labelled"], evidence["labelled"] = processes["labelled"].after(
                losses, streams[0]
            )
        expected = None
        if "expected" in processes and not came.late:
            numbers = self.reference.expected(came.batch.pool)
            expected = float(numbers.mean()) - processes["expected"].reference_mean
            if self.unit == "batch":
                numbers = steady(numbers.mean(keepdims=True))
            processes["expected"], evidence["expected"] = processes["expected"].after(
                numbers, streams[1]
            )
        new = replace(state, processes=processes, chain=chain.hexdigest())
        return replace(
            new, history=(*state.history, self._look(new, came, losses, expected, evidence))
        )

    def _units(self, came: Arrived, losses: Any) -> Floats:
        """The numbers that the labelled process gets: of rows, or the mean of a whole batch."""
        if self.unit == "row":
            found: Floats = losses(came.labelled)
            return found
        if came.waiting.any():
            return np.empty(0)
        whole = check_losses(losses(came.batch.labelled), came.batch.labelled, "the model in use")
        return steady(whole.mean(keepdims=True))

    def _look(
        self,
        state: MonitorState,
        came: Arrived,
        losses: Floats,
        expected: float | None,
        evidence: Mapping[str, Floats],
    ) -> Look:
        process = state.processes["labelled"]
        mean = float(losses.mean()) if len(losses) else None
        interval = state.gap_interval
        return Look(
            name=came.name,
            late=came.late,
            rows=len(came.batch),
            labelled=len(came.labelled),
            mean=mean,
            gap=None if mean is None else mean - process.reference_mean,
            pvalue=_one_look(losses, process),
            expected_gap=expected,
            evalue=state.evalue,
            largest=state.largest_evalue,
            alarm=state.alarm,
            gap_so_far=state.gap,
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
            evidence=_rounded(evidence.get("labelled")),
            expected_evidence=_rounded(evidence.get("expected")),
            inputs=came.inputs,
            labels=came.labels,
            waiting=came.packed_waiting,
            same_as=came.same_as,
        )


def _check_units(unit: str, batches: str | None) -> None:
    if unit not in UNITS:
        raise InputError(f"unit must be 'row' or 'batch', got {described(unit)}.")
    if unit == "batch" and not isinstance(batches, str):
        raise InputError(
            "unit='batch' needs batches=, the column that names the batches of the reference."
        )
    if unit == "row" and batches is not None:
        raise InputError("batches= is for unit='batch'; leave it out, or say unit='batch'.")


def _inputs(reference: Any, roles: Roles, pool: Pool) -> Any:
    """The inputs and predictions of the reference, with the types that batches are read as.

    Of a reference in partitions, its first rows.
    """
    from rdiv.samples.frames import agreed

    table = as_partitions(reference, "the reference")
    if table is not None:
        first = table.first()
        if isinstance(pool.rows, PartitionedRows):
            first = pool.rows.table.source.reading(first.to_native())
        reference = first.to_native()
    x = as_sample(reference, "reference").x
    if isinstance(x, np.ndarray) or not hasattr(x, "columns"):
        return x
    taken = {roles.target, roles.loss, *roles.ignored}
    kept = x.drop([column for column in x.columns if column in taken])
    return agreed(kept, kept)[0] if kept.columns else kept


def _quantiles(numbers: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in np.quantile(numbers, np.linspace(0, 1, 41)))


def _one_look(losses: Floats, process: Process) -> float | None:
    """Welch's p-value of one batch against the reference, two-sided."""
    if len(losses) < 2:
        return None
    from scipy.special import stdtr

    own = float(losses.var(ddof=1)) / len(losses)
    other = process.reference_deviation**2 / process.reference_rows
    gap = float(losses.mean()) - process.reference_mean
    if own + other == 0:
        return 1.0 if gap == 0 else None
    freedom = (own + other) ** 2 / (
        own**2 / (len(losses) - 1) + other**2 / (process.reference_rows - 1)
    )
    return float(2 * stdtr(freedom, -abs(gap) / (own + other) ** 0.5))


def _rounded(evidence: Floats | None) -> tuple[float, ...] | None:
    return None if evidence is None else tuple(round(float(value), 4) for value in evidence)
