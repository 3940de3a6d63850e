"""From a power study to lines: the rate of a cell, its null and the paper's number in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdiv.reproduction.protocol import Line
from rdiv.reproduction.reported import Printed
from rdiv.sources import BY_NAME as SOURCES
from rdiv.spelling import spelled
from rdiv.studies.power import PowerStudy

if TYPE_CHECKING:
    from rdiv.reproduction.power_table import Part

__all__ = ["COLUMNS", "RATES", "lines_of", "rate_and_interval"]

RATES = ("trials", "rejections", "rate", "low", "high")
COLUMNS = (
    "table", "scale", "seed", "cell", "method", "test", "model", "protocol", "n_p", "n_q",
    "resamples", "alpha", "paper", "paper_se", *RATES, "se", *(f"null_{name}" for name in RATES),
    "seconds", "note",
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
        label = part.cell.format(
            n=power["n_p"], source=sources[power["source"]], alpha=f"{power['alpha']:g}"
        )
        method = methods[power["discrepancy"], power["model"]]
        reported = paper.get(method, label)
        line = {
            **head,
            "cell": label,
            "method": method,
            "test": power["discrepancy"],
            **{name: power[name] for name in ("model", "protocol", "n_p", "n_q", "alpha")},
            "resamples": part.n_resamples,
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
    for method, contender in zip(part.tests, found.study.contenders, strict=True):
        names[contender.texts(found.study.sources[0])] = method
    return names


def _labels(part: Part) -> dict[str, str]:
    return {spelled(source, SOURCES): label for label, source in part.sources.items()}


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value
