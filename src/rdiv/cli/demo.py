"""rdiv demo: three comparisons on real data, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdiv.cli.display import show_renderable, stages, terminal
from rdiv.cli.options import JsonFile, Seed
from rdiv.cli.output import check_destination, deliver, write_out

if TYPE_CHECKING:
    from rdiv.cli.digit_cases import Case
    from rdiv.comparison import Comparison

__all__ = ["show_demo"]

MODEL = "logistic"

NEXT = (
    "Your own files:  rdiv compare a.csv b.csv --target y",
    "All options:     rdiv compare --help",
)


def show_demo(seed: Seed = 0, json: JsonFile = None) -> None:
    """Show three comparisons on real data, side by side.

    Scans of handwritten digits that come with scikit-learn, halved at random: first as they are,
    then with inputs that move where the model does not look, then with a loss that moves while the
    inputs do not. It takes a few seconds and needs no network.
    """
    check_destination(json)
    with stages() as stage:
        stage("loading the digits")
        from rdiv.cli.digit_cases import digit_cases
        from rdiv.comparison import compare

        cases = digit_cases(seed)
        found = []
        for number, case in enumerate(cases, start=1):
            stage(f"case {number} of {len(cases)}: fitting and testing")
            found.append(compare(case.reference, case.current, model=MODEL, rng=seed))
    deliver(json, _document(cases, found), lambda: _show(cases, found))


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
    test = found.results["r-div"]
    return (
        f"Scans of handwritten digits, halved at random: {test.n_p} reference, {test.n_q} current. "
        f"A model ({test.model}) reads the digit; what is compared is its mean loss, in nats."
    )


def _numbers(comparison: Comparison) -> dict[str, str]:
    """What is shown of one case, by label."""
    test, inputs, interval = comparison.results["r-div"], comparison.inputs, comparison.gap_interval
    assert inputs is not None
    assert interval is not None
    direction = "" if comparison.direction is None else f", {comparison.direction}"
    return {
        "verdict": comparison.verdict + direction,
        "r-div": f"p = {test.pvalue:.3g}",
        "score": f"p = {comparison.results['score'].pvalue:.3g}",
        "gap in mean loss": f"{comparison.gap:+.3f}",
        f"{100 * (1 - test.alpha):g} % interval": f"{interval.low:+.3f} to {interval.high:+.3f}",
        "inputs alone": "moved" if inputs.rejected else "no move found",
        "energy": f"p = {inputs.pvalue:.3g}",
    }


def _plain(cases: list[Case], found: list[Comparison]) -> str:
    blocks = [_introduction(found[0])]
    for number, (case, comparison) in enumerate(zip(cases, found, strict=True), start=1):
        numbers = [f"  {label}: {text}" for label, text in _numbers(comparison).items()]
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
        style = "bold" if label in ("verdict", "inputs alone") else ""
        table.add_row(label, *[column[label] for column in numbers], style=style)
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
