"""What is watched, and what was seen at each look."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["COLUMNS", "SHOWN", "Look", "Watched"]


@dataclass(frozen=True)
class Watched:
    """What is watched, settled when a monitor starts.

    Parameters
    ----------
    alpha : float
        The chance of ever raising a false alarm.
    unit : {"row", "batch"}
    min_gap : float or None
    seed : int
    reference : str
        Digest of the reference's rows.
    quantiles : tuple of float
        Of the reference's numbers, by which a refit is checked.
    model, loss, task : str
    rows_trained_on, rows_compared : int
        Rows of part A, and reference rows that the stream is compared with.
    """

    alpha: float
    unit: str
    min_gap: float | None
    seed: int
    reference: str
    quantiles: tuple[float, ...]
    model: str
    loss: str
    task: str
    rows_trained_on: int
    rows_compared: int


@dataclass(frozen=True)
class Look:
    """One look: a batch that came, or labels of an earlier one.

    Parameters
    ----------
    name : str
    late : bool
        Whether only labels came.
    rows, labelled : int
        Rows of the batch, and those that the process of labelled rows got.
    mean, gap, pvalue : float or None
        Of these labelled rows alone: mean loss, its gap to the reference, and the p-value of this
        gap for one single look (Welch's test, asymptotic). Context, not part of the alarm.
    expected_gap : float or None
        Mean expected loss of all rows minus that of the reference.
    evalue, largest : float
        Of the monitor after this look; see `MonitorState`.
    alarm : bool
    gap_so_far, low, high : float or None
        Gap of all rows so far with its confidence sequence.
    evidence, expected_evidence : tuple of float or None
        Log of what each bet made of the batch.
    inputs, labels : str
        Digests of the rows without and with labels.
    waiting : str or None
        Which rows wait for labels; None where none does.
    same_as : str or None
        An earlier batch with the same content.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import rdiv
    >>> losses = pl.DataFrame({"loss": np.random.default_rng(0).exponential(size=300)})
    >>> monitor = rdiv.Monitor(losses, loss="loss", rng=0)
    >>> look = monitor.update(monitor.start(), losses.head(50), name="monday").history[0]
    >>> print(look.name, look.rows, look.alarm)
    monday 50 False
    """

    name: str
    late: bool
    rows: int
    labelled: int
    mean: float | None
    gap: float | None
    pvalue: float | None
    expected_gap: float | None
    evalue: float
    largest: float
    alarm: bool
    gap_so_far: float | None
    low: float | None
    high: float | None
    evidence: tuple[float, ...] | None
    expected_evidence: tuple[float, ...] | None
    inputs: str
    labels: str
    waiting: str | None
    same_as: str | None


COLUMNS = tuple(one.name for one in fields(Look))
SHOWN = COLUMNS[: COLUMNS.index("evidence")]
"""Fields that a reader wants; the others are for the next step."""
