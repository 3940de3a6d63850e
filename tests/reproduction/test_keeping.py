"""Results are kept as they come; what is there is not computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdiv.reproduction.keeping import work_through
from rdiv.reproduction.protocol import Run

KEYS = [{"x": x, "seed": 0} for x in range(4)]


def doubled(key: dict[str, Any]) -> dict[str, Any]:
    return {"double": 2 * key["x"]}


def test_a_run_that_was_stopped_continues(tmp_path: Path) -> None:
    asked: list[int] = []

    def failing(key: dict[str, Any]) -> dict[str, Any]:
        asked.append(key["x"])
        if len(asked) == 3:
            raise KeyboardInterrupt
        return doubled(key)

    run = Run(kept=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        work_through(failing, KEYS, run, "draws")
    with open(tmp_path / "draws.jsonl", "a") as file:
        file.write('[{"x": 2, "se')  # a line that was cut off
    seen: list[tuple[int, int]] = []
    again = Run(kept=tmp_path, progress=lambda done, total: seen.append((done, total)))
    found = work_through(failing, KEYS, again, "draws")
    assert [result["double"] for result in found] == [0, 2, 4, 6]
    assert asked == [0, 1, 2, 2, 3]
    assert seen == [(3, 4), (4, 4)]


def test_other_settings_are_other_work(tmp_path: Path) -> None:
    run = Run(kept=tmp_path)
    work_through(doubled, KEYS, run, "draws")
    other = [{"x": 1, "seed": 1}]
    assert work_through(doubled, other, run, "draws") == [{"double": 2}]
    assert len((tmp_path / "draws.jsonl").read_text().splitlines()) == 5


def test_processes_give_the_same(tmp_path: Path) -> None:
    assert work_through(doubled, KEYS, Run(n_jobs=2), "draws") == [doubled(key) for key in KEYS]
