"""First alarms of other packages' detectors, in an environment of their own.

    python benchmarks/peers/stream_worker.py STREAMS.npz DETECTOR OUT.npy

STREAMS holds `reference` (s, n) and `stream` (s, t); rows come one by one.
Each detector sees the reference first; alarms there are not counted. OUT gets the row of the first
alarm in every stream, or t. This file imports nothing of rdiv.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def river_detector(name: str) -> Any:
    """A detector of river with its defaults."""
    from river import drift

    return {
        "adwin": lambda: drift.ADWIN(),
        "page-hinkley": lambda: drift.PageHinkley(),
        "kswin": lambda: drift.KSWIN(seed=0),
    }[name]()


def first_alarm(name: str, reference: Any, stream: Any) -> int:
    """Row of the first alarm in a stream, or its length."""
    if name == "mapie":
        return _mapie(reference, stream)
    detector = river_detector(name)
    for value in reference:
        detector.update(float(value))
    for row, value in enumerate(stream):
        detector.update(float(value))
        if detector.drift_detected:
            return row
    return len(stream)


def _mapie(reference: Any, stream: Any) -> int:
    from mapie.exchangeability_testing import RiskMonitoring

    right = np.zeros(len(reference), dtype=int)
    monitor = RiskMonitoring("accuracy", test_level=0.05, tolerance=0.0, warn=False)
    monitor.compute_threshold(right, reference.astype(int))
    # Each update goes through the whole history again; one update gives the bounds of all rows.
    monitor.update(np.zeros(len(stream), dtype=int), stream.astype(int))
    bounds = monitor.online_risk_lower_bound_sequence_history
    over = np.flatnonzero(bounds > monitor.threshold)
    return int(over[0]) if len(over) else len(stream)


def main() -> None:
    """Run one detector over all streams of a file."""
    with np.load(sys.argv[1]) as file:
        pairs = list(zip(file["reference"], file["stream"], strict=True))
    np.save(sys.argv[3], [first_alarm(sys.argv[2], *pair) for pair in pairs])


if __name__ == "__main__":
    main()
