"""rdiv bound: the numbers of rdiv.theory, as a table and as a document."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run

from rdiv import theory


def network_file(path: Path) -> Path:
    """A safetensors file with two layers, the first with a bias."""
    tensors = {"0.bias": np.ones(2), "0.weight": np.ones((2, 3)), "2.weight": np.ones((1, 2))}
    header, body = {}, b""
    for name, values in tensors.items():
        raw = values.astype("<f4").tobytes()
        place = [len(body), len(body) + len(raw)]
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": place}
        body += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return path


def test_json_holds_the_numbers_of_the_library(run: Run) -> None:
    ran = run("bound", "--rows", "50,5000", "--c", 2, "--delta", 0.1, "--l-divergence", 0.3,
              "--complexity-p", 0.2, "--complexity-q", 0.1, "--json", "-")  # fmt: skip
    document = json.loads(ran.out)
    given = {"c": 2.0, "l_divergence": 0.3, "complexity_p": 0.2, "complexity_q": 0.1}
    table = document["table"]
    assert (ran.code, table["n"]) == (0, [50, 5000])
    for place, n in enumerate((50, 5000)):
        assert table["general"][place] == theory.general_bound(n=n, delta=0.1, **given)
        assert table["sharp_general"][place] == theory.sharp_general_bound(n=n, delta=0.1, **given)
        assert table["deviation"][place] == theory.deviation_bound(n=n, **given)
        assert table["sharp_deviation"][place] == theory.sharp_deviation_bound(n=n, **given)


def test_the_table_for_people(run: Run) -> None:
    ran = run("bound", "--rows", "10000", "--complexity-p", 0.01)
    assert ran.code == 0
    assert "sharper general" in ran.out
    value = theory.general_bound(
        n=10_000, c=1, delta=0.05, l_divergence=0, complexity_p=0.01, complexity_q=0.01
    )
    assert f"{value:.4g}" in ran.out
    assert "is vacuous" in ran.out


def test_a_network_file(run: Run, tmp_path: Path) -> None:
    path = network_file(tmp_path / "net.safetensors")
    ran = run("bound", "--network", path, "--radius", 2, "--rows", 100, "--json", "-")
    document = json.loads(ran.out)
    assert document["norms"] == pytest.approx([3.0, np.sqrt(2)])  # 6 + 2 + the constant
    assert document["radius"] == pytest.approx(np.sqrt(5))
    expected = theory.network_bound(
        n=100, c=1, delta=0.05, l_divergence=0, lipschitz=1, radius=np.sqrt(5),
        norms=[3, np.sqrt(2)],
    )  # fmt: skip
    assert document["table"]["network"] == pytest.approx([expected])


def test_norms_instead_of_a_file(run: Run) -> None:
    ran = run("bound", "--norms", "1,2", "--rows", 100, "--json", "-")
    document = json.loads(ran.out)
    assert document["norms"] == [1.0, 2.0]
    assert document["table"]["conditional"] == [
        theory.conditional_bound(n=100, c=1, delta=0.05, lipschitz=1, radius=1, norms=[1, 2])
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "the complexity of the hypotheses is missing"),
        (("--complexity-p", 0.1, "--delta", 2), "delta must lie strictly between 0 and 1"),
        (("--complexity-p", 3), "complexity_p must be at most 1"),
        (("--complexity-p", 0.1, "--rows", "ten"), "--rows takes whole numbers"),
        (("--complexity-p", 0.1, "--norms", "1"), "give complexities or a network, not both"),
        (("--norms", "1,-2"), "norms must be a finite number of at least 0"),
        (("--norms", "a"), "--norms takes numbers"),
        (("--network", "absent.safetensors"), "could not be read"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, arguments: tuple[object, ...], words: str) -> None:
    ran = run("bound", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1
