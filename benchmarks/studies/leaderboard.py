"""The project's own leaderboard: all tests of rdiv, MMD-FUSE, MMDAgg and tests of other packages.

    python benchmarks/studies/leaderboard.py --plan
    python benchmarks/studies/leaderboard.py --jobs 2 --minutes 120
    python benchmarks/studies/leaderboard.py --page docs/measured

Every finished block of trials is a row of the journal, and the same command continues there. The
page shows whatever is finished, so it can be written at any time. ``--outside`` adds hyppo and
alibi-detect, which run in virtual environments of their own.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.peers.aggregated_mmd import MmdAgg, MmdFuse
from benchmarks.peers.outside import AlibiLearnedKernel, HyppoDcorr

from rdiv.studies.leaderboard import (
    CELLS,
    TESTS,
    Board,
    as_board,
    as_files,
    cells_named,
    run_board,
    with_data,
)
from rdiv.whole_files import write_whole_file

JOURNAL = Path(__file__).with_name("journals") / "leaderboard.jsonl"
NOTE = "Written by benchmarks/studies/leaderboard.py; do not edit."


def main() -> None:
    """Plan, run or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plan", action="store_true", help="measure the cost, then stop")
    parser.add_argument(
        "--page", type=Path, metavar="DIR", help="write the page there; run nothing"
    )
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--outside", action="store_true", help="with hyppo and alibi-detect")
    parser.add_argument("--cells", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rows", type=Path, default=JOURNAL, help="the journal")
    args = parser.parse_args()
    board = the_board(args)
    if args.page is not None:
        write_page(board, args)
        return
    run_board(
        board, args.rows, n_jobs=args.jobs, announce=announce, plan=args.plan,
        seconds=None if args.minutes is None else 60 * args.minutes,
    )  # fmt: skip


def the_board(args: argparse.Namespace) -> Board:
    """All cells whose data are there, and all tests."""
    cells, absent = with_data(cells_named(args.cells), None)
    for sentence in absent:
        print(sentence, file=sys.stderr)
    methods: list[Any] = [MmdFuse(), MmdAgg()]
    if args.outside:
        methods += [HyppoDcorr(), AlibiLearnedKernel()]
    return as_board(cells, methods, TESTS, trials=args.trials)


def announce(left: dict[str, float]) -> None:
    """Processor hours that are still to run, by test."""
    for test, seconds in left.items():
        print(f"{test}: {seconds / 3600:.2f} processor hours at most", flush=True)
    print(f"together: {sum(left.values()) / 3600:.2f}", flush=True)


def write_page(board: Board, args: argparse.Namespace) -> None:
    """Write the page, the numbers and the picture from what the journal holds, even as it grows."""
    with TemporaryDirectory() as folder:
        rows = run_board(board, shutil.copy(args.rows, folder), seconds=0)
    outside = " --outside" if args.outside else ""
    runs = f"python benchmarks/studies/leaderboard.py{outside}"
    for name, text in as_files(
        board, rows, note=NOTE, command=f"{runs} --jobs 2`, then `{runs} --page docs/measured"
    ).items():
        write_whole_file(args.page / name, text.encode())
    print(f"{len(board.cells)} of {len(CELLS)} cells, written to {args.page}")


if __name__ == "__main__":
    main()
