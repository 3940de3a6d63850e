"""Tables in partitions on the command line: what is wrong with a part is said in one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.conftest import Run, table

import rdiv
from rdiv.progress import progress_sent_to
from rdiv.samples import memory, partitioned

ASKED = ["--target", "bought", "--model", "logistic", "--sample-rows", 200, "--fit-rows", 150]


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A reference of three files, and a current table of two."""
    for side, name in enumerate(("reference", "current")):
        (tmp_path / name).mkdir()
        for k in range(3 - side):
            table(150, seed=10 * side + k).write_parquet(tmp_path / name / f"{k}.parquet")
    return tmp_path


def refused(run: Run, parts: Path, *more: Any) -> str:
    """The only line on the error stream of a comparison that ends with exit 2."""
    out = parts / "out.json", parts / "out.html"
    ran = run("compare", parts / "reference", parts / "current", *ASKED, *more, "--json", out[0],
              "--html", out[1])  # fmt: skip
    assert ran.code == 2, ran.err
    assert not any(file.exists() for file in out), "something was written"
    assert "Traceback" not in ran.err
    return " ".join(ran.err.split())


def test_it_works(run: Run, parts: Path) -> None:
    ran = run("compare", parts / "reference", parts / "current", *ASKED, "--json",
              parts / "out.json")  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert (parts / "out.json").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.drop("bought"), "2.parquet lacks 'bought'"),
        (lambda frame: frame.with_columns(extra=1), "2.parquet has 'extra' besides"),
        (
            lambda frame: frame.with_columns(pl.col(frame.columns[0]).cast(pl.String)),
            "is String in",
        ),
    ],
    ids=["lacks", "besides", "type"],
)
def test_other_columns_or_types(
    run: Run, parts: Path, change: Callable[[pl.DataFrame], pl.DataFrame], words: str
) -> None:
    file = parts / "reference" / "2.parquet"
    change(pl.read_parquet(file)).write_parquet(file)
    said = refused(run, parts)
    assert words in said
    assert "2.parquet" in said


def vanish(file: Path) -> None:
    file.unlink()


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:500])


def shrink(file: Path) -> None:
    pl.read_parquet(file)[:100].write_parquet(file)


@pytest.mark.parametrize("harm", [vanish, cut_short, shrink])
@pytest.mark.parametrize("number", [1, 3], ids=["early", "late"])
def test_a_part_that_changes_while_it_is_read(
    run: Run, parts: Path, harm: Callable[[Path], None], number: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Harm comes before the so-many-th pass over the rows."""
    over_parts, passes = partitioned.over_parts, []

    def harmed(*given: Any) -> Iterator[Any]:
        passes.append(1)
        if len(passes) == number:
            harm(parts / "reference" / "1.parquet")
        return over_parts(*given)

    monkeypatch.setattr(partitioned, "over_parts", harmed)
    said = refused(run, parts)
    assert "1.parquet" in said
    assert "see that it stays as it is while rdiv reads it" in said


@pytest.mark.parametrize("where", [["--jobs", 2], ["--scheduler", "local:2"]], ids=str)
def test_workers_name_the_part_too(run: Run, parts: Path, where: list[Any]) -> None:
    pytest.importorskip("distributed")
    cut_short(parts / "reference" / "2.parquet")
    said = refused(run, parts, *where)
    assert "2.parquet" in said
    assert "it is complete" in said


def test_keys_that_do_not_fit(run: Run, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 20_000)
    said = refused(run, parts)
    assert "keys and losses of 750 rows needs at least 54000 bytes of memory" in said
    assert "20000 bytes are free" in said


def test_every_pass_says_its_rows(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdiv.progress._EVERY", 0.0)
    monkeypatch.setattr("rdiv.inference.tiles.TILE_ROWS", 256)
    said: list[str] = []
    with progress_sent_to(said.append):
        rdiv.compare(
            rdiv.scan(parts / "reference"), rdiv.scan(parts / "current"), target="bought",
            model="logistic", sample_rows=200, fit_rows=150, rng=0,
        )  # fmt: skip
    for words in ("looking at row 150, part 1 of 5", "looking at row 750, part 5 of 5",
                  "row 750 of 750", "permuting row 256 of"):  # fmt: skip
        assert any(words in line for line in said), words


def test_a_database_is_read_by_name_and_by_a_function(run: Run, parts: Path) -> None:
    """As the guide shows it: a query whose rows are read a block at a time."""
    tables = {
        name: pl.concat([pl.read_parquet(file) for file in sorted((parts / name).iterdir())])
        for name in ("reference", "current")
    }
    with sqlite3.connect(parts / "days.db") as base:
        for name, frame in tables.items():
            columns = ", ".join(f'"{column}"' for column in frame.columns)
            base.execute(f"create table {name} ({columns})")
            marks = ", ".join("?" for _ in frame.columns)
            base.executemany(f"insert into {name} values ({marks})", frame.iter_rows())
    base.close()
    out = parts / "out.json"
    sides = [f"{parts / 'days.db'}::select * from reference", f"{parts / 'days.db'}::current"]
    assert run("compare", *sides, *ASKED, "--json", out).code == 0
    expected = run("compare", parts / "reference", parts / "current", *ASKED,
                   "--json", "-")  # fmt: skip
    assert out.read_text() == expected.out
    example = (Path(__file__).parents[2] / "docs/guide/big_data.md").read_text()
    code = example.partition('```python title="database"\n')[2].partition("```")[0]
    assert code, "the guide lost its example"
    scope: dict[str, Any] = {}
    exec(code.partition("\nfound = ")[0], scope)
    settings = {"target": "bought", "model": "logistic", "rng": 0, "sample_rows": 200}
    found = rdiv.compare(
        scope["query"](parts / "days.db", "select * from reference"),
        scope["query"](parts / "days.db", "select * from current"), **settings,
    )  # fmt: skip
    assert found.to_json() == rdiv.compare(*tables.values(), **settings).to_json()
