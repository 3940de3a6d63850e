"""power_study: rejection rates of tests, with the type-I error beside the power."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rdiv.errors import InputError
from rdiv.pictures import new_panels, svg_text
from rdiv.results import html_table
from rdiv.samples.arguments import check_settings
from rdiv.samples.pooling import resolve_seed
from rdiv.studies.execution import run_keys
from rdiv.studies.folder import StudyFolder, row_key
from rdiv.studies.study import Study, as_study
from rdiv.studies.tables import Table, as_csv, as_markdown, rate_table
from rdiv.studies.trial import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PowerStudy", "power_figure", "power_study", "run_study"]

WIDTH, HEIGHT = 4.6, 3.6  # of one panel, in inches


def power_figure(table: Table) -> str:
    """Rejection rate against rows of p as SVG text; see `PowerStudy.plot`."""
    many = len(panels_of(table))
    return svg_text(
        lambda figure: draw_power(table, figure.subplots(1, many, squeeze=False)[0]),
        (WIDTH * many, HEIGHT),
    )


def panels_of(table: Table) -> list[tuple[str, float]]:
    """Every source and level of the table, one panel each."""
    return list(dict.fromkeys(zip(table["source"], table["alpha"], strict=True)))


def draw_power(table: Table, panels: Sequence[Axes]) -> None:
    """Draw every source and level on axes of its own.

    Bars are Wilson intervals, dashed lines the nulls, the dotted line the level.
    """
    lines = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    for axes, (source, alpha) in zip(panels, panels_of(table), strict=True):
        inside = [x for x in lines if (x["source"], x["alpha"]) == (source, alpha)]
        _panel(axes, inside)
        axes.axhline(alpha, color="0.5", linestyle=":", linewidth=1)
        axes.set(title=f"{source}, alpha = {alpha:g}", xlabel="rows of p", ylim=(-0.02, 1.02))


def _panel(axes: Any, lines: list[dict[str, Any]]) -> None:
    tests = list(dict.fromkeys((line["discrepancy"], line["model"]) for line in lines))
    for colour, (test, model) in enumerate(tests):
        label = test if model is None else f"{test}, {model}"
        for null in (False, True):
            some = [
                line
                for line in lines
                if (line["discrepancy"], line["model"], line["null"]) == (test, model, null)
            ]
            if not some:
                continue
            some.sort(key=lambda line: line["n_p"])
            rates = [line["rate"] for line in some]
            bars = [
                [max(line["rate"] - line["low"], 0) for line in some],
                [max(line["high"] - line["rate"], 0) for line in some],
            ]
            axes.errorbar(
                [line["n_p"] for line in some], rates, yerr=bars, color=f"C{colour % 10}",
                linestyle="--" if null else "-", marker="o", markersize=3, capsize=2,
                alpha=0.5 if null else 1.0, label=f"{label}, null" if null else label,
            )  # fmt: skip
    axes.set_ylabel("rejection rate")
    axes.legend(fontsize="x-small", frameon=False)


Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, repr=False)
class PowerStudy:
    """What a study found: one row for every trial, and tables of them.

    Parameters
    ----------
    study : Study
    rows : list of dict
        One for each trial, sorted; the p-value of every test is kept.
    notices : list of str
        What happened to an earlier run of the same study, if anything.

    Examples
    --------
    >>> import rdiv
    >>> def spread(n, rng, null):
    ...     return rng.normal(size=n), rng.normal(size=n) * (1.0 if null else 3.0)
    >>> found = rdiv.power_study(spread, ["r-div:gmm", "energy"], sizes=[40], trials=20)
    >>> print(found.table()["discrepancy"], found.table()["rate"])
    ['r-div', 'energy'] [1.0, 1.0]
    """

    study: Study
    rows: list[Row]
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.to_markdown()

    __repr__ = __str__

    def table(self) -> dict[str, list[Any]]:
        """Rejection rates of every cell and level, as columns.

        ``low`` and ``high`` are the 95 % Wilson interval; ``se`` is the standard error of the rate
        (across repeats, if there are several); ``seconds`` is the mean time of one test.
        """
        return rate_table(self.rows, self.study)

    def to_markdown(self) -> str:
        """The table in Markdown, power and type-I error side by side."""
        return as_markdown(self.table())

    def to_csv(self) -> str:
        """The table as CSV text."""
        return as_csv(self.table())

    def _repr_html_(self) -> str:
        table = self.table()
        shown = ("source", "discrepancy", "model", "n_p", "n_q", "null", "alpha", "trials",
                 "rate", "low", "high", "seconds")  # fmt: skip
        return html_table({name: table[name] for name in shown})

    def plot(self, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
        """Rejection rate against rows of p, one panel for every source and level.

        Bars are Wilson intervals, dashed lines the nulls, the dotted line the level.

        Parameters
        ----------
        axes : sequence of matplotlib axes, optional
            One for every panel; drawn on new ones without it.
        """
        table = self.table()
        many = len(panels_of(table))
        if axes is None:
            axes = new_panels(WIDTH * many, HEIGHT, columns=many)
        elif len(axes) != many:
            raise InputError(
                f"this study has {many} source(s) and level(s) and needs as many axes, "
                f"got {len(axes)}."
            )
        draw_power(table, axes)
        return tuple(axes)

    def to_svg(self) -> str:
        """The picture that `plot` draws, as SVG text."""
        return power_figure(self.table())


def power_study(
    source: Any,
    discrepancies: Any,
    *,
    sizes: int | Sequence[int],
    trials: int = 100,
    repeats: int = 1,
    n_resamples: int = 99,
    alpha: float | Sequence[float] = 0.05,
    train: str = "half",
    null: bool = False,
    share_fits: bool = False,
    rng: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    scheduler: str | None = None,
    extend: bool = False,
    progress: Progress | None = None,
) -> PowerStudy:
    """Measure how often tests reject on a source, and how often under its null (Algorithm 2).

    Parameters
    ----------
    source : str, Source, function, pair of samples, or list of these
    discrepancies : list of str or Discrepancy
        Names as ``NAME`` or ``NAME:MODEL``; a name without a model takes the source's own.
    sizes : int or sequence of int
        Rows of p; q has as many, or the source's ``ratio`` times as many.
    trials, repeats : int
    n_resamples : int
    alpha : float or sequence of float
        Levels; all are read off the same p-values.
    train : {"half", "fresh"}
        Where tests that learn get their training rows.
    null : bool
        Add a cell under the null beside every cell.
    share_fits : bool
        Fit a model once for all tests of a draw that use it. Only the seconds of the tests differ:
        what an earlier test of the same draw computed is not counted again.
    rng : int, Generator or None
        Seed of the study.
    n_jobs : int, optional
        Worker processes.
    out : path, optional
        Folder for the rows, written as they finish. The same call continues what is there.
    scheduler : str, optional
        Address of a Dask scheduler, or ``local:N``.
    extend : bool
        Add to the rows of a smaller study in the same folder.
    progress : callable, optional
        Called with the number of finished trials and of all trials.

    Returns
    -------
    PowerStudy

    Examples
    --------
    >>> import rdiv
    >>> found = rdiv.power_study("blob", ["energy"], sizes=[90], trials=10, null=True)
    >>> print(found.table()["null"], found.table()["trials"])
    [False, True] [10, 10]
    """
    check_settings(
        sizes=sizes, trials=trials, repeats=repeats, n_resamples=n_resamples, alphas=alpha,
        train=train, rng=rng, n_jobs=n_jobs, out=out,
    )  # fmt: skip
    study = as_study(
        source, discrepancies, sizes=sizes, trials=trials, repeats=repeats,
        n_resamples=n_resamples, alpha=alpha, train=train, null=null, seed=resolve_seed(rng),
        share_fits=share_fits,
    )  # fmt: skip
    return run_study(
        study, n_jobs=n_jobs, out=out, scheduler=scheduler, extend=extend, progress=progress
    )


def run_study(
    study: Study,
    *,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    scheduler: str | None = None,
    extend: bool = False,
    progress: Progress | None = None,
) -> PowerStudy:
    """Run the trials of a study that have no row yet.

    Parameters
    ----------
    study : Study
    n_jobs, out, scheduler, extend, progress
        See `power_study`.

    Returns
    -------
    PowerStudy

    Examples
    --------
    >>> from rdiv.sources import Blob
    >>> from rdiv.studies.study import as_study_test
    >>> study = Study((Blob(),), (as_study_test("energy"),), sizes=(90,), trials=3)
    >>> print(len(run_study(study).rows))
    3
    """
    wanted = {row_key(study.identity(key)): key for key in study.all_keys()}
    if out is None:
        rows: list[Row] = []
        _collect(study, list(wanted.values()), rows, rows.append, n_jobs, scheduler, progress)
        return PowerStudy(study, _ordered(rows, wanted))
    with StudyFolder(out, study, extend=extend) as folder:
        journal = folder.journal
        there = {row_key(row) for row in journal.rows}
        missing = [key for name, key in wanted.items() if name not in there]
        _collect(study, missing, journal.rows, journal.append, n_jobs, scheduler, progress)
        found = PowerStudy(study, _ordered(journal.rows, wanted), tuple(journal.notices))
        table = found.table()
        folder.put("table.md", as_markdown(table))
        folder.put("table.csv", as_csv(table))
    return found


def _collect(
    study: Study,
    missing: list[Any],
    rows: list[Row],
    keep: Callable[[Row], None],
    n_jobs: int | None,
    scheduler: str | None,
    progress: Progress | None,
) -> None:
    done, total = len(rows), len(rows) + len(missing)
    if progress is not None:
        progress(done, total)
    if not missing:
        return
    with closing(run_keys(study, missing, n_jobs=n_jobs, scheduler=scheduler)) as finished:  # type: ignore[type-var]
        for row in finished:
            keep(row)
            done += 1
            if progress is not None:
                progress(done, total)


def _ordered(rows: list[Row], wanted: dict[Any, Any]) -> list[Row]:
    """The rows of this study in the order of its keys, whatever order they finished in."""
    place = {name: i for i, name in enumerate(wanted)}
    return sorted((row for row in rows if row_key(row) in place), key=lambda r: place[row_key(r)])
