"""Norms of networks from modules and files, and ascent against what is known."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rdiv import theory

torch = pytest.importorskip("torch")


def save(path: Path, tensors: dict[str, np.ndarray], kind: str = "F32") -> Path:
    """A safetensors file, written by its definition."""
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, values in tensors.items():
        if kind == "BF16":
            raw = (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        else:
            raw = values.astype("<f4").tobytes()
        place = [len(body), len(body) + len(raw)]
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": place}  # type: ignore[assignment]
        body += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return path


def module(*, bias: bool) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4, bias=bias), torch.nn.ReLU(), torch.nn.Linear(4, 2, bias=bias)
    )


def test_norms_without_biases_are_those_of_the_matrices() -> None:
    network = module(bias=False)
    read = theory.network_norms(network)
    assert read.norms == pytest.approx([float(w.detach().norm()) for w in network.parameters()])
    assert (read.outputs, read.biased, read.radius(2.0)) == (2, False, 2.0)
    assert theory.frobenius_norms(network) == read.norms


def test_folding_biases_keeps_the_function() -> None:
    """The matrices whose norms are given, on inputs with a constant, are the same network."""
    network = module(bias=True).double()
    first, second = network[0], network[2]
    row = torch.tensor([[0.0] * 3 + [1.0]], dtype=torch.float64)
    hidden = torch.cat([torch.cat([first.weight, first.bias[:, None]], 1), row])
    last = torch.cat([second.weight, second.bias[:, None]], 1)
    x = torch.randn(7, 3, dtype=torch.float64)
    longer = torch.cat([x, torch.ones(7, 1, dtype=torch.float64)], 1)
    assert torch.allclose(torch.relu(longer @ hidden.T) @ last.T, network(x))
    read = theory.network_norms(network)
    assert read.norms == pytest.approx([float(hidden.detach().norm()), float(last.detach().norm())])
    assert read.radius(3.0) == pytest.approx(math.sqrt(10))


@pytest.mark.parametrize(("kind", "digits"), [("F32", 1e-6), ("BF16", 2e-2)])
def test_a_file_reads_as_the_module_does(tmp_path: Path, kind: str, digits: float) -> None:
    network = module(bias=True)
    tensors = {name: value.numpy() for name, value in network.state_dict().items()}
    shuffled = dict(sorted(tensors.items(), reverse=True))
    read = theory.network_norms(save(tmp_path / "net.safetensors", shuffled, kind))
    own = theory.network_norms(network)
    assert read.norms == pytest.approx(own.norms, rel=digits)
    assert (read.outputs, read.biased) == (2, True)


def test_layers_of_a_file_come_in_natural_order(tmp_path: Path) -> None:
    sizes = {"net.10.weight": (1, 5), "net.2.weight": (5, 3)}
    tensors = {name: np.ones(shape) for name, shape in sizes.items()}
    read = theory.network_norms(save(tmp_path / "net.safetensors", tensors))
    assert read.norms == pytest.approx([math.sqrt(15), math.sqrt(5)])
    assert read.outputs == 1


def test_the_lipschitz_constant_bounds_the_slopes() -> None:
    network = module(bias=True).double()
    constant = theory.lipschitz_constant(network)
    x, y = torch.randn(200, 3).double(), torch.randn(200, 3).double()
    slopes = (network(x) - network(y)).norm(dim=1) / (x - y).norm(dim=1)
    assert float(slopes.detach().max()) <= constant
    assert constant == pytest.approx(
        np.prod([np.linalg.norm(network[i].weight.detach().numpy(), 2) for i in (0, 2)])
    )


def test_other_layers_are_refused() -> None:
    with pytest.raises(ValueError, match="got a Conv2d; pass the norms"):
        theory.frobenius_norms(torch.nn.Sequential(torch.nn.Conv2d(1, 1, 3)))
    with pytest.raises(ValueError, match="has no weight matrix"):
        theory.frobenius_norms(torch.nn.ReLU())
    with pytest.raises(TypeError, match="torch module or a safetensors file, got list"):
        theory.frobenius_norms([1.0])


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"a.weight": np.ones((2, 2, 3, 3))}, "got a.weight of shape"),
        ({"a.weight": np.ones((2, 2)), "scale": np.ones(2)}, "got also 'scale'"),
        ({"0.weight": np.ones((2, 3)), "1.weight": np.ones((1, 5))}, "must follow each other"),
        ({"0.weight": np.array([[np.nan]])}, "NaN or infinite weights"),
    ],
)
def test_files_that_are_no_such_network_are_refused(
    tmp_path: Path, tensors: dict[str, np.ndarray], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        theory.network_norms(save(tmp_path / "net.safetensors", tensors))


@pytest.mark.parametrize("data", [b"", b"\x80\x04pickle...", (9**8).to_bytes(8, "little")])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="not a safetensors file"):
        theory.read_weights(path)
    with pytest.raises(ValueError, match="could not be read"):
        theory.read_weights(tmp_path / "absent.safetensors")


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "net.safetensors", {"0.weight": np.ones((2, 2))})
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"damaged at tensor '0\.weight'"):
        theory.read_weights(path)


def test_ascent_finds_the_closed_form_of_one_layer() -> None:
    x = np.random.default_rng(0).normal(size=(15, 3))
    signs = np.random.default_rng(1).choice((-1.0, 1.0), (6, 15))
    ascent = theory.NetworkClass(x, norms=[2.0], steps=100).suprema(signs)
    exact = theory.LinearClass(x, norm=2.0).suprema(signs)
    assert (ascent <= exact * (1 + 1e-9)).all()
    assert ascent == pytest.approx(exact, rel=1e-2)


def test_ascent_stays_below_the_bound_and_above_a_linear_part() -> None:
    x = np.random.default_rng(2).normal(size=(12, 3))
    network = theory.NetworkClass(x, norms=[1.0, 1.0], width=8, steps=60)
    found = theory.rademacher_complexity(network, draws=10, rng=0)
    bound = theory.network_complexity(
        n=12, lipschitz=1, radius=float(np.linalg.norm(x, axis=1).max()), norms=[1, 1]
    )
    assert not found.exact
    assert 0.1 * bound < found.value < bound
