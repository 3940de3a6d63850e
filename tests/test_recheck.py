"""Defects that once were there, one short probe each, by the command and public names alone.

Every one was seen to fail, by what it did or said, on the commit before the house was rebuilt.
`tests/comparison/test_promises.py` has the promises of `compare`; both hold for good.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.cli import main
from rdiv.models import Frozen

Run = Callable[..., tuple[int, str, str]]
QUICK = ("--resamples", "39")
RIDGE = ("--target", "y", "--model", "ridge", *QUICK)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, in a folder of its own: exit code, output, error output."""
    monkeypatch.chdir(tmp_path)

    def command(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def table(n: int, seed: int, slope: float = 1.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    return pl.DataFrame({"a": a, "b": b, "y": slope * a + rng.normal(size=n)})


def pair(
    folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame
) -> None:
    """Two plain files, the second one changed."""
    table(60, 0).write_csv(folder / "p.csv")
    change(table(60, 1)).write_csv(folder / "q.csv")


def one_sentence(code: int, said: str) -> None:
    assert code == 2, said
    assert said.startswith("rdiv: ")
    assert said.count("\n") == 1, said


def refused(call: Callable[[], object]) -> str:
    """The sentence of an error that was raised by a check of ours, not inside another library."""
    try:
        call()
    except (ValueError, TypeError) as error:
        last, said = traceback.extract_tb(error.__traceback__)[-1].filename, str(error)
    else:
        raise AssertionError("accepted")
    assert str(Path(rdiv.__file__).parent) in last, f"{last}: {said}"
    return said


class TestHouse:
    """One result for one content; errors of the user are not defects of ours."""

    def test_the_type_of_a_number_does_not_matter(self) -> None:
        rng = np.random.default_rng(0)
        p, q = rng.integers(-3, 9, size=(40, 2)), rng.integers(-3, 9, size=(30, 2))
        y = [rng.integers(0, 9, size=n) for n in (40, 30)]
        found = {
            rdiv.two_sample_test(
                (p.astype(kind), y[0]), (q.astype(kind), y[1]), model="ridge", folds=5, rng=0,
                n_resamples=99,
            ).pvalue
            for kind in (np.int64, np.float64, np.float32, np.int8)
        }  # fmt: skip
        assert len(found) == 1, found

    def test_minus_zero_is_zero(self) -> None:
        rng = np.random.default_rng(1)
        p, q = rng.integers(-1, 2, size=(2, 40, 3)).astype(float)
        found = [
            rdiv.two_sample_test(
                p, sign * np.abs(q) * (q > 0), model="kde", folds=5, rng=0
            ).statistic
            for sign in (1.0, 1.0)
        ]
        negative = np.where(np.abs(q) * (q > 0) == 0, -0.0, np.abs(q))
        found.append(rdiv.two_sample_test(p, negative, model="kde", folds=5, rng=0).statistic)
        assert len(set(found)) == 1, found

    def test_nested_json_is_no_defect_of_ours(self, run: Run) -> None:
        for side in "pq":
            Path(f"{side}.jsonl").write_text('{"a":' * 3000 + "1" + "}" * 3000 + "\n")
        code, _, said = run("test", "p.jsonl", "q.jsonl", *QUICK, "--model", "gmm")
        one_sentence(code, said)

    def test_dates_out_of_range_are_no_defect_of_ours(self, run: Run) -> None:
        days = pl.Series([2**31 - 1, -(2**31), 0, 5] * 10, dtype=pl.Int32).cast(pl.Date)
        for side in "pq":
            pl.DataFrame({"d": days, "a": range(40)}).write_parquet(f"{side}.parquet")
        code, _, said = run("test", "p.parquet", "q.parquet", *QUICK, "--model", "gmm")
        assert code in (0, 2), said

    def test_a_size_that_no_machine_holds(self, run: Run) -> None:
        code, _, said = run(
            "power", "blob", "--sizes", 10**13, "--discrepancy", "energy", "--trials", 1
        )
        one_sentence(code, said)

    @pytest.mark.parametrize("body", ["return 'a word'", "raise SystemExit(5)"])
    def test_tests_of_the_user_that_misbehave(self, run: Run, body: str) -> None:
        source = "class Own:\n    def prepare(self, pool, rng):\n        " + body + "\n"
        module = f"own_{len(body)}"
        Path(f"{module}.py").write_text(source)
        words = ("power", "blob", "--sizes", 20, "--trials", 1, *QUICK)
        code, _, said = run(*words, "--method", f"{module}:Own")
        one_sentence(code, said)

    def test_names_cannot_forge_lines_of_the_panel(self, run: Run) -> None:
        forged = "a\nno shift \u202eelpmis"
        rng = np.random.default_rng(3)
        for side, shift in (("p", 0.0), ("q", 3.0)):
            a = rng.normal(size=120) + shift
            pl.DataFrame({forged: a, "y": a**2}).write_parquet(f"{side}.parquet")
        code, out, _ = run("compare", "p.parquet", "q.parquet", *RIDGE)
        assert code == 0
        assert "\u202e" not in out
        assert not any(line.strip("│ ").startswith("no shift ") for line in out.splitlines())

    def test_a_dangling_link_is_not_its_own_suggestion(self, run: Run, tmp_path: Path) -> None:
        pair(tmp_path)
        Path("dangling.csv").symlink_to("gone.csv")
        code, _, said = run("test", "dangling.csv", "q.csv", *RIDGE)
        one_sentence(code, said)
        assert "did you mean dangling.csv" not in said

    def test_huge_targets_do_not_fill_the_terminal(self, run: Run) -> None:
        rng = np.random.default_rng(4)
        for side in "pq":
            y = 1e308 * rng.choice([-1.0, 1.0], size=60)
            pl.DataFrame({"a": rng.normal(size=60), "y": y}).write_csv(f"{side}.csv")
        with contextlib.redirect_stderr(None):
            code, _, said = run("compare", "p.csv", "q.csv", *RIDGE)
        assert "Warning" not in said
        assert code in (0, 2)

    def test_a_changed_row_of_a_study_is_noticed(self, run: Run) -> None:
        words = ("power", "blob", "--sizes", 20, "--trials", 3, "--discrepancy", "energy")
        words += (*QUICK, "--out", "study")
        assert run(*words)[0] == 0
        journal = Path("study/rows.jsonl")
        lines = journal.read_text().splitlines()
        row = json.loads(lines[1])
        row["pvalue"] = 1.0 if row["pvalue"] < 0.9 else 0.025
        lines[1] = json.dumps(row)
        journal.write_text("\n".join(lines) + "\n")
        code, _, said = run(*words)
        one_sentence(code, said)

    def test_a_scheduler_is_not_ignored(self, run: Run) -> None:
        code, _, said = run(
            "reproduce", "noisy-pair", "--scheduler", "no such place", "--scale", "smoke"
        )
        one_sentence(code, said)


DOORS: dict[str, Callable[[Any, Any], object]] = {
    "target=[]": lambda p, q: rdiv.compare(p, q, target=[]),  # type: ignore[arg-type]
    "target=0": lambda p, q: rdiv.compare(p, q, target=0),  # type: ignore[arg-type]
    "n_jobs=0": lambda p, q: rdiv.compare(p, q, n_jobs=0),
    "alpha=None": lambda p, q: rdiv.compare(p, q, alpha=None),  # type: ignore[arg-type]
    "groups=3": lambda p, q: rdiv.compare(p, q, groups=3),  # type: ignore[arg-type]
    "not_worse_than='x'": lambda p, q: rdiv.compare(p, q, not_worse_than="x"),  # type: ignore[arg-type]
    "drivers='x'": lambda p, q: rdiv.compare(p, q, drivers="x"),  # type: ignore[arg-type]
    "gap='x'": lambda p, q: rdiv.plan(p, q, gap="x"),  # type: ignore[arg-type]
    "ratio='x'": lambda p, q: rdiv.plan(p, q, ratio="x"),  # type: ignore[arg-type]
    "path=None": lambda p, q: rdiv.read(None),  # type: ignore[arg-type]
    "pair (X, y)": lambda p, q: rdiv.compare((p.to_numpy(), None), (q.to_numpy(), None)),
    "make a frame of it": lambda p, q: rdiv.compare({"a": [1.0, 2.0]}, {"a": [1.0, 2.0]}),
    "rdiv.read": lambda p, q: rdiv.compare("p.csv", "q.csv"),
}
"""What is given, and how; the sentence says the words before the equals sign."""


class TestDoors:
    """What a public function refuses, it refuses itself."""

    @pytest.mark.parametrize("door", DOORS)
    def test_odd_arguments(self, door: str) -> None:
        rng = np.random.default_rng(5)
        p, q = (pl.DataFrame(rng.normal(size=(30, 2)), schema=["a", "y"]) for _ in range(2))
        said: list[str] = []

        def tried() -> None:
            said.append(refused(lambda: DOORS[door](p, q)))

        thread = threading.Thread(target=tried, daemon=True)  # an empty list once hung
        thread.start()
        thread.join(60)
        assert said
        assert door.partition("=")[0] in said[0]

    def test_lazy_frames_are_tables(self) -> None:
        p, q = table(40, 0).lazy(), table(40, 1).lazy()
        found = rdiv.compare(p, q, target="y", model="ridge", n_resamples=39, rng=0, drivers=False)
        assert 0 < found.pvalue <= 1

    def test_sparse_matrices_get_a_useful_sentence(self) -> None:
        from scipy.sparse import csr_matrix

        sample = csr_matrix(np.eye(30))
        assert "toarray" in refused(lambda: rdiv.compare(sample, sample))

    def test_datasets_without_labels_can_be_compared(self) -> None:
        torch = pytest.importorskip("torch")
        rng = np.random.default_rng(6)

        class Rows(torch.utils.data.Dataset):  # type: ignore[name-defined, misc]
            def __init__(self, shift: float) -> None:
                self.rows = torch.tensor(rng.normal(size=(60, 3)) + shift, dtype=torch.float32)

            def __len__(self) -> int:
                return len(self.rows)

            def __getitem__(self, i: int) -> Any:
                return self.rows[i]

        found = rdiv.compare(Rows(0.0), Rows(2.0), model="gmm", n_resamples=39, rng=0)
        assert found.shifted

    def test_a_torch_module_can_be_the_model_in_use(self) -> None:
        torch = pytest.importorskip("torch")
        module = torch.nn.Linear(2, 1)
        rng = np.random.default_rng(7)
        x = [rng.normal(size=(60, 2)).astype(np.float32) for _ in range(2)]
        y = [a[:, 0] + rng.normal(size=60) for a in x]
        found = rdiv.compare(
            (x[0], y[0]), (x[1], y[1]), model=Frozen(module, trained_on="neither"), n_resamples=39,
            rng=0, drivers=False,
        )  # fmt: skip
        assert np.isfinite(found.gap)

    @pytest.mark.trains
    def test_threads_that_train_do_not_disturb_each_other(self) -> None:
        torch = pytest.importorskip("torch")
        rng = np.random.default_rng(8)
        p, q = (
            (rng.normal(size=(80, 3)).astype(np.float32), rng.integers(2, size=80))
            for _ in range(2)
        )
        layers = torch.nn.Linear(3, 16), torch.nn.Dropout(0.3), torch.nn.Linear(16, 2)
        module = torch.nn.Sequential(*layers)
        found: list[float] = []

        def one() -> None:
            found.append(rdiv.two_sample_test(p, q, model=module, rng=0, n_resamples=39).statistic)

        threads = [threading.Thread(target=one) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 3
        assert len(set(found)) == 1, found


class TestModelInUse:
    """The verdict is about the model that knows the reference only."""

    def test_a_column_that_separates_the_files_hides_no_harm(self) -> None:
        """Labels are inverted in current; a date lets a shared model learn both rules."""
        rng = np.random.default_rng(9)
        frames = []
        for day, sign in ((0.0, 1.0), (1.0, -1.0)):
            a = rng.normal(size=400)
            y = np.where(sign * a + 0.5 * rng.normal(size=400) > 0, "yes", "no")
            frames.append(pl.DataFrame({"a": a, "day": day + 0.01 * rng.random(400), "y": y}))
        found = rdiv.compare(*frames, target="y", model="boosting", n_resamples=99, rng=0)
        assert found.verdict == "risk shift"
        assert found.gap > 0.5

    def test_columns_can_be_left_out(self, run: Run, tmp_path: Path) -> None:
        pair(tmp_path, lambda frame: frame.with_columns(id=pl.lit("x")))
        table(60, 0).with_columns(id=pl.lit("w")).write_csv("p.csv")
        assert run("compare", "p.csv", "q.csv", *RIDGE, "--drop", "id")[0] == 0

    def test_logged_losses_and_predictions_are_enough(self, run: Run) -> None:
        rng = np.random.default_rng(10)
        for side in "pq":
            guess = rng.normal(size=60)
            y = guess + rng.normal(size=60)
            logged = {"a": guess**2, "guess": guess, "y": y, "loss": (guess - y) ** 2}
            pl.DataFrame(logged).write_csv(f"{side}.csv")
        how = ("--target", "y", "--prediction", "guess", "--drop", "loss", *QUICK)
        assert run("compare", "p.csv", "q.csv", *how)[0] == 0
        assert run("compare", "p.csv", "q.csv", "--loss", "loss", *QUICK)[0] == 0

    def test_what_retraining_would_win_is_said(self, run: Run, tmp_path: Path) -> None:
        for side, slope in (("p", 1.0), ("q", -1.0)):
            table(200, len(side), slope).write_csv(f"{side}.csv")
        code, out, _ = run("compare", "p.csv", "q.csv", *RIDGE, "--json", "-")
        assert code == 0
        assert "retraining" in json.loads(out)


@pytest.fixture(scope="module")
def moved() -> Any:
    """Rows drawn again by one column, of three that are correlated; the relation stays."""
    rng = np.random.default_rng(11)
    a = rng.normal(size=6000)
    b, c = 0.6 * a + 0.8 * rng.normal(size=6000), rng.normal(size=6000)
    y = (a + rng.normal(size=6000) * np.exp(0.7 * a)) + 0.3 * c
    whole = pl.DataFrame({"a": a, "b": b, "c": c, "y": y})
    chance = np.exp(1.2 * a)
    rows = rng.choice(6000, 600, replace=False, p=chance / chance.sum())
    return rdiv.compare(whole[:600], whole[rows], target="y", model="ridge", n_resamples=199, rng=0)


class TestWhy:
    """The columns that did it, and no more than was measured."""

    def test_the_column_that_moved_is_named(self, moved: Any) -> None:
        document = moved.to_dict()
        assert document["verdict"] == "risk shift"
        assert "a" in str(document["input_columns"][0])

    def test_no_changed_relation_is_claimed(self, moved: Any) -> None:
        assert "the loss changed at equal inputs" not in str(moved)
        assert moved.to_dict()["split"]["relation"]["low"] <= 0.0

    def test_a_column_constant_in_one_file_is_named(self, run: Run, tmp_path: Path) -> None:
        pair(tmp_path, lambda frame: frame.with_columns(b=pl.lit(0.0)))
        code, out, said = run("compare", "p.csv", "q.csv", *RIDGE)
        assert code == 0
        assert "constant" in out + said


class TestAnyColumn:
    """Text, lists, embeddings; no target; few rows."""

    def test_lists_are_numbers(self) -> None:
        rng = np.random.default_rng(12)
        p, q = (
            pl.DataFrame({"e": (rng.normal(size=(60, 4)) + shift).tolist()}) for shift in (0, 1.5)
        )
        assert rdiv.compare(p, q, n_resamples=39, rng=0).shifted

    def test_free_text_is_seen(self) -> None:
        rng = np.random.default_rng(13)

        def text(words: str) -> list[str]:
            return [" ".join(rng.choice(words.split(), size=6)) + f" {i}" for i in range(120)]

        p = pl.DataFrame({"note": text("good fine great quick nice"), "a": rng.normal(size=120)})
        q = pl.DataFrame({"note": text("late broken slow lost bad"), "a": rng.normal(size=120)})
        assert rdiv.compare(p, q, n_resamples=39, rng=0).shifted


class TestLabelsLate:
    """A current file without labels, or with some of them."""

    def test_no_label_yet(self, run: Run, tmp_path: Path) -> None:
        table(200, 0).write_csv("p.csv")
        table(200, 1).drop("y").write_csv("q.csv")
        code, out, said = run("compare", "p.csv", "q.csv", *RIDGE, "--json", "-")
        assert code == 0, said
        assert json.loads(out)["labels"] == "none"

    def test_some_labels(self, run: Run, tmp_path: Path) -> None:
        table(200, 0).write_csv("p.csv")
        known = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("y"))
        table(200, 1).with_columns(y=known).write_csv("q.csv")
        code, out, said = run("compare", "p.csv", "q.csv", *RIDGE, "--json", "-")
        assert code == 0, said
        assert json.loads(out)["labels"] == "some"

    def test_a_monitor_that_looks_every_day(self, run: Run) -> None:
        rng = np.random.default_rng(17)
        for name, scale in (("p", 1), ("monday", 1), ("tuesday", 4)):
            losses = scale * rng.exponential(size=200)
            pl.DataFrame({"error": losses}).write_csv(f"{name}.csv")
        state = ("--state", "state.json")
        assert run("watch", "start", "p.csv", "--loss", "error", *state)[0] == 0
        assert run("watch", "add", "monday.csv", *state, "--fail-on-alarm")[0] == 0
        assert run("watch", "add", "tuesday.csv", *state, "--fail-on-alarm")[0] == 1


class TestAnySize:
    """Folders, pipes, archives that grow, memory that ends."""

    def test_a_folder_of_files_is_one_table(self, run: Run) -> None:
        for side, seed in (("p", 0), ("q", 1)):
            Path(side).mkdir()
            frame = table(60, seed)
            frame[:25].write_parquet(f"{side}/1.parquet")
            frame[25:].write_parquet(f"{side}/2.parquet")
            frame.write_parquet(f"{side}.parquet")
        found = []
        for words in (("p", "q"), ("p.parquet", "q.parquet"), ("p/*.parquet", "q/*.parquet")):
            code, out, said = run("compare", *words, *RIDGE, "--json", "-")
            assert code == 0, said
            found.append(json.loads(out)["pvalue"])
        assert len(set(found)) == 1

    def test_memory_that_ends_is_no_defect_of_ours(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pair(tmp_path)

        def full(*given: Any, **options: Any) -> None:
            raise MemoryError("Unable to allocate 40. GiB for an array")

        monkeypatch.setattr(np, "concatenate", full)
        code, _, said = run("compare", "p.csv", "q.csv", *RIDGE)
        monkeypatch.undo()
        one_sentence(code, said)
        assert "memory" in said

    def test_an_archive_that_grows_is_stopped(self, run: Run, tmp_path: Path) -> None:
        Path("p.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
        code, _, said = run(
            "test", "p.csv.gz", "p.csv.gz", *QUICK, "--max-decompressed", 10_000, "--model", "gmm"
        )
        one_sentence(code, said)
        assert "--max-decompressed" in said
        assert "no such option" not in said

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
    def test_a_pipe_is_read_once(self, run: Run, tmp_path: Path) -> None:
        """The page has the hash of the bytes that were read; once the file was opened again."""
        pair(tmp_path)
        os.mkfifo("pipe.csv")
        content = Path("q.csv").read_bytes()
        writer = threading.Thread(target=Path("pipe.csv").write_bytes, args=(content,), daemon=True)
        writer.start()
        ended: list[int] = []

        def command() -> None:
            words = ["compare", "p.csv", "pipe.csv", *RIDGE, "--html", "page.html"]
            ended.append(main(words))

        thread = threading.Thread(target=command, daemon=True)
        thread.start()
        thread.join(60)
        assert ended == [0]


class TestOutside:
    """The first minute: completion, settings, views; and words that are true."""

    def test_completion_prints_a_script(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("_RDIV_COMPLETE", "bash_source")
        code, out, said = run()
        assert "bug in rdiv" not in said
        assert (code, "complete" in out) == (0, True)

    def test_settings_of_a_folder_are_used(self, run: Run, tmp_path: Path) -> None:
        pair(tmp_path)
        Path("rdiv.toml").write_text('target = "y"\nmodel = "ridge"\n')
        code, out, _ = run("compare", "p.csv", "q.csv", *QUICK, "--json", "-")
        assert code == 0
        assert "ridge" in json.loads(out)["model"]

    def test_results_can_be_drawn(self) -> None:
        p, q = table(60, 0), table(60, 1)
        found = rdiv.compare(p, q, target="y", model="ridge", n_resamples=39, rng=0)
        axes = found.plot()
        assert axes.has_data()

    def test_a_part_of_a_table_of_the_paper(self, run: Run) -> None:
        code, _, said = run("reproduce", "hdgm-size", "--part", "no such part", "--plan")
        one_sentence(code, said)
        assert "one-fit" in said  # the names of the parts

    def test_coin_flips_are_not_wrong_labels(self) -> None:
        from rdiv.noisy_labels import LabelNoiseDetector

        rng = np.random.default_rng(18)
        x, y = rng.normal(size=(400, 5)), rng.integers(2, size=400)
        noise = LabelNoiseDetector("logistic").fit(x, y, rng=0)
        assert noise.noise_interval is None
        assert not noise.suspected.any()

    def test_data_come_over_https_alone(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("RDIV_DATA_ORIGIN", "http://example.invalid")
        code, _, said = run("data", "fetch", "mnist", "--data-dir", "data")
        one_sentence(code, said)
        assert "https" in said
