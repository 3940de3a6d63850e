"""How often a monitor ever raises a false alarm, and how often its intervals ever miss.

    python benchmarks/calibration/watching.py --out docs/measured/calibration_watching.md

Needs `acs_employment_ma.npz` in RDIV_DATA. Counts that were made are kept in a journal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.studies.model_in_use import census

from rdiv.inference.betting import Wealth, bet_on_mean, bet_on_ranks, e_process
from rdiv.inference.confidence_sequences import (
    FIRST_ASYMPTOTIC,
    asymptotic_width,
    bounded_sequence,
    mean_bounds,
)
from rdiv.inference.conformal import RankedNumbers, conformal_pvalues
from rdiv.monitoring.process import BATCH_PACE, Process
from rdiv.parallel.threads import one_thread
from rdiv.studies.journal import Journal, resume_map

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]

ALPHA, LOOKS, CHUNK = 0.05, 200, 100
SIZES, REFERENCES = (1, 20, 500), (100, 5000)
STREAMS = {1: 2000, 20: 2000, 500: 500}
STRICTNESS = 1e-3
JOURNAL = Path(__file__).parents[1] / "studies" / "journals" / "calibration_watching.jsonl"

HEAD = """\
# False alarms of a monitor, ever

<!-- Written by benchmarks/calibration/watching.py; do not edit. -->

Streams in which nothing changes, {looks} batches each: the share of streams on which the alarm is
*ever* raised at alpha = .05, of 2000 streams (500 where a batch has 500 rows), with its 95 %
interval. The census losses are those of one frozen boosting model, computed once and drawn with
replacement; *no labels* watches expected losses alone (alarm at 2 / alpha), *late labels* expected
losses and losses that come five batches later (either at 2 / alpha). The check is a binomial bound:
a right cell fails it once in a thousand times. Streams call the array functions
(`conformal_pvalues`, `e_process`); a test sends 50 through `rdiv.Monitor` and gets the same bits.
Command: `python benchmarks/calibration/watching.py --out docs/measured/calibration_watching.md`."""

OTHER_WAYS = """\
Other ways to watch, batches of 20 rows (*compact*: at most about 64 intervals in place of all
numbers, made anew after every batch), and variants that are broken on purpose and that the check
must catch:"""

COVERAGE = """\
## Confidence sequences of the gap

Streams of 200 batches of 20 rows, true gap 0: the share in which the 95 % interval *ever* misses
it, at any look (asymptotic ones from row 100 on), of 1000 streams; beside it that of an interval
for one look. Only those of 0/1 losses are promised at every size."""


@lru_cache(maxsize=1)
def census_losses() -> tuple[Floats, Floats]:
    """Losses of one frozen model on census rows that it was not trained on, and expected ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows = census().sample(fraction=1.0, shuffle=True, seed=85)
    x, y = rows.drop("employed").to_numpy(), rows["employed"].to_numpy()
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(x[:5000], y[:5000])
    right = model.predict_proba(x[5000:])[np.arange(len(x) - 5000), y[5000:]]
    losses = -np.log(np.clip(right, 1e-12, 1))
    g = _regressor().fit(x[5000:10_000], losses[:5000])
    return losses[5000:], g.predict(x[10_000:])


def _regressor() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=60, learning_rate=0.05, random_state=0)


def drawn(kind: str, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Numbers of n rows that are alike, and a second kind of number of the same rows."""
    if kind.startswith("census"):
        losses, expected = census_losses()
        at = rng.integers(len(losses), size=n)
        return losses[at], expected[at]
    makers: dict[str, Callable[[], Floats]] = {
        "exponential": lambda: rng.exponential(size=n),
        "Student t3": lambda: rng.standard_t(3, size=n),
        "0/1": lambda: (rng.random(n) < 0.1).astype(float),
        "ties": lambda: rng.integers(5, size=n).astype(float),
    }
    found = makers[kind]()
    return found, found


def evalues(reference: Floats, stream: Floats, rng: np.random.Generator) -> Floats:
    """E-values of a stream, row by row."""
    return e_process(conformal_pvalues(reference, stream, 1 - rng.random(len(stream))),
                     len(reference))  # fmt: skip


# --- one stream: was there ever an alarm? ---------------------------------------------------------


def plain(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """Losses with their labels."""
    del size
    return bool((evalues(reference[0], stream[0], rng) >= 1 / ALPHA).any())


def unlabelled(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """Expected losses alone."""
    del size
    return bool((evalues(reference[1], stream[1], rng) >= 2 / ALPHA).any())


def late(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """Expected losses at once, losses five batches later."""
    known = stream[0][: -5 * size] if len(stream[0]) > 5 * size else stream[0][:0]
    return unlabelled(reference, stream, size, rng) or bool(
        (evalues(reference[0], known, rng) >= 2 / ALPHA).any()
    )


def compact(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """Losses ranked among intervals, made anew after every batch."""
    known, found = RankedNumbers(np.sort(reference[0])).compacted(64), []
    for part in stream[0].reshape(-1, size):
        found.append(known.pvalues(part, 1 - rng.random(size)))
        known = known.joined(part).compacted(64)
    return bool((e_process(np.concatenate(found), len(reference[0])) >= 1 / ALPHA).any())


def boundary(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """A smallest gap that the stream has exactly, which is no reason for an alarm."""
    del size
    if set(np.unique(stream[0])) <= {0.0, 1.0}:
        losses = np.maximum(
            stream[0], (rng.random(len(stream[0])) < 1 / 9).astype(float)
        )  # .1 to .2
        process = Process.of(reference[0], ALPHA, 0.1)
    else:
        losses, process = 1.2 * stream[0], Process.of(reference[0], ALPHA, 0.2)
    assert process.limit is not None
    wealth, _ = process.wealth.after(bet_on_mean(losses, process.limit))
    return wealth.largest >= 1 / process.budget


def by_batch(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """Days with effects of their own, watched by batch means."""
    known, new = (_with_days(part[0], size, rng).mean(axis=1) for part in (reference, stream))
    p = conformal_pvalues(known, new, 1 - rng.random(len(new)))
    wealth, _ = Wealth.at_start(len(known), pace=BATCH_PACE).after(bet_on_ranks(p))
    return wealth.largest >= 1 / ALPHA


def days_as_rows(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """Broken: the same days, watched by rows, which are not exchangeable then."""
    known, new = (_with_days(part[0], size, rng).ravel() for part in (reference, stream))
    return bool((evalues(known, new, rng) >= 1 / ALPHA).any())


def _with_days(losses: Floats, size: int, rng: np.random.Generator) -> Floats:
    days = losses.reshape(-1, size)
    return days * np.exp(0.3 * rng.normal(size=(len(days), 1)))


def fixed(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """Broken: a reference that does not grow."""
    del size
    ordered = np.sort(reference[0])
    high = np.searchsorted(ordered, stream[0], "right")
    low = np.searchsorted(ordered, stream[0], "left")
    draws = 1 - rng.random(len(stream[0]))
    p = (len(ordered) - high + draws * (1 + high - low)) / (len(ordered) + 1)
    return bool((e_process(p, 1e12) >= 1 / ALPHA).any())


def daily(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """Broken: Welch's p-value of every day at .05."""
    from scipy.stats import ttest_ind

    del rng
    days = stream[0].reshape(-1, size)
    repeated = np.broadcast_to(reference[0], (len(days), len(reference[0])))
    return bool((ttest_ind(repeated, days, axis=1, equal_var=False).pvalue <= ALPHA).any())


def replaced(reference: Pair, stream: Pair, size: int, rng: Any) -> bool:
    """Broken: expected losses ranked among losses until the labels come and replace them."""
    del size
    return bool((evalues(reference[0], stream[1], rng) >= 1 / ALPHA).any())


WAYS: dict[str, Callable[..., bool]] = {
    "plain": plain, "unlabelled": unlabelled, "late": late, "compact": compact,
    "boundary": boundary, "by batch": by_batch, "days as rows": days_as_rows,
    "fixed": fixed, "daily": daily, "replaced": replaced,
}  # fmt: skip
KINDS = ("exponential", "Student t3", "0/1", "ties", "census")


def cells() -> Iterator[dict[str, Any]]:
    """What is counted: kind of number, way to watch, reference, batch size."""
    for size in SIZES:
        for reference in REFERENCES:
            for kind in KINDS:
                yield {"kind": kind, "way": "plain", "reference": reference, "size": size}
            for way in ("unlabelled", "late"):
                yield {"kind": "census", "way": way, "reference": reference, "size": size}
    for kind in ("exponential", "ties"):
        yield {"kind": kind, "way": "compact", "reference": 100, "size": 20}
    for kind in ("exponential", "0/1"):
        for reference in (200, 5000):
            yield {"kind": kind, "way": "boundary", "reference": reference, "size": 20}
    for way in ("by batch", "days as rows"):
        yield {"kind": "exponential", "way": way, "reference": 600, "size": 20}
    for way in ("fixed", "daily", "replaced"):
        yield {"kind": "census", "way": way, "reference": 5000 if way == "replaced" else 100,
               "size": 20}  # fmt: skip


def counted(key: dict[str, Any]) -> dict[str, Any]:
    """Alarms in one chunk of streams."""
    with one_thread():
        rng = np.random.default_rng([86, key["chunk"], key["size"], key["reference"],
                                     sum(map(ord, key["kind"] + key["way"]))])  # fmt: skip
        alarms = 0
        for _ in range(CHUNK):
            reference = drawn(key["kind"], key["reference"], rng)
            stream = drawn(key["kind"], LOOKS * key["size"], rng)
            alarms += WAYS[key["way"]](reference, stream, key["size"], rng)
        return {"alarms": int(alarms), "streams": CHUNK}


# --- confidence sequences ------------------------------------------------------------------------


def covered(key: dict[str, Any]) -> dict[str, Any]:
    """In how many streams of a chunk the interval of the gap ever misses 0."""
    rng = np.random.default_rng([87, key["chunk"], key["size"], key["reference"],
                                 sum(map(ord, key["kind"]))])  # fmt: skip
    looks = key["size"] * np.arange(1, LOOKS + 1)
    bounded, missed, once = key["kind"] == "0/1", 0, 0
    for _ in range(CHUNK):
        reference, _ = drawn(key["kind"], key["reference"], rng)
        stream, _ = drawn(key["kind"], LOOKS * key["size"], rng)
        own = mean_bounds(reference, 0.2 * ALPHA, bounded=bounded)
        totals = np.cumsum(stream)[looks - 1]
        means = totals / looks
        if bounded:
            low, high = bounded_sequence(totals, looks.astype(float), 0.8 * ALPHA)
            from_row = looks >= 1
        else:
            deviation = np.array([stream[:n].std() for n in looks])
            width = deviation * asymptotic_width(looks, 0.8 * ALPHA, 1000.0)
            low, high, from_row = means - width, means + width, looks >= FIRST_ASYMPTOTIC
        missed += bool(((low - own.high > 0) | (high - own.low < 0))[from_row].any())
        once += bool((np.abs(means - reference.mean()) > 1.96 * np.sqrt(
            stream.var() / looks + reference.var() / len(reference)))[from_row].any())  # fmt: skip
    return {"missed": int(missed), "once": int(once), "streams": CHUNK}


def coverage_cells() -> Iterator[dict[str, Any]]:
    """What is counted for the intervals."""
    for kind in ("0/1", "exponential", "Student t3", "census"):
        for reference in (200, 5000):
            yield {"kind": kind, "way": "coverage", "reference": reference, "size": 20}


def main() -> None:
    """Count what is missing, long streams last, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--known", action="store_true", help="count nothing more")
    given = parser.parse_args()
    wanted = [*cells(), *coverage_cells()]
    for cell in sorted(
        wanted, key=lambda cell: (cell["size"] == SIZES[-1], cell["way"] == "compact")
    ):
        total = 1000 if cell["way"] == "coverage" else STREAMS[cell["size"]]
        keys = [{**cell, "chunk": chunk} for chunk in range(total // CHUNK)]
        function = covered if cell["way"] == "coverage" else counted
        if not given.known:
            rows = resume_map(function, keys, file=JOURNAL, n_jobs=given.jobs)
            print(cell, _sums(rows), flush=True)
    if given.out is not None:
        with Journal(JOURNAL) as journal:
            known = [row["key"] | row["result"] for row in journal.rows]
        names = ("kind", "way", "reference", "size")
        found = {}
        for cell in wanted:
            own = [row for row in known if all(row[name] == cell[name] for name in names)]
            if own:
                results = [
                    {k: v for k, v in row.items() if k not in (*names, "chunk")} for row in own
                ]
                found[tuple(cell.values())] = _sums(results)
        given.out.write_text(page(found), encoding="utf-8")


def _sums(rows: list[dict[str, int]]) -> dict[str, int]:
    return {name: sum(row[name] for row in rows) for name in rows[0]}


Found = dict[tuple[Any, ...], dict[str, int]]
NAMES = {"unlabelled": "no labels", "late": "late labels"}
OTHERS = {
    "compact": "compact, {kind}",
    "boundary": "smallest gap, which the stream has exactly, {kind}",
    "by batch": "days with effects of their own, by batch means (30 batches of reference)",
    "days as rows": "broken: the same days by rows",
    "fixed": "broken: a reference that does not grow (census)",
    "daily": "broken: a p-value a day at .05 (census)",
    "replaced": "broken: expected losses among losses (census)",
}


def page(found: Found) -> str:
    """All counts as text."""
    parts = (*_alarms(found), *_others(found), *_missed(found))
    return "\n".join([HEAD.format(looks=LOOKS), *parts, ""])


def _alarms(found: Found) -> list[str]:
    sizes = " | ".join(f"{size} row{'s' * (size > 1)} a batch" for size in SIZES)
    rows: dict[tuple[str, int], list[str]] = {}
    for (kind, way, reference, size), counts in found.items():
        if way in ("plain", *NAMES):
            few = f" ({counts['streams']} streams)" if counts["streams"] < STREAMS[size] else ""
            own = rows.setdefault(
                (str(NAMES.get(way, kind)), reference), ["not counted"] * len(SIZES)
            )
            own[SIZES.index(size)] = _checked(**counts) + few
    lines = [f"| {name} | {at} | {' | '.join(shares)} |" for (name, at), shares in rows.items()]
    return ["", f"| numbers | reference | {sizes} |", "|---|---|" + "---|" * len(SIZES), *lines]


def _others(found: Found) -> list[str]:
    lines = ["", OTHER_WAYS, "", "| variant | reference | false alarms ever | check |",
             "|---|---|---|---|"]  # fmt: skip
    for (kind, way, reference, _), counts in found.items():
        if way in OTHERS:
            said = "caught" if _too_many(**counts) else "holds"
            share = _share(counts["alarms"], counts["streams"])
            lines.append(f"| {OTHERS[way].format(kind=kind)} | {reference} | {share} | {said} |")
    return lines


def _missed(found: Found) -> list[str]:
    lines = ["", COVERAGE, "", "| losses | reference | ever misses | an interval for one look |",
             "|---|---|---|---|"]  # fmt: skip
    for (kind, way, reference, _), counts in found.items():
        if way == "coverage":
            label = "finite-sample" if kind == "0/1" else "asymptotic"
            shares = [_share(counts[name], counts["streams"]) for name in ("missed", "once")]
            lines.append(f"| {kind} ({label}) | {reference} | {' | '.join(shares)} |")
    return lines


def _too_many(alarms: int, streams: int) -> bool:
    return bool(alarms > binom.isf(STRICTNESS, streams, ALPHA))


def _checked(alarms: int, streams: int) -> str:
    failed = " **too many**" if _too_many(alarms, streams) else ""
    return f"{_share(alarms, streams)}{failed}"


def _share(count: int, n: int) -> str:
    low, high = binomtest(count, n).proportion_ci()
    return f"{count / n:.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    main()
