"""Tables of rejection rates: from rows to cells, Markdown and CSV."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import numpy as np

from rdiv.studies.study import Study

__all__ = ["COLUMNS", "Table", "as_csv", "as_markdown", "rate_table"]

COLUMNS = (
    "source", "discrepancy", "model", "n_p", "n_q", "null", "alpha", "trials", "rejections",
    "rate", "low", "high", "se", "seconds", "protocol", "note",
)  # fmt: skip

Table = dict[str, list[Any]]


def rate_table(rows: list[dict[str, Any]], study: Study) -> Table:
    """One line for each cell and level, in the order in which the rows come."""
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        cell = (row["source"], row["test"], row["n"], row["null"])
        cells.setdefault(cell, []).append(row)
    notes = _notes(study)
    table: Table = {name: [] for name in COLUMNS}
    for alpha in study.alphas:
        for (source, _, n, _), members in cells.items():
            line = _line(members, alpha) | {"note": notes.get((source, n), "")}
            for name in COLUMNS:
                table[name].append(line[name])
    return table


def _line(members: list[dict[str, Any]], alpha: float) -> dict[str, Any]:
    from scipy.stats import binomtest

    rejected = np.array([row["pvalue"] <= alpha for row in members])
    interval = binomtest(int(rejected.sum()), len(rejected)).proportion_ci(method="wilson")
    return {
        **{name: members[0][name] for name in ("source", "discrepancy", "model", "n_p", "n_q")},
        "null": members[0]["null"],
        "alpha": alpha,
        "trials": len(rejected),
        "rejections": int(rejected.sum()),
        "rate": float(rejected.mean()),
        "low": float(interval.low),
        "high": float(interval.high),
        "se": _standard_error(rejected, np.array([row["repeat"] for row in members])),
        "seconds": float(np.mean([row["seconds"] for row in members])),
        "protocol": members[0]["protocol"],
    }


def _standard_error(rejected: Any, repeat: Any) -> float:
    """Of the mean over repeats, as the paper prints it; binomial when there is one repeat."""
    rates = [rejected[repeat == which].mean() for which in np.unique(repeat)]
    if len(rates) > 1:
        return float(np.std(rates, ddof=1) / len(rates) ** 0.5)
    rate = rejected.mean()
    return float((rate * (1 - rate) / len(rejected)) ** 0.5)


def _notes(study: Study) -> dict[tuple[str, int], str]:
    from rdiv.names import spelled
    from rdiv.sources import BY_NAME
    from rdiv.sources.protocol import caveat_of

    notes = {}
    for source in study.sources:
        for n in study.sizes:
            caveat = caveat_of(source, n)
            if caveat:
                notes[spelled(source, BY_NAME), n] = caveat
    return notes


def as_csv(table: Table) -> str:
    """The table as CSV text.

    Examples
    --------
    >>> print(as_csv({"a": [1, 2], "b": ["x", None]}))
    a,b
    1,x
    2,
    <BLANKLINE>
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue()


def as_markdown(table: Table) -> str:
    """Power and type-I error side by side, one line per test, size and level; notes below."""
    lines = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    fields = ("source", "discrepancy", "model", "n_p", "n_q", "protocol", "alpha")
    cells: dict[tuple[Any, ...], dict[bool, dict[str, Any]]] = {}
    for line in lines:
        cells.setdefault(tuple(line[name] for name in fields), {})[line["null"]] = line
    out = [
        "| source | test | model | n_p + n_q | protocol | alpha | power | type-I | s / test |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (source, test, model, n_p, n_q, protocol, alpha), sides in cells.items():
        seconds = np.mean([side["seconds"] for side in sides.values()])
        rates = [_rate(sides[null]) if null in sides else "" for null in (False, True)]
        parts = (source, test, model or "", f"{n_p} + {n_q}", protocol, f"{alpha:g}", *rates)
        texts = (str(part).replace("|", "\\|") for part in parts)
        out.append(f"| {' | '.join(texts)} | {seconds:.3g} |")
    notes = dict.fromkeys(
        f"{line['source']}, n = {line['n_p']}: {line['note']}." for line in lines if line["note"]
    )
    return "\n".join([*out, *(["", *notes] if notes else [])]) + "\n"


def _rate(line: dict[str, Any]) -> str:
    return f"{line['rate']:.3f} [{line['low']:.2f}, {line['high']:.2f}] of {line['trials']}"
