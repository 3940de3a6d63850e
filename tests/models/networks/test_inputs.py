"""Networks trained on datasets: the results of arrays, with a few rows in memory at a time."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rdiv
from rdiv.discrepancies import HDivergence, LogitC2st
from rdiv.models import Mlp, ResNet18, TorchModel, Training, Vae
from rdiv.samples import pool_samples

torch = pytest.importorskip("torch")
nn = torch.nn

pytestmark = pytest.mark.trains

N, SHAPE = 60, (1, 8, 8)
X = np.random.default_rng(0).random((N, *SHAPE)).astype(np.float32)
Y = np.arange(N) % 3
QUICK = Training(epochs=2, batch_size=16)


class Rows(torch.utils.data.Dataset):  # type: ignore[misc]
    def __init__(self, x: Any, y: Any = None) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> Any:
        return self.x[i] if self.y is None else (self.x[i], int(self.y[i]))


def samples(lazy: bool, labelled: bool) -> tuple[Any, Any]:
    parts = [(X[side], Y[side]) if labelled else (X[side],) for side in (slice(25), slice(25, N))]
    if lazy:
        return Rows(*parts[0]), Rows(*parts[1])
    return (parts[0], parts[1]) if labelled else (parts[0][0], parts[1][0])


CASES = {
    "resnet18": (ResNet18(8, (1,), QUICK), True),
    "early stop": (
        ResNet18(8, (1,), Training(epochs=3, batch_size=16, learning_rate=0.1, patience=1)), True
    ),
    "vae": (Vae((8,), 2, training=QUICK), False),
    "c2st": (LogitC2st(nn.Sequential(nn.Flatten(), nn.Linear(64, 2))), False),
    "h-div": (HDivergence(ResNet18(8, (1,), Training(epochs=1, batch_size=16))), True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_images_of_a_dataset_give_the_document_of_the_array(name: str) -> None:
    thing, labelled = CASES[name]
    how = {"model": thing} if hasattr(thing, "training") else {"discrepancy": thing}
    documents = [
        rdiv.two_sample_test(*samples(lazy, labelled), **how, n_resamples=19, rng=0).to_json()
        for lazy in (False, True)
    ]
    assert documents[0] == documents[1]


def test_pipelines_read_all_rows() -> None:
    flat = [Rows(X.reshape(N, -1)[s], Y[s]) for s in (slice(25), slice(25, N))]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    read = rdiv.two_sample_test(*flat, model=model, n_resamples=19, rng=0)
    held = [(X.reshape(N, -1)[s], Y[s]) for s in (slice(25), slice(25, N))]
    assert rdiv.two_sample_test(*held, model=model, n_resamples=19, rng=0).pvalue == read.pvalue


@pytest.mark.parametrize("model", [Mlp((8,), QUICK), Vae((8,), 2, "gaussian", training=QUICK)])
def test_scaled_columns_agree_to_rounding(model: Any) -> None:
    labelled = isinstance(model, Mlp)
    losses, gradients = [], []
    for lazy in (False, True):
        pooled = pool_samples(*samples(lazy, labelled), rng=0)
        fitted = model.fit(pooled.pool, pooled.stream("fit"))
        losses.append(fitted.losses(pooled.pool))
        gradients.append(fitted.gradients(pooled.pool))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    scale = np.abs(gradients[0]).max()
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-3, atol=1e-4 * scale)


class Generated(torch.utils.data.Dataset):  # type: ignore[misc]
    """Images made when they are asked for: together they would take a lot of memory."""

    def __init__(self, first: int, n: int) -> None:
        self.first, self.n = first, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        noise = np.random.default_rng([7, self.first + i]).random((3, 32, 32), dtype=np.float32)
        return noise, i % 2


def test_only_a_few_rows_are_in_memory_at_a_time() -> None:
    """All rows would be 16 MB in single precision and 31 MB as the inputs of a network."""
    n = 1280
    whole = n * 3 * 32 * 32 * 4

    def network() -> Any:
        return nn.Sequential(nn.AvgPool2d(16), nn.Flatten(), nn.Linear(12, 2))

    model = TorchModel(network, training=Training(epochs=1, batch_size=64, patience=1))
    args = (Generated(0, n // 2), Generated(n // 2, n // 2))
    tracemalloc.start()
    try:
        result = rdiv.two_sample_test(*args, model=model, n_resamples=19, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.n_p == n // 2
    assert peak < whole / 2
