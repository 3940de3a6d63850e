"""Any journal and any folder of a study: resumed or refused in one sentence, and never shortened
but for a last line that was cut off.

State files of `rdiv watch` are refused or gone on with, and never changed by a run that refuses.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.files import DAMAGE, Damage
from tests.fuzz.promise import call, examples, run, scratch

import rdiv
from rdiv.monitoring.packing import sealed as seal_state
from rdiv.studies.journal import Journal, sealed

STUDY = ["power", "blob", "--sizes", "20", "--trials", "2", "--resamples", "39"]
STUDY += ["--discrepancy", "energy", "--out", "study"]
_FAST = {"suppress_health_check": list(HealthCheck), "deadline": None, "database": None}

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)
lines = st.one_of(
    st.dictionaries(st.text(max_size=4), values, max_size=3).map(
        lambda row: json.dumps(row).encode() + b"\n"
    ),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=3).map(sealed),
    st.binary(max_size=20),
    st.sampled_from([b"\n", b"{}\n", b"[]\n", b"null\n", b'{"checksum": 1}\n', b"\r\n", b"{" * 99]),
)
damages = st.builds(
    Damage,
    st.sampled_from(sorted(DAMAGE)),
    st.floats(0, 1, exclude_max=True),
    st.binary(min_size=1, max_size=6),
)


def _opened(path: Path) -> list[dict[str, object]]:
    with Journal(path) as journal:
        return list(journal.rows)


@settings(max_examples=examples(60), **_FAST)  # type: ignore[arg-type]
@given(st.lists(lines, max_size=5))
def test_no_journal_makes_it_crash(content: list[bytes]) -> None:
    with scratch() as folder:
        path, data = folder / "rows.jsonl", b"".join(content)
        path.write_bytes(data)
        rows = call(_opened, path, kind="journal")
        kept = path.read_bytes()
        assert data.startswith(kept)
        if rows is None:
            assert kept == data, "a journal that was refused was changed"
        else:
            assert b"\n" not in data[len(kept) :], "a whole line was removed"


def _fresh_state() -> dict[str, bytes]:
    """The files of a monitor that has seen one batch, made once."""
    if not _STATE:
        with scratch() as folder:
            for seed, name in enumerate(("reference", "monday", "tuesday")):
                losses = np.random.default_rng(seed).exponential(size=40)
                pl.DataFrame({"error": losses}).write_csv(folder / f"{name}.csv")
            start = ["watch", "start", "reference.csv", "--loss", "error", "--state", "s.json"]
            assert run(start, "state", folder)[0] == 0
            assert run(["watch", "add", "monday.csv", "--state", "s.json"], "state", folder)[0] == 0
            _STATE.update({file.name: file.read_bytes() for file in folder.iterdir()})
    return _STATE


_STATE: dict[str, bytes] = {}


@settings(max_examples=examples(12), **_FAST)  # type: ignore[arg-type]
@given(
    st.sampled_from(["s.json", "s.json", "reference.csv", "tuesday.csv"]),
    st.lists(damages, min_size=1, max_size=2),
    st.sampled_from(["add", "show"]),
)
def test_no_damaged_state_makes_watch_crash(name: str, damage: list[Damage], verb: str) -> None:
    with scratch() as folder:
        for file, data in _fresh_state().items():
            (folder / file).write_bytes(data)
        data = _fresh_state()[name]
        for change in damage:
            at = int(change.place * len(data))
            data = DAMAGE[change.kind](data, at, change.extra) if data else data
        (folder / name).write_bytes(data)
        before = (folder / "s.json").read_bytes()
        batch = ["tuesday.csv"] if verb == "add" else []
        code, _, _ = run(["watch", verb, *batch, "--state", "s.json"], "state", folder)
        assert code == 0 or (folder / "s.json").read_bytes() == before
        call(
            rdiv.MonitorState.from_json,
            (folder / "s.json").read_bytes().decode("latin-1"),
            kind="state",
        )


@settings(max_examples=examples(30), **_FAST)  # type: ignore[arg-type]
@given(st.dictionaries(st.sampled_from(["watched", "history", "processes", "notes"]), values))
def test_no_forged_state_makes_it_crash(body: dict[str, Any]) -> None:
    """A state with a right digest and wrong content: whoever made it, one sentence."""
    whole = json.loads(_fresh_state()["s.json"])
    del whole["checksum"]
    with contextlib.suppress(ValueError):  # what JSON cannot hold
        forged = seal_state({**whole, **body}, whole["schema"])
        call(rdiv.MonitorState.from_json, forged, kind="state")


_FINISHED: dict[str, bytes] = {}


def finished() -> dict[str, bytes]:
    """The files of a small study that ran to its end."""
    if not _FINISHED:
        with scratch() as folder:
            assert run(STUDY, "journal", folder)[0] == 0
            _FINISHED.update(
                {file.name: file.read_bytes() for file in (folder / "study").iterdir()}
            )
    return _FINISHED


@settings(max_examples=examples(12), **_FAST)  # type: ignore[arg-type]
@given(st.sampled_from(["rows.jsonl", "study.json"]), st.lists(damages, min_size=1, max_size=2))
def test_no_damaged_study_makes_power_crash(name: str, damage: list[Damage]) -> None:
    """It goes on, or refuses the folder; what it kept is what was written."""
    with scratch() as folder:
        (folder / "study").mkdir()
        for file, data in finished().items():
            (folder / "study" / file).write_bytes(data)
        data = finished()[name]
        for change in damage:
            at = int(change.place * len(data))
            data = DAMAGE[change.kind](data, at, change.extra) if data else data
        (folder / "study" / name).write_bytes(data)
        code, _, _ = run(STUDY, "journal", folder)
        rows = (folder / "study" / "rows.jsonl").read_bytes()
        if code == 0:
            seen = [json.loads(line) for line in rows.splitlines()]
            told = [json.loads(line) for line in finished()["rows.jsonl"].splitlines()]
            kept = ("trial", "pvalue", "statistic")
            assert sorted([row[k] for k in kept] for row in seen) == sorted(
                [row[k] for k in kept] for row in told
            )
