"""rdiv power: how often tests find a difference, and how often they raise false alarms."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rdiv.cli.display import show_renderable, terminal
from rdiv.cli.options import Jobs, JsonFile, Resamples, Seed
from rdiv.cli.outputs import STANDARD_OUTPUT, check_destination, deliver, printable, write_out
from rdiv.cli.own_code import reporting_user_errors
from rdiv.cli.study_options import (
    DataFolder,
    Discrepancies,
    Extend,
    Levels,
    Methods,
    Null,
    Out,
    PairOfFiles,
    Plot,
    Ratio,
    Repeats,
    Scheduler,
    ShareFits,
    Sizes,
    SourceText,
    StudyModel,
    Train,
    Trials,
)
from rdiv.cli.study_parts import numbers, pair_source, source_of, tests_of
from rdiv.errors import InputError, InputFileError, MissingExtraError
from rdiv.progress import progress_sent_to

if TYPE_CHECKING:
    from rdiv.studies import PowerStudy

__all__ = ["run_power_study", "saying_where_rows_are", "trial_progress"]


def run_power_study(
    source: SourceText = None,
    pair: PairOfFiles = None,
    *,
    discrepancy: Discrepancies = None,
    method: Methods = None,
    model: StudyModel = None,
    sizes: Sizes,
    trials: Trials = 100,
    repeats: Repeats = 1,
    null: Null = False,
    train: Train = "half",
    share_fits: ShareFits = False,
    ratio: Ratio = None,
    alpha: Levels = "0.05",
    resamples: Resamples = 99,
    seed: Seed = 0,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    out: Out = None,
    extend: Extend = False,
    data_dir: DataFolder = None,
    json: JsonFile = None,
    plot: Plot = None,
) -> None:
    """Measure how often tests reject, on a source and its null.

    Every trial draws two samples and runs every test on them. The table has the rate of
    rejections with its 95 % interval, power and type-I error side by side, and the time per test.
    """
    _check_files(json, plot, out)
    _check_options(source, pair, extend, out, jobs, scheduler)
    own = [spec for spec in [source or "", *(method or [])] if ":" in spec]
    from rdiv.studies.power import run_study
    from rdiv.studies.study import as_study

    with reporting_user_errors(*own):
        study = as_study(
            pair_source(pair, ratio=ratio, data_dir=data_dir)
            if pair is not None
            else source_of(source or "", ratio=ratio, data_dir=data_dir),
            tests_of(discrepancy or [], method or [], model),
            sizes=numbers(sizes, "--sizes", int),
            trials=trials,
            repeats=repeats,
            n_resamples=resamples,
            alpha=numbers(alpha, "--alpha", float),
            train=train,
            null=null,
            seed=seed,
            share_fits=share_fits,
        )
        with saying_where_rows_are(out), trial_progress() as progress:
            found = run_study(
                study, n_jobs=jobs, out=out, scheduler=scheduler, extend=extend, progress=progress
            )
    _report(found, json, plot)


def _report(found: PowerStudy, json: str | None, plot: str | None) -> None:
    for notice in found.notices:
        _say(notice)
    deliver(json, _document(found), lambda: _show(found))
    if plot is not None:
        deliver(plot, found.to_svg().rstrip("\n"), lambda: None)


def _document(found: PowerStudy) -> str:
    """The study and its table; times are left out, so that the same seed gives the same bytes."""
    from rdiv.results import SCHEMA, as_json, plain

    table = {name: column for name, column in found.table().items() if name != "seconds"}
    return as_json(plain({"schema": SCHEMA, "study": found.study.to_dict(), "table": table}))


def _show(found: PowerStudy) -> None:
    console, text = terminal(), printable(found.to_markdown())
    if console is None:
        write_out(text)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    lines = text.splitlines()
    header, _, *rows = (
        [cell.strip() for cell in x.strip("|").split("|")] for x in lines if "|" in x
    )
    table = Table(*header, box=box.HORIZONTALS, header_style="bold")
    for row in rows:
        table.add_row(*map(Text, row))
    notes = [Text(line, style="italic") for line in lines if line and not line.startswith("|")]
    show_renderable(console, table, *notes, widest=console.width)


def _say(sentence: str) -> None:
    print(f"rdiv: {printable(sentence)}", file=sys.stderr)


@contextmanager
def trial_progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar with the time left, on the error stream of a terminal only."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns: list[Any] = [TextColumn("trials"), BarColumn(), MofNCompleteColumn(), TimeLeft()]
    shown = Progress(*columns, TextColumn("left"), console=Console(stderr=True))
    with shown as bar, progress_sent_to(lambda said: None):  # single fits would write over the bar
        task = bar.add_task("trials", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def saying_where_rows_are(out: str | None) -> Iterator[None]:
    """Say where the rows are kept when the study ends early."""
    try:
        yield
    except KeyboardInterrupt:
        if out is not None:
            _say(f"the rows written so far are kept in {out}; the same command continues.")
        raise
    except OSError as error:
        room = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO)
        if out is None or error.errno not in room:
            raise
        raise InputFileError(
            f"cannot write to {out}: {error.strerror}; the rows written so far are kept, and the "
            "same command continues once this is fixed."
        ) from error


def _check_files(json: str | None, plot: str | None, out: str | None) -> None:
    """Refuse, before any work, places where the document or the picture cannot be written."""
    for path in (json, plot):
        check_destination(path)
    if plot is not None:
        from importlib.util import find_spec

        if not plot.endswith(".svg"):
            raise InputError(f"--plot draws SVG, got {plot!r}; name a file that ends in .svg.")
        if plot == json:
            raise InputError(f"--json and --plot both name {plot!r}; choose two files.")
        if find_spec("matplotlib") is None:
            raise MissingExtraError(
                '--plot needs matplotlib; install it with pip install "rdiv[cli]".'
            )
    if out is None:
        return
    for path in (json, plot):
        inside = path not in (None, STANDARD_OUTPUT) and os.path.realpath(out) == os.path.dirname(
            os.path.realpath(str(path))
        )
        if inside and (path == json or os.path.basename(str(path)) != "power.svg"):
            raise InputError(
                f"{path!r} is in the folder of --out, which only the study may write to; choose "
                "another folder."
            )


def _check_options(
    source: str | None,
    pair: tuple[str, str] | None,
    extend: bool,
    out: str | None,
    jobs: int,
    scheduler: str | None,
) -> None:
    if (source is None) == (pair is None):
        given = "neither" if source is None else "both"
        raise InputError(f"a study needs SOURCE or --pair P Q, got {given}.")
    if extend and out is None:
        raise InputError("--extend adds to the rows of a folder; name it with --out.")
    if scheduler is not None and jobs != 1:
        raise InputError("--jobs are processes here, --scheduler a cluster; choose one of them.")
