"""Networks trained in several threads at once: the results of one thread, torch left alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import rdiv
from rdiv.discrepancies import DeepMmd, LDivergence, LogitC2st
from rdiv.models import TorchModel, Training
from rdiv.models.networks.default_networks import BoundedNetwork, NetworkClassifier

torch = pytest.importorskip("torch")
nn = torch.nn

pytestmark = pytest.mark.trains

THREADS = 4
P, Q = np.random.default_rng(0).normal(size=(2, 24, 2))
QUICK = Training(epochs=4, batch_size=8)


def network() -> Any:
    """Initialisation and dropout both draw from torch's own state."""
    return nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 2))


TESTS: dict[str, dict[str, Any]] = {
    "TorchModel": {"model": TorchModel(network, training=QUICK)},
    "c2st-l": {"discrepancy": LogitC2st(NetworkClassifier(training=QUICK))},
    "mmd-d": {"discrepancy": DeepMmd(training=QUICK)},
    "l-div": {"discrepancy": LDivergence(BoundedNetwork(training=QUICK), ascent=QUICK)},
}


def document(test: dict[str, Any]) -> str:
    return rdiv.two_sample_test(P, Q, **test, n_resamples=19, rng=5).to_json()


def from_threads(test: dict[str, Any]) -> list[str]:
    """Documents of the same test, run in all threads at the same time."""
    together = Barrier(THREADS)

    def run(_: int) -> str:
        together.wait()
        return document(test)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(run, range(THREADS)))


@pytest.mark.parametrize("name", TESTS)
def test_threads_with_one_seed_give_the_document_of_one_thread(name: str) -> None:
    test = TESTS[name]
    assert set(from_threads(test)) == {document(test)}


@pytest.mark.parametrize("name", TESTS)
def test_the_random_state_of_torch_is_left_alone(name: str) -> None:
    before = torch.get_rng_state()
    document(TESTS[name])
    assert torch.equal(torch.get_rng_state(), before)
    from_threads(TESTS[name])
    assert torch.equal(torch.get_rng_state(), before)
