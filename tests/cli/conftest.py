"""Small files, and the command run inside the test process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from rdiv.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command: arguments in, exit code and both streams out."""

    def command(*arguments: object) -> Ran:
        code = main([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return command


def table(rows: int, seed: int, turned: float = 0.0) -> pl.DataFrame:
    """Two inputs and a yes/no target, a share of which is turned round."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    bought = (x[:, 0] + 0.5 * rng.normal(size=rows) > 0) ^ (rng.random(rows) < turned)
    answer = np.where(bought, "yes", "no")
    return pl.DataFrame({"age": x[:, 0], "visits": x[:, 1], "bought": answer})


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a reference, a current sample like it, and one whose labels went bad."""
    folder = tmp_path_factory.mktemp("samples")
    table(120, seed=0).write_csv(folder / "reference.csv")
    table(100, seed=1).write_csv(folder / "same.csv")
    table(100, seed=2, turned=0.4).write_csv(folder / "worse.csv")
    return folder
