"""Every snippet of the page about your own model runs, or is skipped if its package is absent."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import rdiv

pytestmark = pytest.mark.trains

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "networks.md"
OWN = PAGE.read_text(encoding="utf-8").split("## Bring your own model")[1]
START, *SNIPPETS = re.findall(r"```python\n(.*?)```", OWN, flags=re.DOTALL)
PACKAGES = ("torch", "lightgbm", "xgboost", "skorch", "sklearn")


def needs(snippet: str) -> list[str]:
    return [name for name in PACKAGES if re.search(rf"^(from|import) {name}\b", snippet, re.M)]


def test_the_page_has_all_kinds() -> None:
    assert len(SNIPPETS) == 6
    assert {name for snippet in SNIPPETS for name in needs(snippet)} == set(PACKAGES)


@pytest.mark.filterwarnings("default")  # of other people's packages
@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: "-".join(needs(snippet)))
def test_snippets_run(snippet: str) -> None:
    absent = [name for name in needs(snippet) if find_spec(name) is None]
    if absent:
        pytest.skip(f"{absent[0]} is not installed")
    names: dict[str, Any] = {}
    exec(START + snippet.replace("torch.manual_seed(0)", ""), names)
    result = names["result"]
    assert isinstance(result, rdiv.results.TwoSampleResult)
    assert 0 < result.pvalue <= 1
