"""Three kinds of work behind the paper's tables: what to run, one draw of it, and its lines.

A work has keys (everything that decides a draw), `begin`, which reads the data and returns the
function from a key to a result, and `lines`, which makes the lines of the results page from as many
results as there are. Results are small: a draw of a power study keeps the p-values of all its tests
and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

from rdiv.discrepancies.protocol import how_it_learns, model_of
from rdiv.models import BY_NAME as MODELS
from rdiv.names import spelled
from rdiv.reproduction import BY_NAME, Line, Run
from rdiv.reproduction.parts import Part
from rdiv.reproduction.power_table import PowerTable, lines_of
from rdiv.reproduction.running import narrowed
from rdiv.reproduction.tables.noisy_labels import SIZES, NoiseTable
from rdiv.reproduction.tables.overfitting import OverfittingTable, one_draw
from rdiv.sources.protocol import in_memory
from rdiv.studies.power import PowerStudy
from rdiv.studies.study import Key as TrialKey
from rdiv.studies.study import Study
from rdiv.studies.trial import run_draw

Key = dict[str, Any]
Result = dict[str, Any]
Found = list[tuple[Key, Result]]


class Work(Protocol):
    """What the driver runs."""

    @property
    def keys(self) -> list[Key]:
        """All draws, in an order that fills all cells evenly."""
        ...

    @property
    def guess(self) -> float:
        """About how many seconds a draw takes, until some were made."""
        ...

    def about(self) -> dict[str, Any]:
        """What the results depend on besides their keys; a journal of anything else is refused."""
        ...

    def begin(self) -> Callable[[Key], Result]:
        """Read the data; a function that can be sent to worker processes."""
        ...

    def cell(self, key: Key) -> str:
        """Draws of one cell take about the same time."""
        ...

    def trial(self, key: Key) -> int:
        """The number of a draw in its cell."""
        ...

    def lines(self, found: Found) -> list[Line]:
        """The lines of the page, from what was found so far; none where nothing is whole."""
        ...


def work_of(
    table: str, part: str, run: Run, sizes: tuple[int, ...], trials: int | None, repeats: int | None
) -> Work:
    """The work of a part of a table; no part means all pairs of the table of overfitting."""
    chosen = narrowed(BY_NAME[table], run.scale, [part] if part else [], sizes)
    if isinstance(chosen, PowerTable):
        (only,) = chosen.scales[run.scale].parts
        only = replace(only, trials=trials or only.trials, repeats=repeats or only.repeats)
        return PowerWork(chosen, only, run)
    if isinstance(chosen, OverfittingTable):
        return OverfittingWork(chosen, run, trials)
    assert isinstance(chosen, NoiseTable)
    return NoiseWork(chosen, part, run, trials)


@dataclass(frozen=True, eq=False)
class PowerWork:
    """One part of a table of powers; a draw is tested by all tests of the part."""

    table: PowerTable
    part: Part
    run: Run

    @cached_property
    def study(self) -> Study:
        return self.part.study(self.run)

    @cached_property
    def keys(self) -> list[Key]:
        labels = list(self.part.sources)
        return [
            {"source": labels[key.source], "n": key.n, "null": key.null, "repeat": key.repeat,
             "trial": key.trial}
            for key in self.study.all_keys() if key.test == 0
        ]  # fmt: skip

    @property
    def guess(self) -> float:
        return self.part.seconds

    def about(self) -> dict[str, Any]:
        told = self.study.to_dict()
        names = ("tests", "data", "n_resamples", "train", "seed")
        return {"part": self.part.name, **{name: told[name] for name in names}}

    def begin(self) -> Callable[[Key], Result]:
        loaded = tuple(in_memory(source) for source in self.study.sources)
        return partial(_tested, replace(self.study, sources=loaded), list(self.part.sources))

    def cell(self, key: Key) -> str:
        return f"{key['source']}, {key['n']}, {key['null']}"  # a refit test may stop early

    def trial(self, key: Key) -> int:
        return int(key["repeat"] * self.part.trials + key["trial"])

    def lines(self, found: Found) -> list[Line]:
        kept, repeats = _balanced(found, self.part)
        rows = [row for key, result in kept for row in self._rows(key, result)]
        part = replace(self.part, repeats=repeats)
        head = {"table": self.table.name, "scale": self.run.scale, "seed": self.run.seed}
        return lines_of(head, part, PowerStudy(self.study, rows), self.table.paper) if rows else []

    def _rows(self, key: Key, result: Result) -> Iterator[dict[str, Any]]:
        """The rows that `rdiv.power_study` would have written, but for statistics."""
        source = list(self.part.sources).index(key["source"])
        for number, pvalue in enumerate(result["pvalues"]):
            test = self.study.tests[number]
            model = model_of(test.discrepancy)
            place = _place(key, source, number)
            yield {
                **self.study.identity(place),
                "discrepancy": test.names(self.study.sources[source])[0],
                "model": None if model is None else spelled(model, MODELS),
                "n_p": key["n"],
                "n_q": key["n"],
                "protocol": self.study.train if how_it_learns(test.discrepancy) else "whole",
                "pvalue": pvalue,
                "seconds": result["seconds"] / len(result["pvalues"]),
            }


def _place(key: Key, source: int, test: int) -> TrialKey:
    return TrialKey(source, test, key["n"], key["null"], key["repeat"], key["trial"])


def _tested(study: Study, labels: Sequence[str], key: Key) -> Result:
    """P-values of all tests on one draw; q must have as many rows as p."""
    source = labels.index(key["source"])
    rows = list(run_draw(study, [_place(key, source, i) for i in range(len(study.tests))]))
    assert all(row["n_p"] == row["n_q"] == key["n"] for row in rows)
    found = {row["test"]: row["pvalue"] for row in rows}
    return {"pvalues": [found[study.labels[source, i][1]] for i in range(len(study.tests))]}


def _balanced(found: Found, part: Part) -> tuple[Found, int]:
    """Draws that have their null beside them; of several repeats those that are whole everywhere.

    Before the first repeat is whole, what there is of it counts.
    """
    there = {_draw(key) for key, _ in found}
    both = [x for x in found if {(*_draw(x[0])[:-1], null) for null in (True, False)} <= there]
    full = part.trials * len(part.sizes) * len(part.sources) * 2
    whole = 0
    while whole < part.repeats and sum(key["repeat"] == whole for key, _ in both) == full:
        whole += 1
    repeats = max(whole, 1)
    return [x for x in both if x[0]["repeat"] < repeats], repeats


def _draw(key: Key) -> tuple[Any, ...]:
    return tuple(key[name] for name in ("source", "n", "repeat", "trial", "null"))


def _whole(found: Found, keys: Sequence[Key], number: str) -> Found:
    """Results of the draws or trials of which all keys are there."""
    wanted, there = ([key[number] for key in some] for some in (keys, [key for key, _ in found]))
    return [x for x in found if there.count(x[0][number]) == wanted.count(x[0][number])]


@dataclass(frozen=True, eq=False)
class OverfittingWork:
    """The table of overfitting; a draw is one pair of samples and the networks fitted to it."""

    table: OverfittingTable
    run: Run
    draws: int | None = None

    @cached_property
    def keys(self) -> list[Key]:
        keys = self.table.keys(self.run)
        return [key for key in keys if self.draws is None or key["draw"] < self.draws]

    @property
    def guess(self) -> float:
        return self.table.plan(self.run.scale).lines[0].seconds

    def about(self) -> dict[str, Any]:
        return {"pairs": list(self.table.pairs), "scale": self.run.scale}

    def begin(self) -> Callable[[Key], Result]:
        return partial(one_draw, data_dir=self.run.data_dir)

    def cell(self, key: Key) -> str:
        return str(key["pair"])

    def trial(self, key: Key) -> int:
        return int(key["draw"])

    def lines(self, found: Found) -> list[Line]:
        whole = _whole(found, self.keys, "draw")
        return self.table.lines(self.run, whole) if len(whole) > len(self.table.pairs) else []


@dataclass(frozen=True, eq=False)
class NoiseWork:
    """Retraining on noisy labels; a draw is one share and objective of a trial."""

    table: NoiseTable
    part: str
    run: Run
    trials: int | None = None

    @cached_property
    def keys(self) -> list[Key]:
        size = SIZES[self.run.scale][self.part]
        trials = self.trials or size.trials
        return [
            {"trial": t, "share": s, "objective": o} for t in range(trials) for s, o in size.cells
        ]

    @property
    def guess(self) -> float:
        size = SIZES[self.run.scale][self.part]
        return size.seconds * (1 + 1 / len(size.cells))  # a share of the training before

    def about(self) -> dict[str, Any]:
        size = SIZES[self.run.scale][self.part]
        model = f"{size.model!r} {size.model.training!r}"
        counts = {"pixels": size.pixels, "n_train": size.n_train, "n_test": size.n_test}
        return {"kind": self.table.kind, "model": model, **counts, "seed": self.run.seed}

    def begin(self) -> Callable[[Key], Result]:
        return self.table.work(self.run, self.part)[0]

    def cell(self, key: Key) -> str:
        return "one training, and one before"

    def trial(self, key: Key) -> int:
        return int(key["trial"])

    def lines(self, found: Found) -> list[Line]:
        whole = [result for _, result in _whole(found, self.keys, "trial")]
        return self.table.lines(self.run, self.part, whole) if whole else []
