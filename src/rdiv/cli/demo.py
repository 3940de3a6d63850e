"""rdiv demo: three comparisons on real scans of handwritten digits, side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdiv.cli.display import show_renderable, stages, terminal
from rdiv.cli.options import JsonFile, Seed
from rdiv.cli.outputs import check_destination, deliver, write_out, write_whole
from rdiv.comparison.sentences import inputs_finding
from rdiv.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rdiv.comparison.result import Comparison

    Sample = tuple[NDArray[np.float64], NDArray[np.intp]]

__all__ = ["DUST", "PALE", "WRONG", "Case", "digit_cases", "save_cases", "show_demo"]


DUST = (0, 32, 39)
"""Pixels that no digit ever reaches, counted row by row; dust on the glass darkens them."""

PALE = 0.5
"""Share of its grey that a pale scan keeps."""

WRONG = 0.1
"""Share of the current labels that are typed wrong."""

_GREY = 4  # grey levels (of 16) of the dust


@dataclass(frozen=True, eq=False)
class Case:
    """A reference and a current sample, and what was done to the latter.

    Parameters
    ----------
    name, done : str
        In two or three words, and in full.
    lesson : str
        What to look at in the result.
    reference, current : pair (X, y)
    """

    name: str
    done: str
    lesson: str
    reference: Sample
    current: Sample


def digit_cases(seed: int) -> list[Case]:
    """One random halving of scikit-learn's digits, with three versions of the second half.

    Parameters
    ----------
    seed : int
        Fixes the halves, and which labels are typed wrong.

    Examples
    --------
    >>> print([case.name for case in digit_cases(0)])
    ['dust', 'pale scans', 'wrong labels']
    """
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    x, y = load_digits(return_X_y=True)
    x_p, x_q, y_p, y_q = train_test_split(x, y, test_size=0.5, random_state=seed + 1)
    dusty = x_q.copy()
    dusty[:, DUST] += _GREY
    mistyped = np.random.default_rng(seed).random(len(y_q)) < WRONG
    reference = x_p, y_p
    return [
        Case(
            "dust",
            f"Dust on the glass darkens {len(DUST)} pixels that no digit reaches.",
            "The inputs changed, and a monitor of the inputs would raise an alarm. The model does "
            "not look there, so its loss stays as it was; a shift here would be a false alarm, "
            "which about one seed in twenty gives at level 0.05. What retraining wins here comes "
            "from training on more scans.",
            reference,
            (dusty, y_q),
        ),
        Case(
            "pale scans",
            "A new scanner halves every grey level.",
            "The model in use has never seen pale scans and does worse. They can be read all the "
            "same: for a model trained on both halves hardly any gap is left. Retrain.",
            reference,
            (np.floor(PALE * x_q), y_q),
        ),
        Case(
            "wrong labels",
            f"One label in {round(1 / WRONG)} is typed wrong, as the next digit.",
            "The scans are untouched, so no monitor of the inputs can see this. No model can learn "
            "mistakes at random: a gap is left after retraining. Correct the labels.",
            reference,
            (x_q, np.where(mistyped, (y_q + 1) % 10, y_q)),
        ),
    ]


MODEL = "logistic"

NEXT = (
    "These tables:    rdiv demo --save tables",
    "                 rdiv compare tables/reference.csv tables/pale_scans.csv --target digit "
    "--model logistic",
    "Your own files:  rdiv compare a.csv b.csv --target y",
    "All options:     rdiv compare --help",
)


Save = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Write the tables to this folder as csv files too, for rdiv compare.",
        show_default=False,
    ),
]


def show_demo(seed: Seed = 0, json: JsonFile = None, save: Save = None) -> None:
    """Show three comparisons on real data, side by side.

    Scans of handwritten digits that come with scikit-learn, halved at random: first with a change
    where the model does not look, then with one that retraining repairs, then with wrong labels,
    which no retraining repairs. It takes a few seconds and needs no network.
    """
    check_destination(json)
    with stages() as stage:
        stage("loading the digits")
        from rdiv.comparison.compare import compare

        cases = digit_cases(seed)
        if save is not None:
            save_cases(cases, save)
        found = []
        for number, case in enumerate(cases, start=1):
            stage(f"case {number} of {len(cases)}: fitting and testing")
            found.append(compare(case.reference, case.current, model=MODEL, rng=seed))
    deliver(json, _document(cases, found), lambda: _show(cases, found))


def save_cases(cases: Sequence[Case], folder: str) -> list[str]:
    """Write the reference and every current sample as csv files; return their names.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     print([os.path.basename(name) for name in save_cases(digit_cases(0), folder)])
    ['reference.csv', 'dust.csv', 'pale_scans.csv', 'wrong_labels.csv']
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder!r} cannot be made: {error.strerror}.") from None
    tables = {"reference": cases[0].reference}
    tables |= {case.name.replace(" ", "_"): case.current for case in cases}
    written = []
    for name, (x, y) in tables.items():
        header = ",".join([*(f"pixel_{k // 8}_{k % 8}" for k in range(x.shape[1])), "digit"])
        rows = (
            ",".join(f"{value:g}" for value in [*row, digit])
            for row, digit in zip(x, y, strict=True)
        )
        written.append(os.path.join(folder, f"{name}.csv"))
        write_whole(written[-1], "\n".join([header, *rows]) + "\n")
    return written


def _document(cases: list[Case], found: list[Comparison]) -> str:
    from rdiv.results import SCHEMA, as_json

    entries = [
        {"name": case.name, "done": case.done, "comparison": comparison.to_dict()}
        for case, comparison in zip(cases, found, strict=True)
    ]
    return as_json({"schema": SCHEMA, "cases": entries})


def _show(cases: list[Case], found: list[Comparison]) -> None:
    console = terminal()
    if console is None:
        write_out(_plain(cases, found))
    else:
        show_renderable(console, *_layout(cases, found))


def _introduction(found: Comparison) -> str:
    test = found.results["in-use"]
    trained = test.notes["rows trained on"]
    return (
        f"Scans of handwritten digits, halved at random: {test.n_p} reference, {test.n_q} current. "
        f"The model in use ({test.model}) learned from {trained} reference scans; the shared model "
        f"learns from both halves. A gap is the mean {found.notes['loss']} on current minus that "
        "on reference; retraining is the change on current if the shared model took over. With "
        f"{100 * (1 - test.alpha):g} % intervals."
    )


def _numbers(comparison: Comparison) -> dict[str, tuple[str, str]]:
    """What is shown of one case, by label: a finding, and how sure it is."""
    inputs, retraining = comparison.input_test, comparison.retraining
    assert inputs is not None
    assert retraining is not None
    direction = "" if comparison.direction is None else f", {comparison.direction}"
    won = retraining.current
    return {
        "verdict": (comparison.verdict + direction, f"p = {comparison.pvalue:.3g}"),
        "gap in use": _with_interval(comparison.gap, comparison.gap_interval),
        "shared gap": _with_interval(comparison.shared_gap, comparison.shared_gap_interval),
        "retraining": _with_interval(-won.value, (-won.high, -won.low)),
        "inputs alone": (inputs_finding(inputs), f"p = {inputs.pvalue:.3g}"),
    }


def _with_interval(value: float | None, interval: tuple[float, float] | None) -> tuple[str, str]:
    assert value is not None
    assert interval is not None
    low, high = interval
    return _signed(value), f"{_signed(low)} to {_signed(high)}"


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}"  # never -0.00


def _plain(cases: list[Case], found: list[Comparison]) -> str:
    blocks = [_introduction(found[0])]
    for number, (case, comparison) in enumerate(zip(cases, found, strict=True), start=1):
        pairs = _numbers(comparison).items()
        numbers = [f"  {label}: {value} ({sure})" for label, (value, sure) in pairs]
        blocks.append("\n".join([f"Case {number}, {case.name}. {case.done}", *numbers]))
    lessons = [f"{number}. {case.lesson}" for number, case in enumerate(cases, start=1)]
    blocks += ["\n".join(["What to look at", *lessons]), "\n".join(NEXT)]
    return "\n\n".join(blocks) + "\n"


def _layout(cases: list[Case], found: list[Comparison]) -> list[Any]:
    from rich import box
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table("", box=box.HORIZONTALS, show_lines=False, header_style="bold")
    for number, case in enumerate(cases, start=1):
        table.add_column(f"{number} {case.name}", ratio=1)
    table.add_row("what was done", *[case.done for case in cases], end_section=True)
    numbers = [_numbers(comparison) for comparison in found]
    for label in numbers[0]:
        cells = [Text(column[label][0], "bold") for column in numbers]
        for cell, column in zip(cells, numbers, strict=True):
            cell.append(f"\n{column[label][1]}", "not bold")
        table.add_row(label, *cells)
    lessons = Table.grid(padding=(0, 1))
    for number, case in enumerate(cases, start=1):
        lessons.add_row(f"{number}", case.lesson)
    parts: list[Any] = [
        Text(_introduction(found[0])),
        table,
        Text("What to look at", style="bold"),
        lessons,
    ]
    return [Padding(part, (1, 1, 0, 1)) for part in [*parts, Text("\n".join(NEXT))]]
