"""Pictures: valid SVG, the same bytes each time, text that can be read and searched."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.studies.toys import Plain, shifted

import rdiv
from rdiv.errors import InputError
from rdiv.sources import Pair
from rdiv.studies.power import power_figure

pytest.importorskip("matplotlib", reason="needs the cli extra")

SVG = "{http://www.w3.org/2000/svg}"
TABLE: dict[str, list[Any]] = {
    "source": ["one"] * 4 + ["two"] * 2,
    "discrepancy": ["r-div", "r-div", "r-div", "energy", "r-div", "energy"],
    "model": ["kde", "kde", "kde", None, "kde", None],
    "n_p": [200, 100, 100, 100, 100, 100],
    "null": [False, False, True, False, False, False],
    "alpha": [0.05] * 6,
    "rate": [1.0, 0.5, 0.05, 0.0, 0.3, 0.4],
    "low": [0.9, 0.4, 0.01, 0.0, 0.2, 0.3],
    "high": [1.0, 0.6, 0.1, 0.1, 0.4, 0.5],
}


def words(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    return ["".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")]


def test_text_is_text() -> None:
    found = words(power_figure(TABLE))
    for text in ("one, alpha = 0.05", "two, alpha = 0.05", "rows of p", "rejection rate"):
        assert text in found
    for label in ("r-div, kde", "r-div, kde, null", "energy"):
        assert label in found


def test_one_panel_a_source_and_level() -> None:
    assert words(power_figure(TABLE)).count("rejection rate") == 2
    levels = {**TABLE, "alpha": [0.05, 0.1, 0.05, 0.1, 0.05, 0.1]}
    assert words(power_figure(levels)).count("rejection rate") == 4


def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    first = power_figure(TABLE)
    assert first == power_figure(TABLE)
    program = (
        "from tests.studies.test_pictures import TABLE; "
        "from rdiv.studies.power import power_figure; print(power_figure(TABLE), end='')"
    )
    again = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True,
        capture_output=True, env={**os.environ, "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert again.stdout.decode() == first
    assert "<dc:date>" not in first


def test_a_study_is_drawn() -> None:
    found = rdiv.power_study(shifted, ["energy", Plain()], sizes=[8, 12], trials=3, null=True)
    assert "shifted, alpha = 0.05" in words(found.to_svg())
    (axes,) = found.plot()
    curves = [bars.lines[0] for bars in axes.containers]
    assert [list(curve.get_xdata()) for curve in curves] == [[8, 12]] * 4
    assert found.plot([axes]) == (axes,)
    with pytest.raises(InputError, match="needs as many axes, got 2"):
        found.plot([axes, axes])


def test_names_are_taken_as_they_are() -> None:
    """No mathematics, no markup: a name may have dollars, brackets and letters of any alphabet."""
    name = "cost_$1 <&> $\\frac$ Größe"
    source = Pair(np.arange(40.0), np.arange(40.0), name=name)
    found = rdiv.power_study(source, "energy", sizes=8, trials=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f"{name}, alpha = 0.05" in words(found.to_svg())


def test_settings_of_the_user_are_left_alone() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    power_figure(TABLE)
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "rdiv\[cli\]"'):
        power_figure(TABLE)


def test_the_settings_of_matplotlib_are_left_alone() -> None:
    import matplotlib

    from rdiv.pictures import SETTINGS

    before = {name: matplotlib.rcParams[name] for name in SETTINGS}
    power_figure(TABLE)
    assert {name: matplotlib.rcParams[name] for name in SETTINGS} == before
