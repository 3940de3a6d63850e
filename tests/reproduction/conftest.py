"""Tables at their smallest scale, each measured once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from rdiv.reproduction import Reproduced, reproduce

Measure = Callable[[str], tuple[Reproduced, Path]]


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Measure:
    """A table by its name, measured with seed 3, and the folder it was written to."""

    @cache
    def measured(name: str) -> tuple[Reproduced, Path]:
        folder = tmp_path_factory.mktemp(name)
        return reproduce(name, scale="smoke", out=folder, seed=3), folder

    return measured
