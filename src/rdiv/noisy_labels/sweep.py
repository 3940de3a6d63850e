"""The paper's figures on noisy labels: pretrain, split by loss, retrain, for a range of shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import DivergedError
from rdiv.models import ResNet18, as_model
from rdiv.names import chosen_from
from rdiv.noisy_labels.corruption import check_rate, flip_labels
from rdiv.noisy_labels.detection import class_probabilities
from rdiv.noisy_labels.labelled import check_labels, check_pair
from rdiv.noisy_labels.retraining import OBJECTIVES, retrain
from rdiv.noisy_labels.splitting import SHARES, part_gap, top_rows
from rdiv.parallel.threads import one_thread
from rdiv.pictures import new_axes
from rdiv.results import html_table
from rdiv.samples.arguments import check_settings
from rdiv.samples.pool import Pool
from rdiv.studies.journal import resume_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["NoiseSweep", "Sweep", "noise_sweep"]

Row = dict[str, Any]
Rows = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class NoiseSweep:
    """The results of retraining for every share, objective and trial.

    Parameters
    ----------
    rows : list of dict
        Each with ``kind rate trial share objective pretrained retrained detection_accuracy
        precision_clean recall_clean precision_noisy recall_noisy discrepancy note``.
        ``pretrained`` and ``retrained`` are accuracies on clean test rows, ``detection_accuracy``
        is the share of training rows that are in the right part; ``retrained`` is None where
        training diverged, and ``note`` says so.

    Examples
    --------
    >>> rows = [
    ...     {
    ...         "objective": "weighted",
    ...         "share": 0.2,
    ...         "kind": "pair",
    ...         "rate": 0.2,
    ...         "trial": trial,
    ...         **dict.fromkeys(_NUMBERS, 0.5),
    ...         "retrained": 0.5 + trial / 10,
    ...     }
    ...     for trial in (1, 2)
    ... ]
    >>> print(round(NoiseSweep(rows).means()[0]["gain"], 2))
    0.15
    """

    rows: list[Row] = field(repr=False)

    def means(self) -> list[Row]:
        """The mean over trials for every objective and share, with standard errors (``..._se``).

        ``gain`` is retrained minus pretrained accuracy, paired by trial.
        """
        cells: dict[tuple[str, float], list[Row]] = {}
        for row in self.rows:
            cells.setdefault((row["objective"], row["share"]), []).append(row)
        return [_mean(rows) for rows in cells.values()]

    def _repr_html_(self) -> str:
        means = self.means()
        shown = ("objective", "share", "trials", "pretrained", "retrained", "gain", "gain_se")
        return html_table({name: [mean[name] for mean in means] for name in shown})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Accuracy on clean rows by the share that was treated as noisy, one curve an objective.

        Bars are standard errors over trials; the dotted line is the accuracy before retraining.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Drawn on new ones without it.
        """
        ax = new_axes(6.4, 3.6) if ax is None else ax
        means = [mean for mean in self.means() if mean["retrained"] is not None]
        for name in dict.fromkeys(mean["objective"] for mean in means):
            one = [mean for mean in means if mean["objective"] == name]
            ax.errorbar(
                [mean["share"] for mean in one], [mean["retrained"] for mean in one],
                yerr=[mean["retrained_se"] or 0.0 for mean in one], capsize=2, label=name,
            )  # fmt: skip
        before = [row["pretrained"] for row in self.rows]
        ax.axhline(float(np.mean(before)), color="0.5", linestyle=":", label="before retraining")
        ax.set(xlabel="share treated as noisy", ylabel="accuracy on clean rows")
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small")
        return ax


def noise_sweep(
    train: Rows,
    test: Rows,
    *,
    kind: Literal["symmetric", "pair"] = "symmetric",
    rate: float = 0.2,
    shares: Sequence[float] = SHARES,
    model: Any = None,
    objectives: Sequence[str] = tuple(OBJECTIVES),
    n_train: int | None = None,
    trials: int = 3,
    seed: int = 0,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    out: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> NoiseSweep:
    """Flip labels, pretrain on them, and retrain for every share that is treated as noisy.

    Every trial draws its training rows and its flips anew and pretrains once; with several
    workers, each of them that retrains for a trial pretrains for it. The pretrained network splits
    the batches, as in the paper.

    Parameters
    ----------
    train, test : pairs ``(X, y)``
        With correct labels.
    kind, rate
        See `flip_labels`.
    shares : sequence of float
        Shares of a batch that are treated as noisy.
    model : network, optional
        By default `rdiv.models.ResNet18`.
    objectives : sequence of str
        Names in `rdiv.noisy_labels.retraining.OBJECTIVES`.
    n_train : int, optional
        Rows to draw for every trial; by default all.
    trials, seed : int
    n_jobs, scheduler
        Where the work is done, see `rdiv.power_study`.
    out : path, optional
        Folder that keeps every finished row; the same sweep continues there.
    progress : callable, optional
        Called with the number of finished rows and of all rows.

    Examples
    --------
    >>> from rdiv.models import Mlp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(90, 2))
    >>> y = (x[:, 0] > 0).astype(int)
    >>> data = (x[:60], y[:60]), (x[60:], y[60:])
    >>> found = noise_sweep(
    ...     *data, model=Mlp(epochs=2), shares=[0.2, 0.4], trials=1, objectives=["weighted"]
    ... )
    >>> print(len(found.rows), found.rows[0]["share"])
    2 0.2
    >>> print(found.plot().get_xlabel())
    share treated as noisy
    """
    check_settings(
        kind=kind, shares=shares, n_train=n_train, trials=trials, rng=seed, n_jobs=n_jobs, out=out
    )
    check_rate(rate)
    check_pair(train, "train")
    check_pair(test, "test")
    for name in objectives:
        chosen_from(OBJECTIVES, name, "objective")
    network = as_model(ResNet18() if model is None else model)
    sweep = Sweep(train, test, kind, rate, network, n_train, seed)
    keys = [sweep.key(*cell) for cell in product(range(trials), shares, objectives)]
    rows = resume_map(
        sweep,
        keys,
        file=None if out is None else Path(out) / f"noisy-{kind}.jsonl",
        n_jobs=n_jobs,
        scheduler=scheduler,
        progress=progress,
    )
    return NoiseSweep(rows)


@dataclass(frozen=True, eq=False)
class Sweep:
    """The data and settings of all trials; a function from a key to its row.

    Parameters
    ----------
    train, test, kind, rate, model, n_train, seed
        See `noise_sweep`.
    latest : dict
        The trial that this process pretrained last.
    """

    train: Rows
    test: Rows
    kind: Literal["symmetric", "pair"]
    rate: float
    model: Any
    n_train: int | None
    seed: int
    latest: dict[int, _Pretrained] = field(default_factory=dict)

    def key(self, trial: int, share: float, objective: str) -> Row:
        """Everything that decides a row, but for the data."""
        return {
            "kind": self.kind,
            "rate": self.rate,
            "model": f"{self.model!r} {getattr(self.model, 'training', None)!r}",
            "n_train": self.n_train,
            "seed": self.seed,
            "trial": trial,
            "share": share,
            "objective": objective,
        }

    def __call__(self, key: Row) -> Row:
        with one_thread():
            return self._pretrained(key["trial"]).row(key["share"], key["objective"])

    def _pretrained(self, trial: int) -> _Pretrained:
        """The trial that this process pretrained last, or a new one in its place."""
        known = self.latest.get(trial)
        if known is None:
            known = _pretrain(self, trial)
            self.latest.clear()
            self.latest[trial] = known
        return known


@dataclass(frozen=True, eq=False)
class _Pretrained:
    """One trial after pretraining: what every share and objective starts from."""

    sweep: Sweep
    trial: int
    pool: Pool
    test: Pool
    wrong: NDArray[np.bool_]
    fitted: Any
    losses: NDArray[np.float64]
    batches: list[NDArray[np.intp]]

    def row(self, share: float, objective: str) -> Row:
        noisy = np.zeros(len(self.losses), dtype=bool)
        for batch in self.batches:
            noisy[batch] = top_rows(self.losses[batch], share)
        retrained, note = self._retrained(share, objective)
        return {
            "kind": self.sweep.kind,
            "rate": self.sweep.rate,
            "trial": self.trial,
            "share": share,
            "objective": objective,
            "pretrained": accuracy(self.fitted, self.test),
            "retrained": retrained,
            **_detection(noisy, self.wrong),
            "discrepancy": part_gap(self.losses, noisy),
            "note": note,
        }

    def _retrained(self, share: float, objective: str) -> tuple[float | None, str]:
        rng = _stream(self.sweep.seed, self.trial, 2)  # one start for all shares and objectives
        certain = np.ones(len(self.losses))
        try:
            fitted = retrain(
                self.fitted.recipe, self.pool, self.losses, certain, share, objective, rng
            )
        except DivergedError:
            return None, "training diverged"
        return accuracy(fitted, self.test), ""


def accuracy(fitted: Any, pool: Pool) -> float:
    """Share of rows whose most probable class is the label."""
    return float((class_probabilities(fitted, pool).argmax(axis=1) == pool.y).mean())


def _pretrain(sweep: Sweep, trial: int) -> _Pretrained:
    rng = _stream(sweep.seed, trial, 0)
    (x, labels), test = sweep.train, sweep.test
    labels = check_labels(labels)
    chosen = rng.permutation(len(labels))[: sweep.n_train]
    classes, true = np.unique(labels[chosen], return_inverse=True)
    given = flip_labels(true, sweep.kind, sweep.rate, rng)
    pool = Pool(np.asarray(x)[chosen], y=given, task="classification", classes=classes)
    tested = np.searchsorted(classes, check_labels(test[1]))
    held = Pool(np.asarray(test[0]), y=tested, task="classification", classes=classes)
    fitted = sweep.model.fit(pool, _stream(sweep.seed, trial, 1))
    size = fitted.recipe.training.batch_size or len(given)
    count = -(-len(given) // size)
    batches = np.array_split(rng.permutation(len(given)), count)
    losses = fitted.losses(pool)
    return _Pretrained(sweep, trial, pool, held, given != true, fitted, losses, batches)


def _detection(noisy: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> dict[str, float]:
    """The share of rows in the right part, and precision and recall of both parts."""

    def share(hits: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
        return float(hits.sum() / max(of.sum(), 1))

    return {
        "detection_accuracy": float((noisy == wrong).mean()),
        "precision_clean": share(~noisy & ~wrong, ~noisy),
        "recall_clean": share(~noisy & ~wrong, ~wrong),
        "precision_noisy": share(noisy & wrong, noisy),
        "recall_noisy": share(noisy & wrong, wrong),
    }


def _stream(seed: int, trial: int, stage: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, trial]).spawn(3)[stage])


_NUMBERS = (
    "pretrained",
    "retrained",
    "detection_accuracy",
    "precision_clean",
    "recall_clean",
    "precision_noisy",
    "recall_noisy",
    "discrepancy",
)


def _mean(rows: Sequence[Mapping[str, Any]]) -> Row:
    first = rows[0]
    cell: Row = {name: first[name] for name in ("kind", "rate", "objective", "share")}
    cell["trials"] = len(rows)
    trained = [row for row in rows if row["retrained"] is not None]
    gains = [row["retrained"] - row["pretrained"] for row in trained]
    for name in (*_NUMBERS, "gain"):
        found = gains if name == "gain" else [row.get(name) for row in rows]  # old rows lack some
        values = np.array([value for value in found if value is not None], dtype=np.float64)
        cell[name] = float(values.mean()) if len(values) else None
        many = len(values) > 1
        cell[f"{name}_se"] = float(values.std(ddof=1) / len(values) ** 0.5) if many else None
    cell["diverged"] = sum(row["retrained"] is None for row in rows)
    return cell
