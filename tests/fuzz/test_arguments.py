"""Any arguments: a result or one sentence, never a crash."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from tests.fuzz.arguments import BASES, PAIR, RIDGE, SLOW, WATCHED, arguments, commands
from tests.fuzz.promise import examples, run, scratch


def table(seed: int, n: int = 40) -> pl.DataFrame:
    """Inputs, two targets, logged predictions and losses, groups and strata."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    bought = age + rng.normal(size=n) > 0
    return pl.DataFrame(
        {
            "age": age,
            "visits": age + rng.normal(size=n),
            "bought": np.where(bought, "yes", "no"),
            "chance": 1 / (1 + np.exp(-age)),
            "error": rng.random(n),
            "shop": [f"{'pq'[seed]}{i % 12}" for i in range(n)],
            "month": [f"m{i % 2}" for i in range(n)],
            "day": pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, n), eager=True)
            if n <= 31
            else pl.Series([f"2024-01-{i % 28 + 1:02}" for i in range(n)]).str.to_date(),
        }
    )


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the arguments name."""
    from safetensors.numpy import save_file

    from rdiv.cli import main

    folder = tmp_path_factory.mktemp("fuzz")
    for seed, name in enumerate(("reference", "current")):
        table(seed).write_csv(folder / f"{name}.csv")
    for seed, name in enumerate(("arrays", "other")):
        frame = table(seed)
        x = frame.select("age", "visits").to_numpy()
        np.savez(folder / f"{name}.npz", x=x, y=(frame["bought"] == "yes").to_numpy().astype(int))
    table(0, 120).write_csv(folder / "long.csv")
    labels = table(1, 120)
    labels.drop("visits").write_csv(folder / "unlabelled.csv")
    known = pl.when(pl.int_range(pl.len()) < 80).then(pl.col("visits"))
    labels.with_columns(visits=known).write_csv(folder / "labels_later.csv")
    (folder / "parts").mkdir()
    for k in range(2):
        table(0)[20 * k : 20 * (k + 1)].write_parquet(folder / "parts" / f"{k}.parquet")
    (folder / "empty.csv").write_text("")
    (folder / "folder").mkdir()
    trained = ["--target", "visits", *RIDGE]
    for file, name, how in ((PAIR[0], "state", WATCHED), ("long.csv", "trained", trained)):
        state = ["--state", str(folder / f"{name}.json")]
        assert main(["watch", "start", str(folder / file), *state, *how]) == 0
    save_file({"0.weight": np.ones((3, 2), np.float32)}, folder / "weights.safetensors")
    return folder


@settings(
    max_examples=examples(25), suppress_health_check=list(HealthCheck), deadline=None, database=None
)
@example(words=["data", "list", "--data-dir", "a" * 300])
@example(words=["data", "fetch", "mnist", "--data-dir", "a" * 300])
@given(words=arguments())
def test_no_arguments_make_a_command_crash(samples: Path, words: list[str]) -> None:
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RDIV_DATA_ORIGIN", "http://127.0.0.1:9")  # nothing listens there
        patch.setenv("RDIV_DATA", str(folder))
        shutil.copytree(samples, folder, dirs_exist_ok=True)
        run(words, "arguments", folder)


@pytest.mark.parametrize("words", [base for bases in BASES.values() for base in bases], ids=str)
def test_every_run_that_is_changed_is_reached(samples: Path, words: list[str]) -> None:
    """What the strategy starts from works, so that its changes reach more than the parser."""
    if words[0] == "data":
        return
    with scratch() as folder:
        shutil.copytree(samples, folder, dirs_exist_ok=True)
        assert run(words, "arguments", folder)[0] == 0


def test_every_command_is_covered() -> None:
    assert set(BASES) | SLOW == set(commands())
