"""A table of test powers: cells and tests as data, measured by the study engine, then lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rdiv.names import chosen_from, spelled
from rdiv.reproduction.parts import Part, Setting, checked_sizes, rows_tested
from rdiv.reproduction.power_curves import picture
from rdiv.reproduction.power_page import page
from rdiv.reproduction.protocol import Line, Plan, PlanLine, Printed, Run, Scale
from rdiv.sources import BY_NAME as SOURCES
from rdiv.studies.power import PowerStudy, run_study

__all__ = ["COLUMNS", "RATES", "PowerTable", "lines_of", "rate_and_interval"]


RATES = ("trials", "rejections", "rate", "low", "high")
COLUMNS = (
    "table", "scale", "seed", "part", "cell", "method", "test", "model", "protocol", "n_p", "n_q",
    "tested", "resamples", "repeats", "alpha", "paper", "paper_se", *RATES, "se",
    *(f"null_{name}" for name in RATES), "seconds", "note",
)  # fmt: skip
DIGITS = 4


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
            chosen = [part.of_sizes(checked_sizes(sizes)) for part in chosen]
        only = ["only " + ", ".join(parts)] if parts else []
        only += ["at " + ", ".join(map(str, sizes)) + " rows a side"] if sizes else []
        about = f"{', '.join(only)}; the whole of this scale: {setting.about}"
        return replace(self, scales={**self.scales, scale: Setting(about, tuple(chosen))})

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
        """Rates, the paper's numbers and the nulls as curves or dots, with intervals."""
        return picture(lines)


def _by_cell(lines: list[Line]) -> list[Line]:
    """Cells in the order in which they first appear, and nothing else changed."""
    cells = list(dict.fromkeys(line["cell"] for line in lines))
    assert all(tuple(line) == COLUMNS for line in lines)
    return sorted(lines, key=lambda line: cells.index(line["cell"]))


def _shifted(
    progress: Callable[[int, int], None] | None, before: int, total: int
) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)
