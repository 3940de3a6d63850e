"""Monitor: pure steps, the array functions' bits, kinds of models, refusals."""

from hashlib import blake2b

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import rdiv
from rdiv.errors import InputError
from rdiv.inference.betting import e_process
from rdiv.inference.conformal import conformal_pvalues
from rdiv.models import Frozen
from rdiv.monitoring.process import steady
from rdiv.samples.batches import BatchReader, Roles
from rdiv.samples.pool import Pool


def stream_of(monitor, state, batches):
    for name, batch in batches.items():
        state = monitor.update(state, batch, name=name)
    return state


def as_one_stream(seed, digest, batches):
    """The rows and draws of a monitor's stream in their order, by the rules of the design."""
    reader = BatchReader(
        pl.DataFrame(), Pool(np.zeros((1, 0)), loss=np.zeros(1)), Roles(loss="loss"), False
    )
    chain, rows, draws = "", [], []
    for frame in batches:
        batch = reader.read(frame)
        everything = np.arange(len(batch.rows))
        text = f"{chain}:{batch.inputs_digest:032x}:{batch.labels_digest(everything):032x}"
        chain = blake2b(text.encode(), digest_size=16).hexdigest()
        entropy = np.random.SeedSequence((seed, digest, int(chain, 16)))
        rng = np.random.default_rng(entropy).spawn(2)[0]
        rows.append(steady(batch.labelled.loss)[rng.permutation(len(batch))])
        draws.append(1 - rng.random(len(batch)))
    return np.concatenate(rows), np.concatenate(draws), np.cumsum([len(one) for one in rows])


def test_a_monitor_has_the_bits_of_the_array_functions() -> None:
    for seed in range(50):
        rng = np.random.default_rng([9, seed])
        scale = 1.5 if seed % 2 else 1.0
        numbers = rng.exponential(size=60) if seed % 3 else rng.integers(4, size=60) * 1.0
        reference = pl.DataFrame({"loss": numbers})
        sizes = rng.integers(1, 30, size=6)
        batches = [
            pl.DataFrame({"loss": scale * rng.choice(numbers, size=n)}) for n in sizes.tolist()
        ]
        monitor = rdiv.Monitor(reference, loss="loss", rng=seed)
        state, found = monitor.start(), []
        for batch in batches:
            state = monitor.update(state, batch)
            found.append(state.evalue)
        rows, draws, ends = as_one_stream(seed, monitor.reference.digest, batches)
        expected = e_process(conformal_pvalues(steady(numbers), rows, draws), len(numbers))
        assert found == expected[ends - 1].tolist()
        assert state.largest_evalue == max(1.0, expected.max())


def test_a_step_changes_nothing_and_can_be_repeated(losses) -> None:
    monitor = rdiv.Monitor(losses(200, 0), loss="loss", rng=1)
    start = monitor.start()
    before = start.to_json()
    one, two = (monitor.update(start, losses(50, 1), name="a") for _ in range(2))
    assert start.to_json() == before
    assert one.to_json() == two.to_json()
    again = rdiv.Monitor(losses(200, 0), loss="loss", rng=1)
    assert again.update(again.start(), losses(50, 1), name="a").to_json() == one.to_json()


def test_the_order_of_rows_does_not_matter(losses) -> None:
    batch, reference = losses(80, 2), losses(150, 3)
    monitor = rdiv.Monitor(reference, loss="loss", rng=0)
    other = rdiv.Monitor(reference.reverse(), loss="loss", rng=0)
    found = monitor.update(monitor.start(), batch)
    assert other.update(other.start(), batch.reverse()).to_json() == found.to_json()


def test_a_change_is_found_and_its_batch_named(losses) -> None:
    monitor = rdiv.Monitor(losses(1000, 4), loss="loss", rng=0)
    days = {f"day {i}": losses(200, 10 + i, 1.0 if i < 6 else 1.6) for i in range(10)}
    state = stream_of(monitor, monitor.start(), days)
    assert state.alarm
    assert [look.alarm for look in state.history].index(True) >= 6
    assert state.since.name in ("day 5", "day 6", "day 7")
    assert state.gap_since > 0.3
    assert state.pvalue <= 0.05
    assert state.gap_interval.low < state.gap < state.gap_interval.high
    assert all(look.evalue <= look.largest for look in state.history)
    pvalues = [look.pvalue for look in state.history]
    assert min(pvalues[6:]) < 0.001
    assert "worse" in str(state)


def test_the_alarm_stays(losses) -> None:
    monitor = rdiv.Monitor(losses(300, 5), loss="loss", rng=0)
    state = monitor.update(monitor.start(), losses(200, 6, 3.0))
    assert state.alarm
    for seed in range(5):
        state = monitor.update(state, losses(200, 20 + seed, 0.3))
    assert state.alarm
    assert state.pvalue <= 0.05


@pytest.mark.parametrize("size", [1, 3])
def test_tiny_batches(losses, size: int) -> None:
    monitor = rdiv.Monitor(losses(50, 7), loss="loss", rng=0)
    state = monitor.start()
    for seed in range(4):
        state = monitor.update(state, losses(size, 30 + seed))
    assert [look.name for look in state.history] == ["1", "2", "3", "4"]
    assert state.gap_interval is None
    assert not state.alarm


@pytest.mark.parametrize("kind", ["boosting", "logistic", "frozen", "prediction", "classes"])
def test_kinds_of_models(table, kind: str) -> None:
    reference, batches = (
        table(600, 0),
        [table(150, i + 1, 0.0 if i < 2 else 0.45) for i in range(4)],
    )
    settings = {"target": "y", "rng": 0}
    if kind in ("boosting", "logistic"):
        settings["model"] = kind
    elif kind == "frozen":
        other = table(500, 99)
        fitted = LogisticRegression().fit(other.select("a", "b").to_pandas(), other["y"])
        settings["model"] = Frozen(fitted, trained_on="neither")
        reference, *batches = (one.to_pandas() for one in (reference, *batches))
    else:
        score = 1 / (1 + (-2 * pl.col("a")).exp())
        shown = score if kind == "prediction" else pl.when(score > 0.5).then(
            pl.lit("yes")).otherwise(pl.lit("no"))  # fmt: skip
        settings["prediction"] = "said"
        reference, *batches = (one.with_columns(said=shown) for one in (reference, *batches))
    monitor = rdiv.Monitor(reference, **settings)
    state = stream_of(monitor, monitor.start(), dict(zip("abcd", batches, strict=True)))
    assert state.alarm
    assert state.since.name in "bcd"
    assert (state.watched.rows_trained_on == 0) == (kind in ("frozen", "prediction", "classes"))
    assert state.leading.bounded == (kind == "classes")


def test_part_a_is_that_of_compare(table) -> None:
    from rdiv.samples.pooling import pool_samples
    from rdiv.two_sample import part_of_reference

    reference, current = table(300, 0), table(200, 1)
    pooled = pool_samples(reference, current, target="y", rng=3)
    part = part_of_reference(pooled, 0.5)
    monitor = rdiv.Monitor(reference, target="y", rng=3)
    own = part_of_reference(monitor.reference.pooled, 0.5)
    places = monitor.reference.pooled.places[own]
    assert sorted(places) == sorted(pooled.places[part])


def test_losses_of_a_row_do_not_depend_on_its_batch(table) -> None:
    monitor = rdiv.Monitor(table(300, 0), target="y", model="logistic", rng=0)
    frame = table(40, 1)
    whole = monitor._reader.read(frame)
    alone = [monitor._reader.read(frame[i : i + 1]) for i in range(40)]
    found = sorted(float(monitor.reference.losses(one.labelled)[0]) for one in alone)
    assert found == sorted(monitor.reference.losses(whole.labelled).tolist())


def test_a_class_that_the_reference_lacks_is_a_large_loss(table) -> None:
    monitor = rdiv.Monitor(table(300, 0), target="y", model="logistic", rng=0)
    odd = table(5, 1).with_columns(y=pl.lit("maybe"))
    state = monitor.update(monitor.start(), odd)
    assert state.history[0].mean > 20


def test_densities_and_arrays() -> None:
    rng = np.random.default_rng(1)
    monitor = rdiv.Monitor(rng.normal(size=(400, 2)), rng=0)
    state = monitor.update(monitor.start(), rng.normal(size=(60, 2)))
    assert not state.alarm
    assert monitor.update(state, 4 + rng.normal(size=(60, 2))).alarm
    pair = rdiv.Monitor((rng.normal(size=(200, 1)), rng.normal(size=200)), model="ridge", rng=0)
    found = pair.update(pair.start(), (rng.normal(size=(30, 1)), 5 + rng.normal(size=30)))
    assert found.watched.loss == "squared error"
    assert found.alarm


def test_a_smallest_gap(losses) -> None:
    reference = losses(2000, 0)
    for gap, alarmed in ((0.1, True), (1.0, False)):
        monitor = rdiv.Monitor(reference, loss="loss", min_gap=gap, rng=0)
        state = monitor.start()
        for seed in range(8):
            state = monitor.update(state, losses(300, seed + 1, 1.5))
        assert state.alarm == alarmed
        assert (state.pvalue <= 0.05) == alarmed
        assert state.pvalue >= 0.0099  # a fifth of alpha is spent on the reference
    with pytest.raises(InputError, match="never negative"):
        rdiv.Monitor(reference - 5, loss="loss", min_gap=0.1, rng=0).start()


def test_batches_as_units(losses) -> None:
    rng = np.random.default_rng(0)

    def days(n, shift=0.0):
        effects = np.repeat(np.exp(0.3 * rng.normal(size=n) + shift), 20)
        day = np.repeat(np.arange(n), 20)
        return pl.DataFrame({"loss": effects * rng.exponential(size=20 * n), "day": day})

    reference = days(60)
    monitor = rdiv.Monitor(reference, loss="loss", unit="batch", batches="day", rng=0)
    state = monitor.start()
    assert state.processes["labelled"].reference_rows == 60
    for _ in range(5):
        state = monitor.update(state, days(1).drop("day"))
    assert state.processes["labelled"].wealth.rows == 5
    for _ in range(12):
        state = monitor.update(state, days(1, 1.0))
    assert state.alarm
    with pytest.raises(InputError, match="at least 10 batches"):
        rdiv.Monitor(days(4), loss="loss", unit="batch", batches="day", rng=0).start()


def test_zeros_and_ones_have_an_interval_from_the_first_row() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"loss": (rng.random(400) < 0.1).astype(float)})
    monitor = rdiv.Monitor(frame, loss="loss", rng=0)
    state = monitor.update(monitor.start(), frame.head(5))
    assert state.gap_interval.low < 0 < state.gap_interval.high
    with pytest.raises(InputError, match=r"all losses of the reference are 0 or 1, got 0.5"):
        monitor.update(state, pl.DataFrame({"loss": [0.5]}))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"unit": "day"}, "unit must be 'row' or 'batch'"),
        ({"unit": "batch"}, "needs batches="),
        ({"batches": "day"}, "batches= is for unit='batch'"),
        ({"min_gap": -1.0}, "min_gap must be 0 or more"),
        ({"alpha": 2}, "alpha must lie"),
        ({"target": "y", "prediction": "z"}, "each stand for the model in use"),
    ],
)
def test_bad_settings(losses, settings, words: str) -> None:
    with pytest.raises(InputError, match=words):
        rdiv.Monitor(losses(50, 0), loss="loss", **settings)


def test_too_few_rows_to_train_on(table) -> None:
    with pytest.raises(InputError, match="at least 50 reference rows, got 40"):
        rdiv.Monitor(table(80, 0), target="y", rng=0).start()


def test_another_reference_or_setting_is_refused(losses) -> None:
    reference = losses(100, 0)
    state = rdiv.Monitor(reference, loss="loss", rng=0).start()
    for other, words in (
        (rdiv.Monitor(losses(100, 1), loss="loss", rng=0), "the reference has changed"),
        (rdiv.Monitor(reference, loss="loss", rng=1), "settings differ"),
        (rdiv.Monitor(reference, loss="loss", rng=0, alpha=0.1), "settings differ"),
    ):
        with pytest.raises(InputError, match=words):
            other.update(state, losses(10, 2))


def test_another_model_under_the_same_name_is_refused(table) -> None:
    fits = [LogisticRegression(C=c).fit(*_xy(table(400, 5))) for c in (1e-3, 1.0)]
    one, two = (
        rdiv.Monitor(table(200, 0).to_pandas(), target="y", model=Frozen(f, trained_on="neither"),
                     rng=0)
        for f in fits
    )  # fmt: skip
    state = one.start()
    if one.reference.model_name == two.reference.model_name:
        with pytest.raises(InputError, match="the model is another one"):
            two.update(state, table(50, 1).to_pandas())
    else:
        with pytest.raises(InputError, match="settings differ"):
            two.update(state, table(50, 1).to_pandas())


def _xy(frame):
    return frame.select("a", "b").to_pandas(), frame["y"].to_numpy()
