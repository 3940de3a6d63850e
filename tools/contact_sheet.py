"""Draw contact sheets: every corruption at every severity, or some rows of p and q of a source.

python tools/contact_sheet.py [--check]               docs/assets/corruptions.png, from a free photo
python tools/contact_sheet.py SOURCE FILE.png         rows of a source, e.g. pacs:domain_q=sketch

Sheets of a source hold images of its data file and stay out of the project. The photo is china.jpg
by danielbuechele (CC BY 2.0), which scikit-learn carries.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from rdiv.cli.study_parts import source_of
from rdiv.sources.corruptions import KINDS, corrupt
from rdiv.sources.images import resized

TARGET = Path(__file__).resolve().parents[1] / "docs" / "assets" / "corruptions.png"
SIZES = {"cifar10": 32, "imagenet": 64}
SEVERITIES = (1, 2, 3, 4, 5)
SAME = 2.0  # grey levels, on average, that fonts and rounding of another machine may change
ROW = 12  # images of a source beside each other


def main(arguments: list[str] | None = None) -> int:
    """Write the sheet that was asked for, with seed 0, or check the one of the documentation."""
    given = sys.argv[1:] if arguments is None else arguments
    if given in ([], ["--check"]):
        return write_or_check(sheet(), check=bool(given))
    if len(given) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    rows_of(given[0]).savefig(given[1], dpi=90)
    return 0


def sheet() -> Image.Image:
    """The sheet of corruptions in few colours."""
    buffer = BytesIO()
    corruptions_of(photo()).savefig(buffer, dpi=80)
    return Image.open(buffer).convert("RGB").quantize(128)


def write_or_check(fresh: Image.Image, *, check: bool) -> int:
    """Write the sheet, or return 1 when the one that is there shows something else."""
    if not check:
        fresh.save(TARGET, optimize=True)
        return 0
    pixels = [np.asarray(image.convert("RGB"), float) for image in (fresh, Image.open(TARGET))]
    if pixels[0].shape == pixels[1].shape and np.abs(pixels[0] - pixels[1]).mean() < SAME:
        return 0
    print(f"{TARGET.name} is stale; run `make docs`.", file=sys.stderr)
    return 1


def photo() -> NDArray[np.uint8]:
    """A free photo, cut to a square with the channels first."""
    from sklearn.datasets import load_sample_image

    square = load_sample_image("china.jpg")[:427, 100:527]
    return np.ascontiguousarray(np.moveaxis(square, -1, 0)[None])


def corruptions_of(image: NDArray[np.uint8]) -> Figure:
    """One image under every corruption, at the size and with the constants of each benchmark."""
    figure = Figure(figsize=(7.4, 10.2), layout="constrained")
    parts = np.ravel(np.asarray(figure.subfigures(2, 1)))
    for part, (name, size) in zip(parts, SIZES.items(), strict=True):
        part.suptitle(f"constants of {name}, {size} x {size} pixels", fontsize=10)
        grid = part.subplots(len(KINDS), 1 + len(SEVERITIES))
        clean = resized(image, size)
        for line, kind in zip(grid, KINDS, strict=True):
            _show(line[0], clean[0], kind, "clean" if kind == KINDS[0] else "")
            for axes, severity in zip(line[1:], SEVERITIES, strict=True):
                rng = np.random.default_rng(0)
                made = corrupt(clean, kind, rng, severity=severity, constants=name)
                _show(axes, made[0], "", f"severity {severity}" if kind == KINDS[0] else "")
    return figure


def rows_of(text: str) -> Figure:
    """Some rows of p and of q, with their targets, and a null pair below."""
    source = source_of(text)
    lines: list[tuple[str, Any]] = []
    for null in (False, True):
        pair = source.draw(ROW, np.random.default_rng(0), null=null)
        lines += [(name + ", null" * null, part) for name, part in zip("pq", pair, strict=True)]
    figure = Figure(figsize=(ROW, 5.2), layout="constrained")
    figure.suptitle(text)
    for line, (name, sample) in zip(figure.subplots(len(lines), ROW), lines, strict=True):
        images, targets = sample if isinstance(sample, tuple) else (sample, [""] * ROW)
        for i, (axes, image, target) in enumerate(zip(line, images, targets, strict=True)):
            _show(axes, image, name if i == 0 else "", str(target))
    return figure


def _show(axes: Any, image: NDArray[np.uint8], left: str, above: str) -> None:
    shown = np.moveaxis(image, 0, -1)
    if shown.shape[-1] == 2:  # red and green
        shown = np.concatenate([shown, np.zeros_like(shown[..., :1])], axis=-1)
    axes.imshow(shown.squeeze(), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_ylabel(left, fontsize=9)
    axes.set_title(above, fontsize=8)


if __name__ == "__main__":
    sys.exit(main())
