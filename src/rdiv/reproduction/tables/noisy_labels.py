"""The figures on noisy labels: accuracy, detection and discrepancy against the share gamma."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.models import ResNet18, Training
from rdiv.names import chosen_from
from rdiv.noisy_labels.splitting import SHARES
from rdiv.noisy_labels.sweep import NoiseSweep, Sweep
from rdiv.pictures import svg_text
from rdiv.reproduction.protocol import Line, Plan, PlanLine, Run, Scale
from rdiv.sources.corrupted_images import read_cifar10
from rdiv.sources.images import resized
from rdiv.studies.journal import resume_map

__all__ = ["PAIR", "SIZES", "SYMMETRIC", "NoiseTable", "images", "surely_gains"]


RATE = 0.2
OBJECTIVES = ("complementary", "weighted", "difference")
COLOURS = {"complementary": "#1f4e9c", "weighted": "#c2410c", "difference": "#15803d"}
MEASURES = (
    "detection_accuracy", "precision_clean", "recall_clean", "precision_noisy", "recall_noisy",
)  # fmt: skip
NAMES = {"detection_accuracy": "accuracy", **{m: m.replace("_", " of ") for m in MEASURES[1:]}}
SWEEP, MEMORISES = "sweep", "memorises"
SMALL = 0.1  # a discrepancy below it is written with more digits


@dataclass(frozen=True)
class _Size:
    """What a part takes: the network, images, shares and trials, seconds of one training.

    `cells` are shares with their objectives; without, every share has every objective.
    """

    about: str
    model: ResNet18
    pixels: int
    n_train: int | None
    n_test: int
    shares: tuple[float, ...]
    trials: int
    seconds: float
    objectives: tuple[tuple[float, str], ...] = ()

    @property
    def cells(self) -> tuple[tuple[float, str], ...]:
        """Shares with the objectives that they are retrained with."""
        return self.objectives or tuple((s, name) for s in self.shares for name in OBJECTIVES)


def _network(width: int, epochs: int, batch_size: int, blocks: tuple[int, ...]) -> ResNet18:
    training = Training(
        epochs=epochs, batch_size=batch_size, learning_rate=0.1, optimizer="sgd",
        weight_decay=5e-4, schedule="step",
    )  # fmt: skip
    return ResNet18(width=width, blocks=blocks, training=training)


FEW = ((0.2, "complementary"), (0.4, "complementary"), (0.6, "complementary"),
       (0.4, "weighted"), (0.4, "difference"))  # fmt: skip

SIZES: dict[Scale, dict[str, _Size]] = {
    "smoke": {
        SWEEP: _Size(
            "width 8 with one block a stage, 200 images of 8 x 8 pixels, 1 epoch, one trial.",
            _network(8, 1, 64, (1, 1, 1, 1)), 8, 200, 200, (0.2, 0.4), 1, 0.3,
        ),
        MEMORISES: _Size(
            "width 8 with one block a stage, 100 images of 8 x 8 pixels, 1 epoch, one trial.",
            _network(8, 1, 64, (1, 1, 1, 1)), 8, 100, 200, (0.2, 0.4, 0.6), 1, 0.2, FEW,
        ),
    },
    "laptop": {
        SWEEP: _Size(
            "width 8 with one block a stage, 2000 images of 16 x 16 pixels, 8 epochs of batches "
            "of 64.",
            _network(8, 8, 64, (1, 1, 1, 1)), 16, 2000, 2000, SHARES, 3, 9.0,
        ),
    },
    "paper": {
        SWEEP: _Size(
            "the published size (width 64, 32 x 32 pixels), 200 epochs of batches of 128, on all "
            "training images of the data file (10000; the paper has 50000).",
            _network(64, 200, 128, (2, 2, 2, 2)), 32, None, 5000, SHARES, 5, 3.0e5,
        ),
        MEMORISES: _Size(
            "a network that fits its wrong labels too, as the paper's does, at a size that a "
            "processor can train: width 16, 1000 images of 32 x 32 pixels, 100 epochs of batches "
            "of 128; not the paper's 50000 images and 200 epochs.",
            _network(16, 100, 128, (2, 2, 2, 2)), 32, 1000, 5000, (0.2, 0.4, 0.6), 5, 430.0, FEW,
        ),
    },
}  # fmt: skip

REMARKS = (
    "The paper writes `risk(clean) - risk(noisy)` (here `difference`), which has no lower bound; "
    "its published script minimises `0.7 risk(clean) + 0.3 risk(noisy)` (`weighted`; `CIFAR10.py`, "
    "line 289). The bounded `complementary` loss is `-log(1 - prob(label))` on the noisy part.",
    "The script's two curves of detection are accuracy and recall of the noisy part "
    "(`CIFAR10.py`, lines 325 and 326), not precision and recall. They meet at gamma = 0.2 where "
    "every wrong label ranks first, and at 0.5 where the ranking is no better than chance "
    "(accuracy 0.8 - 0.6 gamma, recall gamma). So the paper's crossing near 0.5 is no "
    "contradiction: a network that fits its wrong labels too ranks them close to chance.",
    "The paper's discrepancy of about 1.5e-3 is what the mean losses of a network that fits all "
    "its labels can differ by. After the 8 epochs of a laptop's sweep losses are still 1 to 3, "
    "which cannot be compared; the part `memorises` trains until the labels are fitted.",
    "The script takes torchvision's network with its stem for ImageNet (line 370) and divides the "
    "rate of retraining by 1 - gamma (line 375); ours does neither yet.",
)


@dataclass(frozen=True)
class NoiseTable:
    """Retraining for a range of shares, by one kind of flips.

    Parameters
    ----------
    kind : {"symmetric", "pair"}
    parts : tuple of str
        Those to measure; none means all of a scale.

    Examples
    --------
    >>> print(NoiseTable("pair").plan("laptop").lines[0].trials)
    66
    """

    kind: Literal["symmetric", "pair"]
    parts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the command calls it."""
        return f"noisy-{self.kind}"

    @property
    def about(self) -> str:
        """What it shows."""
        return f"Noisy labels, {self.kind} flips: retraining against the share taken for noisy"

    def sizes(self, scale: Scale) -> dict[str, _Size]:
        """The parts of a scale that were asked for."""
        return {part: x for part, x in SIZES[scale].items() if part in (self.parts or SIZES[scale])}

    def narrowed(self, scale: Scale, parts: Sequence[str], sizes: Sequence[int]) -> NoiseTable:
        """Some of the parts only; the number of images belongs to a part."""
        if sizes:
            raise InputError(
                f"the number of images belongs to the parts of {self.name}; leave out --sizes."
            )
        for name in parts:
            chosen_from(SIZES[scale], name, f"part of {self.name} at {scale} scale")
        return replace(self, parts=tuple(parts))

    def plan(self, scale: Scale) -> Plan:
        """Trainings: one before and one for every share and objective."""
        sizes = self.sizes(scale)
        lines = tuple(
            PlanLine(f"{part}: trainings", x.trials * (1 + len(x.cells)), x.seconds)
            for part, x in sizes.items()
        )
        return Plan(self.name, scale, " ".join(_about(scale, part) for part in sizes), lines)

    def work(self, run: Run, part: str) -> tuple[Sweep, list[dict[str, Any]]]:
        """What finds a row, with its images in memory, and the keys of all rows of a part."""
        size = SIZES[run.scale][part]
        x, y = images(size.pixels, "test", run.data_dir)
        rows = np.random.default_rng(run.seed).permutation(len(y))[: size.n_test]
        train = images(size.pixels, "train", run.data_dir)
        sweep = Sweep(
            train, (x[rows], y[rows]), self.kind, RATE, size.model, size.n_train, run.seed
        )
        return sweep, [sweep.key(t, *cell) for t in range(size.trials) for cell in size.cells]

    def lines(self, run: Run, part: str, rows: list[Line]) -> list[Line]:
        """Means over trials, one line for every objective and share."""
        head = {"table": self.name, "scale": run.scale, "seed": run.seed, "part": part}
        return [_line(head, cell) for cell in NoiseSweep(rows).means()]

    def measure(self, run: Run) -> list[Line]:
        """Find the rows of every part that are not there yet, and their means."""
        lines = []
        for part in self.sizes(run.scale):
            sweep, keys = self.work(run, part)
            rows = resume_map(
                sweep, keys, file=None if run.kept is None else run.kept / f"{self.name}.jsonl",
                n_jobs=run.n_jobs, scheduler=run.scheduler, progress=run.progress,
            )  # fmt: skip
            lines += self.lines(run, part, rows)
        return lines

    def markdown(self, lines: Sequence[Line]) -> str:
        """Accuracy, detection, and what of the paper's observations shows, part by part."""
        out = [
            "Figures on noisy labels in section 5.4 and the appendix of the paper: CIFAR10, "
            f"ResNet18, {RATE:.0%} of the labels flipped; a share gamma of every batch is taken "
            "for noisy."
        ]
        for group in _groups(lines):
            out += ["", *_group(group)]
        out += ["", "**What differs, and why.**", "", *(f"- {text}" for text in REMARKS)]
        return "\n".join(out) + "\n"

    def figure(self, lines: Sequence[Line]) -> str:
        """Three panels a part: accuracy, detection, discrepancy."""
        groups = _groups(lines)

        def paint(figure: Any) -> None:
            panels = figure.subplots(len(groups), 3, squeeze=False)
            for (left, middle, right), group in zip(panels, groups, strict=True):
                _draw_accuracy(left, group)
                _draw_detection(middle, _of(group, group[0]["method"]))
                _draw_discrepancy(right, _of(group, group[0]["method"]))

        return svg_text(paint, (11.5, 3.7 * len(groups)))


def _groups(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of every scale and part."""
    places = dict.fromkeys((line["scale"], line["part"]) for line in lines)
    return [[x for x in lines if (x["scale"], x["part"]) == place] for place in places]


def _group(lines: Sequence[Line]) -> Iterator[str]:
    """What one part found."""
    scale, seed, part, trials = (lines[0][name] for name in ("scale", "seed", "part", "trials"))
    spread = f"t has {trials - 1} degrees of freedom" if trials > 1 else "there is no interval"
    yield (
        f"Scale `{scale}`, seed {seed}, {_about(scale, part)} Mean ± standard error of {trials} "
        f"trials, so {spread}."
    )
    yield from ("", *_accuracies(lines), "", *_detections(lines))
    yield from ("", "**The paper's observations.**", "")
    yield from (f"- {text}" for text in _observations(lines))


def _about(scale: Scale, part: str) -> str:
    return f"`{part}`: {SIZES[scale][part].about}"


def images(pixels: int, part: str, folder: Path | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Images of CIFAR10, channels first, made smaller by averaging, and their classes."""
    x, y = read_cifar10((part,), folder)
    return resized(x, pixels, by="blocks"), y


_NUMBERS = ("pretrained", "retrained", "gain", *MEASURES, "discrepancy")


def _line(head: Line, cell: dict[str, Any]) -> Line:
    line: Line = {**head, "method": cell["objective"]}
    line |= {name: cell[name] for name in ("share", "trials", "diverged")}
    for name in _NUMBERS:
        for key in (name, f"{name}_se"):
            line[key] = None if cell[key] is None else round(cell[key], 6)
    return line


def _of(lines: Sequence[Line], objective: str) -> list[Line]:
    return [line for line in lines if line["method"] == objective]


def _accuracies(lines: Sequence[Line]) -> Iterator[str]:
    names = list(dict.fromkeys(line["method"] for line in lines))
    before = _text(lines[0], "pretrained")
    yield f"Accuracy on right test labels; the pretrained network has {before}."
    yield ""
    yield "| gamma | " + " | ".join(names) + " |"
    yield "|---" * (1 + len(names)) + "|"
    for share in dict.fromkeys(line["share"] for line in lines):
        cells = {x["method"]: _text(x, "retrained") for x in lines if x["share"] == share}
        yield f"| {share:g} | " + " | ".join(cells.get(name, "") for name in names) + " |"


def _detections(lines: Sequence[Line]) -> Iterator[str]:
    yield "Detection: rows in the right part, and precision and recall of both parts."
    yield ""
    yield f"| gamma | {' | '.join(NAMES.values())} | discrepancy |"
    yield "|---" * (2 + len(MEASURES)) + "|"
    for line in _of(lines, lines[0]["method"]):
        cells = [_text(line, name) for name in (*MEASURES, "discrepancy")]
        yield f"| {line['share']:g} | " + " | ".join(cells) + " |"


def _text(line: Line, name: str) -> str:
    if line[name] is None:
        return "diverged" if name == "retrained" else ""
    digits = 5 if name == "discrepancy" and line[name] < SMALL else 3
    error = line[f"{name}_se"]
    spread = "" if error is None else f" ± {error:.{digits}f}"
    note = f" ({line['diverged']} diverged)" if name == "retrained" and line["diverged"] else ""
    return f"{line[name]:.{digits}f}{spread}{note}"


def _gap(value: float) -> str:
    return f"{value:.2e}" if value < SMALL else f"{value:.2f}"


def _observations(lines: Sequence[Line]) -> Iterator[str]:
    """Each observation of the paper, and what the lines say about it."""
    for name in dict.fromkeys(line["method"] for line in lines):
        known = [line for line in _of(lines, name) if line["gain"] is not None]
        if not known:
            yield f"`{name}`: training diverged everywhere."
            continue
        sure = [x for x in known if surely_gains(x)]
        helps = ", ".join(f"{x['share']:g}" for x in sure) or "no gamma"
        best = max(known, key=lambda line: line["retrained"])
        most = "best" if len(known) > 1 else "only measured"
        yield (
            f"*Retraining helps for gamma in [0.2, 0.5], most near twice the rate (0.4).* "
            f"`{name}`: better than pretraining by a 95 % t interval for {helps}; {most} at "
            f"gamma = {best['share']:g} (gain {best['gain']:+.3f} ± {best['gain_se'] or 0:.3f})."
        )
    some = _of(lines, lines[0]["method"])
    shown = [name for name in MEASURES if all(line[name] is not None for line in some)]
    crossings = [
        f"{NAMES[a]} and {NAMES[b]} near {place:.2f}"
        for i, a in enumerate(shown)
        for b in shown[i + 1 :]
        for place in _crossings(some, a, b)
    ]
    yield (
        "*Precision and recall meet near 0.5.* The script's curves are accuracy and recall of the "
        "noisy part, which meet where the two recalls do. Crossings here, by straight lines "
        f"between the points: {'; '.join(crossings) or 'none'}."
    )
    gaps = [line["discrepancy"] for line in some]
    falls = all(a > b for a, b in pairwise(gaps))
    yield (
        f"*The discrepancy falls with gamma.* {'It does' if falls else 'It does not always'}: "
        + ", ".join(map(_gap, gaps))
        + "."
    )
    mean = float(np.mean(gaps))
    near = min(some, key=lambda line: abs(line["discrepancy"] - mean))
    yield (
        "*Retraining is good where the discrepancy is near its mean.* That is at gamma = "
        f"{near['share']:g} here (mean {_gap(mean)})."
    )


def surely_gains(line: Line) -> bool:
    """Whether a gain is above 0 by a 95 % interval of Student's t over its trials.

    Examples
    --------
    >>> print(surely_gains({"gain": 0.03, "gain_se": 0.01, "trials": 3, "diverged": 0}))
    False
    >>> print(surely_gains({"gain": 0.03, "gain_se": 0.01, "trials": 20, "diverged": 0}))
    True
    """
    from scipy.stats import t

    kept = line["trials"] - line["diverged"]
    if kept < 2 or line["gain_se"] is None:
        return False
    return bool(line["gain"] > t.ppf(0.975, kept - 1) * line["gain_se"])


def _crossings(lines: Sequence[Line], a: str, b: str) -> list[float]:
    """Shares at which two curves meet, by straight lines between the points."""
    gaps = [line[a] - line[b] for line in lines]
    places = []
    for i, (left, right) in enumerate(pairwise(gaps)):
        if left == 0 or left * right < 0:
            step = lines[i + 1]["share"] - lines[i]["share"]
            places.append(lines[i]["share"] + step * abs(left) / (abs(left) + abs(right) or 1))
    return places


def _draw_accuracy(axes: Any, lines: Sequence[Line]) -> None:
    shares = [line["share"] for line in _of(lines, lines[0]["method"])]
    before = [line["pretrained"] for line in _of(lines, lines[0]["method"])]
    axes.plot(shares, before, color="0.45", linestyle="--", label="pretrained")
    for name in dict.fromkeys(line["method"] for line in lines):
        known = [line for line in _of(lines, name) if line["retrained"] is not None]
        axes.errorbar(
            [line["share"] for line in known], [line["retrained"] for line in known],
            yerr=[line["retrained_se"] or 0 for line in known], color=COLOURS.get(name, "0.2"),
            marker="o", markersize=3, capsize=2, label=f"retrained, {name}",
        )  # fmt: skip
    axes.set(title="Accuracy", xlabel="gamma", ylabel="accuracy on right test labels")
    axes.legend(fontsize="x-small", frameon=False)


def _draw_detection(axes: Any, lines: Sequence[Line]) -> None:
    styles = {"precision": "-", "recall": "--", "detection": "-"}
    colours = {"clean": "#1f4e9c", "noisy": "#c2410c", "accuracy": "#15803d"}
    for name in MEASURES:
        if any(line[name] is None for line in lines):
            continue
        measure, part = name.split("_")
        axes.errorbar(
            [line["share"] for line in lines], [line[name] for line in lines],
            yerr=[line[f"{name}_se"] or 0 for line in lines], linestyle=styles[measure],
            color=colours[part], marker="o", markersize=3, capsize=2, label=NAMES[name],
        )  # fmt: skip
    axes.axvline(RATE, color="0.6", linestyle=":", linewidth=1)
    axes.set(title="Detection", xlabel="gamma", ylim=(-0.02, 1.02))
    axes.legend(fontsize="x-small", frameon=False, handlelength=3.2)


def _draw_discrepancy(axes: Any, lines: Sequence[Line]) -> None:
    axes.errorbar(
        [line["share"] for line in lines], [line["discrepancy"] for line in lines],
        yerr=[line["discrepancy_se"] or 0 for line in lines], color="#1f4e9c", marker="o",
        markersize=3, capsize=2,
    )  # fmt: skip
    mean = float(np.mean([line["discrepancy"] for line in lines]))
    axes.axhline(mean, color="0.6", linestyle=":", linewidth=1)
    axes.set(title="Discrepancy (dotted: its mean)", xlabel="gamma", ylabel="gap of mean losses")


SYMMETRIC = NoiseTable("symmetric")


PAIR = NoiseTable("pair")
