"""Results are kept as they come; what is there is not computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdiv.studies.journal import resume_map

KEYS = [{"x": x, "seed": 0} for x in range(4)]


def doubled(key: dict[str, Any]) -> dict[str, Any]:
    return {"double": 2 * key["x"]}


def test_a_run_that_was_stopped_continues(tmp_path: Path) -> None:
    asked: list[int] = []
    file = tmp_path / "draws.jsonl"

    def failing(key: dict[str, Any]) -> dict[str, Any]:
        asked.append(key["x"])
        if len(asked) == 3:
            raise KeyboardInterrupt
        return doubled(key)

    with pytest.raises(KeyboardInterrupt):
        resume_map(failing, KEYS, file=file)
    with open(file, "a") as lines:
        lines.write('{"key": {"x": 2, "se')  # a line that was cut off
    seen: list[tuple[int, int]] = []
    found = resume_map(
        failing, KEYS, file=file, progress=lambda done, total: seen.append((done, total))
    )
    assert [result["double"] for result in found] == [0, 2, 4, 6]
    assert asked == [0, 1, 2, 2, 3]
    assert seen == [(3, 4), (4, 4)]


def test_other_settings_are_other_work(tmp_path: Path) -> None:
    file = tmp_path / "new" / "draws.jsonl"
    resume_map(doubled, KEYS, file=file)
    assert resume_map(doubled, [{"x": 1, "seed": 1}], file=file) == [{"double": 2}]
    assert len(file.read_text().splitlines()) == 5


def test_a_changed_result_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "draws.jsonl"
    resume_map(doubled, KEYS, file=file)
    file.write_text(file.read_text().replace('"double": 4', '"double": 5'))
    with pytest.raises(ValueError, match=r"line 3 of .* was changed after it was written"):
        resume_map(doubled, KEYS, file=file)


@pytest.mark.parametrize("line", ['[{"x": 0}, {"double": 0}]', '{"key": {}, "result": {}}'])
def test_files_of_an_older_version(tmp_path: Path, line: str) -> None:
    file = tmp_path / "draws.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(ValueError, match="was written by an older version of rdiv"):
        resume_map(doubled, KEYS, file=file)


def test_processes_give_the_same(tmp_path: Path) -> None:
    assert resume_map(doubled, KEYS, n_jobs=2) == [doubled(key) for key in KEYS]


def test_a_run_that_is_out_of_time_keeps_what_it_has(tmp_path: Path) -> None:
    file, clock = tmp_path / "draws.jsonl", iter(range(100))

    with pytest.MonkeyPatch.context() as patch:  # every look at the clock takes a second
        patch.setattr("rdiv.studies.execution.time.monotonic", lambda: next(clock))
        found = resume_map(doubled, KEYS, file=file, seconds=3)
        assert found == [{"double": 0}, {"double": 2}]
        assert resume_map(doubled, KEYS, file=file, seconds=0) == found
    assert resume_map(doubled, KEYS, file=file) == [doubled(key) for key in KEYS]
    assert len(file.read_text().splitlines()) == len(KEYS)
