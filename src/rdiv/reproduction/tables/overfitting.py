"""The table of overfitting: risks on real and generated digits under three divergences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rdiv.models import Training, Vae
from rdiv.pictures import svg_text
from rdiv.reproduction.power_page import NULL, OURS, PAPER
from rdiv.reproduction.protocol import Line, Plan, PlanLine, Run, Scale
from rdiv.sources import Mnist
from rdiv.studies.journal import resume_map

__all__ = ["TABLE", "OverfittingTable"]

PRINTED = {
    "L-Div (untrained)": (713.0658, 713.1922, 0.1264),
    "H-Div": (111.7207, 118.9020, 7.1813),
    "R-Div": (144.0869, 99.6166, 44.4703),
}
METHODS = {
    "L-Div (untrained)": "l-div, untrained",
    "L-Div (ascent)": "l-div, ascent",
    "H-Div": "h-div",
    "R-Div": "r-div",
}
QUANTITIES = ("risk_p", "risk_q", "gap")
REMARKS = (
    "The paper's row of L-Div is a network that nobody trained: 1024 ln 2 = 709.8 nats for a coin "
    "tossed at every pixel of 32 x 32, and a few more for its codes. Its gap says nothing about "
    "the images. Climbing towards the largest gap gives `L-Div (ascent)`, which can never be below "
    "the gap of R-Div; the loss is unbounded, so there is no largest one.",
    "The digits of the GAN are a stand-in for a file that is lost, so the gap has another size and "
    "may have another sign.",
    "The null has real digits on both sides: what a gap is worth without a difference.",
)


@dataclass(frozen=True)
class _Size:
    """What a scale takes: images, pixels, updates of every network, draws, seconds of a draw."""

    n: int
    pixels: int
    steps: int
    draws: int
    seconds: float


SIZES: dict[Scale, _Size] = {
    "smoke": _Size(20, 8, 5, 2, 0.5),
    "laptop": _Size(200, 32, 1000, 5, 20.0),
    "paper": _Size(200, 32, 2000, 100, 40.0),
}


@dataclass(frozen=True)
class OverfittingTable:
    """Risks on both samples of networks fitted to the pool, to each sample, and to neither.

    Examples
    --------
    >>> print(TABLE.plan("smoke").lines[0].trials)
    4
    """

    name: str = "overfitting"
    about: str = "Overfitting: the risks behind three divergences"

    def plan(self, scale: Scale) -> Plan:
        """Draws, each with three trainings and an ascent."""
        size = SIZES[scale]
        return Plan(
            self.name, scale, _about(scale), (PlanLine("draws", 2 * size.draws, size.seconds),)
        )

    def measure(self, run: Run) -> list[Line]:
        """Mean and standard deviation over draws, with fresh rows and with a null."""
        size = SIZES[run.scale]
        keys = [
            {"n": size.n, "pixels": size.pixels, "steps": size.steps, "seed": run.seed,
             "draw": draw, "null": null}
            for draw in range(size.draws) for null in (False, True)
        ]  # fmt: skip
        found = resume_map(
            partial(one_draw, data_dir=run.data_dir), keys,
            file=None if run.kept is None else run.kept / "draws.jsonl",
            n_jobs=run.n_jobs, scheduler=run.scheduler, progress=run.progress,
        )  # fmt: skip
        head = {"table": self.name, "scale": run.scale, "seed": run.seed}
        return [{**head, **_line(method, keys, found)} for method in METHODS]

    def markdown(self, lines: Sequence[Line]) -> str:
        """The paper's risks beside ours, and the gap on fresh rows and under the null."""
        scale, seed = lines[0]["scale"], lines[0]["seed"]
        out = [
            "Table on overfitting in section 5.2 of the paper: mean losses of p (real digits) and "
            "of q (a GAN's) under the hypotheses of three divergences, N = 200.",
            "",
            f"Scale `{scale}`, seed {seed}: {_about(scale)} Mean ± standard deviation of "
            f"{lines[0]['draws']} draws.",
            "",
            "| hypothesis | paper: risk p / q (gap) | risk on p | risk on q | gap | gap on fresh "
            "rows | gap under the null |",
            "|---|---|---|---|---|---|---|",
        ]
        for line in lines:
            told = [line[f"paper_{name}"] for name in QUANTITIES]
            paper = "" if told[0] is None else f"{told[0]:.2f} / {told[1]:.2f} ({told[2]:.2f})"
            ours = (*QUANTITIES, "fresh_gap", "null_gap")
            cells = [f"{line[name]:.2f} ± {line[f'{name}_sd']:.2f}" for name in ours]
            out.append(f"| {line['method']} | {paper} | {' | '.join(cells)} |")
        out += ["", "**What differs, and why.**", "", *(f"- {text}" for text in REMARKS)]
        return "\n".join(out) + "\n"

    def figure(self, lines: Sequence[Line]) -> str:
        """Gaps on one axis, which is logarithmic: ours, the paper's, those of nulls."""

        def paint(figure: Any) -> None:
            axes = figure.subplots()
            rows = np.arange(len(lines))
            for name, colour, shift, label in (
                ("gap", OURS, 0.0, "here"), ("null_gap", NULL, 0.22, "here, under the null"),
                ("paper_gap", PAPER, -0.22, "in the paper"),
            ):  # fmt: skip
                told = [(line[name], row + shift) for line, row in zip(lines, rows, strict=True)]
                told = [(value, row) for value, row in told if value is not None]
                axes.scatter(*zip(*told, strict=True), color=colour, label=label, s=26)
            axes.set_yticks(rows, [line["method"] for line in lines])
            axes.set(xscale="log", xlabel="gap of mean losses, nats", ylim=(len(lines) - 0.4, -0.6))
            axes.grid(color="0.92")
            axes.set_axisbelow(True)
            figure.legend(loc="outside lower center", ncols=3, frameon=False)

        return svg_text(paint, (6.4, 2.9))


def one_draw(key: dict[str, Any], data_dir: Path | None = None) -> dict[str, Any]:
    """Risks of every method on one draw: on its rows, and on as many fresh ones."""
    from rdiv.studies.overfitting import overfitting

    n = key["n"]
    source = Mnist(size=key["pixels"], data_dir=data_dir)
    stream = np.random.default_rng([key["seed"], key["draw"], key["null"]])
    p, q = source.draw(2 * n, stream, null=key["null"])
    model = Vae(training=Training(epochs=key["steps"], steps=key["steps"], batch_size=100))
    found = overfitting(
        p[:n], q[:n], fresh=(p[n:], q[n:]), model=model, rng=int(stream.integers(2**31))
    )
    return {
        method: {
            "risk_p": found.trained[own].risk_p,
            "risk_q": found.trained[own].risk_q,
            "gap": found.trained[own].gap,
            "fresh_gap": found.fresh[own].gap,
        }
        for method, own in METHODS.items()
    }


def _line(method: str, keys: list[dict[str, Any]], found: list[dict[str, Any]]) -> Line:
    sides = {
        null: [x[method] for key, x in zip(keys, found, strict=True) if key["null"] is null]
        for null in (False, True)
    }
    told = PRINTED.get(method, (None, None, None))
    line: Line = {"method": method, "draws": len(sides[False])}
    line |= {f"paper_{name}": value for name, value in zip(QUANTITIES, told, strict=True)}
    for name in (*QUANTITIES, "fresh_gap", "null_gap"):
        chosen, quantity = (sides[True], "gap") if name == "null_gap" else (sides[False], name)
        values = np.array([draw[quantity] for draw in chosen])
        line[name] = round(float(values.mean()), 4)
        line[f"{name}_sd"] = round(float(values.std(ddof=1)), 4)
    return line


def _about(scale: Scale) -> str:
    size = SIZES[scale]
    return (
        f"{size.n} images of either kind at {size.pixels} x {size.pixels} pixels; the paper's "
        f"autoencoder, every one trained with {size.steps} updates of 100 images."
    )


TABLE = OverfittingTable()
