"""The paper's tables at its own sizes, in pieces: jobs in order, each with a journal of its own.

    python benchmarks/studies/paper_sizes.py --plan
    python benchmarks/studies/paper_sizes.py --pilot
    python benchmarks/studies/paper_sizes.py --jobs 2 --minutes 55
    python benchmarks/studies/paper_sizes.py --only hdgm --trials 40 --minutes 30
    python benchmarks/studies/paper_sizes.py --page

Jobs run in the order of the list, the most decisive first, until the time is over; the same command
goes on where it stopped, also after a kill. Every finished draw is a line of a journal with the
processor seconds it took, from which ``--plan`` says what is left; ``--pilot`` makes the first draw
of every cell and of its null. A draw is the one that ``rdiv reproduce TABLE --scale paper --part
PART --sizes ...`` makes with the same seed. ``--page`` writes what is there, finished or not, into
docs/measured/results, powers from 20 trials on. Needs the data files in the folder that RDIV_DATA
names.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.studies.paper_work import Found, Key, Work, work_of

from rdiv.errors import InputError
from rdiv.parallel.workers import in_processes, useful_jobs
from rdiv.reproduction import Line, Run
from rdiv.reproduction.power_page import LEAST_TRIALS
from rdiv.reproduction.protocol import Scale
from rdiv.studies.journal import Journal

FOLDER = Path(__file__).with_name("journals") / "paper_sizes"
TELL = 60.0  # seconds between two lines about the progress
LONG = 300.0  # seconds of a draw that no pilot makes


@dataclass(frozen=True)
class Job:
    """A part of a table of the paper at some sizes; its journal has its name.

    Without `sizes`, `trials` or `repeats`, those of the part count.
    """

    name: str
    table: str
    part: str = ""
    sizes: tuple[int, ...] = ()
    trials: int | None = None
    repeats: int | None = None
    scale: Scale = "paper"
    seed: int = 0

    def work(self) -> Work:
        """What it runs."""
        run = Run(self.scale, self.seed)
        return work_of(self.table, self.part, run, self.sizes, self.trials, self.repeats)


DIMENSION, SIZE = "hdgm-dimension", "hdgm-size"
BETWEEN = (500, 1000, 1500, 2500)  # 2000 rows a side are among the dimensions
JOBS = (
    # 1. What the preparation of the digits does to powers. What it does to risks has 20 draws at
    # laptop scale, which are the first 20 of the last job.
    Job("digits-script", "mnist", "script", (100,)),
    # 2. HDGM: N = 4000 as 2000 rows a side, as 4000, and the other sizes in ten dimensions.
    Job("hdgm-kde-2000", DIMENSION, "one-fit", (2000,)),
    Job("hdgm-gmm-2000", DIMENSION, "gmm-one-fit", (2000,)),
    Job("hdgm-gmm-refits-2000", DIMENSION, "gmm-refits", (2000,)),
    Job("hdgm-size-kde", SIZE, "one-fit", BETWEEN),
    Job("hdgm-size-gmm", SIZE, "gmm-one-fit", BETWEEN),
    Job("hdgm-size-gmm-refits", SIZE, "gmm-refits", BETWEEN),
    Job("hdgm-kde-4000", DIMENSION, "one-fit", (4000,)),
    Job("hdgm-gmm-4000", DIMENSION, "gmm-one-fit", (4000,)),
    Job("hdgm-gmm-refits-4000", DIMENSION, "gmm-refits", (4000,)),
    # 3. Noisy labels where the network fits them all.
    Job("noisy-symmetric", "noisy-symmetric", "memorises"),
    Job("noisy-pair", "noisy-pair", "memorises"),
    # 4. HIGGS with N / 2 rows a side, then with N; Blob with ten repeats.
    Job("higgs-kde", "higgs", "one-fit", (500, 1000, 1500, 2500, 4000, 5000)),
    Job("higgs-scott", "higgs", "one-fit-scott", (500, 1000, 1500, 2500, 4000, 5000)),
    Job("blob-kde", "blob", "repeats"),
    Job("blob-gmm", "blob", "gmm-repeats"),
    Job("blob-one-fit", "blob", "one-fit"),
    Job("blob-gmm-refits", "blob", "gmm-refits"),
    Job("higgs-kde-double", "higgs", "one-fit", (2000, 3000, 8000, 10000)),
    # 5. Images with labels, and digits at the paper's pixels. H-Div trains for every permutation.
    Job("colored-mnist", "colored-mnist", "one-fit", (500, 1000)),
    Job("mnist-32", "mnist", "one-fit", (100, 200, 300, 400, 500)),
    Job("pacs", "pacs", "narrow-one-fit", (250,)),
    Job("pacs-39", "pacs", "narrow-one-fit-39", (250,), trials=20),
    Job("pacs-refits", "pacs", "narrow-refits", (250,), trials=20),
    Job("overfitting", "overfitting"),
)


@dataclass
class Pace:
    """Processor seconds of a draw, by cell, from all draws so far."""

    guess: float
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def expected(self, cell: str) -> float:
        """Of a cell without draws: as the other cells of the job, or what the part says."""
        known = self.seconds.get(cell) or [x for some in self.seconds.values() for x in some]
        return sum(known) / len(known) if known else self.guess


def main(arguments: list[str] | None = None, jobs: Sequence[Job] = JOBS) -> int:
    """Plan, run or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--plan", action="store_true", help="say what is done and left; run nothing"
    )
    parser.add_argument(
        "--pilot", action="store_true", help="the first draw of every cell and null"
    )
    parser.add_argument("--page", action="store_true", help="write the results page; run nothing")
    parser.add_argument("--minutes", type=float, help="begin no draw that would end after them")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a job, or all that begin so"
    )
    parser.add_argument("--trials", type=int, help="at most so many trials a cell, for now")
    parser.add_argument(
        "--least", type=int, default=LEAST_TRIALS, help="trials of a row of powers on the page"
    )
    parser.add_argument("--rows", type=Path, default=FOLDER, help="folder of the journals")
    args = parser.parse_args(arguments)
    try:
        chosen = named(jobs, args.only)
        if args.plan:
            print("\n".join(plan(chosen, args.rows)))
        elif args.page:
            write_page(lines_of(chosen, args.rows, args.least))
        else:
            run(chosen, args)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on here.", file=sys.stderr)
        return 130
    return 0


def named(jobs: Sequence[Job], names: Sequence[str]) -> list[Job]:
    """Jobs by their names or by how some of these begin; without any, all."""
    known = [job.name for job in jobs]
    chosen: set[str] = set()
    for name in names:
        found = [name] if name in known else [job for job in known if job.startswith(name)]
        if not found:
            raise InputError(f"no job begins with {name!r}; there are {', '.join(known)}.")
        chosen.update(found)
    return [job for job in jobs if not names or job.name in chosen]


def run(jobs: Sequence[Job], args: argparse.Namespace) -> None:
    """Go through the jobs until the time is over."""
    end = None if args.minutes is None else time.monotonic() + 60 * args.minutes
    for job in jobs:
        if end is not None and time.monotonic() >= end:
            print(f"the time is over before {job.name}", flush=True)
            return
        run_job(job, args, end)


def run_job(job: Job, args: argparse.Namespace, end: float | None) -> None:
    """Make the draws that the journal lacks, as far as the time goes."""
    work = job.work()
    with Journal(args.rows / f"{job.name}.jsonl", check=_check, task="draw") as journal:
        for notice in journal.notices:
            print(notice, file=sys.stderr)
        _belongs(journal, job, work)
        found = _found(journal.rows)
        missing = _missing(work, found, args.trials, pilot=args.pilot)
        if not missing:
            return
        pace, asked = _pace(work, found), len(missing)
        slack = 2 if useful_jobs(args.jobs, asked) > 1 else 1  # a worker has one more in its queue

        def fits(key: Key) -> bool:
            return end is None or time.monotonic() + slack * pace.expected(work.cell(key)) < end

        told, done = time.monotonic(), 0
        with closing(performed(work.begin(), missing, args.jobs, fits)) as rows:
            for row in rows:
                journal.append(row)
                pace.seconds[work.cell(row["key"])].append(row["result"]["seconds"])
                done += 1
                if time.monotonic() > told + TELL:
                    told = time.monotonic()
                    print(f"{job.name}: {done} of {asked} draws", flush=True)
    print(f"{job.name}: {done} of {asked} draws made", flush=True)


def performed(
    call: Callable[[Key], dict[str, Any]],
    keys: Sequence[Key],
    n_jobs: int,
    fits: Callable[[Key], bool],
) -> Generator[dict[str, Any], None, None]:
    """A row for every key that still fits, as they finish."""
    jobs, tasks = useful_jobs(n_jobs, len(keys)), takewhile(fits, keys)
    if jobs == 1:
        yield from (timed(call, key) for key in tasks)
    else:
        yield from in_processes(timed, call, tasks, jobs, kept=True)


def timed(call: Callable[[Key], dict[str, Any]], key: Key) -> dict[str, Any]:
    """The row of a journal: a key, what was found and the processor seconds it took."""
    start = time.process_time()
    result = call(key)
    return {"key": key, "result": {**result, "seconds": round(time.process_time() - start, 3)}}


def _missing(work: Work, found: Found, trials: int | None, *, pilot: bool) -> list[Key]:
    there = {_name(key) for key, _ in found}
    missing = [key for key in work.keys if _name(key) not in there]
    if pilot:
        return [key for key in missing if work.trial(key) == 0] if work.guess < LONG else []
    return [key for key in missing if trials is None or work.trial(key) < trials]


def _name(key: Key) -> tuple[Any, ...]:
    return tuple(sorted(key.items()))


def _found(rows: Sequence[dict[str, Any]]) -> Found:
    return [(row["key"], row["result"]) for row in rows if "job" not in row["key"]]


def _pace(work: Work, found: Found) -> Pace:
    pace = Pace(work.guess)
    for key, result in found:
        pace.seconds[work.cell(key)].append(result["seconds"])
    return pace


def _belongs(journal: Journal, job: Job, work: Work) -> None:
    """The first row says what the draws depend on; those of another study are refused."""
    first = {"key": {"job": job.name}, "result": work.about()}
    if not journal.rows:
        journal.append(first)
    elif journal.rows[0] != first:
        before = journal.rows[0]["result"]
        changed = [name for name, now in first["result"].items() if before.get(name) != now]
        raise InputError(
            f"{journal.path} holds draws with other {', '.join(changed) or 'names'} than "
            f"{job.name} has now; move it away to begin anew."
        )


def _check(row: dict[str, Any]) -> None:
    """Refuse a row that this study did not write."""
    if [type(row[name]) for name in ("key", "result")] != [dict, dict]:
        raise TypeError("a key and a result are dicts")
    if "job" not in row["key"] and not row["result"]["seconds"] >= 0:
        raise ValueError("a draw takes time")


def read(job: Job, folder: Path) -> Found:
    """The draws of a job so far, also while another process makes more of them."""
    path = folder / f"{job.name}.jsonl"
    if not path.exists():
        return []
    with (
        TemporaryDirectory() as copies,
        Journal(shutil.copy(path, copies), check=_check) as journal,
    ):
        if journal.rows:
            _belongs(journal, job, job.work())
        known = {_name(key) for key in job.work().keys}
        return [(key, result) for key, result in _found(journal.rows) if _name(key) in known]


def plan(jobs: Sequence[Job], folder: Path) -> Iterator[str]:
    """Every job with its draws and its processor hours, done and left."""
    width = max(len(job.name) for job in jobs)
    yield f"{'job':{width}}   draws    done  seconds a draw  hours done  hours left"
    spent = left = 0.0
    for job in jobs:
        work, found = job.work(), read(job, folder)
        pace = _pace(work, found)
        missing = _missing(work, found, None, pilot=False)
        rest = sum(pace.expected(work.cell(key)) for key in missing) / 3600
        done = sum(result["seconds"] for _, result in found) / 3600
        each = 3600 * (done + rest) / len(work.keys)
        guessed = "" if found else "  (guessed)"
        yield (
            f"{job.name:{width}}  {len(work.keys):6d}  {len(found):6d}  {each:14.2f}  {done:10.2f}"
            f"  {rest:10.2f}{guessed}"
        )
        spent, left = spent + done, left + rest
    yield f"together {spent:.1f} processor hours done, {left:.1f} left"


def lines_of(jobs: Sequence[Job], folder: Path, least: int = 1) -> dict[str, list[Line]]:
    """The lines of every table from what the journals hold; powers from a number of trials on."""
    found: dict[str, list[Line]] = {}
    for job in jobs:
        lines = job.work().lines(read(job, folder))
        enough = [x for x in lines if "cell" not in x or x["trials"] >= least]
        if len(enough) < len(lines):
            left_out = len(lines) - len(enough)
            print(f"{job.name}: {left_out} of {len(lines)} rows have fewer than {least} trials")
        if enough:
            found.setdefault(job.table, []).extend(enough)
    return found


def write_page(found: dict[str, list[Line]]) -> None:
    """Add the lines to the results page's own and write the page and its pictures."""
    from tools import results_page

    for name, lines in found.items():
        results_page.add(name, lines)
    results_page.main([])
    print(f"{sum(map(len, found.values()))} lines of {len(found)} tables in {results_page.PAGE}")


if __name__ == "__main__":
    sys.exit(main())
