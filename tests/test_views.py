"""Every result has a picture on matplotlib's axes and a view for notebooks."""

from __future__ import annotations

import inspect
import re
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import rdiv
from rdiv.noisy_labels import LabelNoiseDetector, noise_sweep
from rdiv.results import html_table, short_block

pytest.importorskip("matplotlib", reason="needs the cli extra")
from matplotlib.axes import Axes

PACKAGES = ("", ".studies", ".noisy_labels", ".reproduction", ".theory", ".monitoring")
NAMES = (
    "TwoSampleResult", "Comparison", "Drivers", "Comparisons", "GapEstimate", "MonitorState",
    "Plan", "PowerStudy", "LabelNoise", "NoiseSweep", "Complexity",
)  # fmt: skip
OTHERS = {"Any", "NDArray", "Partitions", "NetworkNorms"}
"""What public functions return beside results: arrays, tables, norms of a network."""


def table(n: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] + noise * rng.normal(size=n)


@cache
def results() -> dict[str, Any]:
    """One result of every kind, as small as it may be."""
    p, q = table(120, 1.0, 0), table(120, 2.0, 1)
    labels = (p[0], np.where(p[0][:, 0] > 0, "up", "down"))
    many = {"monday": q, "tuesday": p}
    found = rdiv.compare(p, q, model="ridge", n_resamples=99, rng=0)
    monitor = rdiv.Monitor(p, model="ridge", rng=0)
    return {
        "TwoSampleResult": rdiv.two_sample_test(p, q, model="ridge", n_resamples=99, rng=0),
        "Comparison": found,
        "Drivers": found.drivers,
        "Comparisons": rdiv.compare_many(p, many, model="ridge", n_resamples=99, rng=0),
        "GapEstimate": rdiv.estimate_gap(p, q, model="ridge", rng=0),
        "MonitorState": monitor.update(monitor.start(), q, name="<monday>"),
        "Plan": rdiv.plan(p, q, model="ridge", gap=0.5, rng=0),
        "PowerStudy": rdiv.power_study("blob", ["energy"], sizes=[18], trials=3),
        "LabelNoise": LabelNoiseDetector("logistic", noise_rate=0.1).fit(*labels, rng=0),
        "NoiseSweep": noise_sweep(
            labels, labels, model=rdiv.models.Mlp(epochs=1), shares=[0.2], trials=1,
            objectives=["weighted"],
        ),
        "Complexity": rdiv.theory.rademacher_complexity(np.eye(4), draws=20, rng=0),
    }  # fmt: skip


def returned() -> set[str]:
    """Names of the classes of rdiv that public functions and methods return as a result."""
    found = {"Drivers", "LabelNoise", "MonitorState"}
    for name in PACKAGES:
        package = import_module(f"rdiv{name}")
        for public in package.__all__:
            thing = getattr(package, public)
            if inspect.isfunction(thing):
                kind = inspect.signature(thing).return_annotation
                found |= {kind} if re.fullmatch(r"[A-Z]\w+", str(kind)) else set()
    return found - OTHERS


class Text(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"


def test_no_kind_of_result_is_left_out() -> None:
    """A table of the paper has its own tests, and its picture is SVG text."""
    assert set(results()) == set(NAMES)
    assert returned() == {*NAMES, "Reproduced"}


@pytest.mark.parametrize("name", NAMES)
def test_every_result_has_a_view(name: str) -> None:
    view = Text(results()[name]._repr_html_())
    assert view.text.strip()
    assert "object at 0x" not in view.text


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Complexity"])
def test_every_result_has_a_picture(name: str) -> None:
    result = results()[name]
    drawn = result.plot()
    panels = drawn if isinstance(drawn, tuple) else (drawn,)
    assert all(isinstance(axes, Axes) for axes in panels)
    assert all(axes.has_data() and axes.get_xlabel() for axes in panels)
    panels[0].figure.canvas.draw()  # nothing warns or fails when it is painted
    assert result.plot(drawn) == drawn


def test_new_axes_are_those_that_a_notebook_shows() -> None:
    from matplotlib import pyplot

    axes = results()["Plan"].plot()
    assert pyplot.gcf() is axes.figure


def test_the_picture_of_labels_counts_all_rows() -> None:
    noise = results()["LabelNoise"]
    bars = noise.plot().patches
    assert sum(bar.get_height() for bar in bars) == len(noise.losses)


def test_the_picture_of_drivers_shows_contributions() -> None:
    drivers = results()["Drivers"]
    groups = drivers.columns.groups
    labels = [text.get_text() for text in drivers.plot().get_yticklabels()]
    assert labels == [group.name for group in groups]


def test_a_view_is_escaped() -> None:
    assert "&lt;monday&gt;" in results()["MonitorState"]._repr_html_()
    assert "<b>" not in short_block("<b>", "<b>", ["<b>: <b>", "<b>"])
    assert "<b>" not in html_table({"<b>": ["<b>"]})


def test_the_border_tells_the_direction() -> None:
    borders = {
        tone: short_block("", "", [], tone=tone).split("solid ")[1][:7]
        for tone in ("worse", "expected worse", "better", "hidden", "none")
    }
    assert borders["worse"] == borders["expected worse"]
    assert len(set(borders.values())) == 4


def test_the_names_of_the_package_are_listed() -> None:
    for package in (
        rdiv, rdiv.discrepancies, rdiv.models, rdiv.monitoring, rdiv.noisy_labels, rdiv.report,
        rdiv.reproduction, rdiv.samples, rdiv.sources, rdiv.studies, rdiv.theory,
    ):  # fmt: skip
        assert dir(package) == sorted(package.__all__)
