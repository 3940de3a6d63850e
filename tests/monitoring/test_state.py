"""The state: a JSON round trip to the bit, bounded sizes, refusals, pictures and frames."""

import json

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.errors import InputError
from rdiv.monitoring.state import MonitorState


@pytest.fixture
def state(losses):
    monitor = rdiv.Monitor(losses(300, 0), loss="loss", rng=0)
    found = monitor.start()
    for i in range(6):
        found = monitor.update(found, losses(60, 1 + i, 1.0 if i < 4 else 2.0), name=f"d{i}")
    return found


def test_a_state_survives_json_to_the_bit(state, losses) -> None:
    again = MonitorState.from_json(state.to_json())
    assert again.to_json() == state.to_json()
    monitor = rdiv.Monitor(losses(300, 0), loss="loss", rng=0)
    one, two = (monitor.update(each, losses(40, 9), name="x") for each in (state, again))
    assert one.to_json() == two.to_json()


def test_a_state_holds_no_row(table) -> None:
    frame = table(300, 0).with_columns(b=pl.lit("a secret"))
    monitor = rdiv.Monitor(frame, target="y", model="logistic", rng=0)
    text = monitor.update(monitor.start(), frame.head(20)).to_json()
    assert "secret" not in text
    assert "yes" not in text


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[:-20], "not the state of a monitor"),
        (lambda text: "", "not the state of a monitor"),
        (lambda text: "[1]", "not the state of a monitor"),
        (lambda text: text.replace('"alarm":[false', '"alarm":[true'), "changed after it was"),
        (lambda text: text.replace('"schema":1', '"schema":2'), "another version of rdiv"),
        (lambda text: text.replace('"d0"', '"e0"'), "changed after it was"),
        (lambda text: '{"kind":"rdiv monitor state","schema":1}', "changed after it was"),
    ],
)
def test_a_damaged_state_is_refused(state, damage, words: str) -> None:
    with pytest.raises(InputError, match=words):
        MonitorState.from_json(damage(state.to_json()))


def test_bytes_a_row(losses) -> None:
    monitor = rdiv.Monitor(losses(2000, 0), loss="loss", rng=0)
    state = monitor.start()
    for i in range(10):
        state = monitor.update(state, losses(1000, 1 + i))
    assert len(state.to_json()) <= 20 * 12_000


def test_a_compact_state_is_bounded_and_goes_on(losses) -> None:
    monitor = rdiv.Monitor(losses(20_000, 0), loss="loss", rng=0)
    state = monitor.update(monitor.start(), losses(5000, 1)).compacted()
    sizes = []
    for i in range(3):
        state = monitor.update(state, losses(5000, 2 + i))
        sizes.append(len(state.to_json()))
    assert max(sizes) < 160_000
    assert len(state.processes["labelled"].known) == 40_000
    assert MonitorState.from_json(state.to_json()).to_json() == state.to_json()
    assert monitor.update(state, losses(500, 9, 1.5)).alarm


def test_the_document(state) -> None:
    found = json.loads(json.dumps(state.to_dict(), allow_nan=False))
    assert found["schema"] == 1
    assert found["alarm"] is True
    assert found["since"]["name"] in ("d3", "d4")
    assert len(found["history"]) == 6
    assert set(found["history"][0]) >= {"name", "rows", "gap", "pvalue", "evalue", "alarm"}


def test_frame_picture_and_words(state) -> None:
    frame = state.to_frame()
    assert frame.shape[0] == 6
    assert frame["name"].to_list()[0] == "d0"
    panels = state.plot()
    assert [axes.get_ylabel() for axes in panels] == ["e-value", "gap in loss"]
    assert state.plot(panels) == panels
    assert "Alarm" in state._repr_html_()
    assert str(state).startswith("Alarm: losses have changed since d")


def test_alarms_that_start_again(state) -> None:
    assert set(state.alarms(50)) <= {"d4", "d5"}
    assert state.alarms(50)
    with pytest.raises(InputError, match="at least 1 batch"):
        state.alarms(0)


def test_nothing_yet(losses) -> None:
    start = rdiv.Monitor(losses(30, 0), loss="loss", rng=0).start()
    assert start.headline() == "Nothing has been added yet"
    assert (start.alarm, start.since, start.evalue, start.pvalue) == (False, None, 1.0, 1.0)
    assert start.gap is None
    assert MonitorState.from_json(start.to_json()).to_json() == start.to_json()
    assert np.isfinite(start.largest_evalue)
