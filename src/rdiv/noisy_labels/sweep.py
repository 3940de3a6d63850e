"""The paper's figures on noisy labels: pretrain, split by loss, retrain, for a range of shares."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

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
from rdiv.samples.arguments import check_settings
from rdiv.samples.pool import Pool
from rdiv.threads import one_thread

__all__ = ["NoiseSweep", "noise_sweep"]

Row = dict[str, Any]
Rows = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class NoiseSweep:
    """What retraining gave for every share, objective and trial.

    Parameters
    ----------
    rows : list of dict
        Each has ``kind rate trial share objective pretrained retrained precision_clean
        recall_clean precision_noisy recall_noisy discrepancy note``. Accuracies are of clean test
        rows; ``retrained`` is None where training diverged, and ``note`` says so.
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
    out: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> NoiseSweep:
    """Flip labels, pretrain on them, and retrain for every share taken for noisy.

    Every trial draws its training rows and its flips anew and pretrains once. The pretrained
    network splits the batches, as in the paper.

    Parameters
    ----------
    train, test : pairs ``(X, y)``
        With right labels.
    kind, rate
        See `flip_labels`.
    shares : sequence of float
        Shares of a batch taken for noisy.
    model : network, optional
        By default `rdiv.models.ResNet18`.
    objectives : sequence of str
        Names in `rdiv.noisy_labels.retraining.OBJECTIVES`.
    n_train : int, optional
        Rows to draw for every trial; by default all.
    trials, seed : int
    n_jobs : int, optional
        Trials at a time.
    out : path, optional
        Folder that keeps every row as it is found; the same sweep continues there.
    progress : callable, optional
        Called with the number of rows found and asked for.

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
    sweep = _Sweep(
        kind, rate, tuple(shares), tuple(objectives), network, n_train, seed,
        None if out is None else Path(out),
    )  # fmt: skip
    each = len(shares) * len(objectives)
    found: list[Row] = []
    for rows in _spread(sweep, train, test, trials, n_jobs):
        found += rows
        if progress is not None:
            progress(len(found), each * trials)
    return NoiseSweep(found)


@dataclass(frozen=True, eq=False)
class _Sweep:
    """The settings that all trials share."""

    kind: Literal["symmetric", "pair"]
    rate: float
    shares: tuple[float, ...]
    objectives: tuple[str, ...]
    model: Any
    n_train: int | None
    seed: int
    out: Path | None

    def run(self, trial: int, train: Rows, test: Rows) -> list[Row]:
        """The rows of one trial: those on disk, then the others."""
        journal = self._journal(trial)
        known = {} if journal is None else _known(journal)
        wanted = [(share, name) for share in self.shares for name in self.objectives]
        missing = [key for key in wanted if key not in known]
        if missing:
            with one_thread():
                state = _pretrain(self, trial, train, test)
                for share, name in missing:
                    row = state.row(share, name)
                    known[share, name] = row
                    if journal is not None:
                        _append(journal, row)
        return [known[key] for key in wanted]

    def _journal(self, trial: int) -> Path | None:
        if self.out is None:
            return None
        model = f"{self.model!r} {getattr(self.model, 'training', None)!r}"
        settings = f"{self.rate!r} {self.n_train!r} {self.seed!r} {model}"
        mark = blake2b(settings.encode(), digest_size=4).hexdigest()
        return self.out / f"noisy-{self.kind}-{mark}-trial-{trial}.jsonl"


@dataclass(frozen=True, eq=False)
class _Pretrained:
    """One trial after pretraining: what every share and objective starts from."""

    sweep: _Sweep
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


def _pretrain(sweep: _Sweep, trial: int, train: Rows, test: Rows) -> _Pretrained:
    rng = _stream(sweep.seed, trial, 0)
    x, labels = train[0], check_labels(train[1])
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
    """Precision and recall of both parts."""

    def share(hits: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
        return float(hits.sum() / max(of.sum(), 1))

    return {
        "precision_clean": share(~noisy & ~wrong, ~noisy),
        "recall_clean": share(~noisy & ~wrong, ~wrong),
        "precision_noisy": share(noisy & wrong, noisy),
        "recall_noisy": share(noisy & wrong, wrong),
    }


def _spread(sweep: _Sweep, train: Rows, test: Rows, trials: int, n_jobs: int | None) -> Any:
    if n_jobs in (None, 1):
        return (sweep.run(trial, train, test) for trial in range(trials))
    from joblib import Parallel, delayed

    tasks = (delayed(sweep.run)(trial, train, test) for trial in range(trials))
    return Parallel(n_jobs=n_jobs, return_as="generator")(tasks)


def _stream(seed: int, trial: int, stage: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, trial]).spawn(3)[stage])


def _known(journal: Path) -> dict[tuple[float, str], Row]:
    """Rows found before; a last line that was cut off is dropped from the file too."""
    if not journal.exists():
        return {}
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) < len(lines):
        journal.write_text("".join(whole), encoding="utf-8")
    rows = [json.loads(line) for line in whole]
    return {(row["share"], row["objective"]): row for row in rows}


def _append(journal: Path, row: Row) -> None:
    journal.parent.mkdir(parents=True, exist_ok=True)
    with open(journal, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


_NUMBERS = (
    "pretrained",
    "retrained",
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
        found = gains if name == "gain" else [row[name] for row in rows if row[name] is not None]
        values = np.array(found, dtype=np.float64)
        cell[name] = float(values.mean()) if len(values) else None
        many = len(values) > 1
        cell[f"{name}_se"] = float(values.std(ddof=1) / len(values) ** 0.5) if many else None
    cell["diverged"] = sum(row["retrained"] is None for row in rows)
    return cell
