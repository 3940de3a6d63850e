"""A table of test powers: cells and tests as data, measured by the study engine, then lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rdiv.errors import InputError
from rdiv.names import chosen_from, spelled
from rdiv.reproduction.power_page import dots, page
from rdiv.reproduction.protocol import Line, Plan, PlanLine, Printed, Run, Scale
from rdiv.sources import BY_NAME as SOURCES
from rdiv.studies.power import PowerStudy, run_study
from rdiv.studies.study import Study, as_study

__all__ = [
    "COLUMNS",
    "RATES",
    "Part",
    "PowerTable",
    "Setting",
    "lines_of",
    "rate_and_interval",
    "rows_tested",
]


RATES = ("trials", "rejections", "rate", "low", "high")
COLUMNS = (
    "table", "scale", "seed", "part", "cell", "method", "test", "model", "protocol", "n_p", "n_q",
    "tested", "resamples", "repeats", "alpha", "paper", "paper_se", *RATES, "se",
    *(f"null_{name}" for name in RATES), "seconds", "note",
)  # fmt: skip
DIGITS = 4
LEAST_ROWS = 8


def lines_of(head: Line, part: Part, found: PowerStudy, paper: Printed) -> list[Line]:
    """One line for each test, source, size and level of a study."""
    table = found.table()
    cells = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    methods, sources = _methods(part, found), _labels(part)
    sides: dict[tuple[Any, ...], dict[bool, dict[str, Any]]] = {}
    for cell in cells:
        place = tuple(cell[k] for k in ("source", "discrepancy", "model", "n_p", "n_q", "alpha"))
        sides.setdefault(place, {})[cell["null"]] = cell
    lines = []
    for side in sides.values():
        power, null = side[False], side[True]
        tested = rows_tested(power["n_p"], power["protocol"])
        label = part.label(power["n_p"], sources[power["source"]], power["alpha"], tested=tested)
        method = methods[power["discrepancy"], power["model"]]
        reported = paper.get(method, label)
        line = {
            **head,
            "part": part.name,
            "cell": label,
            "method": method,
            "test": power["discrepancy"],
            **{name: power[name] for name in ("model", "protocol", "n_p", "n_q", "alpha")},
            "tested": tested,
            "resamples": part.n_resamples,
            "repeats": part.repeats,
            "paper": None if reported is None else reported.rate,
            "paper_se": None if reported is None else reported.se,
            **{name: power[name] for name in RATES},
            "se": power["se"],
            **{f"null_{name}": null[name] for name in RATES},
            "seconds": (power["seconds"] + null["seconds"]) / 2,
            "note": power["note"],
        }
        lines.append({name: _rounded(line[name]) for name in COLUMNS})
    return lines


def rate_and_interval(rejections: int, trials: int) -> tuple[float, float, float]:
    """A rate and its 95 % Wilson interval, rounded as lines are.

    Examples
    --------
    >>> print(rate_and_interval(5, 100))
    (0.05, 0.0215, 0.1118)
    """
    from scipy.stats import binomtest

    interval = binomtest(rejections, trials).proportion_ci(method="wilson")
    values = (rejections / trials, float(interval.low), float(interval.high))
    return tuple(_rounded(value) for value in values)


def rows_tested(n: int, protocol: str) -> int:
    """Rows of p that decide: a test that learns on a half of its draw has the other half left.

    Examples
    --------
    >>> print(rows_tested(1000, "whole"), rows_tested(1000, "half"), rows_tested(1000, "fresh"))
    1000 500 1000
    """
    return n // 2 if protocol == "half" else n


def _methods(part: Part, found: PowerStudy) -> dict[tuple[str, str | None], str]:
    """From what a table of rates calls a test to the method's name."""
    names = {}
    for method, test in zip(part.tests, found.study.tests, strict=True):
        names[test.names(found.study.sources[0])] = method
    return names


def _labels(part: Part) -> dict[str, str]:
    return {spelled(source, SOURCES): label for label, source in part.sources.items()}


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


@dataclass(frozen=True, eq=False)
class Part:
    """One power study of a table; a null cell stands beside every cell.

    Parameters
    ----------
    name : str
        Of its folder.
    tests : mapping from str to Discrepancy
        By the name of the method, as the paper has it where it does.
    sources : mapping from str to Source
        By what the cell calls them.
    sizes : tuple of int
        Rows of each sample.
    trials, repeats, n_resamples, train
        As in `rdiv.power_study`.
    alphas : tuple of float
    cell : str
        How a column of the table is called, with ``{n}`` (rows a side), ``{twice}`` (two times
        that), ``{N}`` (two times the rows a side that are tested: what the paper calls N),
        ``{source}`` and ``{alpha}``.
    seconds : float
        About what one trial of all tests takes on one core.
    folder : str
        Where its trials are kept, if not under its name.
    """

    name: str
    tests: Mapping[str, Any]
    sources: Mapping[str, Any]
    sizes: tuple[int, ...]
    trials: int
    repeats: int = 1
    n_resamples: int = 99
    train: str = "half"
    alphas: tuple[float, ...] = (0.05,)
    cell: str = "{n}"
    seconds: float = 1.0
    folder: str = ""

    @property
    def what(self) -> str:
        """Its name, its tests and how many rows a side they see."""
        return f"{self.name}: {', '.join(self.tests)} at {', '.join(map(str, self.sizes))} a side"

    def of_sizes(self, sizes: tuple[int, ...]) -> Part:
        """The same study of other sizes, whose trials are kept elsewhere."""
        return replace(self, sizes=sizes, folder="-".join([self.name, *map(str, sizes)]))

    @property
    def draws(self) -> int:
        """Pairs of samples, null and not, that all tests see."""
        return 2 * self.trials * self.repeats * len(self.sizes) * len(self.sources)

    def label(self, n: int, source: str, alpha: float, *, tested: int) -> str:
        """What the cell of a source, a size and a level is called."""
        return self.cell.format(n=n, twice=2 * n, N=2 * tested, source=source, alpha=f"{alpha:g}")

    def study(self, run: Run) -> Study:
        """The study behind it."""
        return as_study(
            [_with_data(source, run.data_dir) for source in self.sources.values()],
            list(self.tests.values()),
            sizes=self.sizes, trials=self.trials, repeats=self.repeats,
            n_resamples=self.n_resamples, alpha=self.alphas, train=self.train, null=True,
            seed=run.seed, share_fits=True,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Setting:
    """A table at one scale: the studies it takes, and in words what was chosen."""

    about: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class PowerTable:
    """A table or figure of test powers.

    Parameters
    ----------
    name : str
    about : str
        What it shows, in one line.
    where : str
        Its place in the paper, and what was read off it.
    paper : Printed
        The numbers there; empty where the paper has a figure only.
    scales : mapping from scale to Setting
    remarks : tuple of str
        What differs from the paper, and why.
    counted : str
        What the paper calls N here, and how many rows a side that is.
    differs : str
        Why the paper's numbers are not those of our cells, in a few words; empty where they can be
        compared.

    Examples
    --------
    >>> from rdiv.reproduction import BY_NAME
    >>> print(BY_NAME["blob"].plan("smoke").scale)
    smoke
    """

    name: str
    about: str
    where: str
    paper: Printed
    scales: Mapping[Scale, Setting]
    remarks: tuple[str, ...] = ()
    counted: str = ""
    differs: str = ""

    def plan(self, scale: Scale) -> Plan:
        """What a run at a scale consists of."""
        setting = self.scales[scale]
        lines = tuple(PlanLine(part.what, part.draws, part.seconds) for part in setting.parts)
        return Plan(self.name, scale, setting.about, lines)

    def narrowed(self, scale: Scale, parts: Sequence[str], sizes: Sequence[int]) -> PowerTable:
        """The table with some of its parts at a scale, at other sizes if any are given.

        Examples
        --------
        >>> from rdiv.reproduction import BY_NAME
        >>> print(BY_NAME["blob"].narrowed("laptop", ["gmm-one-fit"], [30]).plan("laptop").lines[0])
        PlanLine(what='gmm-one-fit: R-Div, score, omnibus at 30 a side', trials=200, seconds=0.02)
        """
        setting = self.scales[scale]
        known = {part.name: part for part in setting.parts}
        what = f"part of {self.name} at {scale} scale"
        chosen = [chosen_from(known, name, what) for name in parts] or list(known.values())
        if sizes:
            chosen = [part.of_sizes(_checked_sizes(sizes)) for part in chosen]
        return replace(self, scales={**self.scales, scale: replace(setting, parts=tuple(chosen))})

    def measure(self, run: Run) -> list[Line]:
        """Run the studies that are not finished, and set the paper's numbers beside the rates."""
        parts = self.scales[run.scale].parts
        total = sum(part.draws * len(part.tests) for part in parts)
        lines: list[Line] = []
        before = 0
        for part in parts:
            study = part.study(run)
            found = run_study(
                study,
                n_jobs=run.n_jobs,
                scheduler=run.scheduler,
                out=None if run.kept is None else Path(run.kept) / (part.folder or part.name),
                progress=_shifted(run.progress, before, total),
            )
            before += part.draws * len(part.tests)
            head = {"table": self.name, "scale": run.scale, "seed": run.seed}
            lines += lines_of(head, part, found, self.paper)
        return _by_cell(lines)

    def markdown(self, lines: Sequence[Line]) -> str:
        """The page: one table per cell, the paper's table, what differs and why."""
        return page(self, lines)

    def figure(self, lines: Sequence[Line]) -> str:
        """Rates, the paper's numbers and the nulls as dots with intervals."""
        return dots(lines)


def _checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    for n in sizes:
        if n < LEAST_ROWS:
            raise InputError(
                f"a size is a number of rows a side of at least {LEAST_ROWS}, got {n}."
            )
    return tuple(dict.fromkeys(sizes))


def _by_cell(lines: list[Line]) -> list[Line]:
    """Cells in the order in which they first appear, and nothing else changed."""
    cells = list(dict.fromkeys(line["cell"] for line in lines))
    assert all(tuple(line) == COLUMNS for line in lines)
    return sorted(lines, key=lambda line: cells.index(line["cell"]))


def _with_data(source: Any, folder: Path | None) -> Any:
    if folder is None or not hasattr(source, "data_dir"):
        return source
    return replace(source, data_dir=folder)


def _shifted(
    progress: Callable[[int, int], None] | None, before: int, total: int
) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)
