"""rdiv: are these two datasets the same for your model.

R-divergence and its relatives: fit one model on the pooled data, compare its mean loss on each
sample, permute the labels for an exact p-value.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdiv import (
        discrepancies,
        errors,
        models,
        monitoring,
        noisy_labels,
        report,
        reproduction,
        samples,
        sources,
        studies,
        theory,
    )
    from rdiv.comparison.compare import compare
    from rdiv.comparison.gap_estimate import GapEstimate, estimate_gap
    from rdiv.comparison.levels import compare_many, compare_models
    from rdiv.comparison.levels_result import Comparisons
    from rdiv.comparison.result import Comparison
    from rdiv.monitoring.monitor import Monitor
    from rdiv.monitoring.state import MonitorState
    from rdiv.planning.plan import plan
    from rdiv.planning.result import Plan
    from rdiv.results import TwoSampleResult
    from rdiv.samples.files import read
    from rdiv.samples.partitions import scan
    from rdiv.studies.power import PowerStudy, power_study
    from rdiv.two_sample import r_divergence, two_sample_test

__all__ = [
    "Comparison",
    "Comparisons",
    "GapEstimate",
    "Monitor",
    "MonitorState",
    "Plan",
    "PowerStudy",
    "TwoSampleResult",
    "__version__",
    "compare",
    "compare_many",
    "compare_models",
    "discrepancies",
    "errors",
    "estimate_gap",
    "models",
    "monitoring",
    "noisy_labels",
    "plan",
    "power_study",
    "r_divergence",
    "read",
    "report",
    "reproduction",
    "samples",
    "scan",
    "sources",
    "studies",
    "theory",
    "two_sample_test",
]

__version__ = "0.2.0"

_HOMES = {
    "Comparison": "rdiv.comparison.result",
    "Comparisons": "rdiv.comparison.levels_result",
    "GapEstimate": "rdiv.comparison.gap_estimate",
    "Monitor": "rdiv.monitoring.monitor",
    "MonitorState": "rdiv.monitoring.state",
    "Plan": "rdiv.planning.result",
    "PowerStudy": "rdiv.studies.power",
    "TwoSampleResult": "rdiv.results",
    "compare": "rdiv.comparison.compare",
    "compare_many": "rdiv.comparison.levels",
    "compare_models": "rdiv.comparison.levels",
    "estimate_gap": "rdiv.comparison.gap_estimate",
    "plan": "rdiv.planning.plan",
    "power_study": "rdiv.studies.power",
    "r_divergence": "rdiv.two_sample",
    "read": "rdiv.samples.files",
    "scan": "rdiv.samples.partitions",
    "two_sample_test": "rdiv.two_sample",
}
_PACKAGES = (
    "discrepancies",
    "errors",
    "models",
    "monitoring",
    "noisy_labels",
    "report",
    "reproduction",
    "samples",
    "sources",
    "studies",
    "theory",
)


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that importing rdiv costs nothing."""
    if name in _PACKAGES:
        return import_module(f"rdiv.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rdiv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
