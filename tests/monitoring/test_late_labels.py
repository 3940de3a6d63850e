"""Batches without labels, labels that come later, and names that are there already."""

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.errors import InputError


def without(frame: pl.DataFrame, keep: int) -> pl.DataFrame:
    """The same with a label in the first rows only."""
    return frame.with_columns(y=pl.when(pl.int_range(len(frame)) < keep).then("y"))


@pytest.fixture
def monitor(table):
    return rdiv.Monitor(table(800, 0), target="y", model="logistic", rng=0)


def test_labels_that_are_there_make_one_process(monitor, table) -> None:
    state = monitor.update(monitor.start(), table(50, 1))
    assert state.labels_late is False
    assert list(state.processes) == ["labelled"]
    assert state.processes["labelled"].alpha == 0.05


def test_a_first_batch_without_labels_makes_two_processes(monitor, table) -> None:
    state = monitor.update(monitor.start(), table(50, 1).drop("y"), name="a")
    assert state.labels_late
    assert {name: one.alpha for name, one in state.processes.items()} == {
        "labelled": 0.025, "expected": 0.025,
    }  # fmt: skip
    assert state.gap_is_expected
    assert state.history[0].labelled == 0
    assert state.history[0].gap is None
    assert state.history[0].expected_gap is not None
    assert "waiting for labels: 1 batch (a)" in state.details()


def test_moved_inputs_are_found_without_labels(monitor, table) -> None:
    state = monitor.start()
    for i in range(4):
        state = monitor.update(state, table(200, 1 + i, moved=0.0 if i < 2 else 2.5).drop("y"))
    assert state.alarm
    assert state.alarmed_by == "expected"
    assert "expected losses have changed" in state.headline()
    state = monitor.update(state, table(200, 1), name="1")  # labels of a quiet batch
    assert not state.gap_is_expected
    assert "expected losses have changed" in state.headline()


def test_late_labels_reach_the_labelled_process_once(monitor, table) -> None:
    frame = table(60, 1)
    state = monitor.update(monitor.start(), without(frame, 10), name="a")
    assert state.processes["labelled"].mean.count == 10
    looks = state.history
    state = monitor.update(state, without(frame, 25), name="a")
    assert state.processes["labelled"].mean.count == 25
    assert state.processes["expected"].mean.count == 60
    state = monitor.update(state, frame, name="a")
    assert state.processes["labelled"].mean.count == 60
    assert state.history[:1] == looks
    assert [look.late for look in state.history] == [False, True, True]
    assert [look.labelled for look in state.history] == [10, 15, 35]
    assert state.history[-1].waiting is None
    with pytest.raises(InputError, match="a batch named 'a' is there already"):
        monitor.update(state, frame, name="a")
    exact = monitor.reference.losses(monitor._reader.read(frame).labelled)
    assert abs(state.processes["labelled"].mean.value - exact.mean()) < 1e-9


@pytest.mark.parametrize("change", ["label", "row", "fewer", "same"])
def test_more_than_new_labels_is_refused(monitor, table, change: str) -> None:
    frame = table(40, 1)
    state = monitor.update(monitor.start(), without(frame, 20), name="a")
    other = {
        "label": frame.with_columns(y=pl.when(pl.col("y") == "no").then(pl.lit("yes"))
                                    .otherwise(pl.lit("no"))),
        "row": frame.with_columns(a=pl.col("a") + 1),
        "fewer": without(frame, 10),
        "same": without(frame, 20),
    }[change]  # fmt: skip
    words = "with the same rows and labels" if change == "same" else "differs in more than labels"
    with pytest.raises(InputError, match=words):
        monitor.update(state, other, name="a")


def test_labels_may_come_in_another_order_of_rows(monitor, table) -> None:
    frame = table(40, 1)
    state = monitor.update(monitor.start(), without(frame, 20), name="a")
    one = monitor.update(state, frame, name="a")
    two = monitor.update(state, frame.sample(fraction=1, shuffle=True, seed=1), name="a")
    assert one.to_json() == two.to_json()


def test_equal_content_under_another_name_is_a_warning(monitor, table) -> None:
    state = monitor.update(monitor.start(), table(40, 1), name="a")
    state = monitor.update(state, table(40, 1), name="b")
    assert state.warnings == ("b has the same content as a; both were counted.",)
    assert state.processes["labelled"].mean.count == 80


def test_labels_that_stay_away_in_a_labelled_stream_wait(monitor, table) -> None:
    state = monitor.update(monitor.start(), table(40, 1), name="a")
    state = monitor.update(state, table(40, 2).drop("y"), name="b")
    assert state.processes["labelled"].mean.count == 40
    assert state.history[-1].gap is None
    state = monitor.update(state, table(40, 2), name="b")
    assert state.processes["labelled"].mean.count == 80


def test_losses_that_are_missing_need_inputs(losses) -> None:
    monitor = rdiv.Monitor(losses(100, 0), loss="loss", rng=0)
    missing = pl.DataFrame({"loss": [1.0, None]})
    with pytest.raises(InputError, match="no inputs to expect losses from"):
        monitor.update(monitor.start(), missing)
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pl.DataFrame({"x": x, "loss": x**2 + rng.exponential(size=300)})
    with_inputs = rdiv.Monitor(frame, loss="loss", rng=0)
    state = with_inputs.update(with_inputs.start(), frame.head(30).drop("loss"), name="a")
    assert state.gap_is_expected
    state = with_inputs.update(state, frame.head(30), name="a")
    assert state.processes["labelled"].mean.count == 30


def test_expected_numbers_of_the_reference_are_not_those_g_was_learned_from(table) -> None:
    shown = table(400, 0).with_columns(said=pl.lit("yes"))
    monitor = rdiv.Monitor(shown, target="y", prediction="said", rng=0)
    assert len(monitor.reference.numbers) == 400
    assert len(monitor.reference.expected_numbers) == 200
