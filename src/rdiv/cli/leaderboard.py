"""rdiv leaderboard: all tests on all cells, power and false alarms side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdiv.cli.options import Alpha, Jobs, JsonFile, Resamples, Seed
from rdiv.cli.outputs import check_destination, deliver, printable, write_bytes, write_out
from rdiv.cli.own_code import imported, reporting_user_errors
from rdiv.cli.power import saying_where_rows_are, trial_progress
from rdiv.cli.study_options import DataFolder

if TYPE_CHECKING:
    from rdiv.studies.leaderboard import Board

__all__ = ["show_leaderboard"]

CellNames = Annotated[
    list[str] | None,
    typer.Option(
        "--cells",
        metavar="NAME",
        help="Only this cell, or those that match a pattern such as 'census*'; may be repeated. "
        "--plan lists all.",
        show_default=False,
    ),
]
BoardTests = Annotated[
    list[str] | None,
    typer.Option(
        "--discrepancy",
        metavar="NAME[:MODEL]",
        help="Only these tests of rdiv; may be repeated. By default omnibus and nine others.",
        show_default=False,
    ),
]
OwnMethods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME|MODULE:THING",
        help="Your own test beside ours; may be repeated: package.module:Thing, or the name of an "
        "installed one (entry point rdiv.discrepancies).",
        show_default=False,
    ),
]
OutFolder = Annotated[
    str,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder of the page, the numbers, the picture and finished trials; the same command "
        "continues there.",
    ),
]
BoardTrials = Annotated[
    int, typer.Option("--trials", metavar="K", min=4, help="Draws per cell, and as many nulls.")
]
TrainedTrials = Annotated[
    int,
    typer.Option(
        metavar="K", min=0, help="Draws for tests that train, which run in some cells only."
    ),
]
PlanOnly = Annotated[
    bool,
    typer.Option(
        "--plan",
        help="List the cells, measure the cost of one draw, say what is left to run, then stop.",
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option(
        metavar="M",
        min=0.0,
        help="Stop after M minutes and report what is finished; the same command continues.",
        show_default=False,
    ),
]


def show_leaderboard(
    *,
    cells: CellNames = None,
    discrepancy: BoardTests = None,
    method: OwnMethods = None,
    trials: BoardTrials = 200,
    trained_trials: TrainedTrials = 50,
    out: OutFolder = "leaderboard",
    plan: PlanOnly = False,
    minutes: Minutes = None,
    alpha: Alpha = 0.05,
    resamples: Resamples = 199,
    seed: Seed = 0,
    jobs: Jobs = 1,
    data_dir: DataFolder = None,
    json: JsonFile = None,
) -> None:
    """Compare tests on named cells: power, regret to the best test, false alarms and cost.

    Every cell has a true null beside it, and every test sees the same draws. A cell whose data are
    absent is left out. leaderboard.md, leaderboard.csv and leaderboard.svg are written to DIR.
    """
    check_destination(json)
    from rdiv.studies.leaderboard import TESTS, as_board, cells_named, run_board, with_data
    from rdiv.two_sample import check_level

    check_level(alpha, resamples)
    chosen, absent = with_data(cells_named(cells or []), data_dir)
    for sentence in absent:
        _say(sentence)
    own = [spec for spec in method or [] if ":" in spec]
    with reporting_user_errors(*own):
        board = as_board(
            chosen, [_method(spec) for spec in method or []], discrepancy or TESTS, trials=trials,
            trained_trials=trained_trials, alpha=alpha, n_resamples=resamples, seed=seed,
        )  # fmt: skip
        with saying_where_rows_are(out), trial_progress() as progress:
            rows = run_board(
                board, Path(out) / "rows.jsonl", n_jobs=jobs, progress=progress,
                announce=lambda left: _announce(board, left, plan), plan=plan,
                seconds=None if minutes is None else 60 * minutes,
            )  # fmt: skip
    if not plan:
        _report(board, rows, Path(out), json)


def _method(spec: str) -> Any:
    """A test of the user: an installed one by its name, or package.module:Thing."""
    return imported(spec, "method") if ":" in spec else spec


def _announce(board: Board, left: dict[str, float], plan: bool) -> None:
    """Say what is still to run; with ``--plan`` the cells and the share of every test, too."""
    if plan:
        lines = [f"{cell.name}: {cell.drawn}" for cell in board.cells]
        lines += [f"{test}: {seconds / 3600:.2g} processor hours" for test, seconds in left.items()]
        write_out(printable("\n".join(lines)) + "\n")
    _say(
        f"{len(board.labels)} tests on {len(board.cells)} cells and their nulls: at most "
        f"{sum(left.values()) / 3600:.2g} processor hours are still to run, measured on one draw "
        "of each."
    )


def _report(board: Board, rows: list[dict[str, Any]], folder: Path, json: str | None) -> None:
    from rdiv.results import SCHEMA, as_json, plain
    from rdiv.studies.leaderboard import as_document, as_files, finished, standings

    files = as_files(board, rows)
    for name, text in files.items():
        write_bytes(str(folder / name), text.encode())
    document = as_document(board, standings(board, finished(board, rows)))

    def show() -> None:
        write_out(printable(files["leaderboard.md"]))
        write_out(printable(f"written to {folder}") + "\n")

    deliver(json, as_json(plain({"schema": SCHEMA, **document})), show)


def _say(sentence: str) -> None:
    print(f"rdiv: {printable(sentence)}", file=sys.stderr)
