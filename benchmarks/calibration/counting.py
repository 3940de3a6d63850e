"""Draws that are counted in blocks and kept: a count that was stopped goes on where it was.

Every page of `make calibrate` is counted here. A cell is a dict that says what is counted; a block
is a range of its draws; a finished block is one line of a journal, with the commit of the code that
counted it and the processor seconds that it took. The page is written from what is finished, and
says what that is.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.calibration.checks import Check
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

import rdiv
from rdiv.parallel.threads import one_thread
from rdiv.studies.journal import resume_map
from rdiv.whole_files import write_whole_file

ROOT = Path(__file__).resolve().parents[2]
JOURNALS = ROOT / "benchmarks/studies/journals"
NOT_YET = "not counted yet"
UNFINISHED = "not finished"
WRONG = ("FAILS", "NOT CAUGHT", "MISSES", "MISSED")

Cell = dict[str, Any]
Block = dict[str, Any]
Function = Callable[[Cell, range], Block]
Floats = NDArray[np.float64]


# --- counting -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """What is known of a cell: the finished blocks of the draws that are wanted."""

    wanted: int
    blocks: tuple[Block, ...]

    @property
    def draws(self) -> int:
        """Draws that are finished."""
        return sum(block["draws"] for block in self.blocks)

    @property
    def complete(self) -> bool:
        """Whether all draws are."""
        return self.draws == self.wanted

    @property
    def shown(self) -> str:
        """The number of draws, as a page says it."""
        return f"{self.wanted}" if self.complete else f"{self.draws} of {self.wanted}"

    def total(self, name: str) -> int:
        """A count, summed over all blocks."""
        return sum(int(block[name]) for block in self.blocks)

    @property
    def pvalues(self) -> Floats:
        """All p-values, in no order."""
        parts = [np.repeat(block["pvalues"], block["counts"]) for block in self.blocks]
        return np.concatenate([np.empty(0), *parts])


@dataclass
class Counts:
    """Counts cells: what the journal holds is taken from there, the rest is counted and appended.

    Parameters
    ----------
    journal : path
    share : float
        Share of the full number of draws that is wanted.
    jobs : int
        Worker processes.
    seconds : float
        Begin no block after so many; what was begun is finished.
    """

    journal: Path
    share: float = 1.0
    jobs: int = 1
    seconds: float = inf
    code: str = field(default_factory=lambda: code_version())
    made: int = field(default=0, init=False)
    wanted: int = field(default=0, init=False)
    codes: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    def of(self, full: int) -> int:
        """The share of a full number of draws."""
        return max(1, round(full * self.share))

    def count(self, function: Function, cell: Cell, draws: range, size: int) -> Counted:
        """Call the function with the cell and every block of draws that is not in the journal."""
        keys = [
            {**cell, "start": start, "stop": min(start + size, draws.stop)}
            for start in range(draws.start, draws.stop, size)
        ]
        blocks = resume_map(
            partial(counted_block, function, self.code),
            keys,
            file=self.journal,
            n_jobs=self.jobs,
            seconds=self._end - time.monotonic(),
        )
        for block in blocks:
            self.codes[block["code"]] += block["draws"]
        found = Counted(len(draws), tuple(blocks))
        self.made += found.draws
        self.wanted += found.wanted
        return found

    def level(
        self,
        function: Callable[[Cell, range], Floats],
        cell: Cell,
        full: int,
        size: int,
        check: Callable[[Floats], Check],
        *,
        broken: bool = False,
    ) -> str:
        """Count p-values and check them; the draws, rates, surprise and verdict of a line.

        A cell that fails is counted once more with new draws and four times as many, and that
        result stays. A deliberately broken one must fail.
        """
        count, draws = partial(pvalue_counts, function), self.of(full)
        found = self.count(count, cell, range(draws), size)
        again = False
        if found.complete and not broken and not check(found.pvalues).passed:
            found, again = self.count(count, cell, range(draws, 5 * draws), size), True
        if not found.draws:
            return f"{found.shown} | | | | {NOT_YET}"
        checked = check(found.pvalues)
        word = _word(checked, broken=broken, again=again) if found.complete else UNFINISHED
        return f"{found.shown} | {_rates(checked)} | {word}"

    def footer(self) -> str:
        """What is counted, and with which code."""
        with_code = " and ".join(f"{code} ({n:,} draws)" for code, n in self.codes.items())
        if self.made == self.wanted and len(self.codes) == 1:
            return (
                f"All {self.made:,} draws were counted with the code of {next(iter(self.codes))}."
            )
        if self.made == self.wanted:
            return f"All {self.made:,} draws are counted, with the code of {with_code}."
        told = f", with the code of {with_code}" if with_code else ""
        return (
            f"Counted so far: {self.made:,} of {self.wanted:,} draws{told}. The same command "
            "counts on where it was stopped."
        )


def counted_block(function: Function, code: str, key: Cell) -> Block:
    """One block of draws, with their number, the code that counted them and what it cost."""
    cell = {name: value for name, value in key.items() if name not in ("start", "stop")}
    draws, begun = range(key["start"], key["stop"]), time.process_time()
    with one_thread():
        found = function(cell, draws)
    spent = time.process_time() - begun
    return {**found, "draws": len(draws), "code": code, "seconds": round(spent, 2)}


def pvalue_counts(function: Callable[[Cell, range], Floats], cell: Cell, draws: range) -> Block:
    """The distinct p-values of some draws, and how often each came."""
    values, counts = np.unique(np.round(function(cell, draws), 12), return_counts=True)
    return {"pvalues": values.tolist(), "counts": counts.tolist()}


def _word(check: Check, *, broken: bool, again: bool) -> str:
    if broken:
        return "NOT CAUGHT" if check.passed else "caught"
    if not check.passed:
        return "FAILS"
    return "holds (second run)" if again else "holds"


def _rates(check: Check) -> str:
    """Rejections at both levels and the surprise of the whole; a stopped test has one level."""
    rates = [f"{count / check.draws:.4f}" for count in check.rejections]
    if len(rates) == 1:
        return f"{rates[0]} | | "
    return f"{rates[0]} | {rates[1]} | {check.surprises[-1]:.3f}"


def rate(hits: int, draws: int, digits: int = 3) -> str:
    """A rate and its 95 % interval, two columns of a table."""
    if not draws:
        return f" | {NOT_YET}"
    low, high = binomtest(hits, draws).proportion_ci(method="wilson")
    return f"{hits / draws:.{digits}f} | {low:.{digits}f} to {high:.{digits}f}"


def alarm_rate(found: Counted, what: str, part: str, least: float) -> str:
    """The draws, rate, interval and verdict of false alarms at .05, or of changes that are found.

    Parameters
    ----------
    what : str
        The name of the count.
    part : "null", "broken", "power" or "other"
        Null cells hold when the count is at most the 99.5 % bound of a binomial count, broken ones
        are caught when it is above.
    least : float
        The rate from which on a power is enough.
    """
    hits = found.total(what)
    word = _rate_word(hits, found.draws, part, least) if found.complete else UNFINISHED
    return f"{found.shown} | {rate(hits, found.draws)} | {word}"


def _rate_word(hits: int, draws: int, part: str, least: float) -> str:
    few = hits <= int(binom.isf(0.005, draws, 0.05))
    words = {
        "null": "holds" if few else "FAILS",
        "broken": "MISSED" if few else "caught",
        "power": "holds" if hits >= least * draws else "MISSES",
        "other": "for comparison",
    }
    return words[part]


def code_version() -> str:
    """The last commit that changed the code of rdiv, and whether it was changed since."""
    try:
        told = [_git("log", "-1", "--format=commit %h of %as"), _git("status", "--porcelain")]
    except (OSError, subprocess.CalledProcessError):
        return f"rdiv {rdiv.__version__}"
    return told[0] + (" with changes" if told[1] else "")


def _git(*command: str) -> str:
    run = ["git", "-C", str(ROOT), *command, "--", "src"]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()


# --- the page -------------------------------------------------------------------------------------


def write_page(page: Callable[[Counts], Iterator[str]], about: str | None, name: str) -> None:
    """Count what the options ask for, print the page and write it.

    Parameters
    ----------
    page : callable
        From `Counts` to the lines of the page, as they are found.
    about : str
        The docstring of the script.
    name : str
        The name of its journal.
    """
    args = _asked((about or "").split("\n")[0], JOURNALS / f"{name}.jsonl")
    counts = Counts(args.journal, args.share, args.jobs, 60 * args.minutes)
    lines = []
    for line in page(counts):
        print(line, flush=True)
        lines.append(line)
    lines += ["", counts.footer()]
    print("", counts.footer(), sep="\n", flush=True)
    if args.out is not None:
        write_whole_file(args.out, ("\n".join(lines) + "\n").encode())
    wrong = [line for line in lines if any(word in line for word in WRONG)]
    if wrong:
        raise SystemExit("\n".join(("not as it should be:", *wrong)))


def _asked(about: str, journal: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, help="markdown page to write")
    parser.add_argument("--share", type=float, default=1.0, help="share of the full counts to make")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--minutes", type=float, default=inf, help="begin no block after these")
    parser.add_argument("--journal", type=Path, default=journal, help="keeps finished blocks")
    return parser.parse_args()
